//! Puts placeholders where a value changes from run to run, as the recorder does.

use std::sync::LazyLock;

use regex::Regex;

use crate::message::Message;

/// Patterns of volatile values, with their placeholders in the fixtures.
static VOLATILE: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let compile = |(pattern, with)| (Regex::new(pattern).expect("a regular expression"), with);
    [
        (r#"("timestamp":")[^"]*""#, "${1}{timestamp}\""),
        (r#"("requestId":")[^"]*""#, "${1}{requestId}\""),
        (r"(<div id='created'>)[^<]*<", "${1}{timestamp}<"),
        (r"(<div>\[)[0-9a-f]{6,}-\d+(\])", "${1}{requestId}${2}"),
        (r"Lambda(/0x[0-9a-f]+|\$\d+/0x[0-9a-f]+)", "Lambda/{hash}"),
        (r"@[0-9a-f]{4,8}\b", "@{hash}"),
        (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "{uuid}"),
        (r"(?i)^(set-cookie: .*Expires=)[^;]*", "${1}{date}"),
        (r"(?i)^(date: ).*", "${1}{date}"),
    ]
    .into_iter()
    .map(compile)
    .collect()
});

/// Lifetimes shrink and buckets fill while a case runs, by less than ten: these numbers are rounded
/// to tens after so much is added.
static ROUNDED: LazyLock<Vec<(Regex, u64)>> = LazyLock::new(|| {
    let compile = |(pattern, added)| (Regex::new(pattern).expect("a regular expression"), added);
    [
        (r"(?i)^(cache-control: .*max-age=)(\d+)(.*)$", 9),
        (r"(?i)^(x-ratelimit-remaining: )(\d+)()$", 0),
    ]
    .into_iter()
    .map(compile)
    .collect()
});

/// The ports of one exchange.
pub struct Normal {
    upstream: u16,
    gateway: u16,
    client: u16,
}

impl Normal {
    pub fn new(upstream: u16, gateway: u16, client: u16) -> Self {
        Self { upstream, gateway, client }
    }

    /// `message` with placeholders.
    pub fn apply(&self, message: &Message) -> Message {
        let head = message.head.iter().map(|line| rounded(&self.text(line))).collect();
        Message { head, body: self.text(&message.body), is_cut: message.is_cut }
    }

    fn text(&self, text: &str) -> String {
        let text = port(text, self.upstream, "{upstream}", "{upstream-port}");
        let text = port(&text, self.gateway, "{gateway}", "{gateway-port}");
        let mut text = port(&text, self.client, "127.0.0.1:{client-port}", "{client-port}");
        for (pattern, with) in VOLATILE.iter() {
            text = pattern.replace_all(&text, *with).into_owned();
        }
        text
    }
}

fn rounded(line: &str) -> String {
    for (pattern, added) in ROUNDED.iter() {
        if let Some([before, number, after]) = pattern.captures(line).map(|it| it.extract().1)
            && let Ok(number) = number.parse::<u64>()
        {
            return format!("{before}{}{after}", number.saturating_add(*added) / 10 * 10);
        }
    }
    line.to_owned()
}

/// `whole` for the port with its address, `bare` for the port alone.
fn port(text: &str, port: u16, whole: &str, bare: &str) -> String {
    let port = port.to_string();
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(&port) {
        let (before, after) = (&rest[..at], &rest[at + port.len()..]);
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        let inside = is_digit(before.chars().next_back()) || is_digit(after.chars().next());
        match before.strip_suffix("127.0.0.1:") {
            _ if inside => out.extend([before, &port]),
            Some(before) => out.extend([before, whole]),
            None => out.extend([before, bare]),
        }
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::{Normal, rounded};

    #[test]
    fn what_changes_becomes_a_placeholder() {
        let check = |text: &str, expected: &str| {
            assert_eq!(Normal::new(4001, 4002, 4003).text(text), expected);
        };
        check("http://127.0.0.1:4001/x", "http://{upstream}/x");
        check("host:4002, 14002, 40020", "host:{gateway-port}, 14002, 40020");
        check("for=127.0.0.1:4003", "for=127.0.0.1:{client-port}");
        check(
            r#"{"timestamp":"2026","requestId":"a-1"}"#,
            r#"{"timestamp":"{timestamp}","requestId":"{requestId}"}"#,
        );
        check("Date: now", "Date: {date}");
    }

    #[test]
    fn numbers_that_change_by_the_second_are_rounded() {
        let check = |line: &str, expected: &str| assert_eq!(rounded(line), expected);
        check("Cache-Control: public, max-age=1799, x", "Cache-Control: public, max-age=1800, x");
        check("Cache-Control: max-age=0", "Cache-Control: max-age=0");
        check("X-RateLimit-Remaining: 203", "X-RateLimit-Remaining: 200");
        check("X-RateLimit-Remaining: -1", "X-RateLimit-Remaining: -1");
        check("Access-Control-Max-Age: 61", "Access-Control-Max-Age: 61");
    }
}
