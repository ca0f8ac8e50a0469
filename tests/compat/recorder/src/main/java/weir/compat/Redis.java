package weir.compat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

/** A Redis of its own for one file, ended with the process. Needs `redis-server` in the PATH. */
final class Redis {

	final int port;

	Redis() throws IOException, InterruptedException {
		try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
			port = free.getLocalPort();
		}
		Process process = new ProcessBuilder("redis-server", "--bind", "127.0.0.1", "--port", String.valueOf(port),
				"--save", "")
			.redirectOutput(ProcessBuilder.Redirect.DISCARD)
			.start();
		Runtime.getRuntime().addShutdownHook(new Thread(process::destroy));
		for (int i = 0; i < 100 && !accepts(); i++) {
			Thread.sleep(50);
		}
	}

	private boolean accepts() {
		try (Socket socket = new Socket("127.0.0.1", port)) {
			return socket.isConnected();
		}
		catch (IOException ex) {
			return false;
		}
	}

}
