//! Nacos' HTTP API: version 1, or version 3 where a server no longer supports version 1.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::header::CONTENT_TYPE;
use http::{HeaderName, Method};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use weir_balance::{Instance, Report, Unused};
use weir_snapshot::{Nacos as Settings, Secret};

use super::shared::Shared;
use crate::http::{Answer, Ask, Failure, Looked};

/// The default address of the Nacos server.
const DEFAULT_SERVER: &str = "127.0.0.1:8848";
/// An answer must be whole within this time.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);
/// Services of one page of the list.
const PAGE: usize = 1_000;
/// The maximum number of pages read.
const PAGES_MAX: usize = 100;

/// The version of a server's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    V1,
    V3,
}

/// A form that is sent with a request, and how long the server may hold it.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub body: String,
    pub hold: Duration,
}

/// A way to a Nacos server, shared by looking, registering and configuration.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    servers: Vec<String>,
    current: usize,
    username: Option<String>,
    password: String,
    token: Option<(String, Instant)>,
    pub api: Api,
}

/// One client's view of the registry.
#[derive(Debug)]
pub(super) struct Client {
    session: Session,
}

impl Client {
    pub fn new(settings: &Settings) -> Self {
        Self { session: Session::new(settings) }
    }

    /// Reads once: the services that routes name; all of them for the locator.
    pub async fn next(&mut self, shared: &Shared) -> Looked<Report> {
        let mut names = shared.directory.wanted();
        if shared.settings.locator {
            for name in self.all(shared).await? {
                match names.iter_mut().find(|known| known.eq_ignore_ascii_case(&name)) {
                    // Nacos distinguishes case; the uri of a route does not.
                    Some(known) => *known = name,
                    None => names.push(name),
                }
            }
        }
        let mut report = Report::new();
        for name in names {
            let instances = self.instances(&name, shared).await?;
            if shared.settings.locator || !instances.is_empty() {
                report.insert(name, instances);
            }
        }
        Ok(report)
    }

    /// The names of all services of the group.
    async fn all(&mut self, shared: &Shared) -> Looked<Vec<String>> {
        let settings = &shared.settings.nacos;
        let mut names = Vec::new();
        for page in 1..=PAGES_MAX {
            let (page, size) = (page.to_string(), PAGE.to_string());
            let query = [
                ("pageNo", page.as_str()),
                ("pageSize", &size),
                ("groupName", &settings.group),
                ("groupNameParam", &settings.group),
                ("namespaceId", &settings.namespace),
            ];
            let paths = ("v1/ns/service/list", "v3/admin/ns/service/list");
            let answer = self.session.get(paths, &query, shared).await?;
            let found = service_names(&answer);
            let last = found.len() < PAGE;
            names.extend(found);
            if last {
                break;
            }
        }
        Ok(names)
    }

    async fn instances(&mut self, name: &str, shared: &Shared) -> Looked<Vec<Arc<Instance>>> {
        let settings = &shared.settings.nacos;
        let query = [
            ("serviceName", name),
            ("groupName", settings.group.as_str()),
            ("namespaceId", settings.namespace.as_str()),
        ];
        let paths = ("v1/ns/instance/list", "v3/client/ns/instance/list");
        match self.session.get(paths, &query, shared).await {
            Ok(answer) => Ok(hosts(&answer)),
            // The service was never registered.
            Err(Failure::Status(status)) if status.as_u16() == 404 => Ok(Vec::new()),
            Err(failure) => Err(failure),
        }
    }
}

impl Session {
    pub fn new(settings: &Settings) -> Self {
        Self::of(&settings.servers, settings.username.clone(), settings.password.as_ref())
    }

    /// A session with these servers.
    pub fn of(servers: &[String], username: Option<String>, password: Option<&Secret>) -> Self {
        let mut servers: Vec<String> = servers.iter().map(|one| base(one)).collect();
        if servers.is_empty() {
            servers.push(base(DEFAULT_SERVER));
        }
        Self {
            servers,
            current: 0,
            username,
            password: password.map(|password| password.expose().to_owned()).unwrap_or_default(),
            token: None,
            api: Api::V1,
        }
    }

    /// A GET of the path of the API that the server has.
    async fn get(
        &mut self,
        (v1, v3): (&str, &str),
        query: &[(&str, &str)],
        shared: &Shared,
    ) -> Looked<Value> {
        let max = shared.settings.answer_bytes_max;
        if self.api == Api::V1 {
            let answer = self.send(Method::GET, v1, query, max).await?;
            // Version 3 of the server has no version 1 of the API any more.
            if !matches!(answer.status.as_u16(), 404 | 410 | 501) || is_v1(&answer) {
                return answer.success()?.json();
            }
            self.api = Api::V3;
        }
        let answer = self.send(Method::GET, v3, query, max).await?.success();
        if answer.is_err() {
            self.api = Api::V1;
        }
        answer?.json()
    }

    /// Sends a request to the servers, starting with the last one that answered, until one answers.
    pub async fn send(
        &mut self,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        bytes_max: usize,
    ) -> Looked<Answer> {
        self.send_form((method, path), query, None, bytes_max).await
    }

    /// Sends a form in the same way; the server may hold the request.
    pub async fn send_form(
        &mut self,
        (method, path): (Method, &str),
        query: &[(&str, &str)],
        form: Option<&Form>,
        bytes_max: usize,
    ) -> Looked<Answer> {
        let mut last = Failure::Unreachable("no server is named".to_owned());
        for turn in 0..self.servers.len() {
            let at = (self.current + turn) % self.servers.len();
            match self.send_to(at, (&method, path), query, form, bytes_max).await {
                Ok(answer) => {
                    self.current = at;
                    return Ok(answer);
                }
                Err(failure) => last = failure,
            }
        }
        Err(last)
    }

    async fn send_to(
        &mut self,
        at: usize,
        (method, path): (&Method, &str),
        query: &[(&str, &str)],
        form: Option<&Form>,
        bytes_max: usize,
    ) -> Looked<Answer> {
        let base = self.servers.get(at).cloned().unwrap_or_default();
        let token = self.token(&base).await?;
        let mut query = query.to_vec();
        if let Some(token) = &token {
            query.push(("accessToken", token));
        }
        let url = format!("{base}{path}?{}", encoded(&query));
        let mut ask = Ask { method: method.clone(), ..Ask::get(&url, TIMEOUT, bytes_max) };
        if let Some(form) = form {
            let hold = form.hold.as_millis().to_string();
            let name = HeaderName::from_static("long-pulling-timeout");
            let media = "application/x-www-form-urlencoded".to_owned();
            ask.headers.extend([(name, hold), (CONTENT_TYPE, media)]);
            ask.body = Some(form.body.clone());
            ask.timeout += form.hold;
        }
        let answer = ask.send().await?;
        if matches!(answer.status.as_u16(), 401 | 403) {
            self.token = None;
        }
        Ok(answer)
    }

    /// The token of a login, new if there is none or it is about to expire.
    async fn token(&mut self, base: &str) -> Looked<Option<String>> {
        let Some(username) = self.username.clone() else { return Ok(None) };
        if let Some((token, until)) = &self.token
            && Instant::now() < *until
        {
            return Ok(Some(token.clone()));
        }
        let query = encoded(&[("username", &username), ("password", &self.password)]);
        let mut answer = Err(Failure::Nonsense("it takes no logins".to_owned()));
        for path in ["v1/auth/login", "v3/auth/user/login"] {
            let url = format!("{base}{path}?{query}");
            let ask = Ask { method: Method::POST, ..Ask::get(&url, TIMEOUT, 1 << 20) };
            answer = ask.send().await?.success();
            if answer.is_ok() {
                break;
            }
        }
        let answer: Value = answer?.json()?;
        let data = answer.get("data").filter(|data| data.is_object()).unwrap_or(&answer);
        let token = data.get("accessToken").and_then(Value::as_str);
        let token = token.ok_or_else(|| Failure::Nonsense("a login without a token".to_owned()))?;
        let seconds = data.get("tokenTtl").and_then(Value::as_u64).unwrap_or(600);
        // A little earlier than it ends, as the server's clock has it.
        let until = Instant::now() + Duration::from_secs(seconds.min(86_400) * 9 / 10);
        self.token = Some((token.to_owned(), until));
        Ok(Some(token.to_owned()))
    }
}

/// Whether an error answer comes from version 1 itself, rather than from a missing path.
fn is_v1(answer: &Answer) -> bool {
    let text = String::from_utf8_lossy(&answer.body);
    text.contains("service not found") || text.contains("caused:")
}

fn base(server: &str) -> String {
    let server = server.trim().trim_end_matches('/');
    let whole = if server.contains("://") { server.to_owned() } else { format!("http://{server}") };
    if whole.ends_with("/nacos") { format!("{whole}/") } else { format!("{whole}/nacos/") }
}

/// A query, without empty values.
pub(crate) fn encoded(query: &[(&str, &str)]) -> String {
    let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let filled = query.iter().filter(|(_, value)| !value.is_empty());
    let parts: Vec<String> =
        filled.map(|(name, value)| format!("{name}={}", encode(value))).collect();
    parts.join("&")
}

/// `{"doms": [...]}`, or version 3's `{"data": {"pageItems": [{"name": ...}]}}`.
fn service_names(answer: &Value) -> Vec<String> {
    let v1 = answer.get("doms").and_then(Value::as_array);
    let v3 = answer.pointer("/data/pageItems").and_then(Value::as_array);
    let name = |value: &Value| {
        let text = value.as_str().or_else(|| value.get("name")?.as_str())?;
        // Some versions put the group before the name.
        Some(text.rsplit_once("@@").map_or(text, |(_, name)| name).to_owned())
    };
    v1.or(v3).into_iter().flatten().filter_map(name).collect()
}

/// `{"hosts": [...]}`, or version 3's `{"data": [...]}`.
fn hosts(answer: &Value) -> Vec<Arc<Instance>> {
    let v1 = answer.get("hosts").and_then(Value::as_array);
    let v3 = answer.get("data").and_then(Value::as_array);
    v1.or(v3).into_iter().flatten().filter_map(|host| instance(host).map(Arc::new)).collect()
}

fn instance(host: &Value) -> Option<Instance> {
    let ip = host.get("ip")?.as_str()?;
    let port = u16::try_from(host.get("port")?.as_u64()?).ok().filter(|port| *port > 0)?;
    if !Instance::is_host(ip) {
        return None;
    }
    let flag = |name: &str| host.get(name).and_then(Value::as_bool).unwrap_or(true);
    let weight = host.get("weight").and_then(Value::as_f64).unwrap_or(1.0);
    let metadata = host.get("metadata").and_then(Value::as_object);
    let metadata: BTreeMap<String, String> = metadata
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect();
    let secure = metadata.get("secure").is_some_and(|text| text == "true");
    let new = Instance::new(ip, port, secure);
    let unused = match (flag("healthy"), flag("enabled") && weight > 0.0) {
        (_, false) => Some(Unused::Disabled),
        (false, true) => Some(Unused::NotUp),
        (true, true) => None,
    };
    // Nacos' weights are fractions; hundredths are precise enough.
    let weight = (weight.clamp(0.0, 10_000.0) * 100.0) as u32;
    Some(Instance { metadata, weight, unused: new.unused.or(unused), ..new })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let value: Value = serde_json::from_str(text).expect("JSON");
        let shown = hosts(&value).into_iter().map(|one| match one.unused {
            None => format!("{} {}", one.id, one.weight),
            Some(unused) => format!("{} {unused:?}", one.id),
        });
        assert_eq!(shown.collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn hosts_of_both_versions() {
        check(
            r#"{"name":"DEFAULT_GROUP@@a","hosts":[
              {"ip":"10.0.0.1","port":81,"weight":1.5,"healthy":true,"enabled":true,"metadata":{}},
              {"ip":"10.0.0.2","port":82,"weight":1.0,"healthy":false,"enabled":true},
              {"ip":"10.0.0.3","port":83,"weight":0.0,"healthy":true,"enabled":true},
              {"ip":"10.0.0.4","port":84,"healthy":true,"enabled":false},
              {"ip":"10.0.0.5","port":85,"metadata":{"secure":"true"}},
              {"ip":"x y","port":86},{"port":1},{"ip":"10.0.0.7","port":70000}]}"#,
            &[
                "10.0.0.1:81 150",
                "10.0.0.2:82 NotUp",
                "10.0.0.3:83 Disabled",
                "10.0.0.4:84 Disabled",
                "10.0.0.5:85 NeedsTls",
            ],
        );
        check(
            r#"{"code":0,"data":[{"ip":"10.0.0.1","port":81,"healthy":true}]}"#,
            &["10.0.0.1:81 100"],
        );
        check("{}", &[]);
    }

    #[test]
    fn names_of_both_versions() {
        let names = |text: &str| service_names(&serde_json::from_str(text).expect("JSON"));
        assert_eq!(names(r#"{"count":2,"doms":["a","G@@b"]}"#), ["a", "b"]);
        assert_eq!(names(r#"{"data":{"pageItems":[{"name":"a","groupName":"G"}]}}"#), ["a"]);
    }

    #[test]
    fn bases_and_queries() {
        assert_eq!(base("127.0.0.1:8848"), "http://127.0.0.1:8848/nacos/");
        assert_eq!(base("http://h:1/nacos/"), "http://h:1/nacos/");
        assert_eq!(encoded(&[("a", "x y"), ("b", ""), ("c", "&")]), "a=x%20y&c=%26");
    }
}
