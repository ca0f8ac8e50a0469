//! Values for the oracles, made by weir as it answers requests.

use std::fmt;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use serde_json::{Value, json};
use weir_mock::{Api, Call, Mocks, Options};
use weir_testkit::tree::root;
use weir_wire::Fields;

/// The time that dates are made for.
const NOW_MS: i64 = 1_700_000_000_000;

/// All values, as lines for those who judge them.
#[derive(Debug, Default)]
pub(super) struct Samples {
    pub for_node: Vec<Value>,
    pub numbers: Vec<Value>,
    /// What was answered with a problem.
    pub failed: Vec<Failed>,
}

/// A schema or template that has no value.
#[derive(Debug)]
pub(super) struct Failed {
    pub name: String,
    seed: u64,
    why: String,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}: no value: {}", self.seed, self.why)
    }
}

/// Makes `seeds` values of each schema and template.
///
/// # Errors
/// One that is not understood.
pub(super) fn make(seeds: u64) -> anyhow::Result<Samples> {
    let mut samples = Samples::default();
    let schemas = table("schemas.json")?;
    for (dialect, list) in schemas.as_object().into_iter().flatten() {
        for schema in list.as_array().into_iter().flatten() {
            let name = format!("{dialect} {schema}");
            let version = if dialect == "3.0" { "3.0.3" } else { "3.1.0" };
            let sample = json!({ "oracle": "ajv", "dialect": dialect, "schema": schema });
            let made = samples.of_each(&name, &openapi(version, schema), seeds, &sample)?;
            samples.for_node.extend(made);
        }
    }
    let templates = table("templates.json")?;
    let rules = templates.get("rules").and_then(Value::as_array).into_iter().flatten();
    let rules = rules.map(|template| ("rules", template.clone()));
    let texts = templates.get("placeholders").and_then(Value::as_array).into_iter().flatten();
    let texts = texts.map(|text| {
        let template = if text.is_string() { json!({ "v": text }) } else { text.clone() };
        ("placeholders", template)
    });
    for (oracle, template) in rules.chain(texts) {
        let name = format!("mock.js {template}");
        let sample = json!({ "oracle": oracle, "template": template });
        let made = samples.of_each(&name, &yapi(&template), seeds, &sample)?;
        samples.for_node.extend(made);
    }
    let text = json!({ "type": "string" });
    let numbers = json!({
        "type": "object",
        "required": ["idCard", "creditCode", "bankCard"],
        "properties": { "idCard": text, "creditCode": text, "bankCard": text },
    });
    let definition = openapi("3.1.0", &numbers);
    samples.numbers = samples.of_each("Chinese numbers", &definition, seeds * 10, &json!({}))?;
    Ok(samples)
}

impl Samples {
    /// The answers of a definition to `seeds` requests, each added to a copy of `sample`.
    fn of_each(
        &mut self,
        name: &str,
        definition: &Value,
        seeds: u64,
        sample: &Value,
    ) -> anyhow::Result<Vec<Value>> {
        let none = |file: &str| Err(format!("there is no {file}"));
        let api = Api::read("api", "api.json", &definition.to_string(), &none);
        let api = api.map_err(|error| anyhow!("{name}: {error}"))?;
        let options = Options { dynamic: true, ..Options::default() };
        let mocks = Mocks::new(vec![Arc::new(api)], options);
        let mocks = mocks.map_err(|why| anyhow!("{name}: {why}"))?;
        let (fields, mut made) = (Fields::default(), Vec::new());
        for seed in 0..seeds {
            let call =
                Call { method: b"GET", path: b"/a", query: None, fields: &fields, body: b"" };
            let reply = mocks.answer(&call, seed, NOW_MS);
            if reply.status != 200 {
                let why = String::from_utf8_lossy(&reply.body).into_owned();
                self.failed.push(Failed { name: name.to_owned(), seed, why });
                continue;
            }
            let mut sample = sample.clone();
            sample["name"] = json!(name);
            sample["seed"] = json!(seed);
            sample["value"] = serde_json::from_slice(&reply.body).with_context(|| {
                format!("{name}, seed {seed}: {}", String::from_utf8_lossy(&reply.body))
            })?;
            made.push(sample);
        }
        Ok(made)
    }
}

fn table(name: &str) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(root().join("bench/oracles").join(name))?;
    serde_json::from_str(&text).with_context(|| name.to_owned())
}

fn openapi(version: &str, schema: &Value) -> Value {
    json!({
        "openapi": version,
        "info": { "title": "t", "version": "1" },
        "paths": { "/a": { "get": { "responses": { "200": {
            "description": "d",
            "content": { "application/json": { "schema": schema } },
        } } } } },
    })
}

fn yapi(template: &Value) -> Value {
    json!([{ "name": "c", "list": [{
        "title": "t",
        "path": "/a",
        "method": "GET",
        "res_body_type": "json",
        "res_body": template.to_string(),
    }] }])
}
