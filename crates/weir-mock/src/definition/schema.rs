//! Schemas of OpenAPI 3.0 and Swagger 2.0, converted to JSON Schema 2020-12, and their validators.

use std::sync::{Arc, OnceLock};

use jsonschema::{Draft, Keyword, PatternOptions, Registry, ValidationError, Validator};
use serde_json::{Map, Value, json};

use super::documents::{Documents, EXTENSION, Place, ROOT, ReadError};

/// The maximum number of backtracking steps to match one pattern.
const BACKTRACKS_MAX: usize = 100_000;

/// Members that hold data, whatever it looks like.
const DATA: [&str; 6] = ["example", "examples", "default", "enum", "const", EXTENSION];

/// Which side a value is on: what is read-only is not required of requests, what is write-only is
/// not in responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Request,
    Response,
}

/// A schema of a definition.
#[derive(Debug)]
pub(crate) struct Schema {
    /// The place of the schema.
    pub(crate) place: Place,
    pub(crate) side: Side,
    /// The meaning of the schema; set once the definition is read
    /// ([`super::source::find_sources`]).
    pub(super) source: Arc<Source>,
}

impl Schema {
    pub(crate) fn new(place: Place, side: Side) -> Self {
        Self { place, side, source: Arc::default() }
    }

    /// The schema itself, references followed.
    pub(crate) fn value(&self) -> Option<&Value> {
        let followed = self.source.documents().follow(self.source.place().clone());
        followed.ok().map(|(_, value)| value)
    }

    /// The meaning of the schema.
    pub(crate) fn source(&self) -> &Source {
        &self.source
    }
}

/// A set of JSON types.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Types(u8);

impl Types {
    const NAMES: [&str; 7] = ["null", "boolean", "object", "array", "number", "integer", "string"];

    /// The set with the type called `name` too; names that are none change nothing.
    pub(crate) fn with(self, name: &str) -> Self {
        Self(self.0 | Self::bit(name))
    }

    pub(crate) fn has(self, name: &str) -> bool {
        self.0 & Self::bit(name) != 0
    }

    fn bit(name: &str) -> u8 {
        Self::NAMES.iter().position(|one| *one == name).map_or(0, |at| 1 << at)
    }
}

/// A schema, and what validates against it once that was needed.
#[derive(Debug, Default)]
pub(crate) struct Source {
    schemas: Arc<Schemas>,
    place: Place,
    /// `None` if it is the same on both.
    pub(super) side: Option<Side>,
    validator: OnceLock<Box<Result<Validator, String>>>,
    /// Types that its values may have, once that was asked.
    pub(crate) types: OnceLock<Types>,
}

impl Source {
    pub(super) fn new(schemas: Arc<Schemas>, place: Place, side: Side) -> Self {
        let side = schemas.is_one_sided().then_some(side);
        Self { schemas, place, side, validator: OnceLock::new(), types: OnceLock::new() }
    }

    /// The documents that the schema is in.
    pub(crate) fn documents(&self) -> &Documents {
        &self.schemas.documents
    }

    /// The place of the schema.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// The validator of the schema; built at the first use.
    ///
    /// # Errors
    /// Why the schema is none.
    pub(crate) fn validator(&self) -> Result<&Validator, &str> {
        let made = self.validator.get_or_init(|| {
            let registry = self.schemas.registry(self.side);
            Box::new(registry.and_then(|registry| build(&registry, &self.place)))
        });
        Result::as_ref(made).map_err(String::as_str)
    }
}

/// The documents that contain the schemas, prepared for a validator. This takes many times the
/// memory of the documents, so it is done at the first validation.
#[derive(Debug, Default)]
pub(crate) struct Schemas {
    pub(super) documents: Documents,
    /// Whether some properties are hidden from one side.
    is_one_sided: bool,
    /// Whether there is only one schema; then the registry need not be kept once its validator is
    /// built.
    is_alone: bool,
    request: OnceLock<RegistryOrWhy>,
    response: OnceLock<RegistryOrWhy>,
}

type RegistryOrWhy = Result<Arc<Registry<'static>>, String>;

impl Schemas {
    /// Of `documents`, which are normalised and may have many schemas.
    pub(super) fn new(documents: Documents) -> Self {
        let is_one_sided = documents.files().any(|(_, root)| is_one_sided(root));
        Self { documents, is_one_sided, ..Self::default() }
    }

    /// Of one schema.
    pub(super) fn alone(documents: Documents, is_one_sided: bool) -> Self {
        Self { documents, is_one_sided, is_alone: true, ..Self::default() }
    }

    pub(super) fn is_one_sided(&self) -> bool {
        self.is_one_sided
    }

    /// The registry to look schemas up in; for one `side` where the sides differ.
    pub(super) fn registry(&self, side: Option<Side>) -> RegistryOrWhy {
        let (kept, mark) = match side {
            None => (&self.request, None),
            Some(Side::Request) => (&self.request, Some("readOnly")),
            Some(Side::Response) => (&self.response, Some("writeOnly")),
        };
        let make = || {
            let made = registry(&self.documents, mark).map_err(|error| error.message);
            made.map(Arc::new)
        };
        if self.is_alone { make() } else { kept.get_or_init(make).clone() }
    }
}

/// Checks that every schema of `documents`, which are normalised, can be found.
///
/// # Errors
/// A document that is no schema's place, or a reference that leads nowhere.
pub(super) fn check(documents: &Documents) -> Result<(), ReadError> {
    registry(documents, None).map(drop)
}

/// Builds the validator of the schema at `place`.
///
/// # Errors
/// Why it is none.
pub(super) fn build(registry: &Registry<'static>, place: &Place) -> Result<Validator, String> {
    let schema = json!({ "$ref": place.uri() });
    let options = || {
        jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_registry(registry)
            .with_base_uri(format!("{ROOT}:entry"))
            .should_validate_formats(true)
            .should_ignore_unknown_formats(true)
            .with_keyword(NotBelow::KEYWORD, |_, _, _| Ok(Box::new(NotBelow)))
            .offline()
    };
    // The linear-time engine, where the patterns permit it.
    let linear = options().with_pattern_options(PatternOptions::regex()).build(&schema);
    linear
        .or_else(|_| {
            let patterns = PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS_MAX);
            options().with_pattern_options(patterns).build(&schema)
        })
        .map_err(|error| error.to_string())
}

fn registry(
    documents: &Documents,
    not_required: Option<&str>,
) -> Result<Registry<'static>, ReadError> {
    let mut builder = Registry::new().draft(Draft::Draft202012);
    for (file, root) in documents.files() {
        let mut root = root.clone();
        if let Some(mark) = not_required {
            relax(&mut root, mark);
        }
        bound(&mut root);
        let place = Place::root(file);
        let uri = place.uri();
        let uri = uri.trim_end_matches('#').to_owned();
        builder = builder.add(uri, root).map_err(|error| place.error(error.to_string()))?;
    }
    builder.prepare().map_err(|error| Place::root(&documents.first).error(error.to_string()))
}

pub(super) fn is_one_sided(value: &Value) -> bool {
    let is_set = |name: &str| value.get(name) == Some(&Value::Bool(true));
    match value {
        Value::Object(members) => {
            is_set("readOnly") || is_set("writeOnly") || members.values().any(is_one_sided)
        }
        Value::Array(elements) => elements.iter().any(is_one_sided),
        _ => false,
    }
}

/// Removes properties that carry `mark` from `required`.
fn relax(value: &mut Value, mark: &str) {
    if let Value::Object(members) = &mut *value
        && let Some(Value::Object(properties)) = members.get("properties")
    {
        let marked: Vec<String> = properties
            .iter()
            .filter(|(_, schema)| schema.get(mark) == Some(&Value::Bool(true)))
            .map(|(name, _)| name.clone())
            .collect();
        if let Some(Value::Array(required)) = members.get_mut("required") {
            required.retain(|name| !marked.iter().any(|own| name == own));
        }
    }
    match value {
        Value::Object(members) => members.values_mut().for_each(|member| relax(member, mark)),
        Value::Array(elements) => elements.iter_mut().for_each(|element| relax(element, mark)),
        _ => {}
    }
}

/// Adds the bounds that the formats of numbers imply, where the schema has none of its own. For
/// validators only: generated numbers stay as readable as without bounds.
fn bound(value: &mut Value) {
    match value {
        Value::Object(members) => {
            let format = members.get("format").and_then(Value::as_str).unwrap_or_default();
            let whole = whole_numbers(format).map(|(low, high)| (number(low), number(high)));
            let greatest = f64::from(f32::MAX);
            let single = (format == "float").then(|| (json!(-greatest), json!(greatest)));
            let is_int64 = format == "int64";
            if let Some((low, high)) = whole.or(single) {
                let bounds =
                    [("minimum", "exclusiveMinimum", low), ("maximum", "exclusiveMaximum", high)];
                for (key, open, bound) in bounds {
                    if !members.contains_key(key) && !members.contains_key(open) {
                        members.insert(key.to_owned(), bound);
                    }
                }
            }
            if is_int64 {
                members.insert(NotBelow::KEYWORD.to_owned(), Value::Bool(true));
            }
            for (key, member) in members.iter_mut() {
                if !DATA.contains(&key.as_str()) {
                    bound(member);
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(bound),
        _ => {}
    }
}

fn number(whole: i128) -> Value {
    i64::try_from(whole)
        .map_or_else(|_| json!(u64::try_from(whole).unwrap_or(u64::MAX)), Value::from)
}

/// Refuses whole numbers just below the least of `int64`: they are read as the nearest fraction,
/// which equals it.
struct NotBelow;

impl NotBelow {
    const KEYWORD: &'static str = "x-weir-int64";
}

impl<'i> Keyword<'i> for NotBelow {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        match Keyword::is_valid(self, instance) {
            true => Ok(()),
            false => Err(ValidationError::custom(format!(
                "the number is less than the minimum of {}",
                i64::MIN
            ))),
        }
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        // Those that are further below break `minimum`.
        !instance.is_f64() || instance.as_f64() != Some(i64::MIN as f64)
    }
}

/// The least and greatest number of a format of whole numbers.
pub(crate) fn whole_numbers(format: &str) -> Option<(i128, i128)> {
    match format {
        "int64" => Some((i64::MIN.into(), i64::MAX.into())),
        "int32" => Some((i32::MIN.into(), i32::MAX.into())),
        "int16" => Some((i16::MIN.into(), i16::MAX.into())),
        "int8" => Some((i8::MIN.into(), i8::MAX.into())),
        "uint64" => Some((0, u64::MAX.into())),
        "uint32" => Some((0, u32::MAX.into())),
        "uint16" => Some((0, u16::MAX.into())),
        "uint8" => Some((0, u8::MAX.into())),
        _ => None,
    }
}

/// Brings every schema of a 3.0 document into the form of 2020-12.
pub(crate) fn normalise(value: &mut Value) {
    match value {
        Value::Object(members) => {
            let looks_like_schema =
                ["type", "nullable", "$ref", "allOf", "oneOf", "anyOf", "enum", "properties"];
            if looks_like_schema.iter().any(|key| members.contains_key(*key)) {
                schema(members);
            }
            for (key, member) in members.iter_mut() {
                if !DATA.contains(&key.as_str()) {
                    normalise(member);
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(normalise),
        _ => {}
    }
}

fn schema(members: &mut Map<String, Value>) {
    if members.get("nullable") == Some(&Value::Bool(true)) {
        members.remove("nullable");
        if let Some(Value::String(own)) = members.get("type").cloned() {
            members.insert("type".to_owned(), json!([own, "null"]));
            if let Some(Value::Array(values)) = members.get_mut("enum")
                && !values.contains(&Value::Null)
            {
                values.push(Value::Null);
            }
        }
    }
    for (flag, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        match members.get(flag) {
            Some(Value::Bool(true)) => {
                let limit = members.remove(bound);
                match limit {
                    Some(limit) => drop(members.insert(flag.to_owned(), limit)),
                    None => drop(members.remove(flag)),
                }
            }
            Some(Value::Bool(false)) => drop(members.remove(flag)),
            _ => {}
        }
    }
    // `type: file` of Swagger 2.0 is any bytes.
    if members.get("type") == Some(&Value::from("file")) {
        members.insert("type".to_owned(), Value::from("string"));
        members.insert("format".to_owned(), Value::from("binary"));
    }
}
