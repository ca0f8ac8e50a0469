//! How the requests are made: content as that of answers, from examples or the schema, and nothing
//! that breaks the schema.

use super::expression::Known;
use super::request::{Callback, CallbackRequest};
use super::targets::CallbackTargets;
use crate::chance::Chance;
use crate::definition::{Example, Media, Outgoing, ParameterPlace, Schema};
use crate::generate::{Generator, Mode};
use crate::respond::negotiate::announced;
use crate::respond::{Manner, Matched, Reply, content};
use crate::sent::{in_query, plain, preferred};

/// Fields that are of a connection or of how content is sent, not of a callback.
const OF_CONNECTION: [&str; 7] =
    ["connection", "content-length", "host", "keep-alive", "te", "transfer-encoding", "upgrade"];

/// What the answer `reply` sets off. A request that is refused, or whose answer is spoilt on
/// purpose, sets off nothing.
pub(crate) fn callbacks(matched: &Matched<'_>, reply: &Reply, manner: Manner) -> Vec<Callback> {
    let outgoing = &matched.operation.callbacks;
    if outgoing.is_empty() || reply.status >= 400 || reply.fault.is_some() {
        return Vec::new();
    }
    let known =
        Known::new(matched.call, matched.path_values, reply.status, &reply.fields, &reply.body);
    let targets = &matched.options.callbacks;
    let is_callback = matched.call.fields.contains(CallbackRequest::FIELD.as_bytes());
    let each = outgoing.iter().map(|one| {
        let name = format!("{}: {}", matched.api.name, one.name);
        let made = match (&one.url, is_callback) {
            (_, true) => Err("the request is a callback itself, which sets off no other".into()),
            (Some(url), _) => url.url(&known).and_then(|url| {
                Making { manner, example: None, now_ms: matched.now_ms, targets }
                    .request(&name, one, &url)
            }),
            (None, _) => Err("it has no URL".into()),
        };
        Callback { name, request: made }
    });
    each.collect()
}

/// What requests are made with.
pub(super) struct Making<'m> {
    pub manner: Manner,
    /// The name of the example that is asked for.
    pub example: Option<&'m str>,
    pub now_ms: i64,
    pub targets: &'m CallbackTargets,
}

impl Making<'_> {
    /// The request `outgoing` to `url`.
    ///
    /// # Errors
    /// It may not go there, or no content fits its schema.
    pub(super) fn request(
        &self,
        name: &str,
        outgoing: &Outgoing,
        url: &str,
    ) -> Result<CallbackRequest, String> {
        if self.targets.is_empty() {
            let help = "list the servers that may get any in weir.mock.callbacks.allow";
            return Err(format!("callbacks are off; {help}"));
        }
        let mut url = self.targets.allowed(url)?;
        let operation = &outgoing.operation;
        let mut fields = Vec::new();
        let mut field = |name: &str, value: &str| {
            let is_own = OF_CONNECTION.iter().any(|own| own.eq_ignore_ascii_case(name));
            let fits =
                weir_wire::is_token(name.as_bytes()) && weir_wire::is_field_value(value.as_bytes());
            if fits && !is_own {
                fields.push((name.to_owned(), value.as_bytes().to_vec()));
            }
        };
        for parameter in operation.parameters.iter().filter(|one| one.required) {
            let Some(schema) = &parameter.schema else { continue };
            let place = format!("{}:{}", parameter.place.name(), parameter.name);
            let value = self.generator(schema).make(&self.place(outgoing, &place))?;
            match parameter.place {
                ParameterPlace::Header => field(&parameter.name, &plain(parameter, &value)),
                ParameterPlace::Query => {
                    for (name, value) in in_query(parameter, &value) {
                        let mark = if url.contains('?') { '&' } else { '?' };
                        url += &format!("{mark}{name}={value}");
                    }
                }
                ParameterPlace::Path | ParameterPlace::Cookie => {}
            }
        }
        let (body, why) = match operation.body.as_ref().and_then(|body| preferred(&body.media)) {
            Some(media) => {
                let media_type = announced(&media.range, "*/*");
                let made = self.content(outgoing, media, &media_type)?;
                field("Content-Type", &media_type);
                made
            }
            None => (Vec::new(), "no content".to_owned()),
        };
        field(CallbackRequest::FIELD, "1");
        let (name, method) = (name.to_owned(), operation.method.clone());
        Ok(CallbackRequest { name, method, url, fields, body, why })
    }

    /// The content, and where it is from.
    fn content(
        &self,
        outgoing: &Outgoing,
        media: &Media,
        media_type: &str,
    ) -> Result<(Vec<u8>, String), String> {
        let named = self.example.map(|wanted| {
            let found = media.examples.iter().find(|(name, _)| name == wanted);
            found.ok_or_else(|| {
                let known = media.examples.iter().map(|(name, _)| name.as_str());
                let known: Vec<&str> = known.filter(|name| !name.is_empty()).collect();
                format!("there is no example `{wanted}`; there are: {}", known.join(", "))
            })
        });
        let by_example = !self.manner.dynamic || media.schema.is_none();
        let first = media.examples.first().filter(|_| by_example);
        let mut broken = String::new();
        if let Some((name, example)) = named.transpose()?.or(first) {
            let shown = if name.is_empty() { "the only one" } else { name };
            match example {
                Example::Text(text) => {
                    return Ok((text.clone().into_bytes(), format!("example={shown}")));
                }
                Example::Value(sample) if allows(media.schema.as_ref(), &sample.value)? => {
                    let body = content::write(&sample.value, media, media_type);
                    return Ok((body, format!("example={shown}")));
                }
                Example::Value(_) if self.example.is_some() => {
                    return Err(format!("the example `{shown}` breaks its schema"));
                }
                Example::Value(_) => broken = format!(", as the example {shown} breaks it"),
                // Made from a request, and there is none.
                Example::Template(_) => {}
            }
        }
        let Some(schema) = &media.schema else {
            return Ok((Vec::new(), "no schema".to_owned()));
        };
        let value = self.generator(schema).make(&self.place(outgoing, ""))?;
        let how = if self.manner.dynamic { "made from the schema" } else { "sample of the schema" };
        Ok((content::write(&value, media, media_type), format!("{how}{broken}")))
    }

    /// What keeps chance for a callback apart from that for the answer and for others.
    fn place(&self, outgoing: &Outgoing, place: &str) -> String {
        format!("callback:{}:{place}", outgoing.name)
    }

    fn generator<'s>(&self, schema: &'s Schema) -> Generator<'s> {
        let mode = if self.manner.dynamic { Mode::Dynamic } else { Mode::Static };
        Generator::new(schema, mode, Chance::new(self.manner.seed), self.now_ms)
    }
}

fn allows(schema: Option<&Schema>, value: &serde_json::Value) -> Result<bool, String> {
    let Some(schema) = schema else { return Ok(true) };
    Ok(schema.source().validator().map_err(str::to_owned)?.is_valid(value))
}
