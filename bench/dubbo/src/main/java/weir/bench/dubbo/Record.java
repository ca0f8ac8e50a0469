package weir.bench.dubbo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import org.apache.dubbo.rpc.RpcContext;
import org.apache.dubbo.rpc.service.EchoService;

import weir.bench.dubbo.Consumer.Way;
import weir.bench.dubbo.Tap.Message;

/** Writes messages between a consumer and a provider to files, one each, in hexadecimal. */
final class Record {

	private static final List<String> SERIALIZATIONS = List.of("hessian2", "fastjson2");

	/** Most bytes of a message that are kept. */
	private static final int KEPT = 1024;

	private static final int LINE = 48;

	private final Path folder;

	private Record(Path folder) {
		this.folder = folder;
	}

	/**
	 * Arguments: {@code record}, folder, port of a provider, its process id, and port of a provider with a single thread.
	 * The first one is asked to end at last.
	 */
	static void run(String[] arguments) throws Exception {
		Record record = new Record(Path.of(arguments[1]));
		for (String serialization : SERIALIZATIONS) {
			Tap tap = new Tap(Integer.parseInt(arguments[2]));
			record.calls(tap, serialization);
			Tap single = new Tap(Integer.parseInt(arguments[4]));
			record.exhausted(single, serialization);
		}
		record.end(Integer.parseInt(arguments[2]), Long.parseLong(arguments[3]));
	}

	private void calls(Tap tap, String as) throws Exception {
		Way way = Way.plain(tap.port()).as(as);
		Greeter greeter = way.greeter();
		Greeter blue = way.blue().greeter();
		String[] types = { String.class.getName() };
		pair(tap, "say-" + as, "A plain call", () -> greeter.say("wörld 😀"));
		pair(tap, "refuse-" + as, "A call whose provider throws", () -> greeter.refuse("no"));
		pair(tap, "later-" + as, "A call of an asynchronous method", () -> greeter.later("x", 1).get());
		pair(tap, "echo-" + as, "The probe $echo", () -> ((EchoService) greeter).$echo("x"));
		pair(tap, "blue-" + as, "A call with group, version and attachments", () -> {
			RpcContext.getClientAttachment().setAttachment("tenant", "acme");
			return blue.context("tenant");
		});
		pair(tap, "generic-" + as, "A generic call of say",
				() -> way.blue().generic().$invoke("say", types, new Object[] { "x" }));
		pair(tap, "generic-async-" + as, "An asynchronous generic call of say",
				() -> way.generic().$invokeAsync("say", types, new Object[] { "x" }).get());
		pair(tap, "large-" + as, "A call with a text of 1 MB", () -> greeter.say("0123456789abcdeü".repeat(1 << 16)));
		pair(tap, "unknown-" + as, "A call of a service that the provider does not have",
				() -> new Way(tap.port(), as, "red", null).greeter().say("x"));
		tap.forget();
		greeter.note("x");
		Message note = tap.wait((message) -> message.isRequest() && !message.isEvent());
		write("note-" + as + ".request", "A one-way call", note);
		Message beat = tap.wait((message) -> message.isRequest() && message.isEvent());
		write("heartbeat-" + as + ".request", "A heartbeat", beat);
		Message answer = tap.wait((message) -> message.answers(beat));
		write("heartbeat-" + as + ".response", "The answer to a heartbeat", answer);
	}

	/** More calls than the provider has threads. */
	private void exhausted(Tap tap, String as) throws Exception {
		Greeter greeter = Way.plain(tap.port()).as(as).greeter();
		List<CompletableFuture<String>> answers = new ArrayList<>();
		for (int n = 0; n < 8; n++) {
			answers.add(greeter.later("x", 300));
		}
		Message answer = tap.wait((message) -> message.status() == 100);
		write("exhausted-" + as + ".response", "The answer of a provider whose threads are all busy", answer);
		for (CompletableFuture<String> each : answers) {
			each.exceptionally(Cases::told).thenAccept((saw) -> Consumer.print("saw", Map.of("busy", saw))).get();
		}
	}

	/** The event by which a provider says that it takes no more calls. */
	private void end(int provider, long pid) throws Exception {
		Map<String, Tap> taps = new LinkedHashMap<>();
		for (String as : SERIALIZATIONS) {
			Tap tap = new Tap(provider);
			Way.plain(tap.port()).as(as).greeter().say("x");
			taps.put(as, tap);
		}
		ProcessHandle.of(pid).ifPresent(ProcessHandle::destroy);
		for (Map.Entry<String, Tap> entry : taps.entrySet()) {
			Message event = entry.getValue().wait(Message::isReadOnly);
			write("readonly-" + entry.getKey() + ".request", "A provider says that it takes no more calls", event);
		}
	}

	private void pair(Tap tap, String name, String comment, Call call) throws Exception {
		tap.forget();
		try {
			call.make();
		}
		catch (Exception failure) {
			Consumer.print("saw", Map.of(name, Cases.told(failure)));
		}
		Message request = tap.wait((message) -> message.isRequest() && !message.isEvent());
		Message response = tap.wait((message) -> message.answers(request));
		write(name + ".request", comment, request);
		write(name + ".response", comment + ": its answer", response);
	}

	private void write(String name, String comment, Message message) throws IOException {
		byte[] bytes = message.bytes();
		int kept = Math.min(bytes.length, KEPT);
		String cut = (kept < bytes.length) ? ", the first " + kept + " of " + bytes.length + " bytes" : "";
		StringBuilder text = new StringBuilder("# " + comment + cut + ".\n");
		for (int at = 0; at < kept; at += LINE) {
			text.append(HexFormat.of().formatHex(bytes, at, Math.min(kept, at + LINE))).append('\n');
		}
		Files.writeString(this.folder.resolve(name + ".hex"), text);
		Consumer.print("written", Map.of("file", name));
	}

	private interface Call {

		Object make() throws Exception;

	}

}
