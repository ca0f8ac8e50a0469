package weir.compat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** Puts placeholders where a value changes from run to run, so that recording twice gives the same file. */
final class Normal {

	/** Lifetimes shrink and buckets fill while a case runs, by less than ten. */
	private static final Pattern LIFETIME = Pattern.compile("(?i)^(cache-control: .*max-age=)(\\d+)(.*)");

	private static final Pattern TOKENS = Pattern.compile("(?i)^(x-ratelimit-remaining: )(\\d+)()");

	private static final Map<Pattern, String> VOLATILE = Map.of(
			Pattern.compile("(\"timestamp\":\")[^\"]*\""), "$1{timestamp}\"",
			Pattern.compile("(\"requestId\":\")[^\"]*\""), "$1{requestId}\"",
			Pattern.compile("(<div id='created'>)[^<]*<"), "$1{timestamp}<",
			Pattern.compile("(<div>\\[)[0-9a-f]{6,}-\\d+(\\])"), "$1{requestId}$2",
			Pattern.compile("Lambda(/0x[0-9a-f]+|\\$\\d+/0x[0-9a-f]+)"), "Lambda/{hash}",
			Pattern.compile("@[0-9a-f]{4,8}\\b"), "@{hash}",
			Pattern.compile("\\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\b"), "{uuid}",
			Pattern.compile("(?i)^(set-cookie: .*Expires=)[^;]*"), "$1{date}",
			Pattern.compile("(?i)^(date: ).*"), "$1{date}");

	private final int upstream;

	private final int gateway;

	private final int client;

	Normal(int upstream, int gateway, int client) {
		this.upstream = upstream;
		this.gateway = gateway;
		this.client = client;
	}

	Message apply(Message message) {
		List<String> head = new ArrayList<>();
		message.head.forEach((line) -> head.add(tens(TOKENS, 0, tens(LIFETIME, 9, text(line)))));
		String body = sortIfKeyedByIdentity(text(message.body));
		Message normal = new Message(head, body);
		normal.cut = message.cut;
		return body.equals(message.body) ? normal : normal.withoutLength();
	}

	String text(String text) {
		text = port(text, upstream, "{upstream}", "{upstream-port}");
		text = port(text, gateway, "{gateway}", "{gateway-port}");
		text = port(text, client, "127.0.0.1:{client-port}", "{client-port}");
		for (Map.Entry<Pattern, String> each : VOLATILE.entrySet()) {
			text = each.getKey().matcher(text).replaceAll(each.getValue());
		}
		return text;
	}

	/** `line` with its number rounded to tens: down, or up with 9 added. */
	private static String tens(Pattern pattern, int added, String line) {
		Matcher matcher = pattern.matcher(line);
		if (!matcher.matches()) {
			return line;
		}
		return matcher.group(1) + (Long.parseLong(matcher.group(2)) + added) / 10 * 10 + matcher.group(3);
	}

	private static String port(String text, int port, String whole, String bare) {
		if (port < 0) {
			return text;
		}
		return text.replaceAll("127\\.0\\.0\\.1:" + port + "(?!\\d)", Matcher.quoteReplacement(whole))
			.replaceAll("(?<!\\d)" + port + "(?!\\d)", Matcher.quoteReplacement(bare));
	}

	/** Maps keyed by `Class@hash` come in the order of the hash, that is, in none. */
	private static String sortIfKeyedByIdentity(String body) {
		if (!body.startsWith("{\"") || !body.contains("@{hash}")) {
			return body;
		}
		JsonMapper mapper = new JsonMapper();
		JsonNode tree = mapper.readTree(body);
		TreeMap<String, JsonNode> sorted = new TreeMap<>();
		tree.properties().forEach((entry) -> sorted.put(entry.getKey(), entry.getValue()));
		if (sorted.keySet().stream().noneMatch((key) -> key.contains("@{hash}"))) {
			return body;
		}
		ObjectNode object = mapper.createObjectNode();
		sorted.forEach(object::set);
		return mapper.writeValueAsString(object);
	}

}
