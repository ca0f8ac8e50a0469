//! The files of a definition, and the references between them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use serde_json::Value;

/// The base URI of documents; the file name is appended.
pub(crate) const ROOT: &str = "weir:///";
/// The member of a definition that holds settings for weir alone.
pub(super) const EXTENSION: &str = "x-weir-mock";
/// Where a bundle of several files has the others.
pub(super) const FILES: &str = "x-weir-files";
/// References that lead to references, at most.
const HOPS_MAX: usize = 64;
/// Files of one definition at most.
const FILES_MAX: usize = 1_000;
/// The maximum number of values in one YAML file.
const NODES_MAX: usize = 4_000_000;
/// The maximum size of a file that is kept as text: larger ones would take long to parse again.
const REST_BYTES_MAX: usize = 64 * 1024;
/// Values within each other that can be read as JSON.
pub(super) const DEPTH_MAX: usize = 100;
/// Bytes of one file at most.
pub(crate) const FILE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Returns the text of a file that a definition refers to, by its path relative to the first file,
/// or the reason why there is none.
pub type Load<'l> = &'l dyn Fn(&str) -> Result<String, String>;

/// An error in a definition, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// File.
    pub file: String,
    /// JSON pointer into it; empty for the whole.
    pub pointer: String,
    /// Line and column from 1, if the file cannot be read as JSON or YAML.
    pub at: Option<(u64, u64)>,
    /// The error and its remedy.
    pub message: String,
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = if self.pointer.is_empty() { "" } else { "#" };
        let at = self.at.map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default();
        write!(f, "{}{at}{place}{}: {}", self.file, self.pointer, self.message)
    }
}

impl std::error::Error for ReadError {}

/// All that is wrong with a definition: at least one thing, at most [`ReadErrors::MAX`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadErrors(pub Vec<ReadError>);

impl ReadErrors {
    /// The maximum number of errors reported for one definition.
    pub const MAX: usize = 100;

    /// Adds an error, unless there are too many.
    pub(crate) fn push(&mut self, error: ReadError) {
        if self.0.len() < Self::MAX {
            self.0.push(error);
        }
    }
}

impl From<ReadError> for ReadErrors {
    fn from(error: ReadError) -> Self {
        Self(vec![error])
    }
}

impl std::fmt::Display for ReadErrors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, error) in self.0.iter().enumerate() {
            let before = if at == 0 { "" } else { "\n" };
            write!(f, "{before}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ReadErrors {}

/// A place in a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// The file, as its path relative to the first one.
    pub file: String,
    /// JSON pointer.
    pub pointer: String,
}

impl Place {
    pub(crate) fn root(file: &str) -> Self {
        Self { file: file.to_owned(), pointer: String::new() }
    }

    /// The place of a member or element.
    pub(crate) fn at(&self, key: &str) -> Self {
        let key = key.replace('~', "~0").replace('/', "~1");
        Self { file: self.file.clone(), pointer: format!("{}/{key}", self.pointer) }
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> ReadError {
        let (file, pointer) = (self.file.clone(), self.pointer.clone());
        ReadError { file, pointer, at: None, message: message.into() }
    }

    /// As a reference from anywhere.
    pub(crate) fn uri(&self) -> String {
        let encoded = |text| utf8_percent_encode(text, PATH);
        format!("{ROOT}{}#{}", encoded(&self.file), encoded(&self.pointer))
    }
}

/// Characters that must be encoded in the path of a URI.
pub(crate) const PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// A file, as a value or as the text that is parsed on demand.
#[derive(Debug, Default)]
struct Document {
    text: Box<str>,
    value: OnceLock<Value>,
}

impl Document {
    fn new(value: Value) -> Self {
        Self { text: Box::default(), value: value.into() }
    }

    fn value(&self) -> &Value {
        // It was written from a value that can be read, see `rest`.
        self.value.get_or_init(|| serde_json::from_str(&self.text).unwrap_or_default())
    }

    fn rest(&mut self) {
        if !is_within(self.value(), DEPTH_MAX) {
            return;
        }
        let text = self.value().to_string();
        if text.len() <= REST_BYTES_MAX {
            *self = Self { text: text.into(), value: OnceLock::new() };
        }
    }
}

/// All files of a definition, by their paths.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    files: BTreeMap<String, Document>,
    pub(crate) first: String,
}

impl Documents {
    /// The definition `first`, with every file it refers to.
    ///
    /// # Errors
    /// Files that cannot be read, each with the place that refers to it.
    pub(crate) fn read(file: &str, first: Value, load: Load<'_>) -> Result<Self, ReadErrors> {
        let mut all = Self { files: BTreeMap::new(), first: file.to_owned() };
        let mut errors = ReadErrors::default();
        let mut waiting = vec![(file.to_owned(), first)];
        while let Some((name, root)) = waiting.pop() {
            let mut found = Vec::new();
            references(&root, &Place::root(&name), &mut found);
            all.files.insert(name.clone(), Document::new(root));
            for (place, reference) in found {
                let target = match all.target(&name, &reference) {
                    Ok(target) => target,
                    Err(why) => {
                        errors.push(place.error(why));
                        continue;
                    }
                };
                let known = all.files.contains_key(&target.file)
                    || waiting.iter().any(|(other, _)| *other == target.file);
                if known {
                    continue;
                }
                if all.files.len() + waiting.len() >= FILES_MAX {
                    let message = format!("more than {FILES_MAX} files; bundle them");
                    return Err(place.error(message).into());
                }
                let read = load(&target.file)
                    .map_err(|why| place.error(format!("`{reference}` cannot be read: {why}")))
                    .and_then(|text| parse(&target.file, &text));
                match read {
                    Ok(root) => waiting.push((target.file.clone(), root)),
                    Err(error) => errors.push(error),
                }
            }
        }
        if errors.0.is_empty() {
            return Ok(all);
        }
        let told: Vec<_> = errors.0.iter().map(|one| one.pointer.clone()).collect();
        let others = all.nowhere().0.into_iter().filter(|one| !told.contains(&one.pointer));
        others.for_each(|one| errors.push(one));
        Err(errors)
    }

    /// A definition of one file.
    pub(crate) fn single(file: &str, root: Value) -> Self {
        let files = BTreeMap::from([(file.to_owned(), Document::new(root))]);
        Self { files, first: file.to_owned() }
    }

    /// Every reference that leads nowhere.
    pub(crate) fn nowhere(&self) -> ReadErrors {
        let mut errors = ReadErrors::default();
        for (file, root) in self.files() {
            let mut found = Vec::new();
            references(root, &Place::root(file), &mut found);
            for (place, reference) in found {
                let target = self.target(file, &reference);
                // Names of anchors are not pointers; the schemas that have them tell.
                let is_name =
                    |target: &Place| !matches!(target.pointer.as_bytes(), [] | [b'/', ..]);
                match target {
                    Ok(target) if is_name(&target) || self.value(&target).is_some() => {}
                    _ if self.is_aside(&place) => {}
                    Ok(_) => {
                        let message = format!("`{reference}` leads nowhere: nothing is there");
                        errors.push(place.error(message));
                    }
                    Err(why) => errors.push(place.error(why)),
                }
            }
        }
        errors
    }

    /// Whether a place is in an example or extension, where a reference may be data, or in a schema
    /// with a base of its own (`$id`).
    fn is_aside(&self, place: &Place) -> bool {
        let parts: Vec<&str> = place.pointer.split('/').skip(1).collect();
        let is_data = parts.iter().position(|key| *key == "examples");
        let is_data = is_data.is_some_and(|at| parts.len() > at + 2);
        let is_extension = parts.iter().any(|key| key.starts_with("x-") && *key != FILES);
        let ends = place.pointer.match_indices('/').map(|(at, _)| at);
        let mut ends = ends.chain([place.pointer.len()]);
        let has_base = |end: usize| {
            let pointer = place.pointer.get(..end)?.to_owned();
            self.value(&Place { file: place.file.clone(), pointer })?.get("$id")?.as_str()
        };
        is_data || is_extension || ends.any(|end| has_base(end).is_some())
    }

    /// A file as text, parsed on demand. References are not looked at.
    pub(super) fn of_text(file: &str, text: String) -> Self {
        let document = Document { text: text.into(), value: OnceLock::new() };
        Self { files: BTreeMap::from([(file.to_owned(), document)]), first: file.to_owned() }
    }

    /// The text of the first file, if it is kept.
    pub(super) fn text(&self) -> &str {
        self.files.get(&self.first).map_or("", |document| &document.text)
    }

    pub(crate) fn root(&self) -> &Value {
        self.files.get(&self.first).map_or(&Value::Null, Document::value)
    }

    /// The files by their paths relative to the first one.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.files.iter().map(|(name, document)| (name.as_str(), document.value()))
    }

    /// The paths of the files.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Changes each file.
    pub(crate) fn change(&mut self, change: impl Fn(&mut Value)) {
        let values = self.files.values_mut().filter_map(|document| document.value.get_mut());
        values.for_each(change);
    }

    /// Keeps the files as text until one is needed: among many definitions most never are, and
    /// values take several times the memory.
    pub(crate) fn rest(&mut self) {
        self.files.values_mut().for_each(Document::rest);
    }

    /// The target of `reference` in `file`.
    pub(crate) fn target(&self, file: &str, reference: &str) -> Result<Place, String> {
        let (path, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let is_local = path.strip_prefix(ROOT);
        let file = match (path, is_local) {
            ("", _) => file.to_owned(),
            (_, Some(own)) => decoded(own),
            (other, None) if other.contains("://") || other.starts_with("file:") => {
                return Err(format!(
                    "`{reference}` is elsewhere; weir follows no addresses: put the file beside \
                     the definition"
                ));
            }
            (other, None) => join(file, &decoded(other))?,
        };
        Ok(Place { file, pointer: decoded(fragment) })
    }

    /// The value at `place`.
    pub(crate) fn value(&self, place: &Place) -> Option<&Value> {
        self.files.get(&place.file)?.value().pointer(&place.pointer)
    }

    /// The value at `place` after following references.
    pub(crate) fn follow(&self, place: Place) -> Result<(Place, &Value), ReadError> {
        let mut here = place;
        for _ in 0..HOPS_MAX {
            let Some(value) = self.value(&here) else {
                return Err(here.error("nothing is there, though a reference leads to it"));
            };
            let Some(reference) = value.get("$ref").and_then(Value::as_str) else {
                return Ok((here, value));
            };
            here = self.target(&here.file, reference).map_err(|why| here.error(why))?;
        }
        Err(here.error("references lead in a circle"))
    }
}

/// The path of `other` as written in `file`; never above the folder of the first file.
fn join(file: &str, other: &str) -> Result<String, String> {
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = Vec::new();
    if !other.starts_with('/') {
        parts.extend(folder.split('/').filter(|part| !part.is_empty()));
    }
    for part in other.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => {
                return Err(format!("`{other}` lies above the folder of the definition"));
            }
            ".." => {}
            part => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

/// Whether values nest at most `depth` levels deep.
pub(super) fn is_within(value: &Value, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    match value {
        Value::Object(members) => members.values().all(|member| is_within(member, depth)),
        Value::Array(elements) => elements.iter().all(|element| is_within(element, depth)),
        _ => true,
    }
}

/// Reads a text as JSON or YAML.
pub(crate) fn parse(file: &str, text: &str) -> Result<Value, ReadError> {
    let root = Place::root(file);
    if text.len() > FILE_BYTES_MAX {
        return Err(root.error("the file is larger than 64 MB"));
    }
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with(['{', '[']) {
        return serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line() as u64, error.column().max(1) as u64);
            let told = error.to_string();
            let why = told.rsplit_once(" at line ").map_or(told.as_str(), |(why, _)| why);
            ReadError { at: Some((line, column)), ..root.error(format!("no JSON: {why}")) }
        });
    }
    // YAML 1.2: `no` and `on` are texts, as tools for OpenAPI have it.
    let options = serde_saphyr::options! {
        strict_booleans: true,
        // As deep as JSON may be, and as large as the file; aliases stay bounded by themselves.
        budget: serde_saphyr::budget! {
            max_depth: 128,
            max_nodes: NODES_MAX,
            max_events: 2 * NODES_MAX,
        },
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let told = error.without_snippet().to_string();
        let why = told.lines().next().unwrap_or_default();
        // The place is told apart.
        let why = why.strip_prefix("error: ").unwrap_or(why);
        let why = match why.split_once(": ") {
            Some((place, rest)) if place.starts_with("line ") => rest,
            _ => why,
        };
        let at = error.location().map(|at| (at.line(), at.column()));
        ReadError { at, ..root.error(format!("no YAML: {why}")) }
    })
}

/// Every `$ref` below `value` with its place, except in examples: a `$ref` there is data.
fn references(value: &Value, place: &Place, found: &mut Vec<(Place, String)>) {
    match value {
        Value::Object(members) => {
            if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
                found.push((place.clone(), reference.to_owned()));
            }
            for (key, member) in members {
                if !matches!(key.as_str(), "example" | "default" | "enum" | "const") {
                    references(member, &place.at(key), found);
                }
            }
        }
        Value::Array(elements) => {
            for (at, element) in elements.iter().enumerate() {
                references(element, &place.at(&at.to_string()), found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_at_rest_is_the_same() {
        let root = json!({ "z": [1, 2.5e-7, "\u{1}ü"], "a": { "$ref": "#/z/2" } });
        let mut documents = Documents::single("f", root.clone());
        documents.rest();
        assert!(documents.files.values().all(|one| one.value.get().is_none()), "it is text");
        assert_eq!(documents.root().to_string(), root.to_string());
        let (place, value) = documents.follow(Place::root("f").at("a")).expect("there is");
        assert_eq!((place.pointer.as_str(), value), ("/z/2", &json!("\u{1}ü")));
    }

    #[test]
    fn what_is_deep_or_large_stays_a_value() {
        let deep = (0..DEPTH_MAX).fold(json!(1), |inner, _| json!([inner]));
        for root in [deep, json!("x".repeat(REST_BYTES_MAX))] {
            let mut documents = Documents::single("f", root.clone());
            documents.rest();
            assert!(documents.files.values().all(|one| one.value.get() == Some(&root)));
        }
    }
}
