//! A compressed list of route definitions.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Serialize;
use serde_json::{Map, Value};
use weir_route::{NamedArgs, RouteDefinition};

/// Number of definitions in a block. Reading one definition decompresses its block: a few
/// microseconds.
const BLOCK: usize = 64;

/// Route definitions in a dense form: a parsed one takes thirty times the memory, and most are kept
/// only for display.
///
/// Each is JSON without default values, with predicates and filters as shortcuts where that is
/// equivalent. Routes of a large table are similar, so they are compressed in blocks.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    /// Lines of JSON, compressed, [`BLOCK`] in each.
    blocks: Vec<Box<[u8]>>,
    /// The lines of the last block, which is not full yet.
    open: Vec<u8>,
    /// Hashes of the ids in order.
    ids: Vec<u32>,
}

/// A reader of definitions; fast for adjacent ones.
#[derive(Debug)]
pub struct Reader<'d> {
    definitions: &'d Definitions,
    /// Number of the decompressed block.
    block: Option<usize>,
    lines: Vec<u8>,
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
        let mut shortcut = named.name.to_string();
        for (at, value) in named.args.values().enumerate() {
            shortcut.push(if at == 0 { '=' } else { ',' });
            shortcut.push_str(value.as_str().unwrap_or_default());
        }
        Self::Shortcut(shortcut)
    }
}

/// Whether a number is written without leading zeros.
fn is_plain(digits: &str) -> bool {
    digits == "0" || digits.starts_with(|c: char| matches!(c, '1'..='9'))
}

/// Whether [`weir_route::parse_shortcut`] restores the same definition.
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
    /// Appends `definition`.
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
        let start = self.open.len();
        // A definition consists of texts and JSON values: serializing it to memory cannot fail.
        if serde_json::to_writer(&mut self.open, &dense).is_err() {
            self.open.truncate(start);
        }
        self.open.push(b'\n');
        self.ids.push(hash_of(&definition.id));
        if self.ids.len().is_multiple_of(BLOCK) {
            self.blocks.push(lz4_flex::compress_prepend_size(&self.open).into());
            self.open.clear();
        }
    }

    /// Number of definitions.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are no definitions.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Definition number `n`.
    pub fn get(&self, n: usize) -> Option<RouteDefinition> {
        self.reader().get(n)
    }

    /// Numbers of the definitions with the id `id`, in order.
    pub fn find(&self, id: &str) -> Vec<usize> {
        let hash = hash_of(id);
        let same = self.ids.iter().enumerate().filter(|(_, other)| **other == hash);
        let called = |n: &usize| self.get(*n).is_some_and(|definition| definition.id == id);
        same.map(|(n, _)| n).filter(called).collect()
    }

    /// A reader, for several definitions.
    pub fn reader(&self) -> Reader<'_> {
        Reader { definitions: self, block: None, lines: Vec::new() }
    }

    /// All definitions in order.
    pub fn iter(&self) -> impl Iterator<Item = RouteDefinition> + '_ {
        let mut reader = self.reader();
        (0..self.len()).filter_map(move |n| reader.get(n))
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        let blocks: usize = self.blocks.iter().map(|block| block.len()).sum();
        blocks
            + self.blocks.capacity() * size_of::<Box<[u8]>>()
            + self.open.capacity()
            + self.ids.capacity() * size_of::<u32>()
    }

    /// Frees unused capacity.
    pub fn shrink_to_fit(&mut self) {
        self.blocks.shrink_to_fit();
        self.open.shrink_to_fit();
        self.ids.shrink_to_fit();
    }
}

impl Reader<'_> {
    /// Definition number `n`.
    pub fn get(&mut self, n: usize) -> Option<RouteDefinition> {
        let Definitions { blocks, open, .. } = self.definitions;
        let block = n / BLOCK;
        let lines = match blocks.get(block) {
            None if block > blocks.len() => return None,
            None => open,
            Some(_) if self.block == Some(block) => &self.lines,
            Some(packed) => {
                self.lines = lz4_flex::decompress_size_prepended(packed).ok()?;
                self.block = Some(block);
                &self.lines
            }
        };
        // JSON has no line break outside of strings, and escapes those inside.
        let mut ends = memchr::memchr_iter(b'\n', lines);
        let start = match n % BLOCK {
            0 => 0,
            nth => ends.nth(nth - 1)? + 1,
        };
        serde_json::from_slice(lines.get(start..ends.next()?)?).ok()
    }
}

fn hash_of(id: &str) -> u32 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    // 32 bits distinguish ids well enough.
    hasher.finish() as u32
}

#[cfg(test)]
mod tests {
    use weir_route::RouteDefinition;

    use super::Definitions;

    fn check(json: &str, bytes_max: usize) {
        let definition: RouteDefinition = serde_json::from_str(json).expect("a definition");
        let mut definitions = Definitions::default();
        definitions.push(&RouteDefinition::default());
        let before = definitions.open.len();
        definitions.push(&definition);
        assert_eq!(definitions.get(1), Some(definition));
        assert_eq!(definitions.get(2), None);
        assert_eq!(definitions.iter().count(), 2);
        let bytes = definitions.open.len() - before;
        assert!(bytes <= bytes_max, "{bytes} bytes");
    }

    #[test]
    fn a_large_table_takes_little_memory() {
        let route = |n: usize| -> RouteDefinition {
            let json = format!(
                r#"{{"id":"api-{n}","uri":"http://127.0.0.1:9","predicates":["Path=/{n}"],
                "filters":["AddRequestHeader=x-route, api-{n}","PrefixPath=/ok\n/{n}"],
                "metadata":{{"owner":"team-{n}"}}}}"#
            );
            serde_json::from_str(&json).expect("a definition")
        };
        let mut definitions = Definitions::default();
        (0..1_000).for_each(|n| definitions.push(&route(n)));
        definitions.shrink_to_fit();
        assert!(definitions.iter().eq((0..1_000).map(route)));
        for n in [0, 63, 64, 500, 999] {
            assert_eq!(definitions.get(n), Some(route(n)));
            assert_eq!(definitions.find(&format!("api-{n}")), [n]);
        }
        assert_eq!((definitions.get(1_000), definitions.get(2_000)), (None, None));
        assert!(definitions.bytes() < 80 * 1_000, "{} bytes", definitions.bytes());
    }

    #[test]
    fn ids_may_be_there_twice() {
        let mut definitions = Definitions::default();
        for id in ["b", "a", "b", "c"] {
            definitions.push(&RouteDefinition { id: id.into(), ..Default::default() });
        }
        let check = |id: &str, expected: &[usize]| assert_eq!(definitions.find(id), expected);
        check("b", &[0, 2]);
        check("a", &[1]);
        check("c", &[3]);
        check("0", &[]);
        check("d", &[]);
    }

    #[test]
    fn definitions_come_back_as_they_were() {
        check(r#"{"id":"a","uri":"http://h","predicates":["Path=/x,/y"],"filters":["A"]}"#, 75);
        check(r#"{"id":"","enabled":false,"order":-1,"metadata":{"a":[1]}}"#, 70);
        check(r#"{"id":"a","group":"shop"}"#, 40);
        check(r#"{"predicates":[{"name":"Path","args":{"pattern":"/x"}}]}"#, 80);
        // These cannot be written as shortcuts.
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
