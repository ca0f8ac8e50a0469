//! Services and EndpointSlices, and the instances made of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use weir_balance::{Instance, Report, Unused};
use weir_snapshot::Kubernetes as Settings;

/// Namespace and name.
pub(super) type Key = (String, String);

/// The kind of the watched objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Service,
    Slice,
}

/// One of them.
#[derive(Debug)]
pub(super) enum Object {
    Service(Service),
    Slice(Slice),
}

#[derive(Debug)]
pub(super) struct Service {
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    ports: Vec<(String, u16)>,
    /// `ClusterIP`, `NodePort` and so on.
    form: String,
    /// The address family that comes first: a service with two has slices of both.
    family: Option<String>,
}

#[derive(Debug)]
pub(super) struct Slice {
    service: String,
    family: String,
    /// Empty name where the port has none.
    ports: Vec<(String, u16)>,
    endpoints: Vec<Endpoint>,
}

#[derive(Debug)]
struct Endpoint {
    host: String,
    uid: Option<String>,
    zone: Option<String>,
    is_ready: bool,
    is_leaving: bool,
}

/// All known objects.
#[derive(Debug, Default)]
pub(super) struct World {
    services: BTreeMap<Key, Service>,
    slices: BTreeMap<Key, Slice>,
}

impl Kind {
    /// Path of its API.
    pub fn group(self) -> &'static str {
        match self {
            Self::Service => "/api/v1",
            Self::Slice => "/apis/discovery.k8s.io/v1",
        }
    }

    /// Last segment of its path.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Service => "services",
            Self::Slice => "endpointslices",
        }
    }

    /// The object in `value`, if it is valid.
    pub fn read(self, value: &Value) -> Option<Object> {
        Some(match self {
            Self::Service => Object::Service(Service::read(value)),
            Self::Slice => Object::Slice(Slice::read(value)?),
        })
    }
}

/// The namespace and service that an object belongs to.
pub(super) fn key(value: &Value) -> Option<Key> {
    let field = |name: &str| value.pointer(&format!("/metadata/{name}")).and_then(Value::as_str);
    Some((field("namespace")?.to_owned(), field("name")?.to_owned()))
}

impl World {
    /// Forgets the objects of one kind in one namespace, or in all.
    pub fn clear(&mut self, kind: Kind, namespace: &str) {
        let keep = |key: &Key| !namespace.is_empty() && key.0 != namespace;
        match kind {
            Kind::Service => self.services.retain(|key, _| keep(key)),
            Kind::Slice => self.slices.retain(|key, _| keep(key)),
        }
    }

    pub fn put(&mut self, key: Key, object: Object) {
        match object {
            Object::Service(service) => drop(self.services.insert(key, service)),
            Object::Slice(slice) => drop(self.slices.insert(key, slice)),
        }
    }

    pub fn remove(&mut self, kind: Kind, key: &Key) {
        match kind {
            Kind::Service => drop(self.services.remove(key)),
            Kind::Slice => drop(self.slices.remove(key)),
        }
    }

    /// Instances by service name. A service that is in several namespaces has the instances of
    /// all, as in Spring.
    pub fn report(&self, settings: &Settings) -> Report {
        let mut by_service: BTreeMap<(&str, &str), Vec<&Slice>> = BTreeMap::new();
        for ((namespace, _), slice) in &self.slices {
            by_service.entry((namespace, &slice.service)).or_default().push(slice);
        }
        let mut report = Report::new();
        for ((namespace, name), service) in &self.services {
            let slices = by_service.get(&(namespace.as_str(), name.as_str()));
            let mut list: Vec<Instance> = Vec::new();
            for slice in slices.into_iter().flatten() {
                if service.family.as_ref().is_none_or(|family| *family == slice.family) {
                    list.extend(instances(slice, service, namespace, settings));
                }
            }
            // A pod may be in two slices for a moment.
            list.sort_by(|a, b| a.id.cmp(&b.id).then(a.unused.is_some().cmp(&b.unused.is_some())));
            list.dedup_by(|a, b| a.id == b.id && a.target == b.target);
            report.entry(name.clone()).or_default().extend(list.into_iter().map(Arc::new));
        }
        report
    }
}

impl Service {
    fn read(value: &Value) -> Self {
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
        Self {
            labels: texts(value.pointer("/metadata/labels")),
            annotations: texts(value.pointer("/metadata/annotations")),
            ports: ports(value.pointer("/spec/ports")),
            form: text("/spec/type").unwrap_or("ClusterIP").to_owned(),
            family: text("/spec/ipFamilies/0").map(str::to_owned),
        }
    }

    fn metadata(&self, namespace: &str, settings: &Settings) -> BTreeMap<String, String> {
        let mut metadata = BTreeMap::new();
        let mut add = |prefix: &Option<String>, name: &str, value: &str| {
            if let Some(prefix) = prefix {
                metadata.insert(format!("{prefix}{name}"), value.to_owned());
            }
        };
        for (name, value) in &self.labels {
            add(&settings.labels_prefix, name, value);
        }
        for (name, value) in &self.annotations {
            add(&settings.annotations_prefix, name, value);
        }
        for (name, port) in self.ports.iter().filter(|(name, _)| !name.is_empty()) {
            add(&settings.ports_prefix, name, &port.to_string());
        }
        metadata.insert("k8s_namespace".to_owned(), namespace.to_owned());
        metadata.insert("type".to_owned(), self.form.clone());
        metadata
    }

    /// Whether `port` speaks TLS (Spring class `ServicePortSecureResolver`).
    fn is_secure(&self, (name, port): &(String, u16), settings: &Settings) -> bool {
        let says = |map: &BTreeMap<String, String>| {
            let value = map.get("secured").map(|text| text.to_ascii_lowercase());
            value.is_some_and(|text| ["true", "on", "yes", "1"].contains(&text.as_str()))
        };
        let known = settings.secure_ports.iter().any(|known| *known == port.to_string());
        known || says(&self.labels) || says(&self.annotations) || name == "https"
    }
}

impl Slice {
    fn read(value: &Value) -> Option<Self> {
        let labels = value.pointer("/metadata/labels")?;
        let service = labels.get("kubernetes.io/service-name")?.as_str()?.to_owned();
        let endpoints = value.get("endpoints").and_then(Value::as_array);
        Some(Self {
            service,
            family: value.get("addressType").and_then(Value::as_str).unwrap_or("IPv4").to_owned(),
            ports: ports(value.get("ports")),
            endpoints: endpoints.into_iter().flatten().filter_map(Endpoint::read).collect(),
        })
    }
}

impl Endpoint {
    fn read(value: &Value) -> Option<Self> {
        // All addresses of an endpoint belong to one pod; the first one is used.
        let host = value.pointer("/addresses/0")?.as_str()?;
        if !Instance::is_host(host) {
            return None;
        }
        let is =
            |name: &str| value.pointer(&format!("/conditions/{name}")).and_then(Value::as_bool);
        let text =
            |pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            host: host.to_owned(),
            uid: text("/targetRef/uid"),
            zone: text("/zone"),
            // A missing condition counts as ready.
            is_ready: is("ready").unwrap_or(true),
            is_leaving: is("terminating").unwrap_or(false),
        })
    }
}

fn instances(
    slice: &Slice,
    service: &Service,
    namespace: &str,
    settings: &Settings,
) -> Vec<Instance> {
    let Some(port) = port(slice, service, settings) else { return Vec::new() };
    let secure = service.is_secure(port, settings);
    let metadata = service.metadata(namespace, settings);
    let instance = |endpoint: &Endpoint| {
        let new = Instance::new(&endpoint.host, port.1, secure);
        let mut metadata = metadata.clone();
        if let Some(zone) = &endpoint.zone {
            metadata.entry("zone".to_owned()).or_insert_with(|| zone.clone());
        }
        let unused = match (endpoint.is_leaving, endpoint.is_ready || settings.not_ready) {
            (true, _) => Some(Unused::Leaving),
            (false, true) => None,
            (false, false) => Some(Unused::NotUp),
        };
        Instance {
            id: endpoint.uid.clone().unwrap_or_else(|| new.id.clone()),
            metadata,
            unused: unused.or(new.unused),
            ..new
        }
    };
    slice.endpoints.iter().map(instance).collect()
}

/// The port that requests go to (Spring method `DiscoveryClientUtils.endpointsPort`): the only one;
/// that of the primary name; `https`; `http`; the first.
fn port<'s>(slice: &'s Slice, service: &Service, settings: &Settings) -> Option<&'s (String, u16)> {
    let called = |wanted: &str| slice.ports.iter().find(|(name, _)| name == wanted);
    let primary = service.labels.get("primary-port-name").or(settings.port_name.as_ref());
    primary
        .and_then(|name| called(name))
        .or_else(|| called("https"))
        .or_else(|| called("http"))
        .or(slice.ports.first())
}

fn ports(value: Option<&Value>) -> Vec<(String, u16)> {
    let port = |value: &Value| {
        let number = u16::try_from(value.get("port")?.as_u64()?).ok().filter(|port| *port > 0)?;
        let protocol = value.get("protocol").and_then(Value::as_str).unwrap_or("TCP");
        let name = value.get("name").and_then(Value::as_str).unwrap_or_default();
        (protocol == "TCP").then(|| (name.to_owned(), number))
    };
    value.and_then(Value::as_array).into_iter().flatten().filter_map(port).collect()
}

fn texts(value: Option<&Value>) -> BTreeMap<String, String> {
    let all = value.and_then(Value::as_object).into_iter().flatten();
    all.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn world(service: &Value, slices: &[Value]) -> World {
        let mut world = World::default();
        for (kind, value) in [(Kind::Service, service)]
            .into_iter()
            .chain(slices.iter().map(|slice| (Kind::Slice, slice)))
        {
            world.put(key(value).expect("a key"), kind.read(value).expect("an object"));
        }
        world
    }

    fn service(labels: &Value) -> Value {
        json!({
            "metadata": { "namespace": "shop", "name": "orders", "labels": labels,
                "annotations": { "team": "a" } },
            "spec": { "type": "ClusterIP", "ipFamilies": ["IPv4", "IPv6"],
                "ports": [{ "name": "web", "port": 80 }] },
        })
    }

    fn slice(name: &str, family: &str, ports: &Value, endpoints: &Value) -> Value {
        json!({
            "metadata": { "namespace": "shop", "name": name,
                "labels": { "kubernetes.io/service-name": "orders" } },
            "addressType": family, "ports": ports, "endpoints": endpoints,
        })
    }

    #[test]
    fn endpoints_are_instances() {
        let ports = json!([{ "name": "web", "port": 8080, "protocol": "TCP" }]);
        let endpoints = json!([
            { "addresses": ["10.0.0.1"], "conditions": { "ready": true }, "zone": "a",
              "targetRef": { "uid": "1" } },
            { "addresses": ["10.0.0.2"], "conditions": { "ready": false },
              "targetRef": { "uid": "2" } },
            { "addresses": ["10.0.0.3"], "targetRef": { "uid": "3" },
              "conditions": { "ready": false, "serving": true, "terminating": true } },
            { "addresses": ["10.0.0.4"], "conditions": {} },
            { "addresses": ["not a host"] },
            { "addresses": [] },
        ]);
        let six = slice("b", "IPv6", &ports, &json!([{ "addresses": ["fd00::1"] }]));
        let world = world(&service(&json!({})), &[slice("a", "IPv4", &ports, &endpoints), six]);
        let list = |settings: &Settings| -> Vec<(String, Option<Unused>)> {
            let report = world.report(settings);
            report["orders"].iter().map(|one| (one.id.clone(), one.unused)).collect()
        };
        let expected = |second| {
            [("1", None), ("10.0.0.4:8080", None), ("2", second), ("3", Some(Unused::Leaving))]
                .map(|(id, unused)| (id.to_owned(), unused))
        };
        let mut settings = Settings::default();
        assert_eq!(list(&settings), expected(Some(Unused::NotUp)));
        settings.not_ready = true;
        assert_eq!(list(&settings), expected(None));
        let first = &world.report(&settings)["orders"][0];
        let metadata: Vec<_> = first.metadata.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let expected = ["k8s_namespace=shop", "port.web=80", "team=a", "type=ClusterIP", "zone=a"];
        assert_eq!(metadata, expected);
    }

    #[test]
    fn the_port_is_the_one_that_spring_takes() {
        let check = |ports: &[(&str, u16)], label: Option<&str>, own: Option<&str>, expected| {
            let ports: Vec<_> =
                ports.iter().map(|(name, port)| json!({ "name": name, "port": port })).collect();
            let ports = Value::from(ports);
            let labels = label.map(|name| json!({ "primary-port-name": name }));
            let slice = slice("a", "IPv4", &ports, &json!([{ "addresses": ["10.0.0.1"] }]));
            let world = world(&service(&labels.unwrap_or_default()), &[slice]);
            let settings = Settings { port_name: own.map(str::to_owned), ..Settings::default() };
            let report = world.report(&settings);
            let found = report["orders"].first().map(|one| (one.target.port, one.unused));
            assert_eq!(found, expected, "{ports}");
        };
        let tls = Some(Unused::NeedsTls);
        check(&[("x", 1)], Some("other"), None, Some((1, None)));
        check(&[("x", 1), ("http", 2)], None, None, Some((2, None)));
        check(&[("x", 1), ("http", 2), ("https", 3)], None, None, Some((3, tls)));
        check(&[("x", 1), ("y", 2)], None, None, Some((1, None)));
        check(&[("x", 1), ("y", 2)], None, Some("y"), Some((2, None)));
        check(&[("x", 1), ("y", 2)], Some("x"), Some("y"), Some((1, None)));
        check(&[("x", 8443)], None, None, Some((8443, tls)));
        check(&[], None, None, None);
    }
}
