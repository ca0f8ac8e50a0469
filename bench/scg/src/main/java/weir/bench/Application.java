package weir.bench;

import java.net.URI;
import java.util.ArrayList;
import java.util.List;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.cloud.gateway.filter.FilterDefinition;
import org.springframework.cloud.gateway.handler.predicate.PredicateDefinition;
import org.springframework.cloud.gateway.route.RouteDefinition;
import org.springframework.cloud.gateway.route.RouteDefinitionLocator;
import org.springframework.context.annotation.Bean;
import reactor.core.publisher.Flux;

/**
 * Spring Cloud Gateway with routes /0, /1, ... as in the published measurement: a header of its own and a prefix
 * each. The definitions come from memory, since binding that many from a file takes far longer.
 */
@SpringBootConfiguration
@EnableAutoConfiguration
public class Application {

	public static void main(String[] arguments) {
		SpringApplication.run(Application.class, arguments);
	}

	@Bean
	RouteDefinitionLocator table(@Value("${routes}") int count, @Value("${upstream}") String upstream) {
		List<RouteDefinition> routes = new ArrayList<>(count);
		for (int n = 0; n < count; n++) {
			RouteDefinition route = new RouteDefinition();
			route.setId("api-" + n);
			route.setUri(URI.create(upstream));
			route.setPredicates(List.of(new PredicateDefinition("Path=/" + n)));
			route.setFilters(List.of(new FilterDefinition("AddRequestHeader=x-benchmark-routeId, api-" + n),
					new FilterDefinition("PrefixPath=/ok")));
			route.setOrder(1);
			routes.add(route);
		}
		return () -> Flux.fromIterable(routes);
	}

}
