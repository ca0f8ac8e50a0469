//! Which operation a path belongs to: one hash probe for paths without variables, and one for each
//! shape of path with some, however many definitions there are. Large public definitions have at
//! most 21 shapes for each number of segments.

use std::borrow::Cow;

use foldhash::HashMap;
use percent_encoding::percent_decode;

/// Shapes for one number of segments, at most: templates made to have 2^n of them are refused.
const SHAPES_MAX: usize = 256;
/// Segments of a path at most; longer ones match nothing.
const SEGMENTS_MAX: usize = 64;

/// Operations by shard and path.
#[derive(Debug, Default)]
pub(crate) struct Router {
    /// By the shard, the static segments, and marks for the variable ones.
    entries: HashMap<Vec<u8>, Vec<Entry>>,
    /// Bit n: segment n is a variable. By number of segments, the shape with the leftmost static
    /// segments first.
    shapes: HashMap<usize, Vec<u64>>,
}

/// A path of a definition.
#[derive(Debug)]
pub(crate) struct Entry {
    template: Template,
    /// What is there, by method; a method may be there more than once, with other queries.
    pub(crate) methods: Vec<Method>,
}

/// An operation at a path.
#[derive(Clone, Debug)]
pub(crate) struct Method {
    pub(crate) name: String,
    /// Which API and operation.
    pub(crate) api: usize,
    pub(crate) operation: usize,
    /// `key=value` of a path written with a query; empty otherwise.
    query: Vec<(String, String)>,
    /// Names of the variables, in the order of the path.
    pub(crate) names: Vec<String>,
}

/// Segments that are variables, or have some within.
#[derive(Debug, PartialEq, Eq)]
struct Template {
    /// For each segment that is not static: its texts around the variables.
    parts: Vec<Vec<String>>,
    /// Bytes of text, of which more is better.
    literal: usize,
}

/// A path in its parts.
struct Parsed {
    segments: Vec<Segment>,
    query: Vec<(String, String)>,
    names: Vec<String>,
}

enum Segment {
    Static(Vec<u8>),
    /// Texts around variables: `["", ".json"]` is `{id}.json`.
    Variable(Vec<String>),
}

/// What a path came to.
pub(crate) enum Found<'r> {
    /// The operation, with the values of its variables.
    Operation(&'r Method, Vec<(&'r str, String)>),
    /// The path is there with these methods only.
    Methods(Vec<String>),
    Nothing,
}

impl Router {
    /// Adds an operation at `base` + `path` of `shard`. What is there already stays.
    ///
    /// # Errors
    /// The path is none, or there are too many shapes.
    pub(crate) fn add(
        &mut self,
        shard: &[u8],
        path: &str,
        method: &str,
        api: usize,
        operation: usize,
    ) -> Result<(), String> {
        let Parsed { segments, query, names } = parse(path)?;
        let (mut key, mut shape) = (shard.to_vec(), 0_u64);
        let (mut parts, mut literal) = (Vec::new(), 0);
        let count = segments.len();
        for (at, segment) in segments.into_iter().enumerate() {
            match segment {
                Segment::Static(text) => push_static(&mut key, &text),
                Segment::Variable(texts) => {
                    shape |= 1 << at;
                    push_variable(&mut key);
                    literal += texts.iter().map(String::len).sum::<usize>();
                    parts.push(texts);
                }
            }
        }
        let shapes = self.shapes.entry(count).or_default();
        if !shapes.contains(&shape) {
            if shapes.len() >= SHAPES_MAX {
                return Err(format!(
                    "there are more than {SHAPES_MAX} shapes of paths with {count} segments"
                ));
            }
            shapes.push(shape);
            // The first segment decides first: a static one goes before a variable.
            shapes.sort_by_key(|shape| shape.reverse_bits());
        }
        let template = Template { parts, literal };
        let bucket = self.entries.entry(key).or_default();
        let at = match bucket.iter().position(|entry| entry.template == template) {
            Some(at) => at,
            None => {
                let literal = template.literal;
                let at = bucket.partition_point(|entry| entry.template.literal >= literal);
                bucket.insert(at, Entry { template, methods: Vec::new() });
                at
            }
        };
        let Some(entry) = bucket.get_mut(at) else { return Ok(()) };
        let same = |one: &Method| one.name == method && one.query == query;
        if !entry.methods.iter().any(same) {
            entry.methods.push(Method { name: method.to_owned(), api, operation, query, names });
            entry.methods.sort_by_key(|method| std::cmp::Reverse(method.query.len()));
        }
        Ok(())
    }

    /// The operation of a request.
    pub(crate) fn find<'r>(
        &'r self,
        shard: &[u8],
        path: &[u8],
        query: Option<&[u8]>,
        method: &str,
    ) -> Found<'r> {
        let segments = split(path);
        if segments.len() > SEGMENTS_MAX {
            return Found::Nothing;
        }
        let mut methods: Vec<String> = Vec::new();
        let mut key = Vec::new();
        for shape in self.shapes.get(&segments.len()).into_iter().flatten() {
            key.clear();
            key.extend_from_slice(shard);
            for (at, segment) in segments.iter().enumerate() {
                if shape & (1 << at) == 0 {
                    push_static(&mut key, segment);
                } else {
                    push_variable(&mut key);
                }
            }
            for entry in self.entries.get(&key).into_iter().flatten() {
                let variable = segments.iter().enumerate().filter(|(at, _)| shape & (1 << at) != 0);
                let Some(values) = entry.template.values(variable.map(|(_, segment)| segment))
                else {
                    continue;
                };
                let found = entry.methods.iter().find(|own| own.takes(method, query));
                if let Some(found) = found {
                    let names = found.names.iter().map(String::as_str);
                    return Found::Operation(found, names.zip(values).collect());
                }
                for own in &entry.methods {
                    if !methods.contains(&own.name) {
                        methods.push(own.name.clone());
                    }
                }
            }
        }
        if methods.is_empty() { Found::Nothing } else { Found::Methods(methods) }
    }
}

impl Method {
    fn takes(&self, method: &str, query: Option<&[u8]>) -> bool {
        if self.name != method {
            return false;
        }
        let query = String::from_utf8_lossy(query.unwrap_or_default());
        let has = |(key, value): &(String, String)| {
            query.split('&').any(|pair| {
                let (own, text) = pair.split_once('=').unwrap_or((pair, ""));
                own == key && (value.is_empty() || text == value)
            })
        };
        self.query.iter().all(has)
    }
}

impl Template {
    /// The values of the variables, if the segments fit.
    fn values<'s>(&self, segments: impl Iterator<Item = &'s Cow<'s, [u8]>>) -> Option<Vec<String>> {
        let mut values = Vec::new();
        for (texts, segment) in self.parts.iter().zip(segments) {
            let mut rest: &str = &String::from_utf8_lossy(segment);
            let (first, others) = texts.split_first()?;
            rest = rest.strip_prefix(first.as_str())?;
            for (at, text) in others.iter().enumerate() {
                let is_last = at + 1 == others.len();
                let end = match (text.as_str(), is_last) {
                    (text, true) => rest.strip_suffix(text)?.len(),
                    (text, false) => rest.find(text)?,
                };
                let (value, after) = rest.split_at_checked(end)?;
                if value.is_empty() {
                    return None;
                }
                values.push(value.to_owned());
                rest = after.get(text.len()..)?;
            }
        }
        Some(values)
    }
}

fn push_static(key: &mut Vec<u8>, text: &[u8]) {
    key.push(1);
    key.extend_from_slice(text);
}

fn push_variable(key: &mut Vec<u8>) {
    key.push(2);
}

/// The segments of a path as it came, decoded each by itself.
fn split(path: &[u8]) -> Vec<Cow<'_, [u8]>> {
    let path = path.strip_prefix(b"/").unwrap_or(path);
    path.split(|byte| *byte == b'/').map(|segment| percent_decode(segment).into()).collect()
}

fn parse(path: &str) -> Result<Parsed, String> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    // What is behind `#` tells variants of one path apart for readers only.
    let path = path.split('#').next().unwrap_or(path);
    let query = query.split('#').next().unwrap_or_default();
    let pairs = query.split('&').filter(|pair| !pair.is_empty() && !pair.contains('{'));
    let query = pairs.map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (key.to_owned(), value.to_owned())
    });
    let query = query.collect();
    let mut names = Vec::new();
    let mut segments = Vec::new();
    for text in path.strip_prefix('/').unwrap_or(path).split('/') {
        let Some((first, mut rest)) = text.split_once('{') else {
            segments.push(Segment::Static(percent_decode(text.as_bytes()).collect()));
            continue;
        };
        let mut texts = vec![first.to_owned()];
        loop {
            let Some((name, after)) = rest.split_once('}') else {
                return Err(format!("`{path}` has a `{{` without `}}`"));
            };
            names.push(name.to_owned());
            let Some((text, next)) = after.split_once('{') else {
                texts.push(after.to_owned());
                break;
            };
            texts.push(text.to_owned());
            rest = next;
        }
        segments.push(Segment::Variable(texts));
    }
    if segments.len() > SEGMENTS_MAX {
        return Err(format!("`{path}` has more than {SEGMENTS_MAX} segments"));
    }
    Ok(Parsed { segments, query, names })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: &[&str] = &[
        "/pets",
        "/pets/",
        "/pets/{id}",
        "/pets/mine",
        "/{kind}/mine/{id}",
        "/{kind}/{name}/7",
        "/files/{Sid}.json",
        "/files/{name}",
        "/compare/{base}...{head}",
        "/search?type=a",
        "/search",
        "/caf%C3%A9/x",
    ];

    fn check(path: &str, expected: Option<(&str, &str)>) {
        let mut router = Router::default();
        for (at, own) in PATHS.iter().enumerate() {
            router.add(b"s", own, "GET", 0, at).expect("a path");
        }
        let (path, query) = path.split_once('?').map_or((path, None), |(p, q)| (p, Some(q)));
        let found = router.find(b"s", path.as_bytes(), query.map(str::as_bytes), "GET");
        let found = match found {
            Found::Operation(method, values) => {
                let values: Vec<String> =
                    values.iter().map(|(name, value)| format!("{name}={value}")).collect();
                PATHS.get(method.operation).map(|path| (*path, values.join(" ")))
            }
            _ => None,
        };
        let found = found.as_ref().map(|(path, values)| (*path, values.as_str()));
        assert_eq!(found, expected, "{path}");
    }

    #[test]
    fn the_most_concrete_path_wins() {
        check("/pets", Some(("/pets", "")));
        check("/pets/", Some(("/pets/", "")));
        check("/pets/7", Some(("/pets/{id}", "id=7")));
        check("/pets/a%2Fb", Some(("/pets/{id}", "id=a/b")));
        check("/pets/mine", Some(("/pets/mine", "")));
        check("/x/mine/7", Some(("/{kind}/mine/{id}", "kind=x id=7")));
        check("/x/y/7", Some(("/{kind}/{name}/7", "kind=x name=y")));
        check("/files/a.json", Some(("/files/{Sid}.json", "Sid=a")));
        check("/files/a.txt", Some(("/files/{name}", "name=a.txt")));
        check("/compare/main...dev", Some(("/compare/{base}...{head}", "base=main head=dev")));
        check("/search?type=a", Some(("/search?type=a", "")));
        check("/search?type=b", Some(("/search", "")));
        check("/caf%c3%a9/x", Some(("/caf%C3%A9/x", "")));
        check("/pets/7/8", None);
        check("/", None);
    }

    #[test]
    fn other_methods_of_a_path_are_told() {
        let mut router = Router::default();
        router.add(b"", "/a/{x}", "GET", 0, 0).expect("a path");
        router.add(b"", "/a/{y}", "POST", 0, 1).expect("a path");
        let found = router.find(b"", b"/a/1", None, "PUT");
        assert!(matches!(found, Found::Methods(methods) if methods == ["GET", "POST"]));
        let Found::Operation(post, values) = router.find(b"", b"/a/1", None, "POST") else {
            panic!("there is one");
        };
        assert_eq!((post.operation, values), (1, vec![("y", "1".to_owned())]));
        assert!(matches!(router.find(b"other", b"/a/1", None, "GET"), Found::Nothing));
    }

    #[test]
    fn shapes_without_end_are_refused() {
        let mut router = Router::default();
        let path = |n: u32| {
            let segments = (0..9).map(|at| if n & (1 << at) == 0 { "/a" } else { "/{b}" });
            segments.collect::<String>()
        };
        let refused = (0..512).find_map(|n| router.add(b"", &path(n), "GET", 0, 0).err());
        assert!(refused.expect("refused").contains("more than 256 shapes"));
    }
}
