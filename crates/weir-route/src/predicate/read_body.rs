//! `ReadBody`: a value in a JSON body.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use super::condition::Condition;
use super::context::{BuildContext, Make};
use super::error::PredicateError;
use super::named_value::{NamedValue, ValuePattern};
use super::weight_groups::WeightGroups;
use crate::args::{ArgError, Args};
use crate::request::{Content, Request};
use crate::spec::{ArgKind, ArgSpec, Compatibility, Shortcut, Spec};

/// Registry entry.
pub(super) static SPEC: Spec<Make<Box<ReadBody>>> = Spec {
    name: "ReadBody",
    doc: "Matches requests whose body is JSON with a value at a place, or, with an expression, one \
that matches it from its first to its last character: a text, a number, `true` or `false`. The place \
is a JSON pointer (RFC 6901).

The body is read only if the route matches otherwise, and is sent on as it came. One that is not \
JSON, or longer than `spring.http.codecs.max-in-memory-size` (256 KB), does not match; its coding \
(gzip, deflate, br, zstd) is undone. Put it behind the other predicates of its route.

```example
ReadBody=/order/type, gold|silver
+ POST /orders | @body {\"order\":{\"type\":\"gold\"}}
- POST /orders | @body {\"order\":{\"type\":\"golden\"}}
- POST /orders | @body {\"type\":\"gold\"}
- POST /orders | @body gold
- GET /orders
```

```example
ReadBody=/lines/0
+ POST /orders | @body {\"lines\":[null]}
- POST /orders | @body {\"lines\":[]}
```",
    args: &[
        ArgSpec {
            name: "pointer",
            kind: ArgKind::Text,
            default: None,
            required: true,
            doc: "Place in the document, such as `/order/lines/0`.",
        },
        ArgSpec {
            name: "regexp",
            kind: ArgKind::Regex,
            default: None,
            required: false,
            doc: "Java regular expression for the whole value; without it there has to be one.",
        },
    ],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Differs(
        "SCG's takes a class and a predicate in Java; weir's takes a JSON pointer and an expression",
    ),
    build,
};

/// A value in a JSON body.
#[derive(Debug)]
pub struct ReadBody(NamedValue);

fn build(args: &Args, context: &BuildContext<'_>) -> Result<Box<ReadBody>, ArgError> {
    let named = NamedValue::bind(args, "pointer", context.regexes())?;
    if !named.name().starts_with('/') {
        let text = format!("`{}` is no JSON pointer", named.name());
        return Err(ArgError::new("pointer", text).help("write one such as `/order/type`"));
    }
    Ok(Box::new(ReadBody(named)))
}

impl ReadBody {
    /// Pattern that the value must match; `None` if presence is enough.
    pub fn regexp(&self) -> Option<ValuePattern<'_>> {
        self.0.value()
    }
}

impl Condition for ReadBody {
    fn matches(&self, request: &Request<'_>, _: &WeightGroups) -> Result<bool, PredicateError> {
        let document = match &request.parts.content {
            // The body may still contain the value.
            Content::Unread => return Ok(true),
            Content::Unusable => return Ok(false),
            Content::Json(document) => document,
        };
        let found = document.pointer(self.0.name());
        Ok(match (found, self.0.value()) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(found), Some(regexp)) => match scalar(found) {
                Some(text) => regexp.full_match(text.as_bytes())?,
                None => false,
            },
        })
    }

    fn subject(&self, request: &Request<'_>, _: &WeightGroups) -> String {
        let pointer = self.0.name();
        match &request.parts.content {
            Content::Unread => "the body is not known, and taken to match".to_owned(),
            Content::Unusable => {
                "there is no body, or none that is JSON and short enough".to_owned()
            }
            Content::Json(document) => match document.pointer(pointer) {
                None => format!("the body has nothing at `{pointer}`"),
                Some(found) => match scalar(found) {
                    Some(text) => format!("`{pointer}` is `{}`", text.escape_debug()),
                    None => format!("`{pointer}` is an object, an array or null"),
                },
            },
        }
    }

    fn reads_body(&self) -> bool {
        true
    }
}

impl fmt::Display for ReadBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadBody: {} regexp={}", self.0.name(), self.0.source())
    }
}

fn scalar(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(text.as_str().into()),
        Value::Number(number) => Some(number.to_string().into()),
        Value::Bool(truth) => Some(truth.to_string().into()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
