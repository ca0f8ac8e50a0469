package weir.bench.dubbo;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

import org.apache.dubbo.rpc.RpcContext;
import org.apache.dubbo.rpc.RpcException;
import org.apache.dubbo.rpc.service.EchoService;
import org.apache.dubbo.rpc.service.GenericException;
import org.apache.dubbo.rpc.service.GenericService;

import weir.bench.dubbo.Consumer.Way;

/** What Dubbo can do, one thing after the other, each judged by what the caller sees. */
final class Cases {

	/** Characters of a large text: several chunks of a Hessian string. */
	private static final int LARGE = 1 << 20;

	private Cases() {
	}

	/**
	 * Arguments: {@code cases} and the ports of gateways: with both providers; with one and a limit of a few calls; with
	 * a route for {@code say*} to provider two; with a provider that is not there; then those of providers one and two.
	 */
	static void run(String[] arguments) {
		int[] ports = new int[arguments.length - 1];
		for (int n = 0; n < ports.length; n++) {
			ports[n] = Integer.parseInt(arguments[n + 1]);
		}
		for (String serialization : List.of("hessian2", "fastjson2")) {
			Function<String, String> name = (what) -> what + ", " + serialization;
			Way way = Way.plain(ports[0]).as(serialization);
			Greeter greeter = way.greeter();
			play(name.apply("call"), () -> equal(text(greeter.say("wörld 😀")), "wörld 😀"));
			play(name.apply("both providers by turns"), () -> both(greeter));
			play(name.apply("generic call"), () -> generic(way.generic()));
			play(name.apply("one-way calls"), () -> oneWay(greeter, ports));
			play(name.apply("answers out of order"), () -> outOfOrder(greeter));
			play(name.apply("exception of the provider"), () -> refused(greeter));
			play(name.apply("text of 1 MB"), () -> large(greeter));
			play(name.apply("group, version and attachment"), () -> context(way.blue().greeter()));
			play(name.apply("$echo"), () -> equal(((EchoService) greeter).$echo("x").toString(), "x"));
			play(name.apply("heartbeats, then calls"), () -> idle(greeter));
			play(name.apply("over the limit"), () -> limited(ports[1], serialization));
			play(name.apply("route of the method"), () -> routed(Way.plain(ports[2]).as(serialization).greeter()));
			play(name.apply("no route"), () -> fails(ports[2], serialization, 60, (to) -> to.context("x")));
			play(name.apply("no provider"), () -> fails(ports[3], serialization, 80, (to) -> to.say("x")));
		}
	}

	private static void play(String name, Callable<String> action) {
		Map<String, Object> fields = new LinkedHashMap<>();
		fields.put("name", name);
		long began = System.nanoTime();
		try {
			fields.put("saw", action.call());
			fields.put("fine", true);
		}
		catch (Exception | AssertionError failure) {
			fields.put("saw", told(failure));
			fields.put("fine", false);
		}
		fields.put("ms", (System.nanoTime() - began) / 1_000_000);
		Consumer.print("case", fields);
	}

	private static String both(Greeter greeter) {
		Map<String, Integer> counts = new LinkedHashMap<>();
		for (int n = 0; n < 100; n++) {
			counts.merge(greeter.say("x").split(":")[0], 1, Integer::sum);
		}
		check(counts.keySet().equals(Set.of("one", "two")), counts.toString());
		return counts.toString();
	}

	private static String generic(GenericService service) throws Exception {
		String[] types = { String.class.getName() };
		equal(text((String) service.$invoke("say", types, new Object[] { "x" })), "x");
		Object later = service.$invokeAsync("say", types, new Object[] { "y" }).get(10, TimeUnit.SECONDS);
		equal(text((String) later), "y");
		try {
			service.$invoke("refuse", types, new Object[] { "z" });
		}
		catch (GenericException refused) {
			equal(refused.getExceptionClass(), Greeter.Refused.class.getName());
			return told(refused);
		}
		throw new AssertionError("no exception");
	}

	private static String oneWay(Greeter greeter, int[] ports) throws InterruptedException {
		Greeter one = Way.plain(ports[4]).greeter();
		Greeter two = Way.plain(ports[5]).greeter();
		int before = one.notes() + two.notes();
		for (int n = 0; n < 1000; n++) {
			greeter.note("n " + n);
		}
		for (int n = 0; n < 100 && one.notes() + two.notes() < before + 1000; n++) {
			Thread.sleep(50);
		}
		equal(one.notes() + two.notes() - before, 1000);
		return "one has got " + one.notes() + ", two " + two.notes();
	}

	private static String outOfOrder(Greeter greeter) throws Exception {
		List<String> order = new ArrayList<>();
		List<CompletableFuture<String>> answers = new ArrayList<>();
		for (int n = 0; n < 50; n++) {
			String text = "later " + n;
			CompletableFuture<String> answer = greeter.later(text, 500 - n * 10);
			answers.add(answer.whenComplete((told, failure) -> {
				synchronized (order) {
					order.add(text);
				}
			}));
		}
		for (int n = 0; n < answers.size(); n++) {
			equal(text(answers.get(n).get(10, TimeUnit.SECONDS)), "later " + n);
		}
		check(order.indexOf("later 49") < order.indexOf("later 0"), order.toString());
		return "first " + order.get(0) + ", last " + order.get(order.size() - 1);
	}

	private static String refused(Greeter greeter) {
		try {
			greeter.refuse("x");
		}
		catch (Greeter.Refused refused) {
			equal(text(refused.getMessage()), "x");
			return told(refused);
		}
		throw new AssertionError("no exception");
	}

	private static String large(Greeter greeter) {
		String large = "0123456789abcdeü".repeat(LARGE / 16);
		for (int n = 0; n < 4; n++) {
			check(text(greeter.say(large + n)).equals(large + n), "another text came back");
		}
		return "4 came back";
	}

	private static String context(Greeter greeter) {
		RpcContext.getClientAttachment().setAttachment("tenant", "acme");
		String saw = text(greeter.context("tenant"));
		equal(saw, "blue/1.2.0 tenant=acme");
		return saw;
	}

	/** Long enough for a provider to close a connection on which there is no heartbeat. */
	private static String idle(Greeter greeter) throws InterruptedException {
		Thread.sleep(4500);
		for (int n = 0; n < 100; n++) {
			equal(text(greeter.say("x" + n)), "x" + n);
		}
		return "100 calls";
	}

	/** The calls of a burst that a limit lets through, and what callers see of status 100. */
	private static String limited(int port, String serialization) throws Exception {
		Tap tap = new Tap(port);
		Greeter greeter = Way.plain(tap.port()).as(serialization).greeter();
		List<CompletableFuture<String>> answers = new ArrayList<>();
		for (int n = 0; n < 20; n++) {
			answers.add(greeter.later("x", 0));
		}
		int passed = 0;
		Throwable refused = null;
		for (CompletableFuture<String> answer : answers) {
			try {
				answer.get(10, TimeUnit.SECONDS);
				passed++;
			}
			catch (ExecutionException failure) {
				refused = failure.getCause();
			}
		}
		check(passed > 0 && refused != null, passed + " of 20 passed");
		tap.wait((message) -> message.status() == 100);
		return passed + " of 20 passed, else status 100: " + told(refused);
	}

	private static String routed(Greeter greeter) {
		for (int n = 0; n < 20; n++) {
			equal(greeter.say("x"), "two:x");
		}
		return "20 calls to two";
	}

	/** What the caller sees of a call that a gateway itself answers with this status. */
	private static String fails(int port, String serialization, int status, Function<Greeter, String> call)
			throws Exception {
		Tap tap = new Tap(port);
		Greeter greeter = Way.plain(tap.port()).as(serialization).greeter();
		try {
			throw new AssertionError("answered " + call.apply(greeter));
		}
		catch (RpcException failure) {
			tap.wait((message) -> message.status() == status);
			return "status " + status + ": " + told(failure);
		}
	}

	/** What a caller caught; of exceptions around others, class and code, and the innermost message. */
	static String told(Throwable failure) {
		String shown = failure.getClass().getSimpleName();
		if (failure instanceof RpcException rpc) {
			shown += " " + rpc.getCode();
		}
		if (failure.getCause() != null) {
			return shown + ", " + told(failure.getCause());
		}
		String[] lines = String.valueOf(failure.getMessage()).split("\n", 2);
		return shown + ": " + lines[0].substring(0, Math.min(lines[0].length(), 200));
	}

	/** What is behind the provider's name. */
	private static String text(String answer) {
		return answer.split(":", 2)[1];
	}

	private static String equal(Object saw, Object expected) {
		check(saw.equals(expected), saw + " instead of " + expected);
		return saw.toString();
	}

	private static void check(boolean fine, String otherwise) {
		if (!fine) {
			throw new AssertionError(otherwise);
		}
	}

}
