//! The recorded exchanges of one operation, as OpenAPI has them.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value, json};

use super::example::{self, Example};
use super::exchange::{RecordedExchange, Tally};
use super::secret;
use super::shape::{Shape, of_texts};
use crate::definition::is_field_kept;
use crate::request::form_pairs;

/// Examples of one status that are kept.
const EXAMPLES_MAX: usize = 100;
/// A longer body is not compared with requests.
const CONDITION_BYTES_MAX: usize = 16 * 1024;
/// Fields of a response that are kept.
const FIELDS_MAX: usize = 50;

/// An exchange, and the variables of its path.
pub(super) struct Recorded<'e> {
    pub exchange: &'e RecordedExchange,
    pub values: Vec<(String, String)>,
}

/// The operation object of exchanges with one method and template.
pub(super) fn write(recorded: &[Recorded<'_>], tally: &mut Tally) -> Value {
    let mut operation = Map::new();
    let parameters = parameters(recorded, tally);
    if !parameters.is_empty() {
        operation.insert("parameters".to_owned(), parameters.into());
    }
    let requests: Vec<_> = recorded
        .iter()
        .map(|one| one.exchange.request.as_ref().map(example::read))
        .inspect(|one| tally.secrets += one.as_ref().map_or(0, |one| one.secrets))
        .collect();
    if let Some(body) = request_body(recorded, &requests) {
        operation.insert("requestBody".to_owned(), body);
    }
    let mut responses = BTreeMap::new();
    let mut rules = Rules::default();
    for (one, request) in recorded.iter().zip(&requests) {
        let response = responses.entry(one.exchange.status).or_insert_with(Response::default);
        let name = response.add(one.exchange, tally);
        rules.add(one, request.as_ref(), name);
    }
    let responses = responses.into_iter().map(|(status, own)| (status.to_string(), own.write()));
    operation.insert("responses".to_owned(), Value::Object(responses.collect()));
    if !rules.all.is_empty() {
        operation.insert("x-weir-mock".to_owned(), rules.write());
    }
    Value::Object(operation)
}

fn parameters(recorded: &[Recorded<'_>], tally: &mut Tally) -> Vec<Value> {
    let mut all = Vec::new();
    for (at, (name, _)) in recorded.first().into_iter().flat_map(|one| &one.values).enumerate() {
        let values = recorded.iter().filter_map(|one| one.values.get(at));
        let values = values.map(|(_, value)| value.as_str());
        let schema = of_texts(values, true);
        all.push(json!({ "name": name, "in": "path", "required": true, "schema": schema }));
    }
    let mut queries: BTreeMap<String, (Vec<String>, bool)> = BTreeMap::new();
    for one in recorded {
        let mut seen = HashSet::new();
        for (name, value) in form_pairs(one.exchange.query.as_bytes()) {
            let is_repeated = !seen.insert(name.clone());
            let (values, repeats) = queries.entry(name).or_default();
            *repeats |= is_repeated;
            values.push(value);
        }
    }
    for (name, (values, repeats)) in queries {
        let is_secret = values.iter().any(|value| secret::is_parameter(&name, value));
        tally.secrets += usize::from(is_secret);
        let one = match is_secret {
            true => json!({ "type": "string" }),
            false => of_texts(values.iter().map(String::as_str), false),
        };
        let schema = if repeats { json!({ "type": "array", "items": one }) } else { one };
        all.push(json!({ "name": name, "in": "query", "required": false, "schema": schema }));
    }
    all
}

/// What requests have for a body. Those that the upstream refused do not tell what it takes: if
/// there are no others, only the media types are known.
fn request_body(recorded: &[Recorded<'_>], requests: &[Option<Example>]) -> Option<Value> {
    let all = || recorded.iter().zip(requests);
    let is_taken = |one: &Recorded<'_>| one.exchange.status < 400;
    let any_taken = all().any(|(one, body)| is_taken(one) && body.is_some());
    let mut content: BTreeMap<&str, (Shape, Option<&Value>)> = BTreeMap::new();
    let mut is_required = true;
    for (_, body) in all().filter(|(one, _)| !any_taken || is_taken(one)) {
        let Some(body) = body else {
            is_required = false;
            continue;
        };
        let (shape, example) = content.entry(&body.range).or_default();
        if let Some(value) = body.value.as_ref().filter(|_| any_taken) {
            shape.add(value);
            example.get_or_insert(value);
        }
    }
    if content.is_empty() {
        return None;
    }
    let content = content.into_iter().map(|(range, (shape, example))| {
        let mut media = Map::new();
        media.insert("schema".to_owned(), shape.schema(false));
        media.extend(example.map(|example| ("example".to_owned(), example.clone())));
        (range.to_owned(), Value::Object(media))
    });
    let content = Value::Object(content.collect());
    Some(json!({ "required": is_required, "content": content }))
}

/// The recorded responses of one status.
#[derive(Default)]
struct Response {
    fields: Vec<(String, String)>,
    /// By media type: schema, examples, and their names.
    media: BTreeMap<String, (Shape, Vec<(String, Value)>)>,
    examples: usize,
}

impl Response {
    /// Adds a response; gives the name of its example.
    fn add(&mut self, exchange: &RecordedExchange, tally: &mut Tally) -> Option<String> {
        for (name, value) in exchange.fields.iter().filter(|(name, _)| is_field_kept(name)) {
            let is_known = |(own, _): &(String, String)| own.eq_ignore_ascii_case(name);
            if secret::is_name(name) || secret::is_text(value) {
                tally.secrets += 1;
            } else if self.fields.len() < FIELDS_MAX && !self.fields.iter().any(is_known) {
                self.fields.push((name.clone(), value.clone()));
            }
        }
        let body = example::read(exchange.response.as_ref()?);
        tally.secrets += body.secrets;
        let (shape, examples) = self.media.entry(body.range).or_default();
        let value = body.value?;
        shape.add(&value);
        if let Some((name, _)) = examples.iter().find(|(_, own)| *own == value) {
            return Some(name.clone());
        }
        if self.examples >= EXAMPLES_MAX {
            return None;
        }
        self.examples += 1;
        tally.examples += 1;
        let name = format!("recorded-{}", self.examples);
        examples.push((name.clone(), value));
        Some(name)
    }

    fn write(self) -> Value {
        let mut response = Map::new();
        response.insert("description".to_owned(), "Recorded.".into());
        if !self.fields.is_empty() {
            let fields = self.fields.into_iter().map(|(name, value)| {
                (name, json!({ "schema": { "type": "string" }, "example": value }))
            });
            response.insert("headers".to_owned(), Value::Object(fields.collect()));
        }
        if !self.media.is_empty() {
            let content = self.media.into_iter().map(|(range, (shape, examples))| {
                let mut media = Map::new();
                media.insert("schema".to_owned(), shape.schema(true));
                if !examples.is_empty() {
                    let each = examples.into_iter();
                    let each = each.map(|(name, value)| (name, json!({ "value": value })));
                    media.insert("examples".to_owned(), Value::Object(each.collect()));
                }
                (range, Value::Object(media))
            });
            response.insert("content".to_owned(), Value::Object(content.collect()));
        }
        Value::Object(response)
    }
}

/// Which request gets which example.
#[derive(Default)]
struct Rules {
    /// Conditions as text: of equal ones the first that was answered well counts.
    at: BTreeMap<String, usize>,
    all: Vec<(Value, u16, Option<String>)>,
}

impl Rules {
    fn add(&mut self, one: &Recorded<'_>, request: Option<&Example>, example: Option<String>) {
        let status = one.exchange.status;
        let has_body = one.exchange.response.is_some();
        // What cannot be answered as it was is answered by what is there.
        if has_body && example.is_none() {
            return;
        }
        let mut when = Map::new();
        let values = one.values.iter().filter(|(_, value)| !secret::is_in_address(value));
        let path: Map<String, Value> = values.cloned().map(|(n, v)| (n, v.into())).collect();
        let query = form_pairs(one.exchange.query.as_bytes()).into_iter();
        let query = query.filter(|(name, value)| !secret::is_parameter(name, value));
        let query: Map<String, Value> = query.map(|(n, v)| (n, v.into())).collect();
        for (key, values) in [("path", path), ("query", query)] {
            if !values.is_empty() {
                when.insert(key.to_owned(), values.into());
            }
        }
        let body = request.and_then(|body| body.condition.as_ref());
        if let Some(body) = body.filter(|body| body.to_string().len() <= CONDITION_BYTES_MAX) {
            when.insert("body".to_owned(), body.clone());
        }
        let when = Value::Object(when);
        let key = when.to_string();
        match self.at.get(&key).and_then(|at| self.all.get_mut(*at)) {
            Some(known) if known.1 >= 400 && status < 400 => *known = (when, status, example),
            Some(_) => {}
            None => {
                self.at.insert(key, self.all.len());
                self.all.push((when, status, example));
            }
        }
    }

    fn write(self) -> Value {
        let each = self.all.into_iter().map(|(when, code, example)| {
            let mut rule = Map::new();
            if when.as_object().is_some_and(|when| !when.is_empty()) {
                rule.insert("when".to_owned(), when);
            }
            rule.insert("code".to_owned(), code.into());
            rule.extend(example.map(|name| ("example".to_owned(), name.into())));
            Value::Object(rule)
        });
        each.collect()
    }
}
