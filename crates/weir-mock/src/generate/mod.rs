//! Values made from schemas, and checked against them before they are used.

pub(crate) mod chinese;
mod decimal;
mod merge;
pub(crate) mod names;
mod number;
pub(crate) mod pattern;
mod rule;
mod string;
mod structure;

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

use serde_json::Value;

use crate::chance::Chance;
use crate::definition::{Documents, Place, Schema};
use merge::{absolute, merge};
pub(crate) use rule::field_rule;

/// The maximum number of values and schemas visited for one answer, in all attempts.
const NODES_MAX: u32 = 50_000;
/// From how many on what may be left out is.
const NODES_OPTIONAL_MAX: u32 = 2_000;
/// Depth from which on only what must be there is made.
const DEPTH_OPTIONAL_MAX: usize = 8;
/// Depth at which making a value is given up.
const DEPTH_MAX: usize = 100;
/// Values that are made and tried against the schema.
const TRIES_MAX: u64 = 20;

/// The number of attempts in which a schema without a type gets the usual one.
const PLAIN_TRIES_MAX: usize = 6;

/// The mode of generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Plain values, the same each time: examples, defaults, `"string"`, 0.
    Static,
    /// Realistic, by chance.
    Dynamic,
}

/// Makes values for one answer.
pub(crate) struct Generator<'a> {
    schema: &'a Schema,
    mode: Mode,
    chance: Chance,
    now_ms: i64,
    /// Shared with the generators made from this one.
    nodes: Rc<Cell<u32>>,
}

/// The place and progress of a value being generated.
#[derive(Clone)]
struct Spot {
    /// JSON pointer in the answer, from which random values are derived.
    pointer: String,
    /// Name of the property, or of the one that the array is in.
    name: String,
    depth: usize,
    /// The number of the attempt; later ones leave out parts that did not help.
    attempt: u64,
}

impl Spot {
    fn member(&self, name: &str) -> Self {
        Self {
            pointer: format!("{}/{name}", self.pointer),
            name: name.to_owned(),
            depth: self.depth + 1,
            attempt: self.attempt,
        }
    }

    fn element(&self, at: usize) -> Self {
        Self {
            pointer: format!("{}/{at}", self.pointer),
            name: self.name.clone(),
            depth: self.depth + 1,
            attempt: self.attempt,
        }
    }
}

/// A schema with references and `allOf` resolved at its top, and the file it is in.
struct Resolved<'s> {
    file: Cow<'s, str>,
    schema: Cow<'s, Value>,
}

impl<'a> Generator<'a> {
    pub(crate) fn new(schema: &'a Schema, mode: Mode, chance: Chance, now_ms: i64) -> Self {
        Self { schema, mode, chance, now_ms, nodes: Rc::default() }
    }

    /// A value that the schema allows; `place` distinguishes the values of one answer.
    ///
    /// # Errors
    /// Why there is none, with its place in the definition.
    pub(crate) fn make(&self, place: &str) -> Result<Value, String> {
        let source = self.schema.source();
        let validator = source.validator().map_err(str::to_owned)?;
        let mut why = String::new();
        for attempt in 0..TRIES_MAX {
            let spot = Spot { pointer: place.to_owned(), name: String::new(), depth: 0, attempt };
            // A fixed value that does not fit is replaced by a random one.
            let by_chance = (attempt > 1).then(|| self.by_chance());
            let value = match by_chance.as_ref().unwrap_or(self).of_place(source.place(), &spot) {
                Ok(value) => value,
                Err(error) => {
                    why = error;
                    continue;
                }
            };
            match validator.validate(&value) {
                Ok(()) => return Ok(value),
                Err(error) => why = format!("{}: {error}", error.instance_path()),
            }
        }
        let at = self.schema.place.uri();
        Err(format!("{}: no value was found that the schema allows: {why}", short(&at)))
    }

    fn documents(&self) -> &'a Documents {
        self.schema.source().documents()
    }

    fn by_chance(&self) -> Self {
        Self { nodes: Rc::clone(&self.nodes), mode: Mode::Dynamic, ..*self }
    }

    /// Counts one more value or schema.
    fn count(&self, spot: &Spot) -> Result<(), String> {
        self.nodes.set(self.nodes.get() + 1);
        match self.nodes.get() > NODES_MAX {
            true => {
                Err(format!("{}: the schema is too large or goes on without end", spot.pointer))
            }
            false => Ok(()),
        }
    }

    /// Whether only required parts are generated.
    fn is_sparing(&self, spot: &Spot) -> bool {
        spot.depth > DEPTH_OPTIONAL_MAX || self.nodes.get() > NODES_OPTIONAL_MAX
    }

    fn is_dynamic(&self) -> bool {
        self.mode == Mode::Dynamic
    }

    fn of_place(&self, place: &Place, spot: &Spot) -> Result<Value, String> {
        let schema = self.documents().value(place).unwrap_or(&Value::Bool(true));
        self.value(&place.file, schema, spot)
    }

    /// A value for `schema` of `file`.
    fn value(&self, file: &str, schema: &Value, spot: &Spot) -> Result<Value, String> {
        self.count(spot)?;
        if spot.depth > DEPTH_MAX {
            return Err(format!("{}: the schema has no end", spot.pointer));
        }
        let resolved = self.resolve(file, schema, spot, 0)?;
        let (file, schema) = (&*resolved.file, &*resolved.schema);
        if schema == &Value::Bool(false) {
            return Err(format!("{}: the schema allows nothing", spot.pointer));
        }
        if let Some(value) = self.given(schema, spot) {
            return Ok(value);
        }
        if let Some(value) = self.by_field_rule(schema, spot) {
            return Ok(value);
        }
        match self.kind(schema, spot) {
            "null" => Ok(Value::Null),
            "boolean" => {
                let dice = self.chance.roll(&spot.pointer, spot.attempt);
                Ok(Value::Bool(!self.is_dynamic() || dice.is_multiple_of(2)))
            }
            kind @ ("integer" | "number") => self.number(schema, spot, kind == "integer"),
            "array" => self.array(file, schema, spot),
            "object" => self.object(file, schema, spot),
            _ => self.string(schema, spot),
        }
    }

    /// Follows references, and makes one schema of `allOf`, a branch of `oneOf` and `anyOf`, and
    /// `if`.
    fn resolve<'s>(
        &self,
        file: &'s str,
        schema: &'s Value,
        spot: &Spot,
        hops: usize,
    ) -> Result<Resolved<'s>, String> {
        const HOPS_MAX: usize = 128;
        let own = Resolved { file: Cow::Borrowed(file), schema: Cow::Borrowed(schema) };
        let Value::Object(members) = schema else { return Ok(own) };
        let makes = ["$ref", "allOf", "oneOf", "anyOf", "if"];
        if !makes.iter().any(|key| members.contains_key(*key)) {
            return Ok(own);
        }
        self.count(spot)?;
        if hops > HOPS_MAX {
            return Err(format!("{}: references lead in a circle", spot.pointer));
        }
        let mut rest = members.clone();
        let mut parts: Vec<(String, Value)> = Vec::new();
        if let Some(Value::String(reference)) = rest.remove("$ref") {
            let from = Place::root(file).at("$ref");
            let target = self.documents().target(file, &reference);
            let target = target.map_err(|why| from.error(why).to_string())?;
            let found = self.documents().value(&target);
            let found = found.ok_or_else(|| from.error("it leads nowhere").to_string())?;
            parts.push((target.file, found.clone()));
        }
        for part in rest.remove("allOf").and_then(array_of).into_iter().flatten() {
            parts.push((file.to_owned(), part));
        }
        for key in ["oneOf", "anyOf"] {
            let Some(branches) = rest.remove(key).and_then(array_of) else { continue };
            let discriminator = rest.get("discriminator").cloned();
            if let Some(branch) = self.branch(&branches, key, spot) {
                if let Some(fixed) = discriminator.and_then(|one| discriminated(&one, &branch)) {
                    parts.push((file.to_owned(), fixed));
                }
                parts.push((file.to_owned(), branch));
            }
        }
        if let Some(condition) = rest.remove("if") {
            let (then, other) = (rest.remove("then"), rest.remove("else"));
            if spot.attempt.is_multiple_of(2) {
                parts.push((file.to_owned(), condition));
                parts.extend(then.map(|then| (file.to_owned(), then)));
            } else {
                parts.extend(other.map(|other| (file.to_owned(), other)));
            }
        }
        let mut whole = Value::Object(rest);
        for (from, part) in &parts {
            let part = self.resolve(from, part, spot, hops + 1)?;
            let schema = part.schema.into_owned();
            let schema = if part.file == file { schema } else { absolute(schema, &part.file) };
            whole = merge(whole, schema);
        }
        Ok(Resolved { schema: Cow::Owned(whole), ..own })
    }

    /// The branch that a value is made for; another one with each try.
    fn branch(&self, branches: &[Value], key: &str, spot: &Spot) -> Option<Value> {
        let count = branches.len() as u64;
        let place = format!("{}:{key}", spot.pointer);
        let at = match self.is_dynamic() {
            true => self.chance.below(&place, spot.attempt, count),
            false => spot.attempt % count.max(1),
        };
        // Deep inside a value, a branch without recursion is preferred.
        let simple = branches.iter().find(|branch| {
            branch.get("$ref").is_none()
                && branch.get("properties").is_none()
                && branch.get("items").is_none()
        });
        let chosen = simple.filter(|_| self.is_sparing(spot));
        chosen.or_else(|| branches.get(usize::try_from(at).unwrap_or(0))).cloned()
    }

    /// A value from the schema itself: an example, default or the like.
    fn given(&self, schema: &Value, spot: &Spot) -> Option<Value> {
        if let Some(fixed) = schema.get("const") {
            return Some(fixed.clone());
        }
        let plain = !self.is_dynamic() && spot.attempt == 0;
        if plain && let Some(value) = example(schema) {
            return Some(value.clone());
        }
        let values = schema.get("enum").and_then(Value::as_array)?;
        let filled: Vec<&Value> = values.iter().filter(|value| !value.is_null()).collect();
        let count = filled.len() as u64;
        let at = match self.is_dynamic() {
            true => self.chance.below(&spot.pointer, spot.attempt, count),
            false => spot.attempt % count.max(1),
        };
        let found = filled.get(usize::try_from(at).unwrap_or(0)).copied();
        found.or(values.first()).cloned()
    }

    /// The type that a value is made of.
    fn kind<'s>(&self, schema: &'s Value, spot: &Spot) -> &'s str {
        match schema.get("type") {
            Some(Value::String(own)) => return own,
            Some(Value::Array(all)) => {
                let all: Vec<&str> = all.iter().filter_map(Value::as_str).collect();
                let place = format!("{}:null", spot.pointer);
                let is_nullable = all.contains(&"null");
                let deep = self.is_sparing(spot);
                let by_chance = self.is_dynamic() && self.chance.happens(&place, spot.attempt, 10);
                if is_nullable && (deep || by_chance) {
                    return "null";
                }
                return all.into_iter().find(|one| *one != "null").unwrap_or("null");
            }
            _ => {}
        }
        const IMPLIED: &[(&str, &[&str])] = &[
            ("object", &["properties", "additionalProperties", "required", "patternProperties"]),
            ("array", &["items", "prefixItems", "minItems", "contains"]),
            ("string", &["pattern", "format", "minLength", "maxLength"]),
            ("number", &["minimum", "maximum", "multipleOf", "exclusiveMinimum"]),
        ];
        let found =
            IMPLIED.iter().find(|(_, keys)| keys.iter().any(|key| schema.get(*key).is_some()));
        // Where neither is allowed, another type may be.
        const OTHERS: &[&str] = &["integer", "boolean", "array", "object", "string", "null"];
        let at = usize::try_from(spot.attempt).unwrap_or(0);
        let other = OTHERS.get(at % OTHERS.len()).filter(|_| at >= PLAIN_TRIES_MAX);
        let usual = if self.is_dynamic() { "string" } else { "object" };
        found.map_or(other.copied().unwrap_or(usual), |(kind, _)| kind)
    }
}

/// The value that a schema shows.
fn example(schema: &Value) -> Option<&Value> {
    let list = schema.get("examples").and_then(Value::as_array);
    let example = list.and_then(|list| list.first()).or_else(|| schema.get("example"));
    example.or_else(|| schema.get("default"))
}

fn array_of(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(all) => Some(all),
        _ => None,
    }
}

/// The schema that fixes the discriminator property of a branch.
fn discriminated(discriminator: &Value, branch: &Value) -> Option<Value> {
    let property = discriminator.get("propertyName")?.as_str()?;
    let reference = branch.get("$ref")?.as_str()?;
    let mapping = discriminator.get("mapping").and_then(Value::as_object);
    let mapped = mapping.into_iter().flatten().find_map(|(name, target)| {
        let target = target.as_str()?;
        let short = !target.contains('/') && reference.ends_with(&format!("/{target}"));
        (target == reference || short).then(|| name.clone())
    });
    let name = mapped.or_else(|| reference.rsplit('/').next().map(str::to_owned))?;
    Some(serde_json::json!({
        "type": "object",
        "required": [property],
        "properties": { property: { "const": name } },
    }))
}

fn short(uri: &str) -> &str {
    uri.strip_prefix("weir:///").unwrap_or(uri)
}
