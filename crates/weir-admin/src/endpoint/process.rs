//! Spring Boot's own endpoints: health, info, loggers, metrics.

use std::sync::atomic::Ordering;

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::Call;
use super::body;
use crate::access::Intent;
use crate::answer::{ACTUATOR, Failure, answer, empty, json_answer};
use crate::hooks::{Level, Logger};
use crate::site::ENDPOINTS;

pub(super) const MEDIA: [&str; 3] = [
    "application/vnd.spring-boot.actuator.v3+json",
    "application/vnd.spring-boot.actuator.v2+json",
    "application/json",
];
/// Endpoints with more below them: the link's suffix and its templated rest.
const TEMPLATED: [(&str, &str, &str); 2] =
    [("health", "health-path", "/{*path}"), ("loggers", "loggers-name", "/{name}")];

pub(super) fn index(call: &Call) -> Result<Response, Failure> {
    call.accepts(&MEDIA)?;
    let host = call.parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let base = format!("http://{}{}", host.unwrap_or("localhost"), call.site.options.base_path);
    let link = |href: String, templated: bool| json!({ "href": href, "templated": templated });
    let mut links = Map::new();
    links.insert("self".into(), link(base.clone(), false));
    for name in ENDPOINTS {
        if !call.site.serves(name, Intent::Read) {
            continue;
        }
        links.insert(name.into(), link(format!("{base}/{name}"), false));
        for (_, key, rest) in TEMPLATED.iter().filter(|(of, ..)| *of == name) {
            links.insert((*key).into(), link(format!("{base}/{name}{rest}"), true));
        }
    }
    Ok(json_answer(StatusCode::OK, ACTUATOR, &json!({ "_links": links })))
}

pub(super) fn health(call: &Call) -> Result<Response, Failure> {
    call.accepts(&MEDIA)?;
    let (status, name) = readiness_of(call);
    let mut body = Map::new();
    if call.site.options.health_details {
        // A store that is shut stops changes, not traffic: it must not get the gateway restarted.
        let store = if call.site.control.store_is_open() { "UP" } else { "UNKNOWN" };
        let mut components = json!({
            "livenessState": { "status": "UP" },
            "readinessState": { "status": name },
            "routeStore": { "status": store },
        });
        if let (Some(all), Some(discovery)) =
            (components.as_object_mut(), (call.site.hooks.discovery)())
        {
            all.insert("discoveryComposite".into(), discovery);
        }
        body.insert("components".into(), components);
    }
    body.insert("groups".into(), json!(["liveness", "readiness"]));
    body.insert("status".into(), name.into());
    Ok(json_answer(status, ACTUATOR, &Value::Object(body)))
}

pub(super) fn liveness(call: &Call) -> Result<Response, Failure> {
    call.accepts(&MEDIA)?;
    Ok(json_answer(StatusCode::OK, ACTUATOR, &json!({ "status": "UP" })))
}

pub(super) fn readiness(call: &Call) -> Result<Response, Failure> {
    call.accepts(&MEDIA)?;
    let (status, name) = readiness_of(call);
    Ok(json_answer(status, ACTUATOR, &json!({ "status": name })))
}

fn readiness_of(call: &Call) -> (StatusCode, &'static str) {
    match call.site.hooks.ready.load(Ordering::Acquire) {
        true => (StatusCode::OK, "UP"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "OUT_OF_SERVICE"),
    }
}

pub(super) fn info(call: &Call) -> Result<Response, Failure> {
    call.accepts(&MEDIA)?;
    Ok(json_answer(StatusCode::OK, ACTUATOR, &(call.site.hooks.info)()))
}

pub(super) fn prometheus(call: &Call) -> Result<Response, Failure> {
    let media = HeaderValue::from_static("text/plain;version=0.0.4;charset=utf-8");
    Ok(answer(StatusCode::OK, Some(media), (call.site.hooks.prometheus)().into_bytes()))
}

/// Reads the configuration again, as Spring Cloud's endpoint does: a list of names, never a value.
pub(super) async fn refresh(call: Call) -> Result<Response, Failure> {
    call.accepts(&MEDIA)?;
    let (reply, answer) = oneshot::channel();
    call.site.hooks.refresh.try_send(reply).map_err(|_| {
        let message = "the configuration is being read; try again when that is done";
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, message)
    })?;
    tracing::info!(who = call.who, "refresh");
    match answer.await {
        Ok(Ok(names)) => Ok(json_answer(StatusCode::OK, ACTUATOR, &json!(names))),
        Ok(Err(why)) => Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, why)),
        Err(_) => {
            Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, "the gateway is being stopped"))
        }
    }
}

pub(super) fn loggers(call: &Call) -> Result<Response, Failure> {
    call.accepts(&MEDIA)?;
    let loggers: Map<String, Value> = (call.site.hooks.loggers)()
        .into_iter()
        .map(|logger| (logger.name.clone(), levels(&logger)))
        .collect();
    let names: Vec<&str> = Level::ALL.iter().map(|level| level.name()).collect();
    let body = json!({ "levels": names, "loggers": loggers, "groups": {} });
    Ok(json_answer(StatusCode::OK, ACTUATOR, &body))
}

pub(super) async fn logger(mut call: Call) -> Result<Response, Failure> {
    call.accepts(&MEDIA)?;
    let name = call.segment("name").await?;
    let found = (call.site.hooks.loggers)().into_iter().find(|logger| logger.name == name);
    let logger = found.ok_or(Failure::plain(StatusCode::NOT_FOUND))?;
    Ok(json_answer(StatusCode::OK, ACTUATOR, &levels(&logger)))
}

pub(super) async fn set_logger(mut call: Call) -> Result<Response, Failure> {
    let name = call.segment("name").await?;
    let bytes_max = call.site.options.limits.body_bytes_max;
    let body = body::read_json(&call.parts.headers, call.body, bytes_max).await?;
    let level = match body.get("configuredLevel") {
        None | Some(Value::Null) => None,
        Some(Value::String(level)) => Some(Level::parse(level).ok_or_else(unknown_level)?),
        Some(_) => return Err(unknown_level()),
    };
    (call.site.hooks.set_logger)(&name, level).map_err(Failure::bad_request)?;
    tracing::info!(logger = name, level = level.map(Level::name), who = call.who, "log level set");
    Ok(empty(StatusCode::NO_CONTENT))
}

fn unknown_level() -> Failure {
    let names: Vec<&str> = Level::ALL.iter().map(|level| level.name()).collect();
    Failure::bad_request(format!("configuredLevel is one of {} or null", names.join(", ")))
}

fn levels(logger: &Logger) -> Value {
    let mut levels = Map::new();
    if let Some(configured) = logger.configured {
        levels.insert("configuredLevel".into(), configured.name().into());
    }
    levels.insert("effectiveLevel".into(), logger.effective.name().into());
    Value::Object(levels)
}
