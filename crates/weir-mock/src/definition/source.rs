//! The meaning of a schema, independent of its place. Schemas with the same meaning share one
//! source, across all definitions: the text, the types read from it, and the validator.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use foldhash::fast::FixedState;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::documents::{DEPTH_MAX, Documents, EXTENSION, Place, is_within};
use super::model::Operation;
use super::schema::{Schema, Schemas, Side, Source, is_one_sided};

/// The maximum weight of a schema, with all that it refers to, to be copied out of its document;
/// heavier ones are looked up in the document.
const WEIGHT_MAX: usize = 32 * 1024;
/// The weight of a value beyond its text.
const VALUE_WEIGHT: usize = 8;
/// Sources from which on it is looked for those that are gone.
const SWEEP_MIN: usize = 1_024;
/// The pointer to the schema in a document made for it alone.
const ENTRY: &str = "/schema";
/// The file of such a document.
const FILE: &str = "schema";
/// Members whose members are schemas by name.
const NAMED: &[&str] =
    &["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// Members that are no schemas.
const DATA: &[&str] = &["example", "examples", "default", "enum", "const", EXTENSION];
/// Keywords whose meaning depends on the surrounding document.
const BOUND: &[&str] = &["$id", "$schema", "$anchor", "$dynamicAnchor", "$dynamicRef"];

/// Gives each schema of `operations`, which are of `documents`, its source.
pub(super) fn find_sources<'o>(
    operations: impl Iterator<Item = &'o mut Operation>,
    mut documents: Documents,
) {
    let weight: usize = documents.files().map(|(_, root)| weight(root)).sum();
    let mut budget = WEIGHT_MAX.saturating_add(weight.saturating_mul(4));
    let mut left: Vec<&mut Schema> = Vec::new();
    let schemas = operations.flat_map(|operation| {
        operation.shrink();
        operation.schemas_mut()
    });
    for schema in schemas {
        match Alone::document(&documents, &schema.place, &mut budget) {
            Some(document) => schema.source = shared(&document, schema.side),
            None => left.push(schema),
        }
    }
    if left.is_empty() {
        return;
    }
    documents.rest();
    let all = Arc::new(Schemas::new(documents));
    for schema in left {
        schema.source = Source::new(Arc::clone(&all), schema.place.clone(), schema.side).into();
    }
}

/// A schema with all that it refers to, as a document of its own: equal schemas give equal texts.
struct Alone<'d, 'b> {
    documents: &'d Documents,
    /// The references used for places.
    references: HashMap<Place, String>,
    /// The number of places for each name.
    counts: HashMap<String, usize>,
    /// Group, name and place of the schemas still to be written.
    waiting: Vec<(usize, String, Place)>,
    weight_left: usize,
    /// The remaining weight for all schemas of the definition, so that the reading time stays
    /// linear in its length.
    budget: &'b mut usize,
}

impl<'d, 'b> Alone<'d, 'b> {
    /// `None` if the schema is too large for it, or has its meaning from where it is.
    fn document(documents: &'d Documents, place: &Place, budget: &'b mut usize) -> Option<Value> {
        let mut alone = Self {
            documents,
            references: HashMap::new(),
            counts: HashMap::new(),
            waiting: Vec::new(),
            weight_left: WEIGHT_MAX,
            budget,
        };
        let schema = alone.schema(documents.value(place)?, &place.file)?;
        let mut groups = Map::new();
        while let Some((group, name, place)) = alone.waiting.pop() {
            let schema = alone.schema(documents.value(&place)?, &place.file)?;
            let members = groups.entry(group.to_string()).or_insert_with(|| Map::new().into());
            members.as_object_mut()?.insert(name, schema);
        }
        let document = json!({ "schema": schema, "$defs": groups });
        is_within(&document, DEPTH_MAX).then_some(document)
    }

    fn schema(&mut self, value: &Value, file: &str) -> Option<Value> {
        self.weigh(value)?;
        match value {
            Value::Object(members) => {
                if BOUND.iter().any(|key| members.get(*key).is_some_and(Value::is_string)) {
                    return None;
                }
                let mut made = Map::new();
                for (key, member) in members {
                    made.insert(key.clone(), self.member(key, member, file)?);
                }
                Some(Value::Object(made))
            }
            Value::Array(all) => {
                let all = all.iter().map(|one| self.schema(one, file));
                Some(Value::Array(all.collect::<Option<_>>()?))
            }
            scalar => Some(scalar.clone()),
        }
    }

    fn member(&mut self, key: &str, member: &Value, file: &str) -> Option<Value> {
        match (key, member) {
            ("$ref", Value::String(reference)) => {
                self.reference(file, reference).map(Value::String)
            }
            ("discriminator", Value::Object(members)) => {
                let mut made = members.clone();
                let mapping = made.get_mut("mapping").and_then(Value::as_object_mut);
                for (_, target) in mapping.into_iter().flatten() {
                    // A target without a slash is the name of a schema.
                    if let Value::String(text) = target
                        && text.contains('/')
                    {
                        *text = self.reference(file, text)?;
                    }
                }
                self.weigh(member)?;
                Some(Value::Object(made))
            }
            (key, Value::Object(members)) if NAMED.contains(&key) => {
                let mut made = Map::new();
                for (name, schema) in members {
                    made.insert(name.clone(), self.schema(schema, file)?);
                }
                Some(Value::Object(made))
            }
            (key, data) if DATA.contains(&key) => {
                let weight = weight(data);
                self.take(weight)?;
                Some(data.clone())
            }
            (_, other) => self.schema(other, file),
        }
    }

    /// The rewritten `reference` in `file`, for the schema's own document. Its last part stays, as
    /// generated values and XML go by it.
    fn reference(&mut self, file: &str, reference: &str) -> Option<String> {
        let target = self.documents.target(file, reference).ok()?;
        if let Some(known) = self.references.get(&target) {
            return Some(known.clone());
        }
        let last = reference.rsplit('/').next().filter(|last| !last.contains('#'));
        let last = last.filter(|last| !last.is_empty()).unwrap_or("root").to_owned();
        let count = self.counts.entry(last.clone()).or_default();
        let group = *count;
        *count += 1;
        let own = format!("#/$defs/{group}/{last}");
        let name = percent_decode_str(&last).decode_utf8().ok()?;
        let name = name.replace("~1", "/").replace("~0", "~");
        self.waiting.push((group, name, target.clone()));
        self.references.insert(target, own.clone());
        Some(own)
    }

    /// Counts a value without its members.
    fn weigh(&mut self, value: &Value) -> Option<()> {
        self.take(own_weight(value))
    }

    fn take(&mut self, weight: usize) -> Option<()> {
        self.weight_left = self.weight_left.checked_sub(weight)?;
        *self.budget = self.budget.checked_sub(weight)?;
        Some(())
    }
}

/// The source of the schema in `document`, which all schemas with an equal one share.
fn shared(document: &Value, side: Side) -> Arc<Source> {
    let text = document.to_string();
    let is_one_sided = is_one_sided(document);
    let told = is_one_sided.then_some(side);
    let key = HASH.hash_one((&text, told));
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let is_same = |known: &Source| known.side == told && known.documents().text() == text;
    if let Some(known) = pool.known.get(&key).and_then(Weak::upgrade).filter(|known| is_same(known))
    {
        return known;
    }
    let schemas = Schemas::alone(Documents::of_text(FILE, text), is_one_sided);
    let place = Place { file: FILE.to_owned(), pointer: ENTRY.to_owned() };
    let source = Arc::new(Source::new(Arc::new(schemas), place, side));
    pool.add(key, Arc::downgrade(&source));
    source
}

const HASH: FixedState = FixedState::with_seed(0);

/// Sources that are in use, of all definitions wherever they come from.
static POOL: LazyLock<Mutex<Pool>> = LazyLock::new(Mutex::default);

/// Known sources, held weakly: a source that no definition uses is freed.
#[derive(Default)]
struct Pool {
    known: HashMap<u64, Weak<Source>>,
    /// The number of known sources at which freed ones are removed.
    sweep_at: usize,
}

impl Pool {
    fn add(&mut self, key: u64, source: Weak<Source>) {
        if self.known.len() >= self.sweep_at {
            self.known.retain(|_, source| source.strong_count() > 0);
            self.sweep_at = self.known.len().saturating_mul(2).max(SWEEP_MIN);
        }
        self.known.insert(key, source);
    }
}

/// The weight of a value with everything in it.
fn weight(value: &Value) -> usize {
    let below: usize = match value {
        Value::Object(members) => members.values().map(weight).sum(),
        Value::Array(all) => all.iter().map(weight).sum(),
        _ => 0,
    };
    below + own_weight(value)
}

fn own_weight(value: &Value) -> usize {
    VALUE_WEIGHT
        + match value {
            Value::String(text) => text.len(),
            Value::Object(members) => members.keys().map(String::len).sum(),
            _ => 0,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(root: &Value, pointer: &str, side: Side) -> Option<Arc<Source>> {
        let documents = Documents::single("f", root.clone());
        let place = Place { file: "f".to_owned(), pointer: pointer.to_owned() };
        let mut budget = usize::MAX;
        let document = Alone::document(&documents, &place, &mut budget)?;
        Some(shared(&document, side))
    }

    #[test]
    fn equal_schemas_of_different_documents_are_one() {
        let item = json!({ "type": "object", "properties": { "next": { "$ref": "#/s/Item" } } });
        let one = json!({ "s": { "Item": item, "Other": {} }, "a": { "$ref": "#/s/Item" } });
        let other = json!({ "title": "t", "b": { "$ref": "#/s/Item" }, "s": { "Item": item } });
        let a = source(&one, "/a", Side::Request).expect("is taken out");
        let b = source(&other, "/b", Side::Response).expect("is taken out");
        assert!(Arc::ptr_eq(&a, &b), "{} {}", a.documents().text(), b.documents().text());
        let validator = a.validator().expect("is a schema");
        assert!(validator.is_valid(&json!({ "next": { "next": {} } })));
        assert!(!validator.is_valid(&json!({ "next": { "next": 1 } })), "references are followed");
    }

    #[test]
    fn sides_are_apart_where_they_differ() {
        let root = json!({ "a": {
            "required": ["id"], "properties": { "id": { "type": "integer", "readOnly": true } }
        } });
        let request = source(&root, "/a", Side::Request).expect("is taken out");
        let response = source(&root, "/a", Side::Response).expect("is taken out");
        let is_valid = |source: &Source| source.validator().expect("a schema").is_valid(&json!({}));
        assert_eq!((is_valid(&request), is_valid(&response)), (true, false));
    }

    #[test]
    fn names_that_look_like_keywords_and_equal_last_parts_stay_apart() {
        let root = json!({
            "a": { "properties": {
                "example": { "$ref": "#/x/T" },
                "$ref": { "$ref": "#/y/T" },
                "~": { "$ref": "#/x/~1z" },
            } },
            "x": { "T": { "type": "string" }, "/z": { "type": "null" } },
            "y": { "T": { "type": "integer" } },
        });
        let source = source(&root, "/a", Side::Request).expect("is taken out");
        let validator = source.validator().expect("is a schema");
        assert!(validator.is_valid(&json!({ "example": "t", "$ref": 1, "~": null })));
        for wrong in [json!({ "example": 1 }), json!({ "$ref": "t" }), json!({ "~": 1 })] {
            assert!(!validator.is_valid(&wrong), "{wrong}");
        }
    }

    #[test]
    fn what_is_large_or_bound_to_its_place_stays_there() {
        let large = json!({ "a": { "description": "x".repeat(WEIGHT_MAX) } });
        let anchored = json!({ "a": { "items": { "$anchor": "n" } } });
        let lost = json!({ "a": { "example": { "$ref": "#/none" } }, "b": { "$id": "x:/y" } });
        assert!(source(&large, "/a", Side::Request).is_none());
        assert!(source(&anchored, "/a", Side::Request).is_none());
        assert!(source(&lost, "/b", Side::Request).is_none());
        assert!(source(&lost, "/a", Side::Request).is_some(), "examples are data");
    }

    #[test]
    fn a_source_lives_as_long_as_it_is_used() {
        let root = json!({ "a": { "title": "of a_source_lives_as_long_as_it_is_used" } });
        let gone = Arc::downgrade(&source(&root, "/a", Side::Request).expect("is taken out"));
        assert!(gone.upgrade().is_none());
    }
}
