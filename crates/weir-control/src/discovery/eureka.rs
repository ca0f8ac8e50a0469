//! Eureka's HTTP API: the whole registry once, then what has changed (Netflix Eureka REST
//! operations; class `com.netflix.discovery.DiscoveryClient`).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use weir_balance::{Instance, Report, Unused};
use weir_snapshot::Eureka as Settings;

use super::shared::Shared;
use crate::http::{Answer, Ask, Failure, Looked, shown};

/// The default URL of the Eureka server.
const DEFAULT_URL: &str = "http://localhost:8761/eureka/";

/// One client's view of the registry.
#[derive(Debug)]
pub(super) struct Client {
    servers: Vec<String>,
    /// The server that answered last.
    current: usize,
    /// Instances as the server sends them, by application and id; `None` before the first answer.
    known: Option<Known>,
}

type Known = BTreeMap<String, BTreeMap<String, Value>>;

impl Client {
    pub fn new(settings: &Settings) -> Self {
        Self { servers: servers(settings), current: 0, known: None }
    }

    /// Looks once.
    pub async fn next(&mut self, shared: &Shared) -> Looked<Report> {
        let settings = &shared.settings.eureka;
        if settings.delta && self.known.is_some() {
            match self.delta(shared).await {
                Ok(true) => return Ok(report(self.known.as_ref(), settings)),
                // The merged deltas differ from the registry: it is read in full.
                Ok(false) => {}
                Err(Failure::Status(_)) => {}
                Err(failure) => return Err(failure),
            }
        }
        let answer = self.ask(shared, "apps").await?;
        let mut known = Known::new();
        add_up(&mut known, &applications(&answer)?);
        self.known = Some(known);
        Ok(report(self.known.as_ref(), settings))
    }

    /// Applies the delta. Returns whether the result agrees with the server's counts.
    async fn delta(&mut self, shared: &Shared) -> Looked<bool> {
        let answer = self.ask(shared, "apps/delta").await?;
        let applications = applications(&answer)?;
        Ok(self.known.as_mut().is_some_and(|known| add_up(known, &applications)))
    }

    /// Sends the request to the servers, starting with the last one that answered, until one
    /// answers.
    async fn ask(&mut self, shared: &Shared, path: &str) -> Looked<Answer> {
        let settings = &shared.settings;
        let mut last = Failure::Unreachable("no server is named".to_owned());
        for turn in 0..self.servers.len() {
            let at = (self.current + turn) % self.servers.len();
            let Some(base) = self.servers.get(at) else { continue };
            let url = format!("{base}{path}");
            let ask = Ask::get(&url, settings.eureka.timeout, settings.answer_bytes_max);
            match ask.send().await.and_then(Answer::success) {
                Ok(answer) => {
                    self.current = at;
                    return Ok(answer);
                }
                Err(failure) => {
                    tracing::debug!(server = shown(base), %failure, "a Eureka server failed");
                    last = failure;
                }
            }
        }
        Err(last)
    }
}

/// The servers in the order of trial: those of the own zone first (class `EndpointUtils`).
pub(super) fn servers(settings: &Settings) -> Vec<String> {
    let own = settings.zones.iter().find(|(region, _)| *region == settings.region);
    let zones = own.map(|(_, zones)| zones.as_slice()).unwrap_or_default();
    let first = zones.first().filter(|_| settings.same_zone);
    let rank = |zone: &str| match first {
        Some(first) if zone == first => 0,
        _ => 1 + zones.iter().position(|known| known == zone).unwrap_or(usize::MAX - 1),
    };
    let mut by_zone: Vec<&(String, Vec<String>)> = settings.urls.iter().collect();
    by_zone.sort_by_key(|(zone, _)| rank(zone));
    let mut servers: Vec<String> = Vec::new();
    for url in by_zone.into_iter().flat_map(|(_, urls)| urls) {
        let url = format!("{}/", url.trim_end_matches('/'));
        if !servers.contains(&url) {
            servers.push(url);
        }
    }
    if servers.is_empty() {
        servers.push(DEFAULT_URL.to_owned());
    }
    servers
}

fn applications(answer: &Answer) -> Looked<Value> {
    let mut whole: Value = answer.json()?;
    match whole.get_mut("applications").map(Value::take) {
        Some(applications @ Value::Object(_)) => Ok(applications),
        _ => Err(Failure::Nonsense("it has no `applications`".to_owned())),
    }
}

/// Applies the registry or a delta from the server. Returns whether the result agrees with the
/// server's counts of instances.
fn add_up(known: &mut Known, applications: &Value) -> bool {
    for (app, instance) in instances(applications) {
        let Some(id) = id(&instance) else { continue };
        let of_app = known.entry(app).or_default();
        match text(&instance, "actionType") {
            Some("DELETED") => drop(of_app.remove(&id)),
            _ => drop(of_app.insert(id, instance)),
        }
    }
    known.retain(|_, of_app| !of_app.is_empty());
    text(applications, "apps__hashcode") == Some(&hashcode(known))
}

/// Every instance with the name of its application. Old servers write a list of one as a single
/// value.
fn instances(applications: &Value) -> impl Iterator<Item = (String, Value)> {
    let apps = list(applications.get("application"));
    apps.into_iter().flat_map(|app| {
        let name = text(app, "name").unwrap_or_default().to_owned();
        list(app.get("instance")).into_iter().map(move |one| (name.clone(), one.clone()))
    })
}

fn list(value: Option<&Value>) -> Vec<&Value> {
    match value {
        Some(Value::Array(list)) => list.iter().collect(),
        Some(one @ Value::Object(_)) => vec![one],
        _ => Vec::new(),
    }
}

fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name)?.as_str()
}

fn id(instance: &Value) -> Option<String> {
    text(instance, "instanceId").or_else(|| text(instance, "hostName")).map(str::to_owned)
}

/// The number of instances by status: `DOWN_1_UP_2_` (class `Applications`).
fn hashcode(known: &Known) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for instance in known.values().flat_map(BTreeMap::values) {
        *counts.entry(text(instance, "status").unwrap_or("UNKNOWN")).or_default() += 1;
    }
    counts.iter().map(|(status, count)| format!("{status}_{count}_")).collect()
}

/// Instances by application and by each other VIP address they answer to; Spring looks services up
/// by VIP address, which is the application's name unless it was changed.
fn report(known: Option<&Known>, settings: &Settings) -> Report {
    let mut report = Report::new();
    for (app, of_app) in known.into_iter().flatten() {
        for raw in of_app.values() {
            let Some(instance) = instance(raw, settings.only_up) else { continue };
            let instance = Arc::new(instance);
            let vips = text(raw, "vipAddress").unwrap_or_default().split(',').map(str::trim);
            for vip in vips.filter(|vip| !vip.is_empty() && !vip.eq_ignore_ascii_case(app)) {
                report.entry(vip.to_owned()).or_default().push(Arc::clone(&instance));
            }
            report.entry(app.clone()).or_default().push(instance);
        }
    }
    report
}

/// An instance, if its address can be used.
fn instance(raw: &Value, only_up: bool) -> Option<Instance> {
    let host = text(raw, "hostName").or_else(|| text(raw, "ipAddr"))?;
    let (plain, secure) = (port(raw.get("port")), port(raw.get("securePort")));
    let (port, is_secure) = match (plain, secure) {
        (Some(port), _) => (port, false),
        (None, Some(port)) => (port, true),
        (None, None) => return None,
    };
    if !Instance::is_host(host) {
        return None;
    }
    let new = Instance::new(host, port, is_secure);
    let is_up = text(raw, "status") == Some("UP");
    let metadata = raw.get("metadata").and_then(Value::as_object);
    let metadata = metadata.into_iter().flatten().filter(|(name, _)| *name != "@class");
    let texts = metadata.map(|(name, value)| {
        (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    });
    Some(Instance {
        id: id(raw)?,
        metadata: texts.collect(),
        unused: new.unused.or((only_up && !is_up).then_some(Unused::NotUp)),
        ..new
    })
}

/// `{"$": 8080, "@enabled": "true"}`; `None` if it is not enabled.
fn port(value: Option<&Value>) -> Option<u16> {
    let value = value?;
    let enabled = match value.get("@enabled") {
        Some(Value::String(text)) => text == "true",
        Some(Value::Bool(enabled)) => *enabled,
        _ => false,
    };
    let number = match value.get("$")? {
        Value::String(digits) => digits.parse().ok()?,
        number => number.as_u64()?,
    };
    u16::try_from(number).ok().filter(|port| enabled && *port > 0)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, StatusCode};

    use super::*;

    fn answer(body: &str) -> Answer {
        let body = Bytes::copy_from_slice(body.as_bytes());
        Answer { status: StatusCode::OK, headers: HeaderMap::new(), body }
    }

    fn raw(id: &str, status: &str, rest: &str) -> String {
        format!(
            r#"{{"instanceId":"{id}","hostName":"10.0.0.1","app":"USERS","ipAddr":"10.0.0.1",
                "status":"{status}","port":{{"$":8081,"@enabled":"true"}},
                "securePort":{{"$":443,"@enabled":"false"}}{rest}}}"#
        )
    }

    #[test]
    fn an_answer_becomes_services() {
        let rest = r#","metadata":{"zone":"a","@class":"x"},"vipAddress":"users,Members""#;
        let text = format!(
            r#"{{"applications":{{"versions__delta":"1","apps__hashcode":"DOWN_1_UP_1_",
                "application":{{"name":"USERS","instance":[{},{}]}}}}}}"#,
            raw("a", "UP", rest),
            raw("b", "DOWN", ""),
        );
        let applications = applications(&answer(&text)).expect("applications");
        let mut known = Known::new();
        assert!(add_up(&mut known, &applications));
        let report = report(Some(&known), &Settings::default());
        let names: Vec<&String> = report.keys().collect();
        assert_eq!(names, ["Members", "USERS"]);
        let users = &report["USERS"];
        assert_eq!(
            (users[0].id.as_str(), users[0].zone(), users[0].unused),
            ("a", Some("a"), None)
        );
        assert_eq!(users[1].unused, Some(Unused::NotUp));
        assert!(!users[0].metadata.contains_key("@class"));
    }

    /// Recorded from Spring Cloud's Eureka server 4.3.0: two services, then one of them removed and
    /// an instance of the other set to UP.
    #[test]
    fn what_a_real_server_says_has_changed_adds_up() {
        let read = |text: &str| applications(&answer(text)).expect("applications");
        let mut known = Known::new();
        assert!(add_up(&mut known, &read(include_str!("../../tests/eureka/apps.json"))));
        let first = report(Some(&known), &Settings::default());
        assert_eq!(first.keys().collect::<Vec<_>>(), ["ORDERS", "USER-SERVICE", "user-service"]);
        assert!(add_up(&mut known, &read(include_str!("../../tests/eureka/delta.json"))));
        let mut whole = Known::new();
        add_up(&mut whole, &read(include_str!("../../tests/eureka/apps-after.json")));
        let settings = Settings::default();
        assert_eq!(report(Some(&known), &settings), report(Some(&whole), &settings));
        // A missed delta is noticed.
        let mut late = Known::new();
        assert!(!add_up(&mut late, &read(r#"{"applications":{"apps__hashcode":"UP_1_"}}"#)));
    }

    #[test]
    fn what_makes_no_sense_is_left_out() {
        let check = |text: &str, expected: Option<&str>| {
            let value: Value = serde_json::from_str(text).expect("JSON");
            let found = instance(&value, true).map(|one| format!("{:?} {:?}", one.id, one.unused));
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        let enabled = r#""instanceId":"i","status":"UP","port":{"$":"80","@enabled":true}"#;
        check(&format!(r#"{{"hostName":"h",{enabled}}}"#), Some("\"i\" None"));
        check(&format!(r#"{{"hostName":"h/x",{enabled}}}"#), None);
        check(&format!("{{{enabled}}}"), None);
        check(r#"{"hostName":"h","instanceId":"i","port":{"$":70000,"@enabled":"true"}}"#, None);
        check(
            r#"{"hostName":"h","instanceId":"i","status":"UP","port":{"$":1,"@enabled":"false"},
                "securePort":{"$":2,"@enabled":"true"}}"#,
            Some("\"i\" Some(NeedsTls)"),
        );
        assert!(applications(&answer("[]")).is_err());
        assert!(applications(&answer("<html>")).is_err());
    }

    #[test]
    fn servers_of_the_own_zone_come_first() {
        let urls = |list: &[(&str, &str)]| -> Vec<(String, Vec<String>)> {
            list.iter().map(|(zone, url)| ((*zone).into(), vec![(*url).into()])).collect()
        };
        let mut settings = Settings::default();
        assert_eq!(servers(&settings), [DEFAULT_URL]);
        settings.urls = urls(&[("zone1", "http://a/eureka"), ("zone2", "http://b/eureka/")]);
        settings.zones = vec![("us-east-1".into(), vec!["zone2".into(), "zone1".into()])];
        assert_eq!(servers(&settings), ["http://b/eureka/", "http://a/eureka/"]);
        settings.zones.clear();
        assert_eq!(servers(&settings), ["http://a/eureka/", "http://b/eureka/"]);
    }
}
