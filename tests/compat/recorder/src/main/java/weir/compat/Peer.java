package weir.compat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;

/**
 * Another server that the gateway asks: for keys or for tokens. Answers with the JSON of the sections
 * `---- peer /path`, in order; the last one of a path is repeated. Nothing of it is recorded.
 */
final class Peer {

	private final Map<String, Deque<String>> answers = new HashMap<>();

	private final HttpServer server;

	Peer(CaseFile file) throws IOException {
		for (CaseFile.Section section : file.sections) {
			if (section.is("peer")) {
				answers.computeIfAbsent(section.argument(), (path) -> new ArrayDeque<>()).add(section.text());
			}
		}
		server = HttpServer.create(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0), 50);
		server.createContext("/", this::answer);
		server.start();
	}

	int port() {
		return server.getAddress().getPort();
	}

	private synchronized void answer(HttpExchange exchange) throws IOException {
		exchange.getRequestBody().readAllBytes();
		Deque<String> left = answers.get(exchange.getRequestURI().getPath());
		if (left == null) {
			exchange.sendResponseHeaders(404, -1);
		}
		else {
			byte[] body = (left.size() > 1 ? left.remove() : left.peek()).getBytes(StandardCharsets.ISO_8859_1);
			exchange.getResponseHeaders().set("Content-Type", "application/json");
			exchange.sendResponseHeaders(200, body.length);
			exchange.getResponseBody().write(body);
		}
		exchange.close();
	}

}
