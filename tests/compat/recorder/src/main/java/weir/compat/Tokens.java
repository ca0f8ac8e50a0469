package weir.compat;

import org.springframework.context.support.GenericApplicationContext;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.web.server.ServerHttpSecurity;
import org.springframework.security.web.server.SecurityWebFilterChain;

/**
 * The filter chain of an application that is a resource server and a client, `with security, oauth2_client`. Without
 * it the gateway would send browsers to log in.
 */
final class Tokens {

	private Tokens() {
	}

	static void register(GenericApplicationContext context) {
		context.registerBean("chain", SecurityWebFilterChain.class,
				() -> chain(context.getBean(ServerHttpSecurity.class)));
	}

	private static SecurityWebFilterChain chain(ServerHttpSecurity http) {
		return http.authorizeExchange((exchange) -> exchange.anyExchange().authenticated())
			.oauth2ResourceServer((server) -> server.jwt(Customizer.withDefaults()))
			.oauth2Client(Customizer.withDefaults())
			.build();
	}

}
