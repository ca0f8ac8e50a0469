//! The selection of routes by a search or a removal.

use weir_route::RouteDefinition;

/// The origin of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A configuration file.
    File,
    /// The route store.
    Store,
}

impl Origin {
    /// Its name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Store => "store",
        }
    }
}

/// Conditions on a definition; all that are given must hold. Text is looked for anywhere, without
/// regard to ASCII case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// In id, uri, group, or any predicate or filter argument.
    pub q: Option<String>,
    /// In the uri.
    pub uri: Option<String>,
    /// In a pattern of a Path predicate.
    pub path: Option<String>,
    /// Start of the id.
    pub id_prefix: Option<String>,
    /// `key:value` of the metadata, as SCG's `/refresh?metadata=` takes it.
    pub metadata: Vec<(String, String)>,
}

impl Filter {
    /// Whether the filter is empty, so that every route matches.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether `route` matches.
    pub fn matches(&self, route: &RouteDefinition) -> bool {
        let holds = |wanted: &Option<String>, test: &dyn Fn(&str) -> bool| {
            wanted.as_deref().is_none_or(test)
        };
        holds(&self.id_prefix, &|prefix| route.id.starts_with(prefix))
            && holds(&self.uri, &|part| contains(&route.uri, part))
            && holds(&self.path, &|part| {
                let paths = route.predicates.iter().filter(|predicate| predicate.name == "Path");
                paths.flat_map(|path| path.args.values()).any(|value| text_contains(value, part))
            })
            && holds(&self.q, &|part| any_contains(route, part))
            && self.metadata.iter().all(|(key, value)| match route.metadata.get(key) {
                Some(serde_json::Value::String(found)) => found == value,
                Some(found) => *value == found.to_string().as_str(),
                None => false,
            })
    }
}

fn any_contains(route: &RouteDefinition, part: &str) -> bool {
    let mut named = route.predicates.iter().chain(&route.filters);
    contains(&route.id, part)
        || contains(&route.uri, part)
        || contains(&route.group, part)
        || named.any(|named| {
            contains(&named.name, part)
                || named.args.values().any(|value| text_contains(value, part))
        })
}

fn text_contains(value: &serde_json::Value, part: &str) -> bool {
    match value {
        serde_json::Value::String(text) => contains(text, part),
        other => contains(&other.to_string(), part),
    }
}

fn contains(text: &str, part: &str) -> bool {
    let (text, part) = (text.as_bytes(), part.as_bytes());
    part.is_empty() || text.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}

#[cfg(test)]
mod tests {
    use super::Filter;

    fn check(filter: Filter, expected: bool) {
        let route = serde_json::from_str(
            r#"{"id":"orders-1","uri":"http://Orders:80","predicates":["Path=/a/Orders/{id}",
            "Host=shop.example.org"],"filters":["StripPrefix=1"],
            "metadata":{"team":"blue","tier":2}}"#,
        );
        assert_eq!(filter.matches(&route.expect("a route")), expected, "{filter:?}");
    }

    fn text(part: &str) -> Option<String> {
        Some(part.to_owned())
    }

    #[test]
    fn every_condition_given_must_hold() {
        check(Filter::default(), true);
        check(Filter { q: text("ORDERS"), ..Filter::default() }, true);
        check(Filter { q: text("stripprefix"), ..Filter::default() }, true);
        check(Filter { q: text("example.org"), ..Filter::default() }, true);
        check(Filter { q: text("none"), ..Filter::default() }, false);
        check(Filter { uri: text("orders"), path: text("/a/"), ..Filter::default() }, true);
        check(Filter { uri: text("orders"), path: text("/b/"), ..Filter::default() }, false);
        check(Filter { path: text("example"), ..Filter::default() }, false);
        check(Filter { id_prefix: text("orders-"), ..Filter::default() }, true);
        check(Filter { id_prefix: text("rders-"), ..Filter::default() }, false);
    }

    #[test]
    fn metadata_is_compared_as_text() {
        let with = |key: &str, value: &str| Filter {
            metadata: vec![(key.to_owned(), value.to_owned())],
            ..Filter::default()
        };
        check(with("team", "blue"), true);
        check(with("tier", "2"), true);
        check(with("team", "red"), false);
        check(with("none", ""), false);
    }
}
