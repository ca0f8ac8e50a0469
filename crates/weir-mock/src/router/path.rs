//! A path of a definition in its parts, and whether a request has it.

use std::borrow::Cow;
use std::sync::Arc;

use percent_encoding::percent_decode;

/// Segments of a path at most; longer ones match nothing.
const SEGMENTS_MAX: usize = 64;

/// A path of a definition, with one method.
#[derive(Debug)]
pub(crate) struct Path {
    /// The static segments, and marks for the variable ones.
    pub(super) key: Arc<[u8]>,
    pub(super) shape: Shape,
    template: Template,
    pub(super) method: Box<str>,
    /// `key=value` of a path written with a query; empty otherwise.
    query: Box<[(String, String)]>,
    /// Names of the variables, in the order of the path.
    names: Box<[Box<str>]>,
    /// The index of the operation in its definition.
    pub(crate) operation: usize,
}

/// The number of segments of a path, and which of them are variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shape {
    pub segments: usize,
    /// The highest bit is the first segment, and set if that is a variable: smaller masks have the
    /// leftmost static segments, and are looked for first.
    pub mask: u64,
}

/// The texts around the variables of a segment; `None` if there are none, as in `{id}`.
type Texts = Option<Box<[Box<str>]>>;

/// The values of the variables of a path, by their names.
pub(crate) type Values<'p> = Vec<(&'p str, String)>;

/// Segments that are variables, or have some within.
#[derive(Debug, PartialEq, Eq)]
struct Template {
    /// For each segment that is not static.
    parts: Box<[Texts]>,
    /// Bytes of text, of which more is better.
    literal: usize,
}

/// The path, query and method that a request has.
#[derive(Clone)]
pub(crate) struct Sought<'c> {
    segments: Vec<Cow<'c, [u8]>>,
    query: Cow<'c, str>,
    method: &'c str,
}

impl Path {
    /// # Errors
    /// `written` is no path.
    pub(super) fn parse(written: &str, method: &str, operation: usize) -> Result<Self, String> {
        let (path, query) = written.split_once('?').unwrap_or((written, ""));
        // The fragment distinguishes variants of one path for readers only.
        let path = path.split('#').next().unwrap_or(path);
        let query = query.split('#').next().unwrap_or_default();
        let pairs = query.split('&').filter(|pair| !pair.is_empty() && !pair.contains('{'));
        let query = pairs.map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (key.to_owned(), value.to_owned())
        });
        let query = query.collect();
        let (mut key, mut mask, mut segments) = (Vec::new(), 0_u64, 0);
        let (mut names, mut parts) = (Vec::new(), Vec::new());
        for text in path.strip_prefix('/').unwrap_or(path).split('/') {
            if segments >= SEGMENTS_MAX {
                return Err(format!("`{path}` has more than {SEGMENTS_MAX} segments"));
            }
            if text.contains('{') {
                let texts = variables(text, &mut names);
                parts.push(texts.ok_or_else(|| format!("`{path}` has a `{{` without `}}`"))?);
                mask |= bit(segments);
                push_variable(&mut key);
            } else {
                push_static(&mut key, &Cow::from(percent_decode(text.as_bytes())));
            }
            segments += 1;
        }
        let literal = parts.iter().flatten().map(|text| text.len()).sum();
        let is_plain =
            |texts: &Vec<Box<str>>| texts.len() == 2 && texts.iter().all(|t| t.is_empty());
        let parts = parts.into_iter();
        let parts = parts.map(|texts| (!is_plain(&texts)).then(|| texts.into_boxed_slice()));
        Ok(Self {
            key: key.into(),
            shape: Shape { segments, mask },
            template: Template { parts: parts.collect(), literal },
            method: method.into(),
            query,
            names: names.into(),
            operation,
        })
    }

    /// The order of trial: more text within segments first, then more of the query.
    pub(super) fn class(&self) -> impl Ord + use<> {
        std::cmp::Reverse((self.template.literal, self.query.len()))
    }

    /// Whether both match the same requests.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.method == other.method && self.query == other.query && self.template == other.template
    }
}

impl<'c> Sought<'c> {
    /// `None` for a path with more segments than any definition has.
    pub(crate) fn new(path: &'c [u8], query: Option<&'c [u8]>, method: &'c str) -> Option<Self> {
        let path = path.strip_prefix(b"/").unwrap_or(path);
        // Each segment is decoded separately.
        let segments = path.split(|byte| *byte == b'/').take(SEGMENTS_MAX + 1);
        let segments: Vec<_> = segments.map(|segment| percent_decode(segment).into()).collect();
        let query = String::from_utf8_lossy(query.unwrap_or_default());
        (segments.len() <= SEGMENTS_MAX).then_some(Self { segments, query, method })
    }

    /// For HEAD, the same with GET.
    pub(crate) fn of_head(&self) -> Option<Self> {
        (self.method == "HEAD").then(|| Self { method: "GET", ..self.clone() })
    }

    /// The number of segments of the path.
    pub(super) fn segments(&self) -> usize {
        self.segments.len()
    }

    /// Makes `key` that of the paths of one shape, behind `prefix`.
    pub(super) fn key(&self, prefix: &[u8], mask: u64, key: &mut Vec<u8>) {
        key.clear();
        key.extend_from_slice(prefix);
        for (at, segment) in self.segments.iter().enumerate() {
            match mask & bit(at) {
                0 => push_static(key, segment),
                _ => push_variable(key),
            }
        }
    }

    /// The first of `paths`, all of one key, that the request has, with the values of its
    /// variables. Notes the methods of those that it would have with another one.
    pub(super) fn first_of<'p, T>(
        &self,
        paths: impl Iterator<Item = (&'p Path, T)>,
        methods: &mut Vec<String>,
    ) -> Option<(&'p Path, T, Values<'p>)> {
        for (path, of) in paths {
            let Some(values) = self.values(path) else { continue };
            if &*path.method != self.method {
                if !methods.iter().any(|known| **known == *path.method) {
                    methods.push(path.method.to_string());
                }
            } else if self.has_query(path) {
                let names = path.names.iter().map(|name| &**name);
                return Some((path, of, names.zip(values).collect()));
            } else if !methods.iter().any(|known| known == self.method) {
                methods.push(self.method.to_owned());
            }
        }
        None
    }

    fn has_query(&self, path: &Path) -> bool {
        let has = |(key, value): &(String, String)| {
            self.query.split('&').any(|pair| {
                let (own, text) = pair.split_once('=').unwrap_or((pair, ""));
                own == key && (value.is_empty() || text == value)
            })
        };
        path.query.iter().all(has)
    }

    /// The values of the variables, if the segments fit.
    fn values(&self, path: &Path) -> Option<Vec<String>> {
        let variable = self.segments.iter().enumerate();
        let mut variable = variable.filter(|(at, _)| path.shape.mask & bit(*at) != 0);
        let mut values = Vec::with_capacity(path.names.len());
        for texts in &path.template.parts {
            let (_, segment) = variable.next()?;
            let segment = String::from_utf8_lossy(segment);
            match texts {
                None if segment.is_empty() => return None,
                None => values.push(segment.into_owned()),
                Some(texts) => between(texts, &segment, &mut values)?,
            }
        }
        Some(values)
    }
}

/// The texts around the variables of a segment: `["", ".json"]` for `{id}.json`. `None` if a brace
/// is not closed.
fn variables(segment: &str, names: &mut Vec<Box<str>>) -> Option<Vec<Box<str>>> {
    let (first, mut rest) = segment.split_once('{')?;
    let mut texts = vec![Box::from(first)];
    loop {
        let (name, after) = rest.split_once('}')?;
        names.push(name.into());
        let Some((text, next)) = after.split_once('{') else {
            texts.push(after.into());
            return Some(texts);
        };
        texts.push(text.into());
        rest = next;
    }
}

/// The values between `texts`; none may be empty.
fn between(texts: &[Box<str>], segment: &str, values: &mut Vec<String>) -> Option<()> {
    let (first, others) = texts.split_first()?;
    let mut rest = segment.strip_prefix(&**first)?;
    for (at, text) in others.iter().enumerate() {
        let is_last = at + 1 == others.len();
        let end = match is_last {
            true => rest.strip_suffix(&**text)?.len(),
            false => rest.find(&**text)?,
        };
        let (value, after) = rest.split_at_checked(end)?;
        if value.is_empty() {
            return None;
        }
        values.push(value.to_owned());
        rest = after.get(text.len()..)?;
    }
    Some(())
}

fn bit(segment: usize) -> u64 {
    (1 << (SEGMENTS_MAX - 1)) >> segment
}

fn push_static(key: &mut Vec<u8>, text: &[u8]) {
    key.push(1);
    key.extend_from_slice(text);
}

fn push_variable(key: &mut Vec<u8>) {
    key.push(2);
}
