//! The answer to a request, as Prism negotiates it.

mod negotiate;
mod prefer;
mod recorded;
mod xml;

use serde_json::Value;

use crate::chance::Chance;
use crate::definition::{Api, Code, Example, Media, Operation, Response};
use crate::generate::{Generator, Mode};
use crate::problem::Fault;
use crate::request::body::{is_json, is_xml};
use crate::request::{Asked, Call, Enforcement, Violation, check};
use crate::template::Evaluator;
use negotiate::{choose, for_fault, media_for};
use prefer::Prefer;

/// How a set of definitions answers.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Bodies are made from schemas, realistic and by chance, where nothing else is asked for.
    pub dynamic: bool,
    /// What chance starts from; else each answer has a seed of its own, which it tells.
    pub seed: Option<u64>,
    /// A request that is wrong always gets a problem document, even where the definition has a
    /// response for it.
    pub errors: bool,
    /// What becomes of requests that break their definition.
    pub validation: Enforcement,
    /// How long each answer waits, in milliseconds.
    pub delay_ms: u64,
    /// Name of the header that tells APIs with the same paths apart, by their names.
    pub select_header: Option<String>,
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Status.
    pub status: u16,
    /// Header fields, without framing.
    pub fields: Vec<(String, Vec<u8>)>,
    /// Content.
    pub body: Vec<u8>,
    /// How long to wait before it is sent, in milliseconds.
    pub delay_ms: u64,
    /// Where the request went and why it is answered so, for a log.
    pub why: String,
}

impl Reply {
    fn field(&mut self, name: &str, value: impl Into<Vec<u8>>) {
        self.fields.push((name.to_owned(), value.into()));
    }

    fn finish(mut self) -> Self {
        // A value that cannot stand in a head is left out, whatever made it.
        self.fields.retain(|(name, value)| {
            weir_wire::is_token(name.as_bytes()) && weir_wire::is_field_value(value)
        });
        self
    }
}

/// A problem document.
pub(crate) fn fault(fault: &Fault, place: Option<(&Api, &Operation)>) -> Reply {
    let at = place
        .map(|(api, operation)| format!("{}: {} {}: ", api.name, operation.method, operation.path));
    let mut reply = Reply {
        status: fault.status(),
        body: fault.document().to_string().into_bytes(),
        why: format!("{}{}", at.unwrap_or_default(), fault.name()),
        ..Reply::default()
    };
    reply.field("Content-Type", "application/problem+json");
    match fault {
        Fault::NoMethod(methods) => reply.field("Allow", methods.join(", ")),
        Fault::Unauthorized(challenge) if !challenge.is_empty() => {
            reply.field("WWW-Authenticate", challenge.as_str());
        }
        _ => {}
    }
    reply.finish()
}

/// The answer of an operation.
pub(crate) fn answer(
    api: &Api,
    operation: &Operation,
    path_values: &[(&str, String)],
    call: &Call<'_>,
    options: &Options,
    dice: u64,
    now_ms: i64,
) -> Reply {
    let place = Some((api, operation));
    let prefer = match Prefer::read(call) {
        Ok(prefer) => prefer,
        Err(wrong) => return fault(&Fault::Invalid(vec![wrong]), place),
    };
    let enforcement = prefer.validation.unwrap_or(options.validation);
    let mut reported = Vec::new();
    let mut about = None;
    if enforcement != Enforcement::Off
        && let Err(found) = check(api, operation, path_values, call)
    {
        match (found, enforcement) {
            (Fault::Invalid(violations), Enforcement::Report) => reported = violations,
            (_, Enforcement::Report) => {}
            (found, _) => about = Some(found),
        }
    }
    let seed = prefer.seed.or(options.seed);
    let asked = Asked::new(call, path_values);
    let made = Making {
        api,
        operation,
        call,
        asked: &asked,
        prefer: &prefer,
        dynamic: prefer.dynamic.unwrap_or(options.dynamic),
        seed: seed.unwrap_or(dice),
        now_ms,
    };
    let mut reply = match made.answer(about.as_ref(), options) {
        Ok(reply) => reply,
        Err(found) => return fault(&found, place),
    };
    if made.dynamic || api.has_field_rules || reply.why.ends_with(TEMPLATE) {
        reply.field("Weir-Mock-Seed", made.seed.to_string());
    }
    if !reported.is_empty() {
        let all = Value::Array(reported.iter().map(Violation::document).collect());
        reply.field("sl-violations", all.to_string());
    }
    if operation.deprecated {
        reply.field("Deprecation", "true");
    }
    let applied = prefer.applied();
    if !applied.is_empty() {
        reply.field("Preference-Applied", applied);
    }
    reply.field("Weir-Mock", reply.why.clone());
    reply.delay_ms = prefer.delay_ms.unwrap_or(options.delay_ms);
    reply.finish()
}

/// What is told of an answer that came of a template.
const TEMPLATE: &str = "template";

/// What an answer is made from.
struct Making<'a> {
    api: &'a Api,
    operation: &'a Operation,
    call: &'a Call<'a>,
    asked: &'a Asked<'a>,
    prefer: &'a Prefer,
    dynamic: bool,
    seed: u64,
    now_ms: i64,
}

impl Making<'_> {
    /// The answer, or that to a request that is wrong.
    fn answer(&self, wrong: Option<&Fault>, options: &Options) -> Result<Reply, Fault> {
        let (status, response) = match wrong {
            None if !self.operation.recordings.is_empty() => return self.recorded(),
            None => choose(self.operation, self.prefer.code)?,
            Some(found) if options.errors => return Err(found.clone()),
            Some(found) => match for_fault(self.operation, found) {
                Some(chosen) => chosen,
                None => return Err(found.clone()),
            },
        };
        let mut reply = self.of_response(status, response)?;
        if let Some(Fault::Unauthorized(challenge)) = wrong
            && !challenge.is_empty()
        {
            reply.field("WWW-Authenticate", challenge.as_str());
        }
        if let Some(found) = wrong {
            reply.why += &format!(", as the request is wrong: {}", found.name());
        }
        Ok(reply)
    }

    /// An answer that was given before.
    fn recorded(&self) -> Result<Reply, Fault> {
        let operation = self.operation;
        let (found, why) = recorded::choose(operation, self.asked, self.call, self.prefer)?;
        let what = format!("{} {}", operation.method, operation.path);
        let mut reply = Reply {
            status: found.status,
            why: format!(
                "api={}; operation={what}; response={}; recording={}, {why}",
                self.api.name, found.status, found.name
            ),
            ..Reply::default()
        };
        for (name, value) in &found.fields {
            reply.field(name, value.as_str());
        }
        if let Some((media_type, body)) = &found.content
            && !matches!(found.status, 204 | 304)
        {
            reply.field("Content-Type", media_type.as_str());
            reply.body.clone_from(body);
        }
        Ok(reply)
    }

    fn of_response(&self, status: u16, response: &Response) -> Result<Reply, Fault> {
        let code = match response.code {
            Code::Exact(code) => code.to_string(),
            Code::Range(digit) => format!("{digit}XX"),
            Code::Default => "default".to_owned(),
        };
        let operation = self.operation;
        let what = operation.id.clone();
        let what = what.unwrap_or_else(|| format!("{} {}", operation.method, operation.path));
        let mut reply = Reply {
            status,
            why: format!("api={}; operation={what}; response={code}", self.api.name),
            ..Reply::default()
        };
        for header in &response.headers {
            let place = format!("header:{}", header.name);
            let value = header.example.clone().or_else(|| {
                let schema = header.schema.as_ref()?;
                self.generator().make(schema, &place).ok()
            });
            let text = value.as_ref().map(text_of);
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                reply.field(&header.name, text);
            }
        }
        if matches!(status, 100..=199 | 204 | 304) {
            return Ok(reply);
        }
        let Some((media, media_type)) = media_for(response, self.call)? else { return Ok(reply) };
        let (body, source) = self.body(media, &media_type)?;
        reply.field("Content-Type", media_type);
        reply.why += &format!("; {source}");
        reply.body = body;
        Ok(reply)
    }

    fn generator(&self) -> Generator<'_> {
        let mode = if self.dynamic { Mode::Dynamic } else { Mode::Static };
        Generator::new(self.api, mode, Chance::new(self.seed), self.now_ms)
    }

    /// The body, and where it is from.
    fn body(&self, media: &Media, media_type: &str) -> Result<(Vec<u8>, String), Fault> {
        if let Some(wanted) = &self.prefer.example {
            let found = media.examples.iter().find(|(name, _)| name == wanted);
            let (name, value) = found.ok_or_else(|| {
                let known: Vec<&str> =
                    media.examples.iter().map(|(name, _)| name.as_str()).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                Fault::NotFound(format!("there is no example `{wanted}`; there are: {known}"))
            })?;
            return self.example(value, media, media_type, format!("example={name}"));
        }
        if !self.dynamic
            && let Some((name, value)) = media.examples.first()
        {
            let shown = if name.is_empty() { "the only one" } else { name };
            return self.example(value, media, media_type, format!("example={shown}"));
        }
        let Some(schema) = &media.schema else {
            return match media.examples.first() {
                Some((_, value)) => {
                    self.example(value, media, media_type, "example=the only one".to_owned())
                }
                None => Ok((Vec::new(), "no schema".to_owned())),
            };
        };
        let value = self.generator().make(schema, "").map_err(Fault::NoBody)?;
        let source = if self.dynamic { "made from the schema" } else { "sample of the schema" };
        Ok((self.written(&value, media, media_type), source.to_owned()))
    }

    fn example(
        &self,
        example: &Example,
        media: &Media,
        media_type: &str,
        source: String,
    ) -> Result<(Vec<u8>, String), Fault> {
        Ok(match example {
            Example::Value(value) => (self.written(value, media, media_type), source),
            Example::Text(text) => (text.clone().into_bytes(), source),
            Example::Template(template) => {
                let echo = |path: &str| self.asked.value(path);
                let mut evaluator = Evaluator::new(Chance::new(self.seed), self.now_ms, &echo);
                let value = evaluator.template(template, "").map_err(Fault::NoBody)?;
                (self.written(&value, media, media_type), TEMPLATE.to_owned())
            }
        })
    }

    fn written(&self, value: &Value, media: &Media, media_type: &str) -> Vec<u8> {
        match value {
            Value::String(text) if !is_json(media_type) => text.clone().into_bytes(),
            value if is_xml(media_type) => {
                xml::write(self.api, media.schema.as_ref(), value).into_bytes()
            }
            Value::Object(members) if media_type.starts_with("application/x-www-form-") => {
                let pairs = members.iter().map(|(name, value)| {
                    let encode = |text: &str| {
                        percent_encoding::utf8_percent_encode(
                            text,
                            percent_encoding::NON_ALPHANUMERIC,
                        )
                        .to_string()
                    };
                    format!("{}={}", encode(name), encode(&text_of(value)))
                });
                pairs.collect::<Vec<_>>().join("&").into_bytes()
            }
            value => value.to_string().into_bytes(),
        }
    }
}

/// A value as it stands in a header or form.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(all) => all.iter().map(text_of).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}
