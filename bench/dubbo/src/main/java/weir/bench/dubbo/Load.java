package weir.bench.dubbo;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** Many calls over a connection or several, each with an argument of its own that its answer must repeat. */
final class Load {

	private final Greeter greeter;

	private final int calls;

	/** Process id of a provider that is to end, or 0. */
	private final long stopped;

	private final AtomicInteger next = new AtomicInteger();

	private final AtomicInteger done = new AtomicInteger();

	private final AtomicInteger wrong = new AtomicInteger();

	private final AtomicInteger failed = new AtomicInteger();

	private final AtomicReference<String> told = new AtomicReference<>();

	private final Map<String, AtomicInteger> providers = new ConcurrentHashMap<>();

	private Load(Greeter greeter, int calls, long stopped) {
		this.greeter = greeter;
		this.calls = calls;
		this.stopped = stopped;
	}

	/**
	 * Arguments: {@code load}, port, calls, threads, serialization and, if a provider is to be asked to end when half of
	 * the calls are made, its process id.
	 */
	static void run(String[] arguments) throws InterruptedException {
		Consumer.Way way = Consumer.Way.plain(Integer.parseInt(arguments[1])).as(arguments[4]);
		long stopped = (arguments.length > 5) ? Long.parseLong(arguments[5]) : 0;
		Load load = new Load(way.greeter(), Integer.parseInt(arguments[2]), stopped);
		// Connections are made and classes loaded before time counts.
		load.greeter.say("first");
		Consumer.print("begun", Map.of());
		long began = System.nanoTime();
		load.play(Integer.parseInt(arguments[3]));
		load.report((System.nanoTime() - began) / 1e9);
	}

	private void play(int threads) throws InterruptedException {
		Thread[] callers = new Thread[threads];
		for (int n = 0; n < threads; n++) {
			callers[n] = new Thread(this::call);
			callers[n].start();
		}
		boolean asked = this.stopped == 0;
		for (Thread caller : callers) {
			while (caller.isAlive()) {
				caller.join(100);
				if (!asked && this.done.get() >= this.calls / 2) {
					asked = ProcessHandle.of(this.stopped).map(ProcessHandle::destroy).orElse(true);
				}
				Consumer.print("progress", Map.of("calls", this.done.get()));
			}
		}
	}

	private void call() {
		for (int n = this.next.getAndIncrement(); n < this.calls; n = this.next.getAndIncrement()) {
			String text = "call " + n + " ä".repeat(n % 40);
			try {
				String[] answer = answer(n, text).split(":", 2);
				this.providers.computeIfAbsent(answer[0], (name) -> new AtomicInteger()).incrementAndGet();
				if (!answer[1].equals(text)) {
					this.wrong.incrementAndGet();
				}
			}
			catch (RuntimeException failure) {
				this.failed.incrementAndGet();
				this.told.compareAndSet(null, Cases.told(failure));
			}
			this.done.incrementAndGet();
		}
	}

	/** A provider that ends must have some calls in hand at that time: every hundredth takes long. */
	private String answer(int n, String text) {
		boolean slow = this.stopped != 0 && n % 100 == 0;
		return slow ? this.greeter.later(text, 500).join() : this.greeter.say(text);
	}

	private void report(double seconds) {
		Map<String, Object> fields = new LinkedHashMap<>();
		fields.put("calls", this.done.get());
		fields.put("wrong", this.wrong.get());
		fields.put("failed", this.failed.get());
		fields.put("told", this.told.get());
		fields.put("seconds", seconds);
		fields.put("providers", new TreeMap<>(this.providers));
		Consumer.print("result", fields);
	}

}
