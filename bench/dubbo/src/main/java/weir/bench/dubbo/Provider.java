package weir.bench.dubbo;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

import org.apache.dubbo.config.ApplicationConfig;
import org.apache.dubbo.config.ProtocolConfig;
import org.apache.dubbo.config.RegistryConfig;
import org.apache.dubbo.config.ServiceConfig;
import org.apache.dubbo.config.bootstrap.DubboBootstrap;
import org.apache.dubbo.rpc.RpcContext;

/**
 * Provides {@link Greeter} on 127.0.0.1, plainly and as version 1.2.0 of group blue. Arguments: its name, its port,
 * and how many threads it has; with more calls than threads it answers that its pool is exhausted. On SIGTERM Dubbo's
 * own shutdown hook tells consumers that it takes no more calls, answers those it has, and ends.
 */
public final class Provider implements Greeter {

	/** 127.0.0.1 in a form that Dubbo does not replace by an address that others can reach. */
	static final String LOOPBACK = "2130706433";

	private final String name;

	private final AtomicInteger notes = new AtomicInteger();

	private final String group;

	private final String version;

	private Provider(String name, String group, String version) {
		this.name = name;
		this.group = group;
		this.version = version;
	}

	public static void main(String[] arguments) throws InterruptedException {
		int port = Integer.parseInt(arguments[1]);
		ProtocolConfig protocol = new ProtocolConfig("dubbo", port);
		protocol.setHost(LOOPBACK);
		protocol.setThreads(Integer.parseInt(arguments[2]));
		Map<String, String> parameters = new HashMap<>();
		// A connection on which nothing comes for three of these is closed.
		parameters.put("heartbeat", "1000");
		// Both, so that the consumer may choose.
		parameters.put("prefer.serialization", "fastjson2,hessian2");
		parameters.put("dump.enable", "false");
		protocol.setParameters(parameters);
		Consumer.hush();
		DubboBootstrap bootstrap = DubboBootstrap.getInstance()
			.application(application("greeter"))
			.registry(new RegistryConfig("N/A"))
			.protocol(protocol)
			.service(new Provider(arguments[0], null, null).service())
			.service(new Provider(arguments[0], "blue", "1.2.0").service())
			.start();
		System.out.println("provides 127.0.0.1:" + port);
		bootstrap.await();
	}

	/** What every application here has in common: nothing but itself listens or is looked for. */
	static ApplicationConfig application(String name) {
		ApplicationConfig application = new ApplicationConfig(name);
		application.setQosEnable(false);
		application.setSerializeCheckStatus("STRICT");
		return application;
	}

	private ServiceConfig<Greeter> service() {
		ServiceConfig<Greeter> service = new ServiceConfig<>();
		service.setInterface(Greeter.class);
		service.setRef(this);
		service.setGroup(this.group);
		service.setVersion(this.version);
		return service;
	}

	@Override
	public String say(String text) {
		return answer(text);
	}

	@Override
	public CompletableFuture<String> later(String text, int delayMs) {
		try {
			Thread.sleep(delayMs);
		}
		catch (InterruptedException interrupted) {
			Thread.currentThread().interrupt();
		}
		return CompletableFuture.completedFuture(answer(text));
	}

	@Override
	public String refuse(String text) throws Refused {
		throw new Refused(answer(text));
	}

	@Override
	public void note(String text) {
		notes.incrementAndGet();
	}

	@Override
	public int notes() {
		return notes.get();
	}

	@Override
	public String context(String key) {
		String attachment = RpcContext.getServerAttachment().getAttachment(key);
		return answer(this.group + "/" + this.version + " " + key + "=" + attachment);
	}

	private String answer(String text) {
		return name + ":" + text;
	}

}
