//! Consul's HTTP API: one blocking query for each service, so that a change arrives at once without
//! polling.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use http::HeaderName;
use serde_json::Value;
use tokio::task::{AbortHandle, JoinSet};
use weir_balance::{Instance, Report, Unused};
use weir_snapshot::Consul as Settings;

use super::nacos::encoded;
use super::shared::Shared;
use crate::http::{Answer, Ask, Failure, Looked};

/// The time for which Consul may hold a query while nothing changes.
const HOLD: Duration = Duration::from_secs(55);
/// Longer than Consul holds it: it adds a sixteenth, so that not all return at once.
const TIMEOUT: Duration = Duration::from_secs(75);
/// Answers that come within this time are published together.
const BATCH: Duration = Duration::from_millis(50);
/// Services that are watched at most; each keeps a connection.
const SERVICES_MAX: usize = 2_000;

/// One client's view of the registry.
#[derive(Debug)]
pub(super) struct Client {
    settings: Settings,
    running: JoinSet<Done>,
    /// Queries in the air, by service; the catalog under the empty name.
    asked: HashMap<String, AbortHandle>,
    known: BTreeMap<String, Vec<Arc<Instance>>>,
    /// Services that the catalog lists.
    listed: Vec<String>,
}

/// A query that was answered, or not.
#[derive(Debug)]
struct Done {
    service: String,
    index: u64,
    body: Looked<Value>,
}

impl Client {
    pub fn new(settings: &Settings) -> Self {
        Self {
            settings: settings.clone(),
            running: JoinSet::new(),
            asked: HashMap::new(),
            known: BTreeMap::new(),
            listed: Vec::new(),
        }
    }

    /// Waits for a change, or for routes to name further services.
    pub async fn next(&mut self, shared: &Shared) -> Looked<Report> {
        let wanted = shared.wanted.notified();
        tokio::pin!(wanted);
        // From here on no new name is missed, not even one that is added while the names are read.
        wanted.as_mut().enable();
        self.watch(shared);
        let first = tokio::select! {
            done = self.running.join_next() => done,
            () = wanted => None,
        };
        let mut failure = self.take(first, shared);
        let batch = tokio::time::sleep(BATCH);
        tokio::pin!(batch);
        while failure.is_none() && !self.running.is_empty() {
            tokio::select! {
                () = &mut batch => break,
                done = self.running.join_next() => failure = self.take(done, shared),
            }
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        // Until each service has answered once, the list would be incomplete.
        if self.known.len() < self.asked.len().saturating_sub(1) {
            return Box::pin(self.next(shared)).await;
        }
        Ok(self.known.iter().map(|(name, list)| (name.clone(), list.clone())).collect())
    }

    /// Starts queries for the wanted services that have none, and stops those that are no longer
    /// wanted.
    fn watch(&mut self, shared: &Shared) {
        let mut names = vec![String::new()];
        let wanted = shared.directory.wanted();
        let is_wanted = |name: &String| {
            shared.settings.locator || wanted.iter().any(|one| one.eq_ignore_ascii_case(name))
        };
        names.extend(self.listed.iter().filter(|name| is_wanted(name)).cloned());
        names.truncate(SERVICES_MAX + 1);
        self.asked.retain(|name, query| {
            let keep = names.contains(name);
            if !keep {
                query.abort();
            }
            keep
        });
        self.known.retain(|name, _| names.contains(name));
        for name in names {
            if !self.asked.contains_key(&name) {
                self.ask(name, 0, shared);
            }
        }
    }

    fn ask(&mut self, service: String, index: u64, shared: &Shared) {
        let query = Query::of(&self.settings, &service, index);
        let max = shared.settings.answer_bytes_max;
        let name = service.clone();
        let running = self.running.spawn(async move {
            match query.send(max).await {
                Ok((index, body)) => Done { service, index, body: Ok(body) },
                Err(failure) => Done { service, index: 0, body: Err(failure) },
            }
        });
        self.asked.insert(name, running);
    }

    /// Handles an answer and sends the next query.
    fn take(
        &mut self,
        done: Option<Result<Done, tokio::task::JoinError>>,
        shared: &Shared,
    ) -> Option<Failure> {
        // `None` and an abort are no answers.
        let Some(Ok(Done { service, index, body })) = done else { return None };
        self.asked.remove(&service);
        let body = match body {
            Ok(body) => body,
            Err(failure) => return Some(failure),
        };
        if service.is_empty() {
            self.listed = body.as_object().map(|all| all.keys().cloned().collect())?;
        } else {
            let list = body.as_array().map(Vec::as_slice).unwrap_or_default();
            let instances = list.iter().filter_map(|one| instance(one, &self.settings));
            self.known.insert(service.clone(), instances.map(Arc::new).collect());
        }
        self.ask(service, index, shared);
        self.watch(shared);
        None
    }
}

/// One blocking query.
struct Query {
    url: String,
    token: Option<String>,
}

impl Query {
    fn of(settings: &Settings, service: &str, index: u64) -> Self {
        let index = index.to_string();
        let wait = format!("{}s", HOLD.as_secs());
        let mut query = vec![("index", index.as_str()), ("wait", &wait)];
        let path = match service {
            "" => "catalog/services".to_owned(),
            service => {
                let own = settings.datacenters.iter().find(|(name, _)| name == service);
                query.extend(own.map(|(_, datacenter)| ("dc", datacenter.as_str())));
                query.extend(settings.tag.as_deref().map(|tag| ("tag", tag)));
                format!("health/service/{}", super::member::path_segment(service))
            }
        };
        Self {
            url: format!("{}{path}?{}", base(settings), encoded(&query)),
            token: settings.token.as_ref().map(|token| token.expose().to_owned()),
        }
    }

    async fn send(self, bytes_max: usize) -> Looked<(u64, Value)> {
        let mut ask = Ask::get(&self.url, TIMEOUT, bytes_max);
        ask.headers.extend(token_header(self.token.as_deref()));
        let answer = ask.send().await.and_then(Answer::success)?;
        let index = answer.header("x-consul-index").and_then(|text| text.parse().ok());
        // Without an index the next query would return at once, again and again.
        let index = index.filter(|index| *index > 0);
        let index =
            index.ok_or_else(|| Failure::Nonsense("it has no X-Consul-Index".to_owned()))?;
        let body: Value = answer.json()?;
        // Consul lists itself, unless the token may read nothing: that is no error to Consul.
        if body.as_object().is_some_and(serde_json::Map::is_empty) {
            return Err(Failure::Forbidden(
                "200 without any service, not even `consul`: set spring.cloud.consul.token to a \
                 token that may read services and nodes"
                    .to_owned(),
            ));
        }
        Ok((index, body))
    }
}

pub(super) fn base(settings: &Settings) -> String {
    let host = settings.host.trim_start_matches('[').trim_end_matches(']');
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    format!("{}://{host}:{}/v1/", settings.scheme, settings.port)
}

pub(crate) fn token_header(token: Option<&str>) -> Option<(HeaderName, String)> {
    token.map(|token| (HeaderName::from_static("x-consul-token"), token.to_owned()))
}

/// An entry of `/v1/health/service/{name}` (Spring class `ConsulServiceInstance`).
fn instance(entry: &Value, settings: &Settings) -> Option<Instance> {
    let service = entry.get("Service")?;
    let text = |value: &Value, name: &str| {
        value
            .get(name)
            .and_then(Value::as_str)
            .map(str::trim)
            .filter(|t| !t.is_empty())
            .map(str::to_owned)
    };
    let host = text(service, "Address").or_else(|| text(entry.get("Node")?, "Address"))?;
    let port = u16::try_from(service.get("Port")?.as_u64()?).ok().filter(|port| *port > 0)?;
    if !Instance::is_host(&host) {
        return None;
    }
    let meta = service.get("Meta").and_then(Value::as_object);
    let mut metadata: BTreeMap<String, String> = meta
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect();
    // Older versions of Spring Cloud Consul read metadata from tags.
    for tag in service.get("Tags").and_then(Value::as_array).into_iter().flatten() {
        let Some(tag) = tag.as_str() else { continue };
        let (name, value) = tag.split_once('=').unwrap_or((tag, tag));
        metadata.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }
    let secure = metadata.get("secure").is_some_and(|text| text == "true");
    let checks = entry.get("Checks").and_then(Value::as_array);
    let passing = checks
        .into_iter()
        .flatten()
        .all(|check| check.get("Status").and_then(Value::as_str) == Some("passing"));
    let new = Instance::new(&host, port, secure);
    let unused = (settings.passing && !passing).then_some(Unused::NotUp);
    let weight = service.pointer("/Weights/Passing").and_then(Value::as_u64);
    Some(Instance {
        id: text(service, "ID").unwrap_or_else(|| new.id.clone()),
        metadata,
        weight: weight.and_then(|weight| u32::try_from(weight).ok()).unwrap_or(1),
        unused: new.unused.or(unused),
        ..new
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries() {
        let check = |text: &str, expected: Option<&str>| {
            let value: Value = serde_json::from_str(text).expect("JSON");
            let found = instance(&value, &Settings::default()).map(|one| {
                format!("{} {:?} {:?} {}", one.id, one.zone(), one.unused, one.target.host)
            });
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check(
            r#"{"Node":{"Address":"10.0.0.9"},"Service":{"ID":"a-1","Address":"","Port":80,
                "Tags":["zone=x","plain"],"Meta":{"v":"1"},"Weights":{"Passing":3}},
                "Checks":[{"Status":"passing"}]}"#,
            Some(r#"a-1 Some("x") None 10.0.0.9"#),
        );
        check(
            r#"{"Service":{"ID":"a","Address":"h","Port":80},"Checks":[{"Status":"critical"}]}"#,
            Some("a None Some(NotUp) h"),
        );
        check(r#"{"Service":{"ID":"a","Address":"h","Port":0},"Checks":[]}"#, None);
        check(r#"{"Service":{"ID":"a","Address":"h x","Port":1},"Checks":[]}"#, None);
        check("{}", None);
    }

    #[test]
    fn queries() {
        let settings = Settings {
            datacenters: vec![("a".into(), "dc2".into())],
            tag: Some("v1".into()),
            ..Settings::default()
        };
        let url = |service: &str| Query::of(&settings, service, 7).url;
        assert_eq!(url(""), "http://localhost:8500/v1/catalog/services?index=7&wait=55s");
        let expected = "http://localhost:8500/v1/health/service/a?index=7&wait=55s&dc=dc2&tag=v1";
        assert_eq!(url("a"), expected);
    }
}
