package weir.compat;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;

import javax.net.ssl.KeyManagerFactory;

import io.grpc.HandlerRegistry;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerMethodDefinition;
import io.grpc.Status;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import io.netty.handler.ssl.SslContextBuilder;

/**
 * A gRPC server with TLS, `with grpc`: answers every method with a `Receipt` of `tests/grpc/shop.proto` whose
 * `order_id` is 2^53 + 1 and whose `order` is what it was sent; with NOT_FOUND if the order is for `none`.
 */
final class Methods {

	private static final byte[] NUMBER = { 0x08, (byte) 0x81, (byte) 0x80, (byte) 0x80, (byte) 0x80, (byte) 0x80,
			(byte) 0x80, (byte) 0x80, 0x10, 0x1a };

	private static final char[] PASSWORD = "password".toCharArray();

	private Methods() {
	}

	/** Starts it and tells its port. */
	static int start() throws Exception {
		Path folder = Files.createTempDirectory("compat-recorder-tls");
		Path store = folder.resolve("store");
		String keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
		new ProcessBuilder(keytool, "-genkeypair", "-keyalg", "EC", "-storetype", "PKCS12", "-dname", "CN=localhost",
				"-ext", "SAN=DNS:localhost,IP:127.0.0.1", "-alias", "a", "-storepass", new String(PASSWORD), "-keystore",
				store.toString())
			.start()
			.waitFor();
		KeyStore keys = KeyStore.getInstance(store.toFile(), PASSWORD);
		KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
		factory.init(keys, PASSWORD);
		Server server = NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0))
			.sslContext(GrpcSslContexts.configure(SslContextBuilder.forServer(factory)).build())
			.fallbackHandlerRegistry(new Every())
			.build()
			.start();
		return server.getPort();
	}

	private static void answer(byte[] order, StreamObserver<byte[]> to) {
		if (new String(order, StandardCharsets.ISO_8859_1).contains("none")) {
			to.onError(Status.NOT_FOUND.withDescription("no b\u00e4r").asRuntimeException());
			return;
		}
		byte[] receipt = new byte[NUMBER.length + 1 + order.length];
		System.arraycopy(NUMBER, 0, receipt, 0, NUMBER.length);
		receipt[NUMBER.length] = (byte) order.length;
		System.arraycopy(order, 0, receipt, NUMBER.length + 1, order.length);
		to.onNext(receipt);
		to.onCompleted();
	}

	private static final class Every extends HandlerRegistry {

		@Override
		public ServerMethodDefinition<?, ?> lookupMethod(String name, String authority) {
			MethodDescriptor<byte[], byte[]> method = MethodDescriptor.<byte[], byte[]>newBuilder()
				.setType(MethodDescriptor.MethodType.UNARY)
				.setFullMethodName(name)
				.setRequestMarshaller(new Bytes())
				.setResponseMarshaller(new Bytes())
				.build();
			return ServerMethodDefinition.create(method, ServerCalls.asyncUnaryCall(Methods::answer));
		}

	}

	private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {

		@Override
		public InputStream stream(byte[] value) {
			return new ByteArrayInputStream(value);
		}

		@Override
		public byte[] parse(InputStream stream) {
			try {
				return stream.readAllBytes();
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		}

	}

}
