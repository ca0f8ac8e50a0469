//! The envelope around all answers of an API, such as `{ "errcode": 0, "data": … }`.

use std::cell::RefCell;

use serde_json::{Map, Value};

use crate::problem::Fault;

/// The envelope around answers. Texts contain `{{status}}`, `{{name}}`, `{{title}}`, `{{detail}}`,
/// `{{violations}}` and `{{body}}`; a placeholder that is the whole text keeps its type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Envelope {
    /// Around JSON bodies of responses below 400; `None` leaves them as they are.
    pub success: Option<Value>,
    /// Instead of problem documents. Responses that the definition itself has for errors stay as
    /// they are.
    pub failure: Option<Value>,
    /// Status of answers that replace a problem document: 200 for clients that look at the body
    /// only.
    pub failure_status: Option<u16>,
}

impl Envelope {
    /// The placeholder names allowed between `{{` and `}}`.
    pub(crate) const NAMES: &'static [&'static str] =
        &["status", "name", "title", "detail", "violations", "body"];

    /// The first unknown name in a template.
    pub(crate) fn unknown(template: &Value) -> Option<String> {
        let unknown = RefCell::new(None);
        let find = |name: &str| {
            if !Self::NAMES.contains(&name) {
                unknown.borrow_mut().get_or_insert_with(|| name.to_owned());
            }
            Some(Value::Null)
        };
        filled(template, &find);
        unknown.into_inner()
    }

    /// The body of a good response, if it is wrapped.
    pub(crate) fn wrap(&self, status: u16, body: &[u8]) -> Option<Vec<u8>> {
        let template = self.success.as_ref()?;
        let value = match body {
            b"" => Value::Null,
            body => serde_json::from_slice(body).ok()?,
        };
        let find = |name: &str| match name {
            "status" => Some(Value::from(status)),
            "body" => Some(value.clone()),
            "violations" => Some(Value::Array(Vec::new())),
            "name" | "title" | "detail" => Some(Value::from("")),
            _ => None,
        };
        Some(filled(template, &find).to_string().into_bytes())
    }

    /// The body instead of a problem document.
    pub(crate) fn failed(&self, fault: &Fault) -> Option<Vec<u8>> {
        let template = self.failure.as_ref()?;
        let document = fault.document();
        let find = |name: &str| match name {
            "name" => Some(Value::from(fault.name())),
            "violations" => {
                let all = document.get("validation").cloned();
                Some(all.unwrap_or_else(|| Value::Array(Vec::new())))
            }
            "body" => Some(Value::Null),
            "status" | "title" | "detail" => document.get(name).cloned(),
            _ => None,
        };
        Some(filled(template, &find).to_string().into_bytes())
    }
}

fn filled(template: &Value, find: &dyn Fn(&str) -> Option<Value>) -> Value {
    match template {
        Value::String(text) => text_filled(text, find),
        Value::Array(all) => all.iter().map(|one| filled(one, find)).collect(),
        Value::Object(members) => {
            let each = members.iter().map(|(key, member)| (key.clone(), filled(member, find)));
            Value::Object(each.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

fn text_filled(text: &str, find: &dyn Fn(&str) -> Option<Value>) -> Value {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let found =
            after.split_once("}}").and_then(|(name, next)| Some((find(name.trim())?, next)));
        match found {
            Some((value, "")) if out.is_empty() => return value,
            Some((Value::String(text), next)) => {
                out.push_str(&text);
                rest = next;
            }
            Some((value, next)) => {
                out.push_str(&value.to_string());
                rest = next;
            }
            None => {
                out.push_str("{{");
                rest = after;
            }
        }
    }
    Value::String(out + rest)
}
