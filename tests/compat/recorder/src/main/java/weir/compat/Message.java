package weir.compat;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One HTTP/1 message: raw head lines (a char is a byte) and the body with its chunked framing taken off. Knows how a
 * message is spelled in a fixture file and on the wire; judges nothing.
 */
final class Message {

	private static final Pattern RUN = Pattern.compile("([^\\\\{}\n])\\1{199,}");

	private static final Pattern REPEAT = Pattern.compile("\\{(.)\\*(\\d+)\\}");

	final List<String> head;
	String body;
	/** True when the connection ended before the framing said the message did. */
	boolean cut;

	Message(List<String> head, String body) {
		this.head = head;
		this.body = body;
	}

	// ---- fixture text

	static Message fromLines(List<String> lines) {
		int end = CaseFile.lengthWithoutBlankEnd(lines);
		int blank = lines.subList(0, end).indexOf("");
		List<String> head = new ArrayList<>();
		for (String line : lines.subList(0, blank < 0 ? end : blank)) {
			head.add(unescape(line));
		}
		String body = blank < 0 ? "" : unescape(String.join("\n", lines.subList(blank + 1, end)));
		return new Message(head, body);
	}

	List<String> toLines() {
		List<String> lines = new ArrayList<>();
		head.forEach((line) -> lines.add(escape(line).replace("\n", "\\x0A")));
		lines.add("");
		if (!body.isEmpty()) {
			String text = escape(body).replaceAll("(?m)^-", "\\\\x2D");
			Matcher tail = Pattern.compile("\n+$").matcher(text);
			if (tail.find()) {
				text = text.substring(0, tail.start()) + "\\x0A".repeat(tail.end() - tail.start());
			}
			lines.addAll(List.of(text.split("\n", -1)));
		}
		if (cut) {
			lines.add("(cut)");
		}
		return lines;
	}

	private static String escape(String text) {
		StringBuilder out = new StringBuilder();
		for (char c : text.toCharArray()) {
			if (c == '\\') {
				out.append("\\\\");
			}
			else if (c == '\n' || (c >= 0x20 && c < 0x7f)) {
				out.append(c);
			}
			else {
				out.append(String.format("\\x%02X", (int) c));
			}
		}
		return RUN.matcher(out)
			.replaceAll((run) -> Matcher.quoteReplacement("{" + run.group(1) + "*" + run.group().length() + "}"));
	}

	private static String unescape(String text) {
		text = REPEAT.matcher(text)
			.replaceAll((m) -> Matcher.quoteReplacement(m.group(1).repeat(Integer.parseInt(m.group(2)))));
		StringBuilder out = new StringBuilder();
		for (int i = 0; i < text.length(); i++) {
			char c = text.charAt(i);
			if (c != '\\') {
				out.append(c);
			}
			else if (text.startsWith("\\x", i)) {
				out.append((char) Integer.parseInt(text.substring(i + 2, i + 4), 16));
				i += 3;
			}
			else {
				out.append('\\');
				i++;
			}
		}
		return out.toString();
	}

	// ---- wire

	byte[] toWire(boolean withBody) {
		StringBuilder out = new StringBuilder();
		String length = String.valueOf(body.length());
		head.forEach((line) -> out.append(line.replace("{length}", length)).append("\r\n"));
		out.append("\r\n");
		if (withBody && isChunked()) {
			if (!body.isEmpty()) {
				out.append(Integer.toHexString(body.length())).append("\r\n").append(body).append("\r\n");
			}
			out.append("0\r\n\r\n");
		}
		else if (withBody) {
			out.append(body);
		}
		return out.toString().getBytes(StandardCharsets.ISO_8859_1);
	}

	/** Reads one message; null at the end of the stream. `bodyless` is for answers to HEAD and the like. */
	static Message read(InputStream in, boolean isResponse, boolean bodyless) throws IOException {
		StringBuilder raw = new StringBuilder();
		while (raw.length() < 4 || !raw.substring(raw.length() - 4).equals("\r\n\r\n")) {
			int b = in.read();
			if (b < 0) {
				return raw.isEmpty() ? null : new Message(new ArrayList<>(List.of(raw.toString())), "").cut();
			}
			raw.append((char) b);
		}
		String[] lines = raw.substring(0, raw.length() - 4).split("\r\n", -1);
		Message message = new Message(new ArrayList<>(List.of(lines)), "");
		if (!(isResponse && (bodyless || message.hasBodylessStatus()))) {
			message.readBody(in, isResponse);
		}
		return message;
	}

	private void readBody(InputStream in, boolean toTheEnd) throws IOException {
		ByteArrayOutputStream out = new ByteArrayOutputStream();
		try {
			String length = header("content-length");
			if (isChunked()) {
				readChunks(in, out);
			}
			else if (length != null) {
				copy(in, out, Integer.parseInt(length.trim()));
			}
			else if (toTheEnd) {
				in.transferTo(out);
			}
		}
		catch (IOException ex) {
			cut = true;
		}
		body = out.toString(StandardCharsets.ISO_8859_1);
	}

	private void readChunks(InputStream in, ByteArrayOutputStream out) throws IOException {
		for (int size = chunkSize(in); size > 0; size = chunkSize(in)) {
			copy(in, out, size);
			line(in);
		}
		while (!line(in).isEmpty()) {
			continue;
		}
	}

	private static int chunkSize(InputStream in) throws IOException {
		return Integer.parseInt(line(in).split(";")[0].trim(), 16);
	}

	private static String line(InputStream in) throws IOException {
		StringBuilder line = new StringBuilder();
		for (int b = in.read(); b != '\n'; b = in.read()) {
			if (b < 0) {
				throw new EOFException();
			}
			line.append((char) b);
		}
		return line.toString().trim();
	}

	private static void copy(InputStream in, ByteArrayOutputStream out, int length) throws IOException {
		byte[] bytes = in.readNBytes(length);
		out.writeBytes(bytes);
		if (bytes.length < length) {
			throw new EOFException();
		}
	}

	private Message cut() {
		cut = true;
		return this;
	}

	// ---- reading the head

	Message withoutLength() {
		head.replaceAll((line) -> line.replaceAll("(?i)^(content-length: ).*", "$1{length}"));
		return this;
	}

	String startLine() {
		return head.isEmpty() ? "" : head.get(0);
	}

	boolean isChunked() {
		String value = header("transfer-encoding");
		return value != null && value.toLowerCase().contains("chunked");
	}

	int status() {
		String[] words = startLine().split(" ");
		return words.length > 1 && words[1].matches("\\d{3}") ? Integer.parseInt(words[1]) : 0;
	}

	private boolean hasBodylessStatus() {
		return status() / 100 == 1 || status() == 204 || status() == 304;
	}

	String header(String name) {
		for (String line : head.subList(Math.min(1, head.size()), head.size())) {
			int colon = line.indexOf(':');
			if (colon > 0 && line.substring(0, colon).trim().equalsIgnoreCase(name)) {
				return line.substring(colon + 1).trim();
			}
		}
		return null;
	}

}
