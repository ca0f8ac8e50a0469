package weir.bench.dubbo;

import java.util.concurrent.CompletableFuture;

/** What the consumer calls. Every answer starts with the name of the provider that made it, and a colon. */
public interface Greeter {

	/** The text as it came. */
	String say(String text);

	/** The text as it came; the provider sleeps first, so that answers on one connection overtake each other. */
	CompletableFuture<String> later(String text, int delayMs);

	/** Always throws it with the text as its message. */
	String refuse(String text) throws Refused;

	/** Has no answer. */
	void note(String text);

	/** How many notes this provider has got. */
	int notes();

	/** Group and version that the call was for, and its attachment of this key. */
	String context(String key);

	/** Thrown on purpose. */
	class Refused extends Exception {

		private static final long serialVersionUID = 1;

		public Refused(String message) {
			super(message);
		}

	}

}
