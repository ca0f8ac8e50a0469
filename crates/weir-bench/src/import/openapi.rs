//! OpenAPI 3: every operation as one request, made of the description's examples.
//!
//! A value is taken from `example`, the first of `examples`, or the schema's `example`, `default`,
//! first `enum` value or least number; a text without any of these is an error with its place,
//! since a made-up value would mostly measure refusals. Optional parameters without an example are
//! left out. References are followed within the document.

use super::found::{Found, quote};
use anyhow::{Context, bail, ensure};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// Deepest nesting of schemas and references that is followed.
const DEPTH_MAX: usize = 32;
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];

/// The requests of a description. `target` replaces its server.
///
/// # Errors
/// With the place that is not understood.
pub(super) fn requests(text: &str, target: Option<&str>) -> anyhow::Result<Vec<Found>> {
    let document: Value = serde_saphyr::from_str(text)
        .map_err(|why| anyhow::Error::msg(why.to_string().replace("<input>", "the file")))?;
    let version = document.get("openapi").and_then(Value::as_str).unwrap_or_default();
    ensure!(version.starts_with("3."), "it is not an OpenAPI 3 description");
    let base = base(&document, target)?;
    let paths = document.get("paths").and_then(Value::as_object).context("no /paths")?;
    let mut all = Vec::new();
    for (path, item) in paths {
        let item = follow(&document, item, 0).with_context(|| path.clone())?;
        for method in METHODS {
            let Some(operation) = item.get(method) else { continue };
            let place = || format!("{} {path}", method.to_uppercase());
            let one = Operation { document: &document, item, operation };
            all.push(one.request(&base, method, path).with_context(place)?);
        }
    }
    Ok(all)
}

/// The base URL: paths are appended to it. With a target, only the server's path counts.
fn base(document: &Value, target: Option<&str>) -> anyhow::Result<String> {
    let server = document.pointer("/servers/0/url").and_then(Value::as_str).unwrap_or("/");
    if server.contains('{') && target.is_none() {
        bail!("/servers/0/url has variables: give --target URL");
    }
    let path = match server.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("", |at| &rest[at..]),
        None => server,
    };
    match target {
        // The plan already has a target; only the operation's path is needed.
        Some(_) if server.contains('{') => Ok("http://target".to_owned()),
        Some(_) => Ok(format!("http://target{}", path.trim_end_matches('/'))),
        None if server.starts_with("http://") => Ok(server.trim_end_matches('/').to_owned()),
        None => bail!("the description has no http:// server: give --target URL"),
    }
}

/// The target of a `$ref`; any other value is returned as it is.
fn follow<'a>(document: &'a Value, value: &'a Value, depth: usize) -> anyhow::Result<&'a Value> {
    let Some(reference) = value.get("$ref").and_then(Value::as_str) else { return Ok(value) };
    ensure!(depth < DEPTH_MAX, "{reference}: references without end");
    let pointer = reference.strip_prefix('#').with_context(|| {
        format!("{reference}: only references within the document are followed")
    })?;
    let found = document.pointer(pointer).with_context(|| format!("{reference} leads nowhere"))?;
    follow(document, found, depth + 1)
}

struct Operation<'a> {
    document: &'a Value,
    item: &'a Value,
    operation: &'a Value,
}

impl Operation<'_> {
    fn request(&self, base: &str, method: &str, path: &str) -> anyhow::Result<Found> {
        let mut found = Found { method: method.to_uppercase(), ..Found::default() };
        let (mut filled, mut query) = (path.to_owned(), Vec::new());
        for parameter in self.parameters()? {
            let text = |name: &str| parameter.get(name).and_then(Value::as_str);
            let name = text("name").context("a parameter without a name")?;
            let within = text("in").unwrap_or_default();
            let required = parameter.get("required") == Some(&Value::Bool(true));
            let value = self.value(parameter).with_context(|| format!("parameter {name}"));
            let value = match value {
                Ok(value) => plain(&value).with_context(|| format!("parameter {name}"))?,
                Err(error) if required => return Err(error),
                Err(_) => continue,
            };
            match within {
                "path" => filled = filled.replace(&format!("{{{name}}}"), &encode(&value)),
                "query" => query.push(format!("{}={}", encode(name), encode(&value))),
                "header" => found.headers.push((name.to_owned(), value)),
                "cookie" => found.headers.push(("Cookie".into(), format!("{name}={value}"))),
                other => bail!("parameter {name}: '{other}' is not understood"),
            }
        }
        ensure!(!filled.contains('{'), "nothing gives the variable in {filled}");
        let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        found.url = format!("{base}{filled}{query}");
        self.body(&mut found)?;
        self.expect(&mut found);
        Ok(found)
    }

    /// Parameters of the operation, and those of its path that it does not override.
    fn parameters(&self) -> anyhow::Result<Vec<&Value>> {
        let mut all: Vec<&Value> = Vec::new();
        let key = |value: &Value| (value.get("name").cloned(), value.get("in").cloned());
        for owner in [self.operation, self.item] {
            let list = owner.get("parameters").and_then(Value::as_array);
            for parameter in list.into_iter().flatten() {
                let parameter = follow(self.document, parameter, 0)?;
                if !all.iter().any(|known| key(known) == key(parameter)) {
                    all.push(parameter);
                }
            }
        }
        Ok(all)
    }

    fn body(&self, found: &mut Found) -> anyhow::Result<()> {
        let Some(body) = self.operation.get("requestBody") else { return Ok(()) };
        let body = follow(self.document, body, 0)?;
        let content = body.get("content").and_then(Value::as_object);
        let Some(content) = content else { return Ok(()) };
        let json = content.iter().find(|(name, _)| name.contains("json"));
        let (media, shape) = json.or_else(|| content.iter().next()).context("an empty body")?;
        let value = self.value(shape).context("requestBody")?;
        found.body = Some(match (&value, media.contains("json")) {
            (Value::String(text), false) => text.clone(),
            (_, true) => value.to_string(),
            _ => bail!("requestBody: an example of {media} must be a text"),
        });
        found.headers.push(("Content-Type".into(), media.clone()));
        Ok(())
    }

    /// Documented answers below 400 are the expected ones.
    fn expect(&self, found: &mut Found) {
        let responses = self.operation.get("responses").and_then(Value::as_object);
        let codes = responses.into_iter().flatten().filter_map(|(code, _)| code.parse().ok());
        let mut codes: Vec<u16> = codes.filter(|code| *code < 400).collect();
        codes.sort_unstable();
        if !codes.is_empty() {
            found.more.push(format!("expect: {codes:?}"));
        }
        if let Some(name) = self.operation.get("operationId").and_then(Value::as_str) {
            found.more.push(format!("name: {}", quote(name)));
        }
    }

    /// The example of a parameter or of a body's media type.
    fn value(&self, owner: &Value) -> anyhow::Result<Value> {
        if let Some(example) = owner.get("example") {
            return Ok(example.clone());
        }
        let first =
            owner.get("examples").and_then(|examples| examples.as_object()?.values().next());
        if let Some(first) = first {
            let first = follow(self.document, first, 0)?;
            return first.get("value").cloned().context("an example without a value");
        }
        self.of_schema(owner.get("schema").context("neither example nor schema")?, 0)
    }

    fn of_schema(&self, schema: &Value, depth: usize) -> anyhow::Result<Value> {
        ensure!(depth < DEPTH_MAX, "a schema without end: give an example");
        let schema = follow(self.document, schema, 0)?;
        let given = ["example", "default", "const"].iter().find_map(|name| schema.get(*name));
        let listed = ["examples", "enum"].iter().find_map(|name| schema.get(*name)?.get(0));
        if let Some(value) = given.or(listed) {
            return Ok(value.clone());
        }
        if let Some(first) = ["oneOf", "anyOf"].iter().find_map(|name| schema.get(*name)?.get(0)) {
            return self.of_schema(first, depth + 1);
        }
        let kind = schema.get("type").map(|kind| kind.get(0).unwrap_or(kind));
        match kind.and_then(Value::as_str) {
            Some("integer" | "number") => Ok(schema.get("minimum").cloned().unwrap_or(1.into())),
            Some("boolean") => Ok(true.into()),
            Some("null") => Ok(Value::Null),
            Some("array") => match schema.get("items") {
                Some(items) => Ok(vec![self.of_schema(items, depth + 1)?].into()),
                None => bail!("an array without items: give an example"),
            },
            Some("object") => self.of_object(schema, depth),
            None if schema.get("properties").is_some() || schema.get("allOf").is_some() => {
                self.of_object(schema, depth)
            }
            _ => bail!("no example, default or enum"),
        }
    }

    /// Required properties; others only if they have a value of their own.
    fn of_object(&self, schema: &Value, depth: usize) -> anyhow::Result<Value> {
        let mut object = serde_json::Map::new();
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            match self.of_schema(part, depth + 1)? {
                Value::Object(more) => object.extend(more),
                _ => bail!("allOf: only objects are put together"),
            }
        }
        let required = schema.get("required").and_then(Value::as_array);
        let required = |name: &str| required.is_some_and(|list| list.iter().any(|r| r == name));
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            match self.of_schema(property, depth + 1) {
                Ok(value) => _ = object.insert(name.clone(), value),
                Err(error) if required(name) => return Err(error.context(name.clone())),
                Err(_) => {}
            }
        }
        Ok(object.into())
    }
}

/// A value for a URL or a header.
fn plain(value: &Value) -> anyhow::Result<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        Value::Array(list) => Ok(list.iter().map(plain).collect::<Result<Vec<_>, _>>()?.join(",")),
        Value::Object(_) | Value::Null => bail!("objects in a URL are not taken"),
    }
}

/// Percent-encodes all but unreserved characters (RFC 3986, 2.3).
pub(super) fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::{Format, Given, plan};
    use crate::plan_file::PlanFile;

    const DOCUMENT: &str = "
openapi: 3.0.3
servers: [{ url: 'http://127.0.0.1:9/v1' }]
paths:
  /pets/{id}:
    parameters:
      - { name: id, in: path, required: true, schema: { type: integer, minimum: 7 } }
    get:
      operationId: showPet
      parameters:
        - { name: lang, in: query, schema: { type: string, enum: [de, en] } }
        - { name: page, in: query, schema: { type: string } }
        - { name: X-Trace, in: header, required: true, example: a b }
      responses: { '200': {}, default: {} }
  /pets:
    post:
      requestBody:
        content:
          application/json: { schema: { $ref: '#/components/schemas/Pet' } }
components:
  schemas:
    Pet:
      type: object
      required: [name]
      properties:
        name: { type: string, example: Rex }
        tags: { type: array, items: { type: string } }
        age: { type: integer }
";

    fn check(text: &str, target: Option<&str>, expected: &[&str]) {
        let given = Given { target, file: "" };
        let yaml = plan(Format::Openapi, text, &given);
        let yaml = yaml.unwrap_or_else(|error| format!("{error:#}"));
        for part in expected {
            assert!(yaml.contains(part), "{yaml} lacks {part}");
        }
    }

    #[test]
    fn operations_become_requests() {
        let parts = [
            "target: \"http://127.0.0.1:9\"",
            "path: \"/v1/pets/7?lang=de\"",
            "\"X-Trace\": \"a b\"",
            "expect: [200]",
            "name: \"showPet\"",
            "body: \"{\\\"name\\\":\\\"Rex\\\",\\\"age\\\":1}\"",
        ];
        check(DOCUMENT, None, &parts);
        let given = Given { target: Some("http://127.0.0.1:8/x"), file: "" };
        let yaml = plan(Format::Openapi, DOCUMENT, &given).unwrap();
        assert!(yaml.starts_with("target: \"http://127.0.0.1:8/x\""), "{yaml}");
        let (plan, _) = PlanFile::parse(&yaml).unwrap().compile(".".as_ref()).unwrap();
        assert_eq!(plan.requests.len(), 2);
    }

    #[test]
    fn what_has_no_value_is_an_error_with_its_place() {
        let without =
            DOCUMENT.replace(", minimum: 7", "").replace("type: integer }", "type: string }");
        check(&without, None, &["GET /pets/{id}: parameter id: no example"]);
        let unnamed = DOCUMENT.replace(", example: Rex", "");
        check(&unnamed, None, &["POST /pets: requestBody: name: no example"]);
        check(&DOCUMENT.replace("schemas/Pet'", "schemas/Dog'"), None, &["POST /pets", "nowhere"]);
        check("swagger: '2.0'", None, &["not an OpenAPI 3"]);
        check("openapi: 3.1.0\npaths: {}", None, &["give --target"]);
    }
}
