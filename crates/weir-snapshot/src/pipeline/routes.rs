//! Routes of a pipeline: conditions on connections or calls that choose an upstream group.

use std::sync::Arc;

use weir_balance::Group;

/// A route of a pipeline; the first that matches is taken.
#[derive(Debug)]
pub struct PipelineRoute {
    /// Condition of the route.
    pub fits: Fits,
    /// Upstream group of the route.
    pub upstream: Arc<Group>,
}

/// Condition of a route. A part that is not set matches everything.
#[derive(Debug, PartialEq, Eq)]
pub enum Fits {
    /// Connections, by their TLS ClientHello.
    Hello {
        /// Server names in lower case, one of which must match.
        sni: Vec<Pattern>,
        /// ALPN protocols, one of which the client must offer.
        alpn: Vec<String>,
    },
    /// Dubbo calls.
    Call {
        /// Interface.
        service: Option<Pattern>,
        /// Method; for a generic call, the method that it names.
        method: Option<Pattern>,
        /// Version; empty for a service without one.
        version: Option<Pattern>,
        /// Group; empty for a service without one.
        group: Option<Pattern>,
    },
}

/// A text in which `*` matches any number of characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// A pattern; every text is a valid one.
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Whether the pattern matches all of `text`. Takes time proportional to the product of the
    /// lengths.
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
