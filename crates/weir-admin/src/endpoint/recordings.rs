//! Recording live traffic into definitions of the store.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};
use weir_control::apis::{ApiKey, By, Entry, check_name};
use weir_control::{Problem, Refusal};
use weir_mock::{RecordedDefinition, recorded_definition};
use weir_route::pattern::{PathPattern, RegexCache};
use weir_route::{parse_data_size, parse_duration};
use weir_server::{NotRecorded, Recording, RecordingBounds, RecordingEnd, RecordingScope};

use super::Call;
use super::apis::failure;
use super::body;
use super::routes::{blocking, condition};
use super::tenants::{query_of, tenant};
use crate::answer::{Failure, empty, etag, ok_json};

/// Bounds of a recording, where nothing is said, and at most.
const EXCHANGES: usize = 1_000;
const EXCHANGES_MAX: usize = 10_000;
const BODY_BYTES: u64 = 64 * 1024;
const BODY_BYTES_MAX: u64 = 1024 * 1024;
const RUNS: Duration = Duration::from_secs(3_600);
const RUNS_MAX: Duration = Duration::from_secs(24 * 3_600);
/// Routes, or paths, that one recording names.
const NAMES_MAX: usize = 100;
const KEYS: &[&str] = &["routes", "paths", "max-exchanges", "max-body", "for"];

pub(super) fn list(call: &Call) -> Result<Response, Failure> {
    let all = call.site.control.recorder().all(now_ms());
    Ok(ok_json(&Value::Array(all.iter().map(|one| shown(one)).collect())))
}

pub(super) async fn get(mut call: Call) -> Result<Response, Failure> {
    let recording = find(&mut call).await?;
    Ok(ok_json(&shown(&recording)))
}

pub(super) async fn start(mut call: Call) -> Result<Response, Failure> {
    let name = call.segment("name").await?;
    let bytes_max = call.site.options.limits.body_bytes_max;
    let asked = body::read_json(&call.parts.headers, call.body, bytes_max).await?;
    let mut problems: Vec<Problem> = check_name(&name).err().into_iter().collect();
    let (scope, bounds) = read(&asked, &mut problems);
    let view = call.site.control.view();
    for id in &scope.routes {
        if view.find(id)?.is_empty() {
            let problem = Problem::new("/routes", format!("there is no route `{id}`"));
            problems.push(problem.help("`weir routes list` shows what there is"));
        }
    }
    if !problems.is_empty() {
        return Err(Refusal::Invalid(problems).into());
    }
    let recorder = call.site.control.recorder();
    match recorder.start(&name, scope, bounds, now_ms()) {
        Ok(recording) => {
            tracing::info!(recording = name, who = call.who, "a recording was started");
            let mut response = ok_json(&shown(&recording));
            *response.status_mut() = StatusCode::CREATED;
            Ok(response)
        }
        Err(NotRecorded::Exists) => {
            let why = format!("a recording `{name}` runs already; stop or cancel it first");
            Err(Failure::new(StatusCode::CONFLICT, why))
        }
        Err(NotRecorded::TooMany(max)) => {
            let why = format!("{max} recordings run already; stop or cancel one of them first");
            Err(Failure::new(StatusCode::CONFLICT, why))
        }
    }
}

/// What [`stop`] would store; the recording goes on.
pub(super) async fn definition(mut call: Call) -> Result<Response, Failure> {
    let recording = find(&mut call).await?;
    let made = blocking(move || made_of(&recording)).await??;
    let mut answer = told(&made);
    answer.insert("definition".to_owned(), made.document);
    Ok(ok_json(&Value::Object(answer)))
}

/// Stores what a recording comes to. If that fails, the recording goes on.
pub(super) async fn stop(mut call: Call) -> Result<Response, Failure> {
    let recording = find(&mut call).await?;
    let when = condition(&call.parts.headers)?;
    let apis = Arc::clone(call.site.control.apis());
    let by = By { who: call.who.clone(), at_ms: now_ms() };
    let rights = call.rights.clone();
    let name = recording.name.clone();
    let key = ApiKey { tenant: tenant(&call)?.unwrap_or_default(), name: name.clone() };
    let location = format!("/weir/apis/{name}{}", query_of(&key));
    let (made, done) = blocking(move || {
        let made = made_of(&recording)?;
        let entry = json!({ "definition": made.document });
        let entry = Entry::read(Some(&key.tenant), Some(&key.name), entry);
        let checked = entry.and_then(|entry| apis.check(entry)).map_err(Refusal::Invalid)?;
        let done = apis.put(checked, &when, by).map_err(|refusal| failure(refusal, &rights))?;
        Ok::<_, Failure>((made, done))
    })
    .await??;
    call.site.control.recorder().remove(&name);
    tracing::info!(recording = name, who = call.who, "a recording was stored as a definition");
    let mut answer = told(&made);
    answer.insert("revision".to_owned(), done.revision.into());
    let mut response = ok_json(&Value::Object(answer));
    if done.created > 0 {
        *response.status_mut() = StatusCode::CREATED;
    }
    let headers = response.headers_mut();
    headers.insert(header::ETAG, etag(done.revision));
    if let Ok(location) = HeaderValue::from_str(&location) {
        headers.insert(header::LOCATION, location);
    }
    Ok(response)
}

pub(super) async fn cancel(mut call: Call) -> Result<Response, Failure> {
    let name = call.segment("name").await?;
    if !call.site.control.recorder().remove(&name) {
        return Err(Failure::missing());
    }
    tracing::info!(recording = name, who = call.who, "a recording was cancelled");
    Ok(empty(StatusCode::NO_CONTENT))
}

async fn find(call: &mut Call) -> Result<Arc<Recording>, Failure> {
    let name = call.segment("name").await?;
    let all = call.site.control.recorder().all(now_ms());
    all.into_iter().find(|one| one.name == name).ok_or(Failure::missing())
}

fn made_of(recording: &Recording) -> Result<RecordedDefinition, Failure> {
    recorded_definition(&recording.name, &recording.kept().exchanges).ok_or_else(|| {
        let why =
            "nothing was recorded: no upstream has answered a request of its routes and paths";
        Failure::new(StatusCode::CONFLICT, why)
    })
}

fn told(made: &RecordedDefinition) -> Map<String, Value> {
    let counts =
        [("operations", made.operations), ("examples", made.examples), ("secrets", made.secrets)];
    counts.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect()
}

fn shown(recording: &Recording) -> Value {
    let (kept, bounds) = (recording.kept(), recording.bounds);
    let started = jiff::Timestamp::from_millisecond(recording.started_ms).unwrap_or_default();
    json!({
        "name": recording.name,
        "state": match kept.end {
            None => "recording",
            Some(RecordingEnd::Exchanges) => "full: as many exchanges as it may have",
            Some(RecordingEnd::Bytes) => "full: as many bytes as it may have",
            Some(RecordingEnd::Time) => "over: its time is up",
        },
        "exchanges": kept.exchanges.len(),
        "seen": kept.seen,
        "bytes": kept.bytes,
        "bodies-left-out": kept.bodies_left_out,
        "routes": recording.scope.routes,
        "paths": recording.scope.paths.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "started": started.to_string(),
        "for-ms": bounds.runs_ms,
        "max-exchanges": bounds.exchanges_max,
        "max-body": bounds.body_bytes_max,
    })
}

/// What is to be recorded, and where it ends.
fn read(asked: &Value, problems: &mut Vec<Problem>) -> (RecordingScope, RecordingBounds) {
    let none = Map::new();
    let members = asked.as_object().unwrap_or_else(|| {
        problems.push(Problem::new("", "this is no object"));
        &none
    });
    for key in members.keys().filter(|key| !KEYS.contains(&key.as_str())) {
        let help = format!("there are {}", KEYS.join(", "));
        problems.push(Problem::new(format!("/{key}"), "this is not known").help(help));
    }
    let routes = texts(asked, "routes", problems);
    let mut paths = Vec::new();
    for text in texts(asked, "paths", problems) {
        match PathPattern::parse(&text, &RegexCache::default()) {
            Ok(pattern) if text.starts_with('/') => paths.push(pattern),
            Ok(_) => {
                let problem = Problem::new("/paths", format!("`{text}` does not start with `/`"));
                problems.push(problem.help("write a pattern such as `/v1/**`"));
            }
            Err(error) => {
                let problem = Problem::new("/paths", format!("`{text}`: {}", error.message));
                problems.push(problem.help(error.help.unwrap_or_default()));
            }
        }
    }
    if routes.is_empty() && paths.is_empty() && problems.is_empty() {
        let problem = Problem::new("", "it is not said what is recorded");
        problems.push(problem.help("name routes, or paths; `/**` is all of them"));
    }
    let exchanges_max = match members.get("max-exchanges") {
        None => EXCHANGES,
        Some(value) => {
            let own = value.as_u64().and_then(|own| usize::try_from(own).ok());
            own.filter(|own| (1..=EXCHANGES_MAX).contains(own)).unwrap_or_else(|| {
                let why = format!("this is no number from 1 to {EXCHANGES_MAX}");
                problems.push(Problem::new("/max-exchanges", why));
                EXCHANGES
            })
        }
    };
    let body_bytes_max = bounded(asked, "max-body", BODY_BYTES, BODY_BYTES_MAX, "1MB", problems);
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let runs_ms = bounded(asked, "for", ms(RUNS), ms(RUNS_MAX), "24h", problems);
    let body_bytes_max = usize::try_from(body_bytes_max).unwrap_or(usize::MAX);
    let bounds = RecordingBounds { exchanges_max, body_bytes_max, runs_ms };
    (RecordingScope { routes, paths }, bounds)
}

/// A size in bytes, or a time (`for`) in milliseconds.
fn bounded(
    asked: &Value,
    key: &str,
    usual: u64,
    max: u64,
    named: &str,
    problems: &mut Vec<Problem>,
) -> u64 {
    let at = format!("/{key}");
    let text = match asked.get(key) {
        None => return usual,
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let read = match key {
        "for" => parse_duration(&text).map(|time| time.as_millis().try_into().unwrap_or(u64::MAX)),
        _ => parse_data_size(&text),
    };
    match read {
        Ok(own) if (1..=max).contains(&own) => return own,
        Ok(_) => {
            problems.push(Problem::new(at, format!("`{text}` is not above 0 and up to {named}")))
        }
        Err(error) => problems.push(Problem::new(at, error.message).help(error.help)),
    }
    usual
}

fn texts(asked: &Value, key: &str, problems: &mut Vec<Problem>) -> Vec<String> {
    let at = format!("/{key}");
    let all = match asked.get(key) {
        None => return Vec::new(),
        Some(Value::Array(all)) if all.len() <= NAMES_MAX => all,
        Some(_) => {
            problems.push(Problem::new(at, format!("this is no list of up to {NAMES_MAX} texts")));
            return Vec::new();
        }
    };
    let texts: Vec<String> = all.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    if texts.len() < all.len() {
        problems.push(Problem::new(at, "this is no list of texts"));
    }
    texts
}

fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
