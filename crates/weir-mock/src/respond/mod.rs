//! The answer to a request, as Prism negotiates it.

pub(crate) mod content;
pub(crate) mod negotiate;
mod options;
mod prefer;
mod recorded;
mod stateful;
pub(crate) mod text;
mod xml;

use serde_json::Value;

use crate::behaviour::{DELAY_MS_MAX, Envelope, InjectedFault, Rule};
use crate::callback::Callback;
use crate::chance::Chance;
use crate::definition::{Api, Code, Example, Media, Operation, Response, Schema};
use crate::generate::{Generator, Mode};
use crate::problem::Fault;
use crate::request::body::is_json;
use crate::request::{Asked, Call, Enforcement, Violation, check};
use crate::state::{State, Subject};
use crate::template::{Evaluator, Template};
use negotiate::{choose, for_fault, media_for};
pub use options::Options;
use prefer::Prefer;
use text::text_of;

/// Whether a request asks for an explanation: `Prefer: explain=true`, or `?__explain=true`.
pub(crate) fn asks_why(call: &Call<'_>) -> bool {
    Prefer::asks_why(call)
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
    /// The delay before the answer is sent, in milliseconds.
    pub delay_ms: u64,
    /// Over how many milliseconds the body is spread.
    pub body_ms: u64,
    /// The fault to inject; the other fields hold the answer without it.
    pub fault: Option<InjectedFault>,
    /// The chosen operation and the reasons for the answer, for a log.
    pub why: String,
    /// What is sent to others once it has been sent.
    pub callbacks: Vec<Callback>,
}

impl Reply {
    /// The field that says why a request got its answer.
    const WHY: &'static str = "Weir-Mock";

    fn field(&mut self, name: &str, value: impl Into<Vec<u8>>) {
        self.fields.push((name.to_owned(), value.into()));
    }

    /// Names the tenant whose definition has answered.
    pub(crate) fn name_tenant(&mut self, tenant: &str) {
        let all = self.fields.iter_mut().filter(|(name, _)| name == Self::WHY);
        for (_, value) in all {
            value.splice(..0, format!("tenant={tenant}; ").into_bytes());
        }
        self.why = format!("tenant={tenant}; {}", self.why);
    }

    fn finish(mut self) -> Self {
        // A value that is invalid in a header is left out.
        self.fields.retain(|(name, value)| {
            weir_wire::is_token(name.as_bytes()) && weir_wire::is_field_value(value)
        });
        self
    }
}

/// A problem document, or what an envelope has instead.
pub(crate) fn fault(
    fault: &Fault,
    place: Option<(&Api, &Operation)>,
    envelope: Option<&Envelope>,
) -> Reply {
    let at = place
        .map(|(api, operation)| format!("{}: {} {}: ", api.name, operation.method, operation.path));
    let wrapped = envelope.and_then(|envelope| envelope.failed(fault));
    let status = envelope.and_then(|envelope| envelope.failure_status);
    let media_type =
        if wrapped.is_some() { "application/json" } else { "application/problem+json" };
    let mut reply = Reply {
        status: status.unwrap_or(fault.status()),
        body: wrapped.unwrap_or_else(|| fault.document().to_string().into_bytes()),
        why: format!("{}{}", at.unwrap_or_default(), fault.name()),
        ..Reply::default()
    };
    reply.field("Content-Type", media_type);
    match fault {
        Fault::NoMethod(methods) => reply.field("Allow", methods.join(", ")),
        Fault::Unauthorized(challenge) if !challenge.is_empty() => {
            reply.field("WWW-Authenticate", challenge.as_str());
        }
        _ => {}
    }
    reply.finish()
}

/// A good response in its envelope.
pub(crate) fn wrapped(mut reply: Reply, envelope: Option<&Envelope>) -> Reply {
    let is_type = |name: &str| name.eq_ignore_ascii_case("content-type");
    let media_type = reply.fields.iter().find(|(name, _)| is_type(name));
    let is_json_body = media_type.is_none_or(|(_, own)| is_json(&String::from_utf8_lossy(own)));
    if reply.status >= 400 || matches!(reply.status, 204 | 304) || !is_json_body {
        return reply;
    }
    if let Some(body) = envelope.and_then(|envelope| envelope.wrap(reply.status, &reply.body)) {
        reply.body = body;
        if !reply.fields.iter().any(|(name, _)| is_type(name)) {
            reply.field("Content-Type", "application/json");
        }
    }
    reply
}

/// A request that has found its operation.
#[derive(Clone, Copy)]
pub(crate) struct Matched<'a> {
    pub api: &'a Api,
    pub operation: &'a Operation,
    pub path_values: &'a [(&'a str, String)],
    pub call: &'a Call<'a>,
    pub options: &'a Options,
    /// The override that applies to it.
    pub rule: Option<&'a Rule>,
    pub asked: &'a Asked<'a>,
    /// The stored items, if the operation is one on a collection.
    pub kept: Option<(&'a State, &'a Subject)>,
    pub dice: u64,
    pub now_ms: i64,
}

/// How bodies are made for one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// By chance instead of by examples.
    pub dynamic: bool,
    /// What chance starts from.
    pub seed: u64,
}

/// The answer of an operation.
///
/// # Errors
/// The problem that is told instead.
pub(crate) fn answer(matched: Matched<'_>) -> Result<(Reply, Manner), Fault> {
    let Matched { api, operation, options, rule, .. } = matched;
    let mut prefer = Prefer::read(matched.call).map_err(|wrong| Fault::Invalid(vec![wrong]))?;
    let chance = Chance::new(matched.dice);
    let fault = prefer.fault.or_else(|| rule.and_then(|rule| rule.fault(chance)));
    if let Some(InjectedFault::Status(status)) = fault {
        return Err(Fault::Injected(status));
    }
    let own = rule.map(|rule| &rule.own);
    let (about, reported) = checked(matched, &prefer);
    // The client's preference comes first, and does not use up a step of a sequence.
    let is_free = about.is_none() && prefer.code.is_none() && prefer.example.is_none();
    let meant = rule.filter(|_| is_free);
    if let Some(rule) = meant {
        (prefer.code, prefer.example) = rule.next();
    }
    let dynamic = prefer.dynamic.or(own.and_then(|own| own.dynamic)).unwrap_or(options.dynamic);
    let seed = prefer.seed.or(options.seed).unwrap_or(matched.dice);
    let made = Making { matched, prefer: &prefer, dynamic, seed };
    let mut reply = match meant.and_then(|rule| rule.body.as_ref()) {
        Some(template) => made.overridden(template)?,
        None => {
            let reply = made.answer(about.as_ref(), options)?;
            // A response chosen by the client or an override is not negotiated.
            let is_chosen = prefer.code.is_some() || prefer.example.is_some();
            match matched.kept.filter(|_| about.is_none() && !is_chosen) {
                Some((state, subject)) => made.stateful(state, subject, reply)?,
                None => reply,
            }
        }
    };
    for (name, template) in meant.into_iter().flat_map(|rule| &rule.headers) {
        let value = text_of(&made.evaluated(template)?);
        reply.fields.retain(|(own, _)| !own.eq_ignore_ascii_case(name));
        reply.field(name, value);
    }
    if dynamic || api.has_field_rules || reply.why.ends_with(TEMPLATE) {
        reply.field("Weir-Mock-Seed", seed.to_string());
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
    reply.field(Reply::WHY, reply.why.clone());
    let delay = own.and_then(|own| own.delay).unwrap_or(options.delay);
    reply.delay_ms = prefer.delay_ms.unwrap_or_else(|| delay.ms(chance));
    reply.body_ms = own.map_or(0, |own| own.body_ms.min(DELAY_MS_MAX));
    reply.fault = fault;
    Ok((reply.finish(), Manner { dynamic, seed }))
}

/// The fault if the request is refused, and the violations to report otherwise.
fn checked(matched: Matched<'_>, prefer: &Prefer) -> (Option<Fault>, Vec<Violation>) {
    let Matched { operation, options, rule, .. } = matched;
    let own = rule.and_then(|rule| rule.own.validation);
    let enforcement = prefer.validation.or(own).unwrap_or(options.validation);
    if enforcement == Enforcement::Off {
        return (None, Vec::new());
    }
    match (check(operation, matched.path_values, matched.call), enforcement) {
        (Ok(_), _) => (None, Vec::new()),
        (Err(Fault::Invalid(violations)), Enforcement::Report) => (None, violations),
        (Err(_), Enforcement::Report) => (None, Vec::new()),
        (Err(found), _) => (Some(found), Vec::new()),
    }
}

/// The reason given for an answer made from a template.
const TEMPLATE: &str = "template";

/// The inputs of an answer.
struct Making<'a> {
    matched: Matched<'a>,
    prefer: &'a Prefer,
    dynamic: bool,
    seed: u64,
}

impl Making<'_> {
    /// The answer, or that to a request that is wrong.
    fn answer(&self, wrong: Option<&Fault>, options: &Options) -> Result<Reply, Fault> {
        let (status, response) = match wrong {
            None if !self.matched.operation.recordings.is_empty() => return self.recorded(),
            None => choose(self.matched.operation, self.prefer.code)?,
            Some(found) if options.errors => return Err(found.clone()),
            Some(found) => match for_fault(self.matched.operation, found) {
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
        let operation = self.matched.operation;
        let (found, why) =
            recorded::choose(operation, self.matched.asked, self.matched.call, self.prefer)?;
        let what = format!("{} {}", operation.method, operation.path);
        let mut reply = Reply {
            status: found.status,
            why: format!(
                "api={}; operation={what}; response={}; recording={}, {why}",
                self.matched.api.name, found.status, found.name
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
        let operation = self.matched.operation;
        let what = operation.id.clone();
        let what = what.unwrap_or_else(|| format!("{} {}", operation.method, operation.path));
        let mut reply = Reply {
            status,
            why: format!("api={}; operation={what}; response={code}", self.matched.api.name),
            ..Reply::default()
        };
        for header in &response.headers {
            let place = format!("header:{}", header.name);
            let value = header.example.clone().or_else(|| {
                let schema = header.schema.as_ref()?;
                self.generator(schema).make(&place).ok()
            });
            let text = value.as_ref().map(text_of);
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                reply.field(&header.name, text);
            }
        }
        if matches!(status, 100..=199 | 204 | 304) {
            return Ok(reply);
        }
        let Some((media, media_type)) = media_for(response, self.matched.call)? else {
            return Ok(reply);
        };
        let (body, source) = self.body(media, &media_type)?;
        reply.field("Content-Type", media_type);
        reply.why += &format!("; {source}");
        reply.body = body;
        Ok(reply)
    }

    /// The answer of an override with a body of its own.
    fn overridden(&self, template: &Template) -> Result<Reply, Fault> {
        let operation = self.matched.operation;
        let status = match self.prefer.code {
            Some(code) => code,
            None => choose(operation, None).map_or(200, |(status, _)| status),
        };
        let value = self.evaluated(template)?;
        let what = format!("{} {}", operation.method, operation.path);
        let mut reply = Reply {
            status,
            why: format!(
                "api={}; operation={what}; response={status}; override, {TEMPLATE}",
                self.matched.api.name
            ),
            ..Reply::default()
        };
        let (media_type, body) = match value {
            Value::String(text) => ("text/plain;charset=utf-8", text),
            value => ("application/json", value.to_string()),
        };
        if !matches!(status, 204 | 304) {
            reply.field("Content-Type", media_type);
            reply.body = body.into_bytes();
        }
        Ok(reply)
    }

    /// The value of a template for this request.
    fn evaluated(&self, template: &Template) -> Result<Value, Fault> {
        let echo = |path: &str| self.matched.asked.value(path);
        let mut evaluator = Evaluator::new(Chance::new(self.seed), self.matched.now_ms, &echo);
        evaluator.template(template, "").map_err(Fault::NoBody)
    }

    fn generator<'s>(&self, schema: &'s Schema) -> Generator<'s> {
        let mode = if self.dynamic { Mode::Dynamic } else { Mode::Static };
        Generator::new(schema, mode, Chance::new(self.seed), self.matched.now_ms)
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
        let value = self.generator(schema).make("").map_err(Fault::NoBody)?;
        let source = if self.dynamic { "made from the schema" } else { "sample of the schema" };
        Ok((content::write(&value, media, media_type), source.to_owned()))
    }

    fn example(
        &self,
        example: &Example,
        media: &Media,
        media_type: &str,
        source: String,
    ) -> Result<(Vec<u8>, String), Fault> {
        Ok(match example {
            Example::Value(sample) if is_json(media_type) => (sample.json().to_vec(), source),
            Example::Value(sample) => (content::write(&sample.value, media, media_type), source),
            Example::Text(text) => (text.clone().into_bytes(), source),
            Example::Template(template) => {
                let value = self.evaluated(template)?;
                (content::write(&value, media, media_type), TEMPLATE.to_owned())
            }
        })
    }
}
