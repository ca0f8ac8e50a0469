package weir.compat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.cloud.gateway.event.RefreshRoutesResultEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;

/** The real Spring Cloud Gateway, started with the configuration of one fixture file. */
final class Gateway implements AutoCloseable {

	@SpringBootConfiguration
	@EnableAutoConfiguration
	static class Application {

	}

	private final ConfigurableApplicationContext context;

	private final AtomicInteger refreshes;

	private Gateway(ConfigurableApplicationContext context, AtomicInteger refreshes) {
		this.context = context;
		this.refreshes = refreshes;
	}

	/** Starts it, or throws what the gateway threw. The process environment is not seen by it. */
	static Gateway start(CaseFile file, int upstreamPort) throws Exception {
		Path folder = Files.createTempDirectory("compat-recorder");
		Map<String, String> places = new LinkedHashMap<>();
		places.put("${UPSTREAM}", "http://127.0.0.1:" + upstreamPort);
		places.put("${UPSTREAM_PORT}", String.valueOf(upstreamPort));
		places.put("${FOLDER}", folder.toString());
		places.put("${PEER}", "http://127.0.0.1:" + new Peer(file).port());
		Set<Feature> features = Feature.of(file);
		if (features.contains(Feature.REDIS)) {
			places.put("${REDIS_PORT}", String.valueOf(new Redis().port));
		}
		if (features.contains(Feature.GRPC)) {
			places.put("${GRPC}", "https://127.0.0.1:" + Methods.start());
		}
		List<String> profiles = new ArrayList<>();
		Map<String, Object> variables = new LinkedHashMap<>();
		for (CaseFile.Section section : file.sections) {
			if (section.is("config")) {
				put(folder.resolve("application.yml"), section, places);
			}
			else if (section.is("file")) {
				put(folder.resolve(section.argument()), section, places);
			}
			else if (section.is("profile")) {
				profiles.add(section.argument());
			}
			else if (section.is("env")) {
				String[] pair = section.argument().split("=", 2);
				variables.put(pair[0], fill(pair[1], places));
			}
			else if (!section.is("with") && !section.is("peer")) {
				throw new IOException(file.path + ": unknown section `" + section.title() + "`");
			}
		}
		StandardEnvironment environment = new StandardEnvironment();
		environment.getPropertySources()
			.replace(StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME, new SystemEnvironmentPropertySource(
					StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME, variables));
		AtomicInteger refreshes = new AtomicInteger();
		ApplicationListener<RefreshRoutesResultEvent> counter = (event) -> refreshes.incrementAndGet();
		List<String> arguments = new ArrayList<>(List.of("--server.port=0", "--spring.main.banner-mode=off",
				"--spring.config.location=file:" + folder + "/"));
		if (features.contains(Feature.GRPC)) {
			arguments.add("--spring.cloud.gateway.server.webflux.httpclient.ssl.use-insecure-trust-manager=true");
		}
		if (System.getProperty("verbose") == null) {
			arguments.add("--logging.level.root=OFF");
		}
		ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class)
			.environment(environment)
			.profiles(profiles.toArray(String[]::new))
			.listeners(counter)
			.initializers((each) -> Beans.register(file, features, (GenericApplicationContext) each))
			.registerShutdownHook(false)
			.run(arguments.toArray(String[]::new));
		return new Gateway(context, refreshes);
	}

	private static void put(Path path, CaseFile.Section section, Map<String, String> places) throws IOException {
		Files.writeString(path, fill(section.text(), places), StandardCharsets.ISO_8859_1);
	}

	private static String fill(String text, Map<String, String> places) {
		for (Map.Entry<String, String> place : places.entrySet()) {
			text = text.replace(place.getKey(), place.getValue());
		}
		return text;
	}

	int port() {
		return Integer.parseInt(context.getEnvironment().getProperty("local.server.port"));
	}

	int refreshes() {
		return refreshes.get();
	}

	/** Waits until a refresh after the `before`th has ended: the swap lands after the answer to POST refresh. */
	void awaitRefresh(int before) throws InterruptedException {
		for (int i = 0; i < 150 && refreshes.get() == before; i++) {
			Thread.sleep(20);
		}
		Thread.sleep(100);
	}

	@Override
	public void close() {
		context.close();
	}

}
