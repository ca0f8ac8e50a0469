//! Requests that operations accept, for people who try them.

use serde_json::Value;

use crate::chance::Chance;
use crate::definition::{Challenge, Example, Media, Operation, Parameter, ParameterPlace, Schema};
use crate::generate::{Generator, Mode};
use crate::request::BodyCondition;
use crate::respond::content;
use crate::respond::negotiate::announced;
use crate::sent::{encoded, in_path, in_query, plain, preferred};

/// A value for what has no schema.
const ANY: &str = "1";

/// A request with everything that its operation demands, and no more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleRequest {
    /// Path with a value for each variable, percent-encoded.
    pub path: String,
    /// Query without `?`; empty if none is demanded.
    pub query: String,
    /// Header fields, the credentials and the type of the body among them.
    pub fields: Vec<(String, String)>,
    /// Text of the body, if one is demanded.
    pub body: Option<String>,
}

impl Operation {
    /// A request that the operation accepts. What its schemas allow no value for is left out.
    pub fn sample_request(&self) -> SampleRequest {
        let mut sample = SampleRequest::default();
        let (mut pairs, mut cookies) = (Vec::new(), Vec::new());
        sample.path = self.sample_path(&mut pairs);
        for parameter in self.parameters.iter().filter(|one| one.required) {
            let value = value_of(parameter);
            match parameter.place {
                ParameterPlace::Path => {}
                ParameterPlace::Query => pairs.extend(in_query(parameter, &value)),
                ParameterPlace::Cookie => {
                    cookies.push((parameter.name.clone(), plain(parameter, &value)))
                }
                ParameterPlace::Header => {
                    sample.fields.push((parameter.name.clone(), plain(parameter, &value)));
                }
            }
        }
        let alternatives = self.security.iter().min_by_key(|all| all.len());
        for challenge in alternatives.into_iter().flatten() {
            match challenge {
                Challenge::Http(scheme) => {
                    sample
                        .fields
                        .push(("Authorization".to_owned(), format!("{scheme} dXNlcjpwYXNz")));
                }
                Challenge::Key(ParameterPlace::Query, name) => {
                    pairs.push((encoded(name), "key".to_owned()))
                }
                Challenge::Key(ParameterPlace::Cookie, name) => {
                    cookies.push((name.clone(), "key".to_owned()))
                }
                Challenge::Key(_, name) => sample.fields.push((name.clone(), "key".to_owned())),
                Challenge::Unseen => {}
            }
        }
        self.add_content(&mut sample, &mut pairs);
        let joined = |all: Vec<(String, String)>, between: &str| {
            all.into_iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect::<Vec<_>>()
                .join(between)
        };
        sample.query = joined(pairs, "&");
        if !cookies.is_empty() {
            sample.fields.push(("Cookie".to_owned(), joined(cookies, "; ")));
        }
        sample
    }

    /// The path; what a variant of it demands of the query goes to `pairs`.
    fn sample_path(&self, pairs: &mut Vec<(String, String)>) -> String {
        let path = self.path.split('#').next().unwrap_or(&self.path);
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let written = query.split('&').filter(|pair| !pair.is_empty());
        pairs.extend(written.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (name.to_owned(), value.to_owned())
        }));
        let (mut out, mut rest) = (String::new(), path);
        while let Some((before, after)) = rest.split_once('{') {
            let (name, behind) = after.split_once('}').unwrap_or((after, ""));
            let name = name.trim_end_matches("...");
            let of = |one: &&Parameter| one.place == ParameterPlace::Path && one.name == name;
            out.push_str(before);
            match self.parameters.iter().find(of) {
                Some(parameter) => out.push_str(&in_path(parameter, &value_of(parameter))),
                None => out.push_str(ANY),
            }
            rest = behind;
        }
        out + rest
    }

    /// What the first recording was an answer to, or a body if one is demanded.
    fn add_content(&self, sample: &mut SampleRequest, pairs: &mut Vec<(String, String)>) {
        if let Some(first) = self.recordings.first() {
            for (name, value) in &first.when.query {
                pairs.push((encoded(name), encoded(value)));
            }
            let (media_type, body) = match &first.when.body {
                Some(BodyCondition::Equal(value) | BodyCondition::Holds(value)) => {
                    ("application/json", value.to_string())
                }
                Some(BodyCondition::Text(text)) => ("text/plain", text.clone()),
                None => return,
            };
            sample.fields.push(("Content-Type".to_owned(), media_type.to_owned()));
            sample.body = Some(body);
            return;
        }
        let Some(body) = self.body.as_ref().filter(|body| body.required) else { return };
        let Some(media) = preferred(&body.media) else { return };
        let media_type = announced(&media.range, "*/*");
        if let Some(text) = content_of(media, &media_type) {
            sample.fields.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
            sample.fields.push(("Content-Type".to_owned(), media_type));
            sample.body = Some(text);
        }
    }
}

fn value_of(parameter: &Parameter) -> Value {
    let made = parameter.schema.as_ref().and_then(made);
    made.unwrap_or_else(|| Value::from(ANY))
}

fn made(schema: &Schema) -> Option<Value> {
    Generator::new(schema, Mode::Static, Chance::new(0), 0).make("").ok()
}

/// The body: the first example that its schema allows, or a value made from that.
fn content_of(media: &Media, media_type: &str) -> Option<String> {
    let allows = |value: &Value| match &media.schema {
        Some(schema) => schema.source().validator().is_ok_and(|one| one.is_valid(value)),
        None => true,
    };
    let example = media.examples.iter().find_map(|(_, example)| match example {
        Example::Text(text) => Some(text.clone().into_bytes()),
        Example::Value(sample) if allows(&sample.value) => {
            Some(content::write(&sample.value, media, media_type))
        }
        Example::Value(_) | Example::Template(_) => None,
    });
    let bytes = example.or_else(|| {
        let value = made(media.schema.as_ref()?)?;
        Some(content::write(&value, media, media_type))
    });
    String::from_utf8(bytes.unwrap_or_else(|| b"{}".to_vec())).ok()
}
