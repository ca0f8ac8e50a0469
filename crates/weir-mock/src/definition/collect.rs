//! The common part of readers for definitions other than OpenAPI: operations are added one by one,
//! and unused parts are noted with their place.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::AtomicUsize;

use serde_json::{Value, json};

use super::documents::{Documents, Place, ReadError, ReadErrors};
use super::model::{
    Api, Code, Example, Kind, Media, Operation, Parameter, ParameterPlace, Recording, Response,
    Style, Warning,
};
use super::schema::{Schema, check};
use super::source::find_sources;
use crate::behaviour::Settings;

/// Warnings of one definition that are kept.
const WARNINGS_MAX: usize = 1_000;
/// The maximum number of recorded answers of one operation.
const RECORDINGS_MAX: usize = 1_000;

/// Operations, warnings and errors so far.
#[derive(Default)]
pub(super) struct Collected {
    pub operations: Vec<Operation>,
    pub warnings: Vec<Warning>,
    errors: ReadErrors,
    /// Where an operation is, by method and path.
    by_path: BTreeMap<(String, String), usize>,
}

impl Collected {
    pub(super) fn warn(&mut self, pointer: &str, message: impl Into<String>) {
        warn(&mut self.warnings, pointer, message);
    }

    /// Notes what is wrong, so that the rest can be read too; the definition will be refused.
    pub(super) fn wrong(&mut self, error: ReadError) {
        self.errors.push(error);
    }

    /// What was read, or nothing and a note of why.
    pub(super) fn noted<T>(&mut self, read: Result<T, ReadError>) -> Option<T> {
        read.map_err(|error| self.wrong(error)).ok()
    }

    /// Notes members of an object that nobody reads.
    pub(super) fn unknown(&mut self, value: &Value, pointer: &str, known: &[&str]) {
        for key in value.as_object().into_iter().flatten().map(|(key, _)| key) {
            if !known.contains(&key.as_str()) {
                let at = Place { file: String::new(), pointer: pointer.to_owned() }.at(key);
                self.warn(&at.pointer, format!("`{key}` is not known and not used"));
            }
        }
    }

    /// Whether there is an operation already.
    pub(super) fn has(&self, method: &str, path: &str) -> bool {
        self.by_path.contains_key(&(method.to_owned(), path.to_owned()))
    }

    /// Adds an operation, unless there is one with that method and path.
    pub(super) fn add(&mut self, operation: Operation) {
        let key = (operation.method.clone(), operation.path.clone());
        if let Entry::Vacant(free) = self.by_path.entry(key) {
            free.insert(self.operations.len());
            self.operations.push(operation);
        }
    }

    /// Adds an answer to the operation at a method and path, which is made if it is missing.
    pub(super) fn record(
        &mut self,
        (method, path, summary): (&str, &str, &str),
        recording: Recording,
        in_turn: bool,
        pointer: &str,
    ) {
        let key = (method.to_owned(), path.to_owned());
        if !self.by_path.contains_key(&key) {
            self.add(Operation { in_turn, ..operation(method, path, summary) });
        }
        let Some(own) = self.by_path.get(&key).and_then(|at| self.operations.get_mut(*at)) else {
            return;
        };
        if own.recordings.len() >= RECORDINGS_MAX {
            let message = format!("{method} {path} has more than {RECORDINGS_MAX} answers");
            self.warn(pointer, format!("left out: {message}"));
            return;
        }
        declare(own, &recording);
        own.recordings.push(recording);
    }

    /// The definition, `root` being where its schemas are.
    ///
    /// # Errors
    /// All that was noted as wrong, and references that lead nowhere.
    pub(super) fn finish(
        mut self,
        (kind, name, file): (Kind, &str, &str),
        title: Option<&str>,
        bases: Vec<String>,
        root: Value,
    ) -> Result<Api, ReadErrors> {
        let has_field_rules = field_rules(&root, "", &mut self.warnings);
        let documents = Documents::single(file, root);
        self.errors.0.extend(documents.nowhere().0);
        self.errors.0.truncate(ReadErrors::MAX);
        if !self.errors.0.is_empty() {
            return Err(self.errors);
        }
        check(&documents)?;
        find_sources(self.operations.iter_mut(), documents);
        Ok(Api {
            name: name.to_owned(),
            kind,
            title: title.unwrap_or(name).to_owned(),
            version: String::new(),
            bases,
            operations: self.operations,
            webhooks: Vec::new(),
            warnings: self.warnings,
            settings: Settings::default(),
            has_field_rules,
            files: [file.to_owned()].into(),
        })
    }
}

/// Adds a warning, unless there are too many.
pub(super) fn warn(warnings: &mut Vec<Warning>, pointer: &str, message: impl Into<String>) {
    match warnings.len() {
        0..WARNINGS_MAX => {
            warnings.push(Warning { pointer: pointer.to_owned(), message: message.into() });
        }
        WARNINGS_MAX => {
            let message = "there are more warnings, which are not told".to_owned();
            warnings.push(Warning { pointer: String::new(), message });
        }
        _ => {}
    }
}

/// Whether properties have placeholders; unknown ones are noted.
pub(super) fn field_rules(root: &Value, pointer: &str, warnings: &mut Vec<Warning>) -> bool {
    let mut found = false;
    let mut waiting = vec![(root, Place { file: String::new(), pointer: pointer.to_owned() })];
    while let Some((value, place)) = waiting.pop() {
        if let Some(rule) = crate::generate::field_rule(value) {
            found = true;
            if rule.contains("{{") {
                let message = format!("`{rule}` is not understood; the value is made by its type");
                warn(warnings, &place.pointer, message);
            }
        }
        match value {
            Value::Object(members) => {
                waiting.extend(members.iter().map(|(key, member)| (member, place.at(key))));
            }
            Value::Array(all) => {
                let each = all.iter().enumerate();
                waiting.extend(each.map(|(at, one)| (one, place.at(&at.to_string()))));
            }
            _ => {}
        }
    }
    found
}

/// An operation of which nothing is known yet.
pub(super) fn operation(method: &str, path: &str, summary: &str) -> Operation {
    Operation {
        id: None,
        method: method.to_ascii_uppercase(),
        path: path.to_owned(),
        summary: summary.to_owned(),
        parameters: Vec::new(),
        body: None,
        responses: Vec::new(),
        security: Vec::new(),
        deprecated: false,
        callbacks: Vec::new(),
        recordings: Vec::new(),
        in_turn: false,
        turns: AtomicUsize::new(0),
    }
}

/// A parameter of the query, a header or cookie, of any text.
pub(super) fn parameter(place: ParameterPlace, name: &str, required: bool) -> Parameter {
    let is_form = matches!(place, ParameterPlace::Query | ParameterPlace::Cookie);
    Parameter {
        name: name.to_owned(),
        place,
        style: if is_form { Style::Form } else { Style::Simple },
        explode: is_form,
        required,
        allow_empty: true,
        schema: None,
    }
}

/// Content of one media type.
pub(super) fn media(range: &str, schema: Option<Schema>, example: Option<Example>) -> Media {
    Media {
        range: range.to_owned(),
        schema,
        examples: example.map(|example| (String::new(), example)).into_iter().collect(),
        encoding: BTreeMap::new(),
    }
}

/// A schema of an object with these fields, for forms.
pub(super) fn form_schema<'f>(fields: impl Iterator<Item = (&'f str, bool)>) -> Value {
    let (mut properties, mut required) = (serde_json::Map::new(), Vec::new());
    for (name, is_required) in fields {
        properties.insert(name.to_owned(), json!({}));
        if is_required {
            required.push(Value::from(name));
        }
    }
    json!({ "type": "object", "properties": properties, "required": required })
}

/// The path with `:id` as `{id}`, and a slash in front.
pub(super) fn braces(path: &str) -> String {
    let path = path.trim();
    let segments = path.trim_start_matches('/').split('/').map(|segment| {
        match segment.strip_prefix(':').filter(|name| !name.is_empty()) {
            Some(name) => format!("{{{name}}}"),
            None => segment.to_owned(),
        }
    });
    format!("/{}", segments.collect::<Vec<_>>().join("/"))
}

/// Responses are declared so that an operation can be listed and preferred by status.
fn declare(operation: &mut Operation, recording: &Recording) {
    let code = Code::Exact(recording.status);
    let at = operation.responses.iter().position(|one| one.code == code);
    let at = at.unwrap_or_else(|| {
        operation.responses.push(Response { code, media: Vec::new(), headers: Vec::new() });
        operation.responses.len() - 1
    });
    let range = recording.content.as_ref().map(|(range, _)| range);
    if let (Some(response), Some(range)) = (operation.responses.get_mut(at), range)
        && !response.media.iter().any(|one| one.range == *range)
    {
        response.media.push(media(range, None, None));
    }
}
