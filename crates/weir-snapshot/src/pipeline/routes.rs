//! Several groups of upstreams in one pipeline, and which of them a connection or a call goes to.

use std::sync::Arc;

use weir_balance::Group;

/// One way out of a pipeline; the first that fits is taken.
#[derive(Debug)]
pub struct PipelineRoute {
    /// What goes this way.
    pub fits: Fits,
    /// Where it leads.
    pub upstream: Arc<Group>,
}

/// What goes one way. What is not written does not count.
#[derive(Debug, PartialEq, Eq)]
pub enum Fits {
    /// Connections, by what their TLS hello says.
    Hello {
        /// Names of servers; one of them must fit. In lower case.
        sni: Vec<Pattern>,
        /// Protocols; the client must offer one of them.
        alpn: Vec<String>,
    },
    /// Dubbo calls.
    Call {
        /// Interface.
        service: Option<Pattern>,
        /// Method; of generic calls the real one.
        method: Option<Pattern>,
        /// Version; that of a service without one is empty.
        version: Option<Pattern>,
        /// Group; that of a service without one is empty.
        group: Option<Pattern>,
    },
}

/// A text with `*` for any number of characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// A pattern; every text is one.
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Whether the whole of `text` fits. Takes time in proportion to both lengths multiplied.
    pub fn fits(&self, text: &str) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = text.strip_prefix(first) else { return false };
        let Some(last) = parts.next_back() else { return rest.is_empty() };
        for part in parts {
            let Some((_, behind)) = rest.split_once(part) else { return false };
            rest = behind;
        }
        rest.ends_with(last)
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text, fits) in [
            ("a.b", "a.b", true),
            ("a.b", "a.bc", false),
            ("*", "", true),
            ("*.example.org", "www.example.org", true),
            ("*.example.org", "example.org", false),
            ("say*", "sayHello", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c", false),
            ("ab*ba", "aba", false),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(Pattern::new(pattern).fits(text), fits, "{pattern} {text}");
        }
    }
}
