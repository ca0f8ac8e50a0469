package weir.compat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * One fixture file: read, and written back with its recorded blocks replaced. Everything a human wrote comes back
 * as it was, byte for byte: the text is handled as ISO-8859-1, so a char here is a byte there.
 */
final class CaseFile {

	/** A `---- kind argument` section that is not a case, with its lines as they stand. */
	record Section(String title, List<String> lines) {

		boolean is(String kind) {
			return title.equals(kind) || title.startsWith(kind + " ");
		}

		String argument() {
			int blank = title.indexOf(' ');
			return blank < 0 ? "" : title.substring(blank + 1).trim();
		}

		String text() {
			return String.join("\n", lines) + "\n";
		}
	}

	/** A `---- case title` section: free notes, then its exchanges in the order they are sent. */
	record Case(String title, List<String> notes, List<Exchange> exchanges) {
	}

	/** One request, how the upstream answers, and what was recorded. */
	static final class Exchange {

		final String title;
		final List<String> request = new ArrayList<>();
		final List<List<String>> answers = new ArrayList<>();
		final List<List<String>> got = new ArrayList<>();
		final List<List<String>> responses = new ArrayList<>();

		Exchange(String title) {
			this.title = title;
		}
	}

	final Path path;
	final List<String> intro = new ArrayList<>();
	final List<Section> sections = new ArrayList<>();
	final List<Case> cases = new ArrayList<>();
	/** What the gateway said when it refused to start with this configuration; null when it started. */
	List<String> startFailure;

	private CaseFile(Path path) {
		this.path = path;
	}

	static CaseFile read(Path path) throws IOException {
		CaseFile file = new CaseFile(path);
		List<String> into = file.intro;
		Case current = null;
		Exchange exchange = null;
		for (String line : Files.readString(path, StandardCharsets.ISO_8859_1).split("\n", -1)) {
			if (line.startsWith("---- case ")) {
				current = new Case(line.substring(10).trim(), new ArrayList<>(), new ArrayList<>());
				file.cases.add(current);
				exchange = null;
				into = current.notes;
			}
			else if (line.startsWith("---- start fails")) {
				into = new ArrayList<>();
			}
			else if (line.startsWith("---- ")) {
				Section section = new Section(line.substring(5).trim(), new ArrayList<>());
				file.sections.add(section);
				into = section.lines;
			}
			else if (line.startsWith("-- request") && current != null) {
				exchange = new Exchange(line.substring(3).trim());
				current.exchanges.add(exchange);
				into = exchange.request;
			}
			else if (line.startsWith("-- ") && exchange != null) {
				into = new ArrayList<>();
				switch (line.trim()) {
					case "-- upstream answers" -> exchange.answers.add(into);
					case "-- upstream got" -> exchange.got.add(into);
					case "-- response" -> exchange.responses.add(into);
					default -> throw new IOException(path + ": unknown block `" + line + "`");
				}
			}
			else {
				into.add(line);
			}
		}
		return file;
	}

	void write() throws IOException {
		StringBuilder out = new StringBuilder();
		block(out, null, intro);
		out.append('\n');
		for (Section section : sections) {
			block(out, "---- " + section.title, section.lines);
		}
		if (startFailure != null) {
			block(out, "---- start fails", startFailure);
		}
		for (Case each : cases) {
			block(out, "---- case " + each.title, each.notes);
			for (Exchange exchange : each.exchanges) {
				message(out, "-- " + exchange.title, exchange.request);
				exchange.answers.forEach((lines) -> message(out, "-- upstream answers", lines));
				exchange.got.forEach((lines) -> message(out, "-- upstream got", lines));
				exchange.responses.forEach((lines) -> message(out, "-- response", lines));
			}
		}
		Files.writeString(path, out, StandardCharsets.ISO_8859_1);
	}

	private static void block(StringBuilder out, String title, List<String> lines) {
		if (title != null) {
			out.append(title).append('\n');
		}
		lines.subList(0, lengthWithoutBlankEnd(lines)).forEach((line) -> out.append(line).append('\n'));
	}

	/** A message keeps the blank line that ends its head, even when no body follows. */
	private static void message(StringBuilder out, String title, List<String> lines) {
		block(out, title, lines);
		List<String> kept = lines.subList(0, lengthWithoutBlankEnd(lines));
		boolean headOnly = !kept.contains("") && !kept.isEmpty() && !kept.get(kept.size() - 1).startsWith("(");
		if (headOnly) {
			out.append('\n');
		}
	}

	static int lengthWithoutBlankEnd(List<String> lines) {
		int end = lines.size();
		while (end > 0 && lines.get(end - 1).isEmpty()) {
			end--;
		}
		return end;
	}

}
