//! The items that clients have written to the collections of a stateful definition. An operation at
//! `/pets` with another at `/pets/{id}` is a collection with its items.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use crate::definition::{Api, ParameterPlace, Schema};

/// Items of one definition at most.
const ITEMS_MAX: usize = 10_000;
/// Bytes of the items of one definition, as JSON, at most.
const BYTES_MAX: usize = 16 * 1024 * 1024;

/// The state of one definition.
#[derive(Debug)]
pub(crate) struct State {
    /// The collection or item of each operation.
    subjects: Vec<Option<Subject>>,
    kept: Mutex<Kept>,
}

/// A collection, or an item of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    /// Path of the collection, as written.
    collection: String,
    /// The path variable that identifies an item.
    pub variable: String,
    pub identity: Identity,
    pub is_item: bool,
}

/// The kind of identifier of a collection's items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    Number,
    Uuid,
    Text,
}

/// No more is kept.
#[derive(Debug)]
pub(crate) struct Full;

#[derive(Debug, Default)]
struct Kept {
    /// By concrete path: `/shops/7/items`.
    collections: HashMap<String, Collection>,
    items: usize,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Collection {
    /// By identity, in the order of their first writing.
    items: Map<String, Value>,
    /// The last number that was given to an item.
    last: u64,
}

impl State {
    pub(crate) fn new(api: &Api) -> Self {
        let has = |path: &str| api.operations.iter().any(|one| one.path == path);
        let subjects = api.operations.iter().map(|operation| {
            if let Some((collection, variable)) = item_path(&operation.path)
                && has(collection)
            {
                return Some(subject(api, collection, variable, true));
            }
            let mut items = api.operations.iter().filter_map(|other| item_path(&other.path));
            let (collection, variable) =
                items.find(|(collection, _)| *collection == operation.path)?;
            Some(subject(api, collection, variable, false))
        });
        Self { subjects: subjects.collect(), kept: Mutex::default() }
    }

    /// The collection or item of an operation, if it has one.
    pub(crate) fn subject(&self, operation: usize) -> Option<&Subject> {
        self.subjects.get(operation)?.as_ref()
    }

    /// All items of a collection.
    pub(crate) fn list(&self, path: &str) -> Vec<Value> {
        let kept = self.kept();
        let items = kept.collections.get(path).into_iter().flat_map(|one| one.items.values());
        items.cloned().collect()
    }

    pub(crate) fn get(&self, path: &str, id: &str) -> Option<Value> {
        self.kept().collections.get(path)?.items.get(id).cloned()
    }

    /// A number that no item of a collection has.
    pub(crate) fn next_number(&self, path: &str) -> u64 {
        let mut kept = self.kept();
        // The collection is not created here: a read alone must take no memory.
        let Some(collection) = kept.collections.get_mut(path) else { return 1 };
        loop {
            collection.last += 1;
            if !collection.items.contains_key(&collection.last.to_string()) {
                return collection.last;
            }
        }
    }

    /// Keeps an item.
    ///
    /// # Errors
    /// There are as many as are kept.
    pub(crate) fn put(&self, path: &str, id: &str, item: Value) -> Result<(), Full> {
        let mut kept = self.kept();
        let before = kept.collections.get(path).and_then(|one| one.items.get(id));
        let before = before.map(|item| size(id, item));
        let items = kept.items + usize::from(before.is_none());
        let bytes = kept.bytes - before.unwrap_or(0) + size(id, &item);
        if items > ITEMS_MAX || bytes > BYTES_MAX {
            return Err(Full);
        }
        (kept.items, kept.bytes) = (items, bytes);
        let collection = kept.collections.entry(path.to_owned()).or_default();
        collection.items.insert(id.to_owned(), item);
        Ok(())
    }

    /// Removes an item and everything below it; returns whether there was one.
    pub(crate) fn remove(&self, path: &str, id: &str) -> bool {
        let mut kept = self.kept();
        let Some(collection) = kept.collections.get_mut(path) else { return false };
        let Some(item) = collection.items.shift_remove(id) else { return false };
        kept.items -= 1;
        kept.bytes -= size(id, &item);
        let below = format!("{path}/{id}/");
        let Kept { collections, items, bytes } = &mut *kept;
        collections.retain(|path, collection| {
            let stays = !path.starts_with(&below);
            if !stays {
                *items -= collection.items.len();
                *bytes -= collection.items.iter().map(|(id, one)| size(id, one)).sum::<usize>();
            }
            stays
        });
        true
    }

    /// Forgets everything.
    pub(crate) fn reset(&self) {
        *self.kept() = Kept::default();
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subject {
    /// The concrete path of the collection, and the item's name if it is about one.
    pub(crate) fn place(&self, values: &[(&str, String)]) -> (String, Option<String>) {
        let mut path = self.collection.clone();
        for (name, value) in values {
            path = path.replace(&format!("{{{name}}}"), value);
        }
        let id = values.iter().rev().find(|(name, _)| *name == self.variable);
        (path, id.filter(|_| self.is_item).map(|(_, value)| value.clone()))
    }
}

/// The path of the collection and the variable of an item: `/pets/{id}`.
fn item_path(path: &str) -> Option<(&str, &str)> {
    let (collection, last) = path.rsplit_once('/')?;
    let variable = last.strip_prefix('{')?.strip_suffix('}')?;
    (!variable.contains(['{', '}']) && !collection.is_empty()).then_some((collection, variable))
}

fn subject(api: &Api, collection: &str, variable: &str, is_item: bool) -> Subject {
    let is_of_item = |path: &str| item_path(path) == Some((collection, variable));
    let operation = api.operations.iter().find(|one| is_of_item(&one.path));
    let parameter = operation.and_then(|operation| {
        let mut all = operation.parameters.iter();
        all.find(|one| one.place == ParameterPlace::Path && one.name == variable)
    });
    let schema = parameter.and_then(|parameter| parameter.schema.as_ref());
    let schema = schema.and_then(Schema::value);
    let text = |key: &str| schema.and_then(|value| value.get(key)?.as_str());
    let identity = match (text("type"), text("format")) {
        (Some("integer" | "number"), _) => Identity::Number,
        (_, Some("uuid")) => Identity::Uuid,
        _ => Identity::Text,
    };
    let (collection, variable) = (collection.to_owned(), variable.to_owned());
    Subject { collection, variable, identity, is_item }
}

fn size(id: &str, item: &Value) -> usize {
    // The overhead of a map entry, on top of its text.
    const ENTRY_BYTES: usize = 128;
    ENTRY_BYTES + id.len() + item.to_string().len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn empty() -> State {
        State { subjects: Vec::new(), kept: Mutex::default() }
    }

    fn counts(state: &State) -> (usize, usize) {
        let kept = state.kept();
        (kept.items, kept.bytes)
    }

    #[test]
    fn what_is_removed_makes_room() {
        let state = empty();
        for n in 0..ITEMS_MAX {
            state.put("/a/1/b", &n.to_string(), json!({})).expect("room");
        }
        assert!(state.put("/a", "1", json!({})).is_err(), "there are too many");
        assert!(state.put("/a/1/b", "0", json!({ "x": 1 })).is_ok(), "one instead of another");
        assert!(state.remove("/a/1/b", "7"));
        assert!(!state.remove("/a/1/b", "7"));
        state.put("/a", "1", json!({})).expect("room");
        // Removing an item removes everything below it.
        assert!(state.remove("/a", "1"));
        assert_eq!(counts(&state), (0, 0));
        let large = "x".repeat(BYTES_MAX);
        assert!(state.put("/a", "1", json!(large)).is_err(), "it is too large");
        assert_eq!(counts(&state), (0, 0));
    }

    #[test]
    fn numbers_are_new() {
        let state = empty();
        assert_eq!(state.next_number("/a"), 1);
        state.put("/a", "1", json!({})).expect("room");
        state.put("/a", "2", json!({})).expect("room");
        assert_eq!(state.next_number("/a"), 3);
        assert_eq!(state.next_number("/b"), 1);
    }
}
