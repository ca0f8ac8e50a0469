package weir.compat;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Plays every fixture file against Spring Cloud Gateway and writes down what the upstream got and what the client
 * got. The format is described in README.md.
 */
public final class Recorder {

	private static final int ANSWER_TIMEOUT_MS = 8000;

	private static final Pattern FROM = Pattern.compile("\\bfrom (\\S+)");

	private final CaseFile file;

	private final Upstream upstream;

	private final Gateway gateway;

	private Socket socket;

	private InputStream in;

	private Recorder(CaseFile file, Upstream upstream, Gateway gateway) {
		this.file = file;
		this.upstream = upstream;
		this.gateway = gateway;
	}

	/** Starts itself once for each file, as `--one path`. */
	public static void main(String[] arguments) throws Exception {
		if (arguments.length == 2 && arguments[0].equals("--one")) {
			recordOne(Path.of(arguments[1]));
			System.exit(0);
		}
		List<Path> paths = new ArrayList<>();
		for (String argument : arguments) {
			paths.addAll(textFiles(Path.of(argument)));
		}
		int failures = 0;
		for (Path path : paths) {
			failures += recordInOwnProcess(path) == 0 ? 0 : 1;
		}
		System.out.println(paths.size() + " files, " + failures + " failures");
		System.exit(failures == 0 ? 0 : 1);
	}

	private static void recordOne(Path path) throws Exception {
		Upstream upstream = new Upstream();
		CaseFile file = CaseFile.read(path);
		record(file, upstream);
		file.write();
		System.out.println(path + ": " + (file.startFailure != null ? "start fails" : file.cases.size() + " cases"));
	}

	/**
	 * A process for each file, because the gateway keeps configuration in static fields: the list of hop-by-hop
	 * headers set by one context stays in force in the next; and with the libraries that the file asks for.
	 */
	private static int recordInOwnProcess(Path path) throws IOException, InterruptedException {
		String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
		return new ProcessBuilder(java, "-XX:TieredStopAtLevel=1", "-Xmx512m", "-classpath",
				Feature.classPath(Feature.of(CaseFile.read(path))), Recorder.class.getName(), "--one", path.toString())
			.inheritIO()
			.start()
			.waitFor();
	}

	private static List<Path> textFiles(Path root) throws IOException {
		try (Stream<Path> paths = Files.walk(root)) {
			return paths.filter((path) -> path.toString().endsWith(".txt")).sorted().toList();
		}
	}

	private static void record(CaseFile file, Upstream upstream) throws Exception {
		Gateway gateway;
		try {
			gateway = Gateway.start(file, upstream.port());
		}
		catch (RuntimeException ex) {
			file.startFailure = rootCause(ex, new Normal(upstream.port(), -1, -1));
			return;
		}
		try (gateway) {
			Recorder recorder = new Recorder(file, upstream, gateway);
			for (CaseFile.Case each : file.cases) {
				for (CaseFile.Exchange exchange : each.exchanges()) {
					recorder.play(exchange);
				}
			}
			recorder.disconnect();
		}
	}

	private static List<String> rootCause(Throwable thrown, Normal normal) {
		while (thrown.getCause() != null) {
			thrown = thrown.getCause();
		}
		String text = normal.text(thrown.getClass().getSimpleName() + ": " + thrown.getMessage());
		return List.of(text.replace("\r", "").split("\n"));
	}

	private void play(CaseFile.Exchange exchange) throws Exception {
		upstream.prepare(exchange.answers.stream().map((lines) -> lines.stream().map(this::fill).toList()).toList());
		int refreshes = gateway.refreshes();
		Message request = Message.fromLines(exchange.request.stream().map(this::fill).toList());
		if (!exchange.title.contains("same-connection")) {
			connect(exchange.title);
		}
		Normal normal = new Normal(upstream.port(), gateway.port(), socket.getLocalPort());
		exchange.responses.clear();
		try {
			socket.getOutputStream().write(request.toWire(true));
			socket.getOutputStream().flush();
			readResponses(exchange, request, normal);
		}
		catch (SocketTimeoutException ex) {
			exchange.responses.add(List.of("(no answer)"));
		}
		catch (IOException ex) {
			exchange.responses.add(List.of("(connection reset)"));
		}
		exchange.got.clear();
		upstream.got().forEach((message) -> exchange.got.add(normal.apply(message).toLines()));
		if (exchange.got.isEmpty()) {
			exchange.got.add(List.of("(nothing)"));
		}
		if (request.startLine().startsWith("POST /actuator/gateway/refresh")) {
			gateway.awaitRefresh(refreshes);
		}
	}

	/** Interim (1xx) answers are blocks of their own before the final one. */
	private void readResponses(CaseFile.Exchange exchange, Message request, Normal normal) throws IOException {
		Message response;
		do {
			response = Message.read(in, true, request.startLine().startsWith("HEAD "));
			if (response == null) {
				exchange.responses.add(List.of("(connection closed)"));
				return;
			}
			Message shown = normal.apply(response);
			if (isHeadOfErrorBody(request, response)) {
				shown = shown.withoutLength();
			}
			exchange.responses.add(shown.toLines());
		}
		while (response.status() / 100 == 1);
	}

	/** The length then told is that of a body with a timestamp and a request id, neither of fixed length. */
	private static boolean isHeadOfErrorBody(Message request, Message response) {
		return request.startLine().startsWith("HEAD ") && response.status() >= 400
				&& "application/json".equals(response.header("content-type"));
	}

	private void connect(String title) throws IOException {
		disconnect();
		Matcher from = FROM.matcher(title);
		InetAddress address = InetAddress.getByName(from.find() ? from.group(1) : "127.0.0.1");
		boolean v6 = address instanceof java.net.Inet6Address;
		socket = new Socket();
		socket.bind(new InetSocketAddress(address, 0));
		socket.setSoTimeout(ANSWER_TIMEOUT_MS);
		socket.setTcpNoDelay(true);
		socket.connect(new InetSocketAddress(v6 ? "::1" : "127.0.0.1", gateway.port()));
		in = new BufferedInputStream(socket.getInputStream());
	}

	private void disconnect() throws IOException {
		if (socket != null) {
			socket.close();
		}
	}

	private String fill(String line) {
		return line.replace("{upstream}", "127.0.0.1:" + upstream.port())
			.replace("{upstream-port}", String.valueOf(upstream.port()))
			.replace("{gateway}", "127.0.0.1:" + gateway.port())
			.replace("{gateway-port}", String.valueOf(gateway.port()));
	}

}
