//! What commands print: text that may be long or read as it comes, and counts.

use std::fmt::Display;
use std::io::Write as _;

/// Prints to standard output. A closed pipe is no error.
pub fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// `1 route`, `2 routes`.
pub fn counted<T: Display + PartialEq + From<u8>>(count: T, noun: &str) -> String {
    let ending = if count == T::from(1) { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_singular() {
        let each = [0_u64, 1, 2].map(|count| counted(count, "secret"));
        assert_eq!(each, ["0 secrets", "1 secret", "2 secrets"]);
    }
}
