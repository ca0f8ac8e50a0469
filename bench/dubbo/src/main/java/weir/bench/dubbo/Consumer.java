package weir.bench.dubbo;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;

import com.alibaba.fastjson2.JSON;
import org.apache.dubbo.config.MethodConfig;
import org.apache.dubbo.config.ReferenceConfig;
import org.apache.dubbo.config.bootstrap.DubboBootstrap;
import org.apache.dubbo.rpc.service.GenericService;

/**
 * Calls {@link Greeter}. The first argument says how: {@code load}, {@code cases} or {@code record}. What it prints for
 * others to read is a word and JSON behind it, on one line.
 */
public final class Consumer {

	/** Connections of each reference. */
	private static final int CONNECTIONS = Integer.getInteger("connections", 1);

	private static final Logger ALL = Logger.getLogger("");

	private Consumer() {
	}

	public static void main(String[] arguments) throws Exception {
		hush();
		DubboBootstrap.getInstance().application(Provider.application("caller")).start();
		switch (arguments[0]) {
			case "load" -> Load.run(arguments);
			case "cases" -> Cases.run(arguments);
			case "record" -> Record.run(arguments);
			default -> throw new IllegalArgumentException(arguments[0]);
		}
		// Threads of Dubbo's would keep it alive.
		System.exit(0);
	}

	/** Dubbo warns of much that is on purpose here. */
	static void hush() {
		ALL.setLevel(Level.OFF);
	}

	static void print(String word, Map<String, ?> fields) {
		System.out.println(word + " " + JSON.toJSONString(fields));
	}

	/** Who is called, and how: over connections of its own, without a second try. */
	record Way(int port, String serialization, String group, String version) {

		static Way plain(int port) {
			return new Way(port, "hessian2", null, null);
		}

		Way as(String serialization) {
			return new Way(this.port, serialization, this.group, this.version);
		}

		Way blue() {
			return new Way(this.port, this.serialization, "blue", "1.2.0");
		}

		Greeter greeter() {
			ReferenceConfig<Greeter> reference = reference();
			reference.setInterface(Greeter.class);
			MethodConfig note = new MethodConfig();
			note.setName("note");
			note.setReturn(false);
			note.setSent(false);
			reference.setMethods(List.of(note));
			return reference.get();
		}

		GenericService generic() {
			ReferenceConfig<GenericService> reference = reference();
			reference.setInterface(Greeter.class.getName());
			reference.setGeneric("true");
			return reference.get();
		}

		private <T> ReferenceConfig<T> reference() {
			ReferenceConfig<T> reference = new ReferenceConfig<>();
			reference.setUrl("dubbo://" + Provider.LOOPBACK + ":" + this.port);
			reference.setGroup(this.group);
			reference.setVersion(this.version);
			reference.setConnections(CONNECTIONS);
			reference.setRetries(0);
			reference.setTimeout(10_000);
			reference.setCheck(false);
			Map<String, String> parameters = new HashMap<>();
			parameters.put("serialization", this.serialization);
			parameters.put("prefer.serialization", this.serialization);
			parameters.put("heartbeat", "1000");
			reference.setParameters(parameters);
			return reference;
		}

	}

}
