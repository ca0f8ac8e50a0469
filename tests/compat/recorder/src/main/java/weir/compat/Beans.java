package weir.compat;

import java.util.Set;

import org.springframework.context.support.GenericApplicationContext;
import org.springframework.cloud.gateway.filter.ratelimit.KeyResolver;
import reactor.core.publisher.Mono;

/** What an application has to write in Java, and weir has in its configuration. */
final class Beans {

	private Beans() {
	}

	/** Registers what the configuration of `file` names. */
	static void register(CaseFile file, Set<Feature> features, GenericApplicationContext context) {
		if (names(file, "#{@who}")) {
			context.registerBean("who", KeyResolver.class, () -> (exchange) -> Mono
				.justOrEmpty(exchange.getRequest().getHeaders().getFirst("X-Who")));
		}
		if (features.contains(Feature.BUCKET4J)) {
			Buckets.register(context);
		}
		if (features.contains(Feature.OAUTH2_CLIENT)) {
			Tokens.register(context);
		}
		if (names(file, "Authorize=")) {
			context.registerBean(AuthorizeGatewayFilterFactory.class, AuthorizeGatewayFilterFactory::new);
		}
	}

	private static boolean names(CaseFile file, String text) {
		return file.sections.stream().anyMatch((section) -> section.is("config") && section.text().contains(text));
	}

}
