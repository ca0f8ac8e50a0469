//! Answers from items that clients have written: a collection and its items.

use serde_json::{Map, Value};

use super::negotiate::choose;
use super::{Making, Reply};
use crate::chance::Chance;
use crate::definition::{Code, Schema};
use crate::problem::Fault;
use crate::request::body::is_json;
use crate::state::{Identity, State, Subject};

/// Members that hold the length of a list.
const COUNTS: &[&str] = &["total", "count", "totalCount", "total_count"];

impl Making<'_> {
    /// `reply`, the stateless answer, with the stored items in it.
    pub(super) fn stateful(
        &self,
        state: &State,
        subject: &Subject,
        reply: Reply,
    ) -> Result<Reply, Fault> {
        let is_type = |name: &str| name.eq_ignore_ascii_case("content-type");
        let media_type = reply.fields.iter().find(|(name, _)| is_type(name));
        if media_type.is_some_and(|(_, own)| !is_json(&String::from_utf8_lossy(own))) {
            return Ok(reply);
        }
        let (path, id) = subject.place(self.matched.path_values);
        let sent = self.matched.asked.body().and_then(Value::as_object);
        let mut reply = match (self.matched.call.method, id, sent) {
            (b"GET" | b"HEAD", None, _) => listed(reply, state.list(&path)),
            (b"POST", None, Some(sent)) => self.created(state, subject, &path, sent, reply)?,
            (b"GET" | b"HEAD", Some(id), _) => match state.get(&path, &id) {
                Some(item) => shown(reply, &item),
                None => return self.missing(&path, &id),
            },
            (b"PUT", Some(id), Some(sent)) => {
                let is_new = state.get(&path, &id).is_none();
                let item = Value::Object(named(subject, sent.clone(), &id));
                state.put(&path, &id, item.clone()).map_err(|_| Fault::Full)?;
                shown(self.of_put(is_new, reply)?, &item)
            }
            (b"PATCH", Some(id), Some(sent)) => {
                let Some(mut item) = state.get(&path, &id) else {
                    return self.missing(&path, &id);
                };
                merge(&mut item, sent);
                state.put(&path, &id, item.clone()).map_err(|_| Fault::Full)?;
                shown(reply, &item)
            }
            (b"DELETE", Some(id), _) => match state.remove(&path, &id) {
                true => reply,
                false => return self.missing(&path, &id),
            },
            _ => return Ok(reply),
        };
        reply.why += "; state";
        Ok(reply)
    }

    fn created(
        &self,
        state: &State,
        subject: &Subject,
        path: &str,
        sent: &Map<String, Value>,
        mut reply: Reply,
    ) -> Result<Reply, Fault> {
        let made: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let mut item = sent.clone();
        // Properties that the server would add are generated; optional ones that the client left
        // out stay out.
        for name in self.required() {
            if let Some(value) = made.get(&name).filter(|_| !item.contains_key(&name)) {
                item.insert(name, value.clone());
            }
        }
        let key =
            match sent.contains_key(&subject.variable) || made.get(&subject.variable).is_some() {
                true => subject.variable.as_str(),
                false => "id",
            };
        let id = match sent.get(key) {
            Some(Value::String(text)) if !text.is_empty() => Value::from(text.as_str()),
            Some(Value::Number(number)) => Value::Number(number.clone()),
            _ => match subject.identity {
                Identity::Number => Value::from(state.next_number(path)),
                Identity::Text => Value::from(state.next_number(path).to_string()),
                Identity::Uuid => Value::from(uuid(Chance::new(self.matched.dice))),
            },
        };
        let name = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        item.insert(key.to_owned(), id);
        let item = Value::Object(item);
        state.put(path, &name, item.clone()).map_err(|_| Fault::Full)?;
        let at = String::from_utf8_lossy(self.matched.call.path).into_owned();
        let name = percent_encoding::utf8_percent_encode(&name, percent_encoding::NON_ALPHANUMERIC);
        reply.fields.retain(|(name, _)| !name.eq_ignore_ascii_case("location"));
        reply.field("Location", format!("{}/{name}", at.trim_end_matches('/')));
        Ok(shown(reply, &item))
    }

    /// The properties that the schema of the answer requires.
    fn required(&self) -> Vec<String> {
        let Ok((_, response)) = choose(self.matched.operation, None) else { return Vec::new() };
        let schema = response.media.iter().find_map(|media| media.schema.as_ref());
        let schema = schema.and_then(Schema::value);
        let required = schema.and_then(|schema| schema.get("required")?.as_array());
        let names = required.into_iter().flatten().filter_map(Value::as_str);
        names.map(str::to_owned).collect()
    }

    /// 201 for a new item, if the definition has such a response.
    fn of_put(&self, is_new: bool, reply: Reply) -> Result<Reply, Fault> {
        let all = &self.matched.operation.responses;
        match all.iter().find(|response| response.code == Code::Exact(201)).filter(|_| is_new) {
            Some(response) => self.of_response(201, response),
            None => Ok(reply),
        }
    }

    fn missing(&self, path: &str, id: &str) -> Result<Reply, Fault> {
        let Ok((status, response)) = choose(self.matched.operation, Some(404)) else {
            return Err(Fault::NotFound(format!("there is no `{id}` in `{path}`; post it first")));
        };
        let mut reply = self.of_response(status, response)?;
        reply.why += "; state";
        Ok(reply)
    }
}

/// The reply with the items in place of the generated list: the body itself, or its first list.
fn listed(mut reply: Reply, items: Vec<Value>) -> Reply {
    let mut body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let count = items.len();
    match &mut body {
        Value::Object(members) => {
            if let Some(list) = members.values_mut().find(|member| member.is_array()) {
                *list = Value::Array(items);
            }
            for (_, own) in members.iter_mut().filter(|(key, _)| COUNTS.contains(&key.as_str())) {
                *own = Value::from(count);
            }
        }
        Value::Array(own) => *own = items,
        _ => return reply,
    }
    reply.body = body.to_string().into_bytes();
    reply
}

/// An item, where the answer has a body.
fn shown(mut reply: Reply, item: &Value) -> Reply {
    if !reply.body.is_empty() {
        reply.body = item.to_string().into_bytes();
    }
    reply
}

/// The item with the id in its path.
fn named(subject: &Subject, mut item: Map<String, Value>, id: &str) -> Map<String, Value> {
    let key = match item.contains_key(&subject.variable) {
        true => subject.variable.as_str(),
        false => "id",
    };
    let number = id.parse::<i64>().ok().filter(|_| subject.identity == Identity::Number);
    item.insert(key.to_owned(), number.map_or_else(|| Value::from(id), Value::from));
    item
}

/// JSON Merge Patch (RFC 7396).
fn merge(target: &mut Value, patch: &Map<String, Value>) {
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(members) = target else { return };
    for (key, value) in patch {
        match value {
            Value::Null => drop(members.shift_remove(key)),
            Value::Object(patch) => merge(members.entry(key.clone()).or_insert(Value::Null), patch),
            value => drop(members.insert(key.clone(), value.clone())),
        }
    }
}

/// A version 4 UUID (RFC 9562).
fn uuid(chance: Chance) -> String {
    let (high, low) = (chance.roll("uuid", 0), chance.roll("uuid", 1));
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        ((low >> 48) & 0x3fff) | 0x8000,
        low & 0xffff_ffff_ffff,
    )
}
