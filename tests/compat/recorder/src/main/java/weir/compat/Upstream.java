package weir.compat;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The server behind the gateway: keeps what it was sent, byte for byte, and answers what the case says. The answers
 * are used up in order, the last one is repeated.
 */
final class Upstream {

	private static final List<String> DEFAULT_ANSWER = List.of("HTTP/1.1 200 OK", "Content-Length: 2", "", "ok");

	private static final Pattern WAIT = Pattern.compile("\\(wait (\\d+) ms\\)");

	private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));

	private final AtomicInteger busy = new AtomicInteger();

	private List<Message> got = new ArrayList<>();

	private List<List<String>> answers = List.of();

	Upstream() throws IOException {
		Thread accepting = new Thread(this::accept, "upstream");
		accepting.setDaemon(true);
		accepting.start();
	}

	int port() {
		return server.getLocalPort();
	}

	synchronized void prepare(List<List<String>> answers) {
		this.answers = answers.isEmpty() ? List.of(DEFAULT_ANSWER) : answers;
		this.got = new ArrayList<>();
	}

	/** What arrived since `prepare`; waits for a request that is still being read. */
	List<Message> got() throws InterruptedException {
		for (int i = 0; i < 100 && busy.get() > 0; i++) {
			Thread.sleep(10);
		}
		synchronized (this) {
			return new ArrayList<>(got);
		}
	}

	private synchronized List<String> take(Message request) {
		got.add(request);
		return answers.get(Math.min(got.size(), answers.size()) - 1);
	}

	private void accept() {
		while (true) {
			try {
				Socket socket = server.accept();
				socket.setTcpNoDelay(true);
				Thread serving = new Thread(() -> serve(socket), "upstream-connection");
				serving.setDaemon(true);
				serving.start();
			}
			catch (IOException ex) {
				return;
			}
		}
	}

	private void serve(Socket socket) {
		try (socket) {
			InputStream in = new java.io.BufferedInputStream(socket.getInputStream());
			while (true) {
				in.mark(1);
				if (in.read() < 0) {
					return;
				}
				in.reset();
				busy.incrementAndGet();
				Message request;
				List<String> answer;
				try {
					request = Message.read(in, false, false);
					answer = take(request);
				}
				finally {
					busy.decrementAndGet();
				}
				if (!answer(socket, request, answer)) {
					return;
				}
			}
		}
		catch (IOException | InterruptedException ex) {
			// the gateway went away, which some cases provoke
		}
	}

	/** Sends one answer; false when the connection is to end with it. */
	private boolean answer(Socket socket, Message request, List<String> answer)
			throws IOException, InterruptedException {
		List<String> lines = new ArrayList<>(answer.subList(0, CaseFile.lengthWithoutBlankEnd(answer)));
		while (!lines.isEmpty() && lines.get(0).startsWith("(")) {
			String action = lines.remove(0);
			Matcher wait = WAIT.matcher(action);
			if (wait.matches()) {
				Thread.sleep(Long.parseLong(wait.group(1)));
			}
			else if (action.equals("(reset)")) {
				socket.setSoLinger(true, 0);
				return false;
			}
			else if (action.equals("(close)")) {
				return false;
			}
			else {
				throw new IOException("unknown action " + action);
			}
		}
		boolean close = !lines.isEmpty() && lines.get(lines.size() - 1).equals("(close)");
		if (close) {
			lines.remove(lines.size() - 1);
		}
		Message message = Message.fromLines(lines);
		socket.getOutputStream().write(message.toWire(!request.startLine().startsWith("HEAD ")));
		socket.getOutputStream().flush();
		if (close) {
			Thread.sleep(50);
		}
		return !close && !"close".equalsIgnoreCase(message.header("connection"));
	}

}
