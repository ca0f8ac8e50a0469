//! Conditions on requests, for recordings and overrides.

use std::cell::OnceCell;

use serde_json::Value;

use super::call::Call;

/// A request in part: all of it must be there. The more there is, the more specific it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Condition {
    /// Variables of the path.
    pub path: Vec<(String, String)>,
    /// Names and values of the query, decoded.
    pub query: Vec<(String, String)>,
    /// Header fields.
    pub headers: Vec<(String, String)>,
    /// Cookies.
    pub cookies: Vec<(String, String)>,
    /// The body.
    pub body: Option<BodyCondition>,
}

/// The condition on a body.
#[derive(Clone, Debug, PartialEq)]
pub enum BodyCondition {
    /// JSON with this value.
    Equal(Value),
    /// JSON that contains this value; further members and elements are allowed.
    Holds(Value),
    /// Exactly this text.
    Text(String),
}

/// A request, read as far as conditions look at it, and not before they do.
pub(crate) struct Asked<'c> {
    call: &'c Call<'c>,
    path: &'c [(&'c str, String)],
    query: OnceCell<Vec<(String, String)>>,
    body: OnceCell<Option<Value>>,
}

impl<'c> Asked<'c> {
    pub(crate) fn new(call: &'c Call<'c>, path: &'c [(&'c str, String)]) -> Self {
        Self { call, path, query: OnceCell::new(), body: OnceCell::new() }
    }

    fn query(&self) -> &[(String, String)] {
        self.query.get_or_init(|| self.call.pairs())
    }

    pub(crate) fn body(&self) -> Option<&Value> {
        self.body.get_or_init(|| serde_json::from_slice(self.call.body).ok()).as_ref()
    }

    /// The value of `query.a`, `body.b.c`, `path.id`, `header.x` or `cookie.y`.
    pub(crate) fn value(&self, path: &str) -> Option<Value> {
        let (place, name) = path.split_once('.')?;
        let text = match place {
            "query" => {
                self.query().iter().find(|(own, _)| own == name).map(|(_, text)| text.clone())
            }
            "path" | "params" => {
                self.path.iter().find(|(own, _)| *own == name).map(|(_, text)| text.clone())
            }
            "header" | "headers" => self.call.header(name),
            "cookie" | "cookies" => self.call.cookie(name),
            "body" => {
                let found = name.split('.').try_fold(self.body()?, |value, part| match value {
                    Value::Array(all) => all.get(part.parse::<usize>().ok()?),
                    other => other.get(part),
                });
                return found.cloned();
            }
            _ => None,
        };
        text.map(Value::String)
    }
}

impl Condition {
    /// The number of requirements, if the request meets them all.
    pub(crate) fn weight(&self, asked: &Asked<'_>) -> Option<usize> {
        let has = |wanted: &[(String, String)], find: &dyn Fn(&str, &str) -> bool| {
            wanted.iter().all(|(name, value)| find(name, value))
        };
        let is = |found: Option<String>, value: &str| found.is_some_and(|found| found == value);
        let fits = has(&self.path, &|name, value| {
            asked.path.iter().any(|(own, text)| *own == name && text == value)
        }) && has(&self.query, &|name, value| {
            asked.query().iter().any(|(own, text)| own == name && text == value)
        }) && has(&self.headers, &|name, value| is(asked.call.header(name), value))
            && has(&self.cookies, &|name, value| is(asked.call.cookie(name), value))
            && self.body.as_ref().is_none_or(|body| body.fits(asked));
        let lists = [&self.path, &self.query, &self.headers, &self.cookies];
        let count: usize = lists.into_iter().map(Vec::len).sum();
        fits.then(|| count + self.body.as_ref().map_or(0, BodyCondition::weight))
    }
}

impl BodyCondition {
    fn fits(&self, asked: &Asked<'_>) -> bool {
        match self {
            Self::Equal(value) => asked.body() == Some(value),
            Self::Holds(part) => asked.body().is_some_and(|value| holds(value, part)),
            Self::Text(text) => asked.call.body == text.as_bytes(),
        }
    }

    fn weight(&self) -> usize {
        match self {
            Self::Holds(Value::Object(members)) => members.len(),
            Self::Holds(_) => 1,
            // The whole body is more than any part of it.
            Self::Equal(_) | Self::Text(_) => 1_000,
        }
    }
}

fn holds(value: &Value, part: &Value) -> bool {
    match (value, part) {
        (Value::Object(value), Value::Object(part)) => {
            part.iter().all(|(key, part)| value.get(key).is_some_and(|value| holds(value, part)))
        }
        (Value::Array(value), Value::Array(part)) => {
            part.iter().all(|part| value.iter().any(|value| holds(value, part)))
        }
        (value, part) => value == part,
    }
}
