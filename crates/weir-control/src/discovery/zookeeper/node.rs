//! What a node says of an instance: Curator's `ServiceInstance` as JSON, with the payload of
//! Spring Cloud (class `ZookeeperInstance`).

use std::collections::BTreeMap;

use serde_json::{Value, json};
use weir_balance::{Instance, Unused};

/// The key of an instance's state in its metadata (class `StatusConstants`).
const STATUS: &str = "instance_status";

/// The instance of a node; `None` if it describes none.
pub(super) fn instance(data: &[u8]) -> Option<Instance> {
    let value: Value = serde_json::from_slice(data).ok()?;
    let host = value.get("address")?.as_str()?.trim();
    let port = |name: &str| {
        let port = value.get(name).and_then(Value::as_u64)?;
        u16::try_from(port).ok().filter(|port| *port > 0)
    };
    // A port for TLS goes before the other one (class `ZookeeperServiceInstance`).
    let ssl_port = port("sslPort");
    let port = ssl_port.or_else(|| port("port"))?;
    if !Instance::is_host(host) {
        return None;
    }
    let metadata = value.pointer("/payload/metadata").and_then(Value::as_object);
    let metadata: BTreeMap<String, String> = metadata
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect();
    let new = Instance::new(host, port, ssl_port.is_some());
    let is_up = metadata.get(STATUS).is_none_or(|s| s.is_empty() || s.eq_ignore_ascii_case("UP"));
    let is_enabled = value.get("enabled").and_then(Value::as_bool).unwrap_or(true);
    let unused = match (is_up, is_enabled) {
        (_, false) => Some(Unused::Disabled),
        (false, true) => Some(Unused::NotUp),
        (true, true) => None,
    };
    let id = value.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
    Some(Instance {
        id: id.map_or_else(|| new.id.clone(), str::to_owned),
        metadata,
        unused: new.unused.or(unused),
        ..new
    })
}

/// What weir says of itself.
pub(super) struct Own<'o> {
    pub name: &'o str,
    pub id: &'o str,
    pub address: &'o str,
    pub port: u16,
    pub ssl_port: Option<u16>,
    pub status: &'o str,
    pub metadata: &'o [(String, String)],
    pub uri_spec: &'o str,
    pub now_ms: u64,
}

impl Own<'_> {
    /// The JSON of its node.
    pub fn json(&self) -> Value {
        let mut metadata = serde_json::Map::new();
        metadata.insert(STATUS.to_owned(), json!(self.status));
        metadata.extend(self.metadata.iter().map(|(name, value)| (name.clone(), json!(value))));
        json!({
            "name": self.name,
            "id": self.id,
            "address": self.address,
            "port": self.port,
            "sslPort": self.ssl_port,
            "payload": {
                "@class": "org.springframework.cloud.zookeeper.discovery.ZookeeperInstance",
                "id": self.name,
                "name": self.name,
                "metadata": metadata,
            },
            "registrationTimeUTC": self.now_ms,
            "serviceType": "DYNAMIC",
            "uriSpec": { "parts": parts(self.uri_spec) },
        })
    }
}

/// The parts of a pattern such as `{scheme}://{address}`: texts, and variables in braces.
fn parts(pattern: &str) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut rest = pattern;
    let mut put = |text: &str, is_variable: bool| {
        if !text.is_empty() {
            parts.push(json!({ "value": text, "variable": is_variable }));
        }
    };
    while let Some((text, behind)) = rest.split_once('{') {
        let Some((name, behind)) = behind.split_once('}') else { break };
        put(text, false);
        put(name.trim(), true);
        rest = behind;
    }
    put(rest, false);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let found = instance(text.as_bytes()).map(|one| {
            format!("{} {}:{} {:?}", one.id, one.target.host, one.target.port, one.unused)
        });
        assert_eq!(found.as_deref(), expected, "{text}");
    }

    #[test]
    fn nodes_of_spring() {
        check(
            r#"{"name":"a","id":"7","address":"10.0.0.1","port":80,"sslPort":null,"payload":{
                "@class":"x","metadata":{"instance_status":"UP","zone":"z"}},"enabled":true}"#,
            Some("7 10.0.0.1:80 None"),
        );
        check(r#"{"address":"h","port":80}"#, Some("h:80 h:80 None"));
        check(
            r#"{"id":"7","address":"h","port":80,"sslPort":443}"#,
            Some("7 h:443 Some(NeedsTls)"),
        );
        check(
            r#"{"address":"h","port":80,
                "payload":{"metadata":{"instance_status":"OUT_OF_SERVICE"}}}"#,
            Some("h:80 h:80 Some(NotUp)"),
        );
        check(r#"{"address":"h","port":80,"enabled":false}"#, Some("h:80 h:80 Some(Disabled)"));
        for text in ["", "null", r#"{"address":"h"}"#, r#"{"address":"h x","port":1}"#] {
            check(text, None);
        }
    }

    #[test]
    fn what_is_registered_is_read_again() {
        let own = Own {
            name: "gate",
            id: "7",
            address: "10.0.0.5",
            port: 8080,
            ssl_port: None,
            status: "UP",
            metadata: &[("zone".to_owned(), "a".to_owned())],
            uri_spec: "{scheme}://{address}:{port}/x{",
            now_ms: 9,
        };
        let json = own.json();
        let read = instance(json.to_string().as_bytes()).expect("an instance");
        assert_eq!((read.id.as_str(), read.zone(), read.unused), ("7", Some("a"), None));
        let parts = json["uriSpec"]["parts"].as_array().expect("parts");
        let shown: Vec<_> =
            parts.iter().map(|part| part["value"].as_str().expect("text")).collect();
        assert_eq!(shown, ["scheme", "://", "address", ":", "port", "/x{"]);
        assert_eq!(
            (parts[0]["variable"].as_bool(), parts[1]["variable"].as_bool()),
            (Some(true), Some(false))
        );
    }
}
