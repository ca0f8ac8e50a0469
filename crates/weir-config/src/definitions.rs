//! Many route definitions in little memory.

use serde::Serialize;
use serde_json::{Map, Value};
use weir_route::{NamedArgs, RouteDefinition};

/// Route definitions in a dense form: a parsed one takes ten times the memory, and most are kept
/// only to be shown.
///
/// Each is JSON that leaves out what is as ever and writes predicates and filters as shortcuts
/// where that says the same.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    dense: Vec<u8>,
    /// Where the n-th definition ends.
    ends: Vec<usize>,
}

#[derive(Serialize)]
struct Dense<'a> {
    id: &'a str,
    uri: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    predicates: Vec<Named<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    filters: Vec<Named<'a>>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    metadata: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "is_zero")]
    order: i32,
    #[serde(skip_serializing_if = "is_true")]
    enabled: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    group: &'a str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Named<'a> {
    Shortcut(String),
    Long(&'a NamedArgs),
}

fn is_zero(order: &i32) -> bool {
    *order == 0
}

fn is_true(enabled: &bool) -> bool {
    *enabled
}

impl<'a> Named<'a> {
    fn of(named: &'a NamedArgs) -> Self {
        if !is_shortcut(named) {
            return Self::Long(named);
        }
        let mut shortcut = named.name.clone();
        for (at, value) in named.args.values().enumerate() {
            shortcut.push(if at == 0 { '=' } else { ',' });
            shortcut.push_str(value.as_str().unwrap_or_default());
        }
        Self::Shortcut(shortcut)
    }
}

/// A number as it is usually written.
fn is_plain(digits: &str) -> bool {
    digits == "0" || digits.starts_with(|c: char| matches!(c, '1'..='9'))
}

/// Whether [`weir_route::parse_shortcut`] gives the same back.
fn is_shortcut(named: &NamedArgs) -> bool {
    let name = named.name.trim();
    let mut args = named.args.iter().enumerate();
    !name.is_empty()
        && !name.contains('=')
        && args.all(|(at, (key, value))| {
            let number = key.strip_prefix("_genkey_");
            let generated = number.is_some_and(|n| n.parse() == Ok(at) && is_plain(n));
            let text = value.as_str().unwrap_or_default();
            generated && !text.is_empty() && text.trim() == text && !text.contains(',')
        })
}

impl Definitions {
    /// Adds `definition` behind the others.
    pub fn push(&mut self, definition: &RouteDefinition) {
        let dense = Dense {
            id: &definition.id,
            uri: &definition.uri,
            predicates: definition.predicates.iter().map(Named::of).collect(),
            filters: definition.filters.iter().map(Named::of).collect(),
            metadata: &definition.metadata,
            order: definition.order,
            enabled: definition.enabled,
            group: &definition.group,
        };
        let start = self.dense.len();
        // A definition is made of texts and JSON values: writing it to memory cannot fail.
        if serde_json::to_writer(&mut self.dense, &dense).is_err() {
            self.dense.truncate(start);
        }
        self.ends.push(self.dense.len());
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The n-th.
    pub fn get(&self, n: usize) -> Option<RouteDefinition> {
        let end = *self.ends.get(n)?;
        let start = n.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        serde_json::from_slice(self.dense.get(start.unwrap_or(0)..end)?).ok()
    }

    /// All in order.
    pub fn iter(&self) -> impl Iterator<Item = RouteDefinition> + '_ {
        (0..self.len()).filter_map(|n| self.get(n))
    }

    /// Gives back memory kept for more.
    pub fn shrink_to_fit(&mut self) {
        self.dense.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use weir_route::RouteDefinition;

    use super::Definitions;

    fn check(json: &str, bytes_max: usize) {
        let definition: RouteDefinition = serde_json::from_str(json).expect("a definition");
        let mut definitions = Definitions::default();
        definitions.push(&RouteDefinition::default());
        definitions.push(&definition);
        assert_eq!(definitions.get(1), Some(definition));
        assert_eq!(definitions.get(2), None);
        assert_eq!(definitions.iter().count(), 2);
        let bytes = definitions.dense.len() - definitions.ends.first().copied().unwrap_or(0);
        assert!(bytes <= bytes_max, "{bytes} bytes");
    }

    #[test]
    fn definitions_come_back_as_they_were() {
        check(r#"{"id":"a","uri":"http://h","predicates":["Path=/x,/y"],"filters":["A"]}"#, 75);
        check(r#"{"id":"","enabled":false,"order":-1,"metadata":{"a":[1]}}"#, 70);
        check(r#"{"id":"a","group":"shop"}"#, 40);
        check(r#"{"predicates":[{"name":"Path","args":{"pattern":"/x"}}]}"#, 80);
        // No shortcut says these.
        check(r#"{"predicates":[{"name":"Q","args":{"_genkey_0":"a,b"}}]}"#, 80);
        check(r#"{"predicates":[{"name":"Q","args":{"_genkey_1":"a"}}]}"#, 80);
        check(r#"{"predicates":[{"name":"Q","args":{"_genkey_0":" a"}}]}"#, 80);
        check(r#"{"predicates":[{"name":"Q","args":{"_genkey_0":1}}]}"#, 80);
        check(r#"{"predicates":[{"name":"Q=1","args":{}}]}"#, 80);
        check(r#"{"predicates":[{"name":"","args":{}}]}"#, 80);
        check(r#"{"predicates":[{"name":"Q","args":{"_genkey_00":"a"}}]}"#, 80);
        check(r#"{"predicates":[{"name":"Q","args":{"_genkey_+0":"a"}}]}"#, 80);
        check(r#"{"predicates":[" Q =a"]}"#, 80);
    }
}
