//! Sending the webhooks of API definitions.

use std::hash::{BuildHasher, Hasher, RandomState};

use axum::response::Response;
use http::StatusCode;
use serde_json::{Value, json};
use weir_control::send_webhook;
use weir_mock::{CallbackRequest, Firing, NotFired};

use super::Call;
use super::body;
use super::tenants::key;
use crate::answer::{Failure, ok_json};

/// Sends one webhook, and tells what was sent and what came of it.
pub(super) async fn fire(mut call: Call) -> Result<Response, Failure> {
    let key = key(&mut call).await?;
    let name = &key.name;
    let webhook = call.segment("webhook").await?;
    let bytes_max = call.site.options.limits.body_bytes_max;
    let asked = body::read_json(&call.parts.headers, call.body, bytes_max).await?;
    let firing = firing(&asked)?;
    let dice = RandomState::new().build_hasher().finish();
    let now_ms = jiff::Timestamp::now().as_millisecond();
    let served = call.site.control.apis().served();
    let made = served.of(&key.tenant).webhook((name, &webhook), &firing, dice, now_ms);
    let request = made.map_err(|why| match why {
        NotFired::NoApi => missing(format!("there is no definition `{name}`")),
        NotFired::NoWebhook(known) if known.is_empty() => {
            missing(format!("`{name}` has no webhooks"))
        }
        NotFired::NoWebhook(known) => {
            missing(format!("there is no webhook `{webhook}`; there are {}", known.join(", ")))
        }
        NotFired::Refused(why) => Failure::bad_request(why),
    })?;
    // What serves may change meanwhile.
    drop(served);
    let answered = send_webhook(&request, call.site.hooks.admin).await;
    Ok(ok_json(&told(&request, answered)))
}

fn missing(message: String) -> Failure {
    Failure::new(StatusCode::NOT_FOUND, message)
}

fn firing(asked: &Value) -> Result<Firing, Failure> {
    let wrong = |what: &str| Failure::bad_request(what.to_owned());
    let members = asked.as_object().ok_or_else(|| wrong("write `{ \"to\": \"http://…\" }`"))?;
    let mut firing = Firing::default();
    for (key, value) in members {
        match (key.as_str(), value) {
            ("to", Value::String(to)) => firing.to.clone_from(to),
            ("dynamic", Value::Bool(is)) => firing.dynamic = Some(*is),
            ("seed", Value::Number(seed)) if seed.is_u64() => firing.seed = seed.as_u64(),
            ("example", Value::String(name)) => firing.example = Some(name.clone()),
            _ => {
                let known = "`to` and `example` are texts, `seed` is a number and `dynamic` a \
                             truth value; there is nothing else";
                return Err(wrong(known));
            }
        }
    }
    Ok(firing)
}

fn told(request: &CallbackRequest, answered: Result<(u16, Vec<u8>), String>) -> Value {
    let CallbackRequest { method, url, fields, body, why, .. } = request;
    let fields = fields.iter().map(|(name, value)| json!([name, String::from_utf8_lossy(value)]));
    let mut document = json!({
        "method": method,
        "url": url,
        "headers": fields.collect::<Value>(),
        "body": String::from_utf8_lossy(body),
        "why": why,
    });
    match answered {
        Ok((status, answer)) => {
            document["status"] = status.into();
            document["answer"] = String::from_utf8_lossy(&answer).into();
        }
        Err(why) => document["error"] = why.into(),
    }
    document
}
