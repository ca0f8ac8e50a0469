//! What values of one place have in common, as a JSON Schema.

use serde_json::{Map, Value, json};

use super::path::{is_id, is_uuid};

/// Properties of one object that are told apart; with more, they are taken for keys of a map.
const PROPERTIES_MAX: usize = 200;

/// The values that were seen at one place.
#[derive(Default)]
pub(super) struct Shape {
    nulls: usize,
    booleans: usize,
    integers: usize,
    numbers: usize,
    texts: Texts,
    arrays: usize,
    items: Option<Box<Shape>>,
    objects: usize,
    members: Vec<Member>,
    /// There were more members than are told apart.
    is_open: bool,
}

/// A property of the objects of one place.
struct Member {
    name: String,
    shape: Shape,
    /// Objects that have it.
    count: usize,
}

/// Texts, and how many of them are of which format.
#[derive(Default)]
struct Texts {
    count: usize,
    uuids: usize,
    dates: usize,
    moments: usize,
}

impl Shape {
    /// Adds a value.
    pub(super) fn add(&mut self, value: &Value) {
        match value {
            Value::Null => self.nulls += 1,
            Value::Bool(_) => self.booleans += 1,
            Value::Number(number) if number.is_f64() => self.numbers += 1,
            Value::Number(_) => self.integers += 1,
            Value::String(text) => self.texts.add(text),
            Value::Array(all) => {
                self.arrays += 1;
                for one in all {
                    self.items.get_or_insert_default().add(one);
                }
            }
            Value::Object(members) => {
                self.objects += 1;
                for (name, member) in members {
                    self.add_member(name, member);
                }
            }
        }
    }

    fn add_member(&mut self, name: &str, value: &Value) {
        let known = self.members.iter_mut().find(|own| own.name == name);
        if let Some(own) = known {
            own.shape.add(value);
            own.count += 1;
        } else if self.members.len() < PROPERTIES_MAX {
            let mut shape = Self::default();
            shape.add(value);
            self.members.push(Member { name: name.to_owned(), shape, count: 1 });
        } else {
            self.is_open = true;
        }
    }

    /// The schema of all that was added; `is_strict` requires the properties that all objects had.
    pub(super) fn schema(&self, is_strict: bool) -> Value {
        let mut schema = Map::new();
        let types = [
            ("object", self.objects),
            ("array", self.arrays),
            ("string", self.texts.count),
            ("integer", if self.numbers == 0 { self.integers } else { 0 }),
            ("number", self.numbers),
            ("boolean", self.booleans),
            ("null", self.nulls),
        ];
        let mut types: Vec<Value> = types
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, _)| name.into())
            .collect();
        match types.len() {
            0 => return json!({}),
            1 => schema.extend(types.pop().map(|only| ("type".to_owned(), only))),
            _ => drop(schema.insert("type".to_owned(), types.into())),
        }
        if let Some(format) = self.texts.format() {
            schema.insert("format".to_owned(), format.into());
        }
        if let Some(items) = &self.items {
            schema.insert("items".to_owned(), items.schema(is_strict));
        }
        if self.objects > 0 {
            self.write_members(&mut schema, is_strict);
        }
        Value::Object(schema)
    }

    fn write_members(&self, schema: &mut Map<String, Value>, is_strict: bool) {
        let is_by_id = !self.members.is_empty() && self.members.iter().all(|own| is_id(&own.name));
        if is_by_id || self.is_open {
            schema.insert("additionalProperties".to_owned(), json!({}));
            return;
        }
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for Member { name, shape, count } in &self.members {
            properties.insert(name.clone(), shape.schema(is_strict));
            if *count == self.objects {
                required.push(Value::from(name.as_str()));
            }
        }
        schema.insert("properties".to_owned(), properties.into());
        if is_strict && !required.is_empty() {
            schema.insert("required".to_owned(), required.into());
        }
    }
}

impl Texts {
    fn add(&mut self, text: &str) {
        self.count += 1;
        if is_uuid(text) {
            self.uuids += 1;
        } else if text.len() == "2026-11-28".len() && text.parse::<jiff::civil::Date>().is_ok() {
            self.dates += 1;
        } else if text.parse::<jiff::Timestamp>().is_ok() {
            self.moments += 1;
        }
    }

    /// The format that all of them have.
    fn format(&self) -> Option<&'static str> {
        let all = [("uuid", self.uuids), ("date", self.dates), ("date-time", self.moments)];
        let found = all.into_iter().find(|(_, count)| self.count > 0 && *count == self.count);
        found.map(|(name, _)| name)
    }
}

/// The schema of texts from a path or a query: of one value, it is only known that it is a text,
/// unless `is_sure`.
pub(super) fn of_texts<'t>(texts: impl Iterator<Item = &'t str>, is_sure: bool) -> Value {
    let mut distinct: Vec<&str> = texts.collect();
    distinct.sort_unstable();
    distinct.dedup();
    let all = |test: &dyn Fn(&str) -> bool| {
        (is_sure || distinct.len() > 1) && distinct.iter().all(|text| test(text))
    };
    if all(&|text| text.parse::<i64>().is_ok_and(|number| number.to_string() == text)) {
        return json!({ "type": "integer" });
    }
    if all(&|text| matches!(text, "true" | "false")) {
        return json!({ "type": "boolean" });
    }
    if all(&is_uuid) {
        return json!({ "type": "string", "format": "uuid" });
    }
    json!({ "type": "string" })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Shape, of_texts};

    fn check(values: &[Value], expected: &Value) {
        let mut shape = Shape::default();
        values.iter().for_each(|value| shape.add(value));
        assert_eq!(shape.schema(true), *expected, "{values:?}");
        let schema = jsonschema::validator_for(expected).expect("a schema");
        assert!(values.iter().all(|value| schema.is_valid(value)), "{values:?}");
    }

    #[test]
    fn schemas_tell_what_values_have_in_common() {
        check(&[], &json!({}));
        check(&[json!(1), json!(2)], &json!({ "type": "integer" }));
        check(&[json!(1), json!(2.5)], &json!({ "type": "number" }));
        check(&[json!("a"), Value::Null], &json!({ "type": ["string", "null"] }));
        check(&[json!([])], &json!({ "type": "array" }));
        check(
            &[json!([{ "a": 1 }, { "a": 2, "b": "2026-11-28" }])],
            &json!({ "type": "array", "items": { "type": "object", "required": ["a"],
                "properties": { "a": { "type": "integer" },
                    "b": { "type": "string", "format": "date" } } } }),
        );
        let moment = json!("2026-11-28T10:00:00Z");
        check(std::slice::from_ref(&moment), &json!({ "type": "string", "format": "date-time" }));
        check(&[moment, json!("x")], &json!({ "type": "string" }));
        let map = json!({ "1": true, "2": false });
        check(&[map], &json!({ "type": "object", "additionalProperties": {} }));
        let many: serde_json::Map<_, _> = (0..300).map(|n| (format!("k-{n}"), json!(n))).collect();
        check(&[many.into()], &json!({ "type": "object", "additionalProperties": {} }));
    }

    #[test]
    fn one_text_is_a_text() {
        let check = |texts: &[&str], is_sure, expected| {
            assert_eq!(of_texts(texts.iter().copied(), is_sure)["type"], expected, "{texts:?}");
        };
        check(&["1", "1"], false, "string");
        check(&["1", "1"], true, "integer");
        check(&["1", "2"], false, "integer");
        check(&["1", "01"], false, "string");
        check(&["true", "false"], false, "boolean");
    }
}
