//! Spring Cloud Config: `GET {uri}/{application}/{profiles}[/{label}]` (class
//! `ConfigServicePropertySourceLocator`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use serde_json::Value;
use weir_config::{ConfigServer, Content, Fetched};

use crate::discovery::path_segment;
use crate::http::{Ask, Failure, Looked, shown};

/// Deepest nesting of a value that a server did not flatten.
const DEPTH_MAX: usize = 32;

/// The server's answer; the part with the highest precedence is last.
pub(super) async fn look(server: &ConfigServer) -> Looked<Vec<Fetched>> {
    let labels: Vec<Option<&str>> = match server.labels.is_empty() {
        true => vec![None],
        false => server.labels.iter().map(|label| Some(label.as_str())).collect(),
    };
    let mut last = Failure::Unreachable("no server is named".to_owned());
    for label in labels {
        for uri in &server.uris {
            match ask(server, uri.expose(), label).await {
                Ok(parts) => return Ok(parts),
                Err(failure) => last = failure,
            }
        }
        // Another label is tried only where a server does not know this one.
        if !matches!(&last, Failure::Status(status) if status.as_u16() == 404) {
            return Err(last);
        }
    }
    Err(last)
}

async fn ask(server: &ConfigServer, uri: &str, label: Option<&str>) -> Looked<Vec<Fetched>> {
    let (base, login) = login(server, uri);
    let profiles: Vec<String> = server.profiles.iter().map(|one| path_segment(one)).collect();
    let mut url = format!("{base}/{}/{}", path_segment(&server.application), profiles.join(","));
    if let Some(label) = label {
        // A `/` of a branch would be one of the path.
        url = format!("{url}/{}", path_segment(&label.replace('/', "(_)")));
    }
    let mut ask = Ask::get(&url, server.read_timeout, server.answer_bytes_max);
    ask.connect_timeout = server.connect_timeout;
    ask.headers.extend(login.map(|login| (AUTHORIZATION, login)));
    if let Some(token) = &server.token {
        ask.headers.push((HeaderName::from_static("x-config-token"), token.expose().to_owned()));
    }
    for (name, value) in &server.headers {
        let known = HeaderName::try_from(name.as_str());
        let known = known.map_err(|_| wrong(&format!("`{name}` is no name of a header")))?;
        if HeaderValue::try_from(value.expose()).is_err() {
            return Err(wrong(&format!("the value of the header `{name}` is none")));
        }
        ask.headers.push((known, value.expose().to_owned()));
    }
    let answer = ask.send().await?.success()?;
    // The parser's message could reveal a part of the answer.
    let body: Value = serde_json::from_slice(&answer.body).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        Failure::Nonsense(format!("it is not JSON (line {line}, column {column})"))
    })?;
    let name = format!("configserver:{}", shown(&url));
    parts(&body, &name, &server.profiles)
}

/// The server without user and password, and the value of `Authorization`.
fn login(server: &ConfigServer, uri: &str) -> (String, Option<String>) {
    let uri = uri.trim().trim_end_matches('/');
    let (scheme, rest) = uri.split_once("://").unwrap_or(("http", uri));
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let base = format!("{scheme}://{host}{path}");
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let own = user.map(|user| {
        let (name, password) = user.split_once(':').unwrap_or((user, ""));
        (decoded(name), decoded(password))
    });
    let given = server.username.is_some() || server.password.is_some();
    let pair = match (own, given) {
        (None, false) => return (base, None),
        (Some(own), false) => own,
        (own, true) => {
            let (name, password) = own.unwrap_or_else(|| ("user".to_owned(), String::new()));
            let given = server.password.as_ref().map(|password| password.expose().to_owned());
            (server.username.clone().unwrap_or(name), given.unwrap_or(password))
        }
    };
    let encoded = STANDARD.encode(format!("{}:{}", pair.0, pair.1));
    (base, Some(format!("Basic {encoded}")))
}

fn wrong(why: &str) -> Failure {
    Failure::Unreachable(format!("{why}; mend spring.cloud.config.headers"))
}

/// `{"propertySources": [{"name": …, "source": {"key": value}}]}`, the first of which wins.
fn parts(body: &Value, name: &str, profiles: &[String]) -> Looked<Vec<Fetched>> {
    let nonsense = |what: &str| Failure::Nonsense(what.to_owned());
    let sources = body.get("propertySources").and_then(Value::as_array);
    let sources = sources.ok_or_else(|| nonsense("it has no list `propertySources`"))?;
    let mut parts = Vec::with_capacity(sources.len());
    for source in sources.iter().rev() {
        let own = source.get("name").and_then(Value::as_str).unwrap_or_default();
        let values = source.get("source").and_then(Value::as_object);
        let values = values.ok_or_else(|| nonsense("a property source has no map `source`"))?;
        let mut pairs = Vec::with_capacity(values.len());
        for (key, value) in values {
            flatten(key, value, 0, &mut pairs);
        }
        let file = own.rsplit(['/', '\\']).next().unwrap_or(own);
        parts.push(Fetched {
            name: format!("{name}#{file}"),
            content: Content::Pairs(pairs),
            is_specific: is_specific(own, profiles),
        });
    }
    Ok(parts)
}

/// Whether a source is specific to a profile, by its name alone, as in Spring (class
/// `ConfigServerConfigDataLoader`).
fn is_specific(name: &str, profiles: &[String]) -> bool {
    let after = |mark: char, profile: &str| name.contains(&format!("{mark}{profile}"));
    profiles.iter().any(|profile| after('-', profile) || after(',', profile))
}

fn flatten(key: &str, value: &Value, depth: usize, pairs: &mut Vec<(String, String)>) {
    if depth > DEPTH_MAX {
        return;
    }
    let text = match value {
        Value::Null => String::new(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(list) => {
            for (n, element) in list.iter().enumerate() {
                flatten(&format!("{key}[{n}]"), element, depth + 1, pairs);
            }
            return;
        }
        Value::Object(map) => {
            // With its origin, as version 2 of the answer has it.
            if let (Some(value), Some(_)) = (map.get("value"), map.get("origin")) {
                return flatten(key, value, depth + 1, pairs);
            }
            for (name, value) in map {
                flatten(&format!("{key}.{name}"), value, depth + 1, pairs);
            }
            return;
        }
    };
    pairs.push((key.to_owned(), text));
}

#[cfg(test)]
mod tests {
    use weir_snapshot::Secret;

    use super::*;

    fn recorded(text: &str) -> Vec<Fetched> {
        let body = serde_json::from_str(text).expect("JSON");
        parts(&body, "configserver:x", &["prod".to_owned()]).expect("an answer")
    }

    #[test]
    fn recorded_answers_of_both_versions_say_the_same() {
        let one = recorded(include_str!("../../tests/config-server/gate-prod.json"));
        let two = recorded(include_str!("../../tests/config-server/gate-prod-v2.json"));
        assert_eq!(one, two);
        let names: Vec<(&str, bool)> =
            one.iter().map(|part| (part.name.as_str(), part.is_specific)).collect();
        let expected = [
            ("configserver:x#application.yml", false),
            ("configserver:x#gate.yml", false),
            ("configserver:x#gate-prod.properties", true),
        ];
        assert_eq!(names, expected);
        let Content::Pairs(pairs) = &one[1].content else { panic!("no pairs") };
        let value = |name: &str| pairs.iter().find(|(key, _)| key == name).map(|(_, v)| v.as_str());
        let route = "spring.cloud.gateway.server.webflux.routes[0]";
        assert_eq!(value(&format!("{route}.metadata.weight")), Some("1.5"));
        assert_eq!(value(&format!("{route}.metadata.active")), Some("true"));
        assert_eq!(value(&format!("{route}.uri")), Some("${upstream}"));
        assert_eq!(value("nothing"), Some(""));
    }

    #[test]
    fn nonsense_is_none() {
        for text in ["{}", "[]", r#"{"propertySources":{}}"#, r#"{"propertySources":[{}]}"#] {
            let body = serde_json::from_str(text).expect("JSON");
            assert!(matches!(parts(&body, "x", &[]), Err(Failure::Nonsense(_))), "{text}");
        }
    }

    #[test]
    fn what_is_not_flat_is_flattened() {
        let mut pairs = Vec::new();
        flatten("a", &serde_json::json!([{ "b": 1 }, null]), 0, &mut pairs);
        let pairs: Vec<String> =
            pairs.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(pairs, ["a[0].b=1", "a[1]="]);
    }

    #[test]
    fn logins() {
        let check = |uri: &str, user: Option<&str>, password: Option<&str>, expected: &str| {
            let server = ConfigServer {
                username: user.map(str::to_owned),
                password: password.map(Secret::new),
                ..server()
            };
            let (base, login) = login(&server, uri);
            let login = login.map(|text| text.replace("Basic ", "")).unwrap_or_default();
            let login = STANDARD.decode(login).expect("base64");
            assert_eq!(format!("{base} {}", String::from_utf8_lossy(&login)), expected);
        };
        check("http://h:1/c/", None, None, "http://h:1/c ");
        check("http://u%40:p@h", None, None, "http://h u@:p");
        check("http://u:p@h", None, Some("q"), "http://h u:q");
        check("http://h", None, Some("q"), "http://h user:q");
        check("h:8888", Some("a"), Some("b"), "http://h:8888 a:b");
    }

    fn server() -> ConfigServer {
        ConfigServer {
            uris: Vec::new(),
            username: None,
            password: None,
            token: None,
            application: "gate".to_owned(),
            profiles: vec!["default".to_owned()],
            labels: Vec::new(),
            retry: weir_config::Retry::NONE,
            connect_timeout: std::time::Duration::from_secs(5),
            read_timeout: std::time::Duration::from_secs(5),
            headers: Vec::new(),
            watch: None,
            answer_bytes_max: 1 << 20,
        }
    }
}
