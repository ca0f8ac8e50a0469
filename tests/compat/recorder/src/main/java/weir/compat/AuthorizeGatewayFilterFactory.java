package weir.compat;

import java.util.List;

import org.springframework.cloud.gateway.filter.GatewayFilter;
import org.springframework.cloud.gateway.filter.factory.AbstractGatewayFilterFactory;
import org.springframework.security.access.AccessDeniedException;
import org.springframework.security.core.context.ReactiveSecurityContextHolder;
import reactor.core.publisher.Mono;

/** weir's filter `Authorize=scope:NAME`, as Spring Security answers it: 403 without the authority `SCOPE_NAME`. */
final class AuthorizeGatewayFilterFactory
		extends AbstractGatewayFilterFactory<AuthorizeGatewayFilterFactory.Config> {

	static final class Config {

		private String rule;

		public String getRule() {
			return rule;
		}

		public void setRule(String rule) {
			this.rule = rule;
		}

	}

	AuthorizeGatewayFilterFactory() {
		super(Config.class);
	}

	@Override
	public List<String> shortcutFieldOrder() {
		return List.of("rule");
	}

	@Override
	public GatewayFilter apply(Config config) {
		String authority = config.getRule().replace("scope:", "SCOPE_");
		return (exchange, chain) -> ReactiveSecurityContextHolder.getContext()
			.filter((context) -> context.getAuthentication()
				.getAuthorities()
				.stream()
				.anyMatch((granted) -> granted.getAuthority().equals(authority)))
			.switchIfEmpty(Mono.error(new AccessDeniedException("Access Denied")))
			.flatMap((context) -> chain.filter(exchange));
	}

}
