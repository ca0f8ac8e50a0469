//! Values written as text: form pairs, and coercion to the types of a schema.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::OnceLock;

use percent_encoding::percent_decode;
use serde_json::{Map, Number, Value};

use crate::definition::{Documents, Place, Schema, Types};

/// The maximum number of nested schemas searched for a type or property, as some schemas are
/// recursive.
const PARTS_MAX: usize = 1_000;

/// Names and values of a form or query.
pub(crate) fn form_pairs(text: &[u8]) -> Vec<(String, String)> {
    let pairs = text.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let at = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
            let (name, value) = pair.split_at_checked(at).unwrap_or((pair, b""));
            (form_text(name), form_text(value.get(1..).unwrap_or_default()))
        })
        .collect()
}

fn form_text(text: &[u8]) -> String {
    let blanks: Cow<'_, [u8]> = if text.contains(&b'+') {
        text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect::<Vec<u8>>().into()
    } else {
        text.into()
    };
    percent_decode(&blanks).decode_utf8_lossy().into_owned()
}

/// A schema by its place, as far as texts need to know it.
#[derive(Clone)]
pub(crate) struct Shape<'a> {
    documents: &'a Documents,
    place: Place,
    /// The cache of its types, if many requests are read with this schema.
    types: Option<&'a OnceLock<Types>>,
}

impl<'a> Shape<'a> {
    pub(crate) fn of(schema: &'a Schema) -> Self {
        let source = schema.source();
        Self {
            documents: source.documents(),
            place: source.place().clone(),
            types: Some(&source.types),
        }
    }

    fn part(&self, place: Place) -> Self {
        Self { documents: self.documents, place, types: None }
    }

    fn value(&self) -> Option<(Place, &'a Value)> {
        self.documents.follow(self.place.clone()).ok()
    }

    /// Whether a value may be of this type, according to `type` here or in a part of the schema.
    pub(crate) fn may_be(&self, name: &str) -> bool {
        self.types.map_or_else(|| self.types(), |kept| *kept.get_or_init(|| self.types())).has(name)
    }

    fn types(&self) -> Types {
        let types = Cell::new(Types::default());
        let add = |name: &str| types.set(types.get().with(name));
        self.first_part(|_, value| {
            match value.get("type") {
                Some(Value::String(own)) => add(own),
                Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).for_each(add),
                _ => {
                    for (key, implied) in [("properties", "object"), ("items", "array")] {
                        if value.get(key).is_some() {
                            add(implied);
                        }
                    }
                }
            }
            None::<()>
        });
        types.get()
    }

    /// The first result from the schema or from a part in `allOf`, `oneOf` and `anyOf`.
    fn first_part<T>(&self, find: impl Fn(&Place, &Value) -> Option<T>) -> Option<T> {
        let mut waiting = vec![self.place.clone()];
        let mut seen = Vec::new();
        while let Some(place) = waiting.pop() {
            let Ok((place, value)) = self.documents.follow(place) else { continue };
            if seen.len() >= PARTS_MAX || seen.contains(&place) {
                continue;
            }
            if let Some(found) = find(&place, value) {
                return Some(found);
            }
            for key in ["anyOf", "oneOf", "allOf"] {
                let count = value.get(key).and_then(Value::as_array).map_or(0, Vec::len);
                waiting.extend((0..count).rev().map(|at| place.at(key).at(&at.to_string())));
            }
            seen.push(place);
        }
        None
    }

    /// The schema of the elements.
    pub(super) fn items(&self) -> Option<Self> {
        let (place, value) = self.value()?;
        value.get("items").map(|_| self.part(place.at("items")))
    }

    /// The schema of a property, here or in what the schema is made of.
    pub(super) fn property(&self, name: &str) -> Option<Self> {
        let place = self.first_part(|place, value| {
            value.get("properties")?.get(name).map(|_| place.at("properties").at(name))
        })?;
        Some(self.part(place))
    }
}

/// `text` as the first type that it can be; a text where it can be none.
pub(crate) fn coerce(text: &str, shape: Option<&Shape<'_>>) -> Value {
    let Some(shape) = shape else { return Value::from(text) };
    if shape.may_be("integer") || shape.may_be("number") {
        if let Ok(number) = text.parse::<i64>() {
            return Value::from(number);
        }
        if let Ok(number) = text.parse::<u64>() {
            return Value::from(number);
        }
        let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
        let number = text.parse::<f64>().ok().filter(|_| plain).and_then(Number::from_f64);
        if let Some(number) = number {
            return Value::Number(number);
        }
    }
    if shape.may_be("boolean")
        && let Ok(is) = text.parse::<bool>()
    {
        return Value::Bool(is);
    }
    if text.is_empty() && shape.may_be("null") && !shape.may_be("string") {
        return Value::Null;
    }
    let structured = shape.may_be("object") || shape.may_be("array");
    if structured && text.starts_with(['{', '[']) {
        return serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    }
    Value::from(text)
}

/// Texts as an array of what the schema's elements are.
pub(crate) fn array<'t>(texts: impl Iterator<Item = &'t str>, shape: Option<&Shape<'_>>) -> Value {
    let items = shape.and_then(Shape::items);
    Value::Array(texts.map(|text| coerce(text, items.as_ref())).collect())
}

/// Pairs as an object of what the schema's properties are.
pub(super) fn object<'t>(
    pairs: impl Iterator<Item = (&'t str, &'t str)>,
    shape: Option<&Shape<'_>>,
) -> Value {
    let mut members = Map::new();
    for (name, text) in pairs {
        let own = shape.and_then(|shape| shape.property(name));
        members.insert(name.to_owned(), coerce(text, own.as_ref()));
    }
    Value::Object(members)
}
