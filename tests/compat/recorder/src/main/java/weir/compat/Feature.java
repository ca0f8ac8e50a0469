package weir.compat;

import java.io.File;
import java.io.IOException;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Libraries that change the gateway by being there: Spring Security refuses every request, others add filters. A
 * file that needs one says so in a section `---- with redis, security`; the others run without.
 */
enum Feature {

	REDIS("lettuce|redis|spring-boot-data-|spring-data-|spring-boot-persistence|spring-boot-transaction|spring-tx"
			+ "|spring-oxm|jakarta\\.activation|jakarta\\.xml\\.bind|jackson-(core|databind)-2\\."),

	CIRCUITBREAKER("resilience4j|circuitbreaker|kotlin-stdlib|/annotations-\\d"),

	CACHE("caffeine|error_prone|spring-boot-cache|starter-cache|spring-context-support"),

	BUCKET4J("bucket4j|caffeine|error_prone"),

	GRPC("/grpc-|protobuf|proto-google|perfmark|gson|guava|failureaccess|listenablefuture|j2objc|jsr305"
			+ "|animal-sniffer|error_prone|/annotations-4"),

	OAUTH2_CLIENT("oauth2-client|oauth2-oidc-sdk|content-type|lang-tag|json-smart|accessors-smart|/asm-\\d"),

	SECURITY("spring-boot-(starter-)?security-?(?!-?oauth2-client)|spring-security-(?!crypto|oauth2-client)|nimbus|jackson-(core|databind)-2\\.");

	private final Pattern jars;

	Feature(String jars) {
		this.jars = Pattern.compile(jars);
	}

	static Set<Feature> of(CaseFile file) throws IOException {
		Set<Feature> features = EnumSet.noneOf(Feature.class);
		for (CaseFile.Section section : file.sections) {
			if (section.is("with")) {
				for (String name : section.argument().split(",")) {
					features.add(valueOf(name.trim().toUpperCase(Locale.ROOT)));
				}
			}
		}
		return features;
	}

	/** The class path of this process without what only other features need. */
	static String classPath(Set<Feature> features) {
		return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
			.filter((jar) -> isNeeded(jar, features))
			.collect(Collectors.joining(File.pathSeparator));
	}

	private static boolean isNeeded(String path, Set<Feature> features) {
		// The folder may be named after a group, as `spring-security-…`: only the name of the jar counts.
		String jar = "/" + new File(path).getName();
		boolean isOptional = Arrays.stream(values()).anyMatch((feature) -> feature.jars.matcher(jar).find());
		return !isOptional || features.stream().anyMatch((feature) -> feature.jars.matcher(jar).find());
	}

}
