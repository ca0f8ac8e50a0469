package weir.bench.dubbo;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** Passes connections on to a provider, and keeps every message. */
final class Tap {

	private final ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());

	private final int provider;

	private final List<Message> messages = new ArrayList<>();

	Tap(int provider) throws IOException {
		this.provider = provider;
		start(this::accept);
	}

	int port() {
		return this.listener.getLocalPort();
	}

	synchronized void forget() {
		this.messages.clear();
	}

	/** Waits for a message. */
	synchronized Message wait(Predicate<Message> wanted) throws InterruptedException {
		long until = System.currentTimeMillis() + 10_000;
		while (System.currentTimeMillis() < until) {
			for (Message message : this.messages) {
				if (wanted.test(message)) {
					return message;
				}
			}
			wait(100);
		}
		throw new IllegalStateException("no such message");
	}

	private void accept() throws IOException {
		while (true) {
			Socket consumer = this.listener.accept();
			Socket to = new Socket(InetAddress.getLoopbackAddress(), this.provider);
			start(() -> pass(consumer, to));
			start(() -> pass(to, consumer));
		}
	}

	private void pass(Socket from, Socket to) throws IOException {
		DataInputStream input = new DataInputStream(from.getInputStream());
		OutputStream output = to.getOutputStream();
		while (true) {
			byte[] head = input.readNBytes(16);
			if (head.length < 16) {
				to.shutdownOutput();
				return;
			}
			byte[] body = input.readNBytes(ByteBuffer.wrap(head).getInt(12));
			byte[] bytes = ByteBuffer.allocate(16 + body.length).put(head).put(body).array();
			synchronized (this) {
				this.messages.add(new Message(bytes));
				notifyAll();
			}
			output.write(bytes);
		}
	}

	private static void start(Work work) {
		Thread thread = new Thread(() -> {
			try {
				work.run();
			}
			catch (IOException ended) {
				// The connection is over.
			}
		});
		thread.setDaemon(true);
		thread.start();
	}

	private interface Work {

		void run() throws IOException;

	}

	/** A head of 16 bytes and a body. */
	record Message(byte[] bytes) {

		boolean isRequest() {
			return (this.bytes[2] & 0x80) != 0;
		}

		boolean isEvent() {
			return (this.bytes[2] & 0x20) != 0;
		}

		/** Says that the sender takes no more calls. */
		boolean isReadOnly() {
			return isRequest() && isEvent() && this.bytes[this.bytes.length - 1] == 'R';
		}

		int status() {
			return this.bytes[3];
		}

		long id() {
			return ByteBuffer.wrap(this.bytes).getLong(4);
		}

		boolean answers(Message request) {
			return !isRequest() && id() == request.id();
		}

	}

}
