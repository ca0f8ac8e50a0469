//! A definition of several files as one document: the other files are embedded below
//! `x-weir-files`, keyed by their paths relative to the first, and references are rewritten to
//! point there. Diagnostics map places back to the files.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::access_log::{self, is_access_log};
use super::documents::{Documents, FILES, Load, Place, ReadErrors, parse};
use super::lines::line_of;
use super::model::{Api, Kind};
use super::read::kind;

impl Api {
    /// The definition in `text`, the content of `file`, with all the files that it refers to as one
    /// document. `None` if it refers to no other file. An access log is the document that it
    /// becomes.
    ///
    /// # Errors
    /// A file that cannot be read, with the place that refers to it.
    pub fn bundled(file: &str, text: &str, load: Load<'_>) -> Result<Option<Value>, ReadErrors> {
        if is_access_log(text) {
            // The document is all that is needed of it, and has no more than that.
            return access_log::document(file, text).map(Some);
        }
        let root = parse(file, text)?;
        if kind(&root) != Some(Kind::OpenApi) {
            return Ok(None);
        }
        let documents = Documents::read(file, root, load)?;
        let lead = |name: &str, value: &Value| {
            let mut value = value.clone();
            lead(&documents, name, &mut value).map(|()| value)
        };
        let mut root = lead(file, documents.root())?;
        let mut others = Map::new();
        for (name, value) in documents.files().filter(|(name, _)| *name != file) {
            others.insert(name.to_owned(), lead(name, value)?);
        }
        let Some(members) = root.as_object_mut().filter(|_| !others.is_empty()) else {
            return Ok(None);
        };
        members.insert(FILES.to_owned(), Value::Object(others));
        Ok(Some(root))
    }
}

/// An error with the place that people look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedError {
    /// The file.
    pub file: String,
    /// Line from 1, where it is known.
    pub line: Option<u64>,
    /// Column from 1, where it is known.
    pub column: Option<u64>,
    /// JSON pointer into the file; empty for the whole.
    pub pointer: String,
    /// The error and its remedy.
    pub message: String,
}

impl PlacedError {
    /// `file:line:column#pointer`, as far as it is known.
    pub fn place(&self) -> String {
        let number = |number: Option<u64>| number.map(|n| format!(":{n}")).unwrap_or_default();
        let mark = if self.pointer.is_empty() { "" } else { "#" };
        let (line, column) = (number(self.line), number(self.column));
        format!("{}{line}{column}{mark}{}", self.file, self.pointer)
    }
}

impl ReadErrors {
    /// Each with its place; `texts` returns the text of a file, if it is known.
    pub fn located(&self, texts: &dyn Fn(&str) -> Option<String>) -> Vec<PlacedError> {
        let mut known = BTreeMap::new();
        let each = self.0.iter().map(|error| {
            let (file, pointer) = origin(&error.pointer)
                .unwrap_or_else(|| (error.file.clone(), error.pointer.as_str()));
            let (line, column) = match error.at {
                Some((line, column)) => (Some(line), Some(column)),
                None => {
                    let text = known.entry(file.clone()).or_insert_with(|| texts(&file));
                    (text.as_ref().and_then(|text| line_of(text, pointer)), None)
                }
            };
            let (pointer, message) = (pointer.to_owned(), error.message.clone());
            PlacedError { file, line, column, pointer, message }
        });
        each.collect()
    }
}

/// The file and the pointer into it of a pointer into a bundled document.
fn origin(pointer: &str) -> Option<(String, &str)> {
    let rest = pointer.strip_prefix('/')?.strip_prefix(FILES)?.strip_prefix('/')?;
    let end = rest.find('/').unwrap_or(rest.len());
    let (file, pointer) = rest.split_at_checked(end)?;
    Some((file.replace("~1", "/").replace("~0", "~"), pointer))
}

/// Has every reference below `value`, which is in `file`, lead to its place in the bundle.
fn lead(documents: &Documents, file: &str, value: &mut Value) -> Result<(), ReadErrors> {
    match value {
        Value::Object(members) => {
            for (key, member) in members.iter_mut() {
                match member {
                    Value::String(reference) if key == "$ref" => {
                        *reference = place(documents, file, reference)?;
                    }
                    Value::Object(mapping) if key == "mapping" => {
                        // Of a discriminator: files, or names of schemas.
                        for (_, target) in mapping {
                            if let Value::String(text) = target
                                && let Ok(known) = documents.target(file, text)
                                && known.file != file
                                && documents.value(&known).is_some()
                            {
                                *text = place(documents, file, text)?;
                            }
                        }
                    }
                    _ if matches!(key.as_str(), "example" | "default" | "enum" | "const") => {}
                    other => lead(documents, file, other)?,
                }
            }
            Ok(())
        }
        Value::Array(all) => all.iter_mut().try_for_each(|one| lead(documents, file, one)),
        _ => Ok(()),
    }
}

fn place(documents: &Documents, file: &str, reference: &str) -> Result<String, ReadErrors> {
    let target = documents.target(file, reference).map_err(|why| Place::root(file).error(why))?;
    let below = match target.file == documents.first {
        true => Place::root(""),
        false => Place::root("").at(FILES).at(&target.file),
    };
    let pointer = below.pointer + &target.pointer;
    let uri = Place { file: String::new(), pointer }.uri();
    Ok(uri.find('#').and_then(|at| uri.get(at..)).unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const FIRST: &str = r##"{ "openapi": "3.1.0", "info": { "title": "t", "version": "1" },
        "paths": { "/items": { "$ref": "paths/items.yaml#/items" } },
        "components": { "schemas": { "Id": { "type": "integer" } } } }"##;

    fn load(file: &str) -> Result<String, String> {
        match file {
            "paths/items.yaml" => Ok("items:\n  post:\n    requestBody:\n      content:\n        \
                application/json: { schema: { $ref: ../models/item.yaml } }\n    \
                responses: { '201': { description: d } }\n"
                .to_owned()),
            "models/item.yaml" => Ok("type: object\nproperties:\n  id: { $ref: \
                '../api.json#/components/schemas/Id' }\n  next: { $ref: item.yaml }\n"
                .to_owned()),
            _ => Err("no such file".to_owned()),
        }
    }

    #[test]
    fn files_become_one_document_that_reads_alone() {
        let bundled = Api::bundled("api.json", FIRST, &load).expect("all files are there");
        let bundled = bundled.expect("there are other files");
        let item = &bundled["x-weir-files"]["models/item.yaml"]["properties"];
        assert_eq!(item["id"], json!({ "$ref": "#/components/schemas/Id" }));
        assert_eq!(item["next"], json!({ "$ref": "#/x-weir-files/models~1item.yaml" }));
        let alone = |other: &str| Err(format!("{other} was asked for"));
        let api = Api::of_value("api", "api", bundled, &alone).expect("it is whole");
        assert_eq!(api.operations.len(), 1);
        assert_eq!(api.operations[0].method, "POST");
    }

    #[test]
    fn one_file_stays_as_it_is_and_what_is_missing_is_named() {
        let one = FIRST.replace("\"$ref\": \"paths/items.yaml#/items\"", "");
        assert_eq!(Api::bundled("api.json", &one, &load), Ok(None));
        let lost = FIRST.replace("items.yaml", "none.yaml");
        let told = Api::bundled("api.json", &lost, &load).expect_err("a file is missing");
        assert!(told.to_string().contains("api.json#/paths/~1items"), "{told}");
    }

    #[test]
    fn places_are_those_of_the_files() {
        let found = origin("/x-weir-files/models~1item.yaml/properties/id");
        assert_eq!(found, Some(("models/item.yaml".to_owned(), "/properties/id")));
        assert_eq!(origin("/x-weir-files/a"), Some(("a".to_owned(), "")));
        assert_eq!(origin("/paths/x-weir-files"), None);
    }
}
