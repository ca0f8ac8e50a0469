package weir.compat;

import org.springframework.context.support.GenericApplicationContext;
import org.springframework.cloud.gateway.filter.ratelimit.KeyResolver;
import reactor.core.publisher.Mono;

/** What an application has to write in Java, and weir has in its configuration. */
final class Beans {

	private Beans() {
	}

	/** Registers what the configuration of `file` names. */
	static void register(CaseFile file, GenericApplicationContext context) {
		if (names(file, "#{@who}")) {
			context.registerBean("who", KeyResolver.class, () -> (exchange) -> Mono
				.justOrEmpty(exchange.getRequest().getHeaders().getFirst("X-Who")));
		}
		if (names(file, "Authorize=")) {
			context.registerBean(AuthorizeGatewayFilterFactory.class, AuthorizeGatewayFilterFactory::new);
		}
	}

	private static boolean names(CaseFile file, String text) {
		return file.sections.stream().anyMatch((section) -> section.is("config") && section.text().contains(text));
	}

}
