// Answers each request with what the JDK's server understood of it: x-seen: METHOD.TARGET.BODY in hex.
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.concurrent.Executors;

class Jdk {
    public static void main(String[] args) throws Exception {
        var address = new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0]));
        var server = HttpServer.create(address, 0);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/", exchange -> {
            byte[] body = exchange.getRequestBody().readAllBytes();
            String seen = hex(exchange.getRequestMethod()) + "."
                + hex(exchange.getRequestURI().toString()) + "." + HexFormat.of().formatHex(body);
            exchange.getResponseHeaders().set("x-seen", seen);
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
        });
        server.start();
        while (System.in.read() >= 0) { }
        System.exit(0);
    }

    static String hex(String text) {
        return HexFormat.of().formatHex(text.getBytes(StandardCharsets.ISO_8859_1));
    }
}
