//! Self-registration of weir in registries: registered, renewed, and removed at a drain.

use std::time::Duration;

use http::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use weir_snapshot::{Consul, Discovery as Settings, Eureka};

use super::here::{Here, host_name, own_address};
use super::nacos::Session;
use super::zookeeper::Membership;
use super::{consul, eureka};
use crate::backoff::{BACKOFF_MAX, BACKOFF_MIN};
use crate::http::{Answer, Ask, Failure, Looked};

/// Longest answer to a registration.
const BYTES_MAX: usize = 1 << 20;
/// An answer must be whole within this time.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The interval of heartbeats to Nacos.
const BEAT: Duration = Duration::from_secs(5);
/// The interval of renewed registrations at Consul, for an agent that has lost its state.
const CONSUL_RENEWAL: Duration = Duration::from_secs(60);
/// Characters that need no encoding in a path segment.
const SEGMENT: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');

/// Membership of one registry.
#[derive(Clone, Debug)]
pub(super) enum Member {
    Eureka { servers: Vec<String>, app: String, id: String, body: Value, settings: Eureka },
    Consul { base: String, id: String, body: Value, settings: Consul },
    Nacos { session: Session, query: Vec<(&'static str, String)> },
    Zookeeper(Box<Membership>),
}

/// A text as one segment of a path.
pub(crate) fn path_segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

impl Member {
    /// Every membership that `settings` configure.
    pub fn all(settings: &Settings, here: Here) -> Vec<Self> {
        let mut all = Vec::new();
        let e = &settings.eureka;
        if e.configured && e.enabled && e.register {
            all.push(Self::eureka(settings, here));
        }
        let c = &settings.consul;
        if c.configured && c.enabled && c.register {
            all.push(Self::consul(settings, here));
        }
        let n = &settings.nacos;
        if n.configured && n.enabled && n.register {
            all.push(Self::nacos(settings, here));
        }
        let z = &settings.zookeeper;
        if z.configured && z.enabled && z.register {
            all.push(Self::Zookeeper(Box::new(Membership::new(settings, here))));
        }
        all
    }

    /// Name of the registry.
    pub fn registry(&self) -> &'static str {
        match self {
            Self::Eureka { .. } => "eureka",
            Self::Consul { .. } => "consul",
            Self::Nacos { .. } => "nacos",
            Self::Zookeeper(_) => "zookeeper",
        }
    }

    fn eureka(settings: &Settings, here: Here) -> Self {
        let own = &settings.eureka;
        let servers = eureka::servers(own);
        let ip = own.ip.clone().unwrap_or_else(|| own_address(servers.first(), here).to_string());
        let host = match (&own.hostname, own.prefer_ip) {
            (Some(host), false) => host.clone(),
            (_, true) => ip.clone(),
            (None, false) => host_name(),
        };
        let app = own.app.clone().unwrap_or_else(|| settings.application.clone());
        let port = here.address.port();
        let default = format!("{host}:{app}:{port}").to_lowercase();
        let id = own.instance_id.clone().unwrap_or(default);
        let management = here.management.unwrap_or(port);
        let mut metadata = serde_json::Map::new();
        metadata.insert("management.port".to_owned(), json!(management.to_string()));
        for (name, value) in &own.metadata {
            metadata.insert(name.clone(), json!(value));
        }
        let url = format!("http://{host}:{management}/actuator");
        let body = json!({ "instance": {
            "instanceId": id,
            "app": app.to_uppercase(),
            "hostName": host,
            "ipAddr": ip,
            "status": "UP",
            "overriddenstatus": "UNKNOWN",
            "port": { "$": port, "@enabled": "true" },
            "securePort": { "$": 443, "@enabled": "false" },
            "countryId": 1,
            "dataCenterInfo": {
                "@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo",
                "name": "MyOwn",
            },
            "leaseInfo": {
                "renewalIntervalInSecs": own.renewal.as_secs(),
                "durationInSecs": own.expiration.as_secs(),
            },
            "metadata": metadata,
            "homePageUrl": format!("http://{host}:{port}/"),
            "statusPageUrl": format!("{url}/info"),
            "healthCheckUrl": format!("{url}/health"),
            "vipAddress": app.to_lowercase(),
            "secureVipAddress": app.to_lowercase(),
            "isCoordinatingDiscoveryServer": "false",
        } });
        Self::Eureka { servers, app: app.to_uppercase(), id, body, settings: own.clone() }
    }

    fn consul(settings: &Settings, here: Here) -> Self {
        let own = &settings.consul;
        let base = consul::base(own);
        let port = here.address.port();
        let name = own.service.clone().unwrap_or_else(|| settings.application.clone());
        let id = own.instance_id.clone().unwrap_or_else(|| format!("{name}-{port}"));
        let address =
            own.address.clone().unwrap_or_else(|| own_address(Some(&base), here).to_string());
        let management = here.management.unwrap_or(port);
        let path = own.check_path.trim_start_matches('/');
        let body = json!({
            "ID": id,
            "Name": name,
            "Address": address,
            "Port": port,
            "Tags": own.tags,
            "Meta": { "secure": "false" },
            "Check": {
                "HTTP": format!("http://{address}:{management}/{path}"),
                "Interval": format!("{}s", own.check_interval.as_secs().max(1)),
            },
        });
        Self::Consul { base, id, body, settings: own.clone() }
    }

    fn nacos(settings: &Settings, here: Here) -> Self {
        let own = &settings.nacos;
        let server = own.servers.first().map(|server| format!("http://{server}/"));
        let ip = own.ip.clone().unwrap_or_else(|| own_address(server.as_ref(), here).to_string());
        let metadata: serde_json::Map<String, Value> =
            own.metadata.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        let query = vec![
            ("serviceName", own.service.clone().unwrap_or_else(|| settings.application.clone())),
            ("groupName", own.group.clone()),
            ("namespaceId", own.namespace.clone()),
            ("clusterName", own.cluster.clone()),
            ("ip", ip),
            ("port", here.address.port().to_string()),
            ("weight", own.weight.clone()),
            ("ephemeral", own.ephemeral.to_string()),
            ("metadata", Value::Object(metadata).to_string()),
        ];
        Self::Nacos { session: Session::new(own), query }
    }

    /// Registers and stays registered, for ever.
    pub async fn keep(mut self) {
        let mut pause = BACKOFF_MIN;
        let mut registered = false;
        loop {
            let done = if registered { self.renew().await } else { self.join().await };
            match done {
                Ok(true) => {
                    if !registered {
                        tracing::info!(registry = self.registry(), "weir is registered");
                    }
                    registered = true;
                    pause = BACKOFF_MIN;
                    tokio::time::sleep(self.period()).await;
                }
                // The registry has forgotten it.
                Ok(false) => registered = false,
                Err(error) => {
                    tracing::warn!(registry = self.registry(), %error, "weir cannot register");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(BACKOFF_MAX);
                }
            }
        }
    }

    fn period(&self) -> Duration {
        match self {
            Self::Eureka { settings, .. } => settings.renewal,
            Self::Consul { .. } => CONSUL_RENEWAL,
            Self::Nacos { .. } => BEAT,
            // Renewal itself takes as long as the session lasts.
            Self::Zookeeper(_) => Duration::ZERO,
        }
    }

    async fn join(&mut self) -> Looked<bool> {
        match self {
            Self::Eureka { servers, app, body, .. } => {
                let path = format!("apps/{}", path_segment(app));
                to_any(servers, Method::POST, &path, Some(body)).await?.success()?;
            }
            Self::Consul { base, body, settings, .. } => {
                let url = format!("{base}agent/service/register?replace-existing-checks=true");
                to_consul(&url, Some(body), settings).await?.success()?;
            }
            Self::Nacos { session, query } => {
                nacos(session, query, Method::POST, ["v1/ns/instance", "v3/client/ns/instance"])
                    .await?
                    .success()?;
            }
            Self::Zookeeper(member) => member.join().await?,
        }
        Ok(true)
    }

    /// Renews the registration; returns whether the registry still has it.
    async fn renew(&mut self) -> Looked<bool> {
        match self {
            Self::Eureka { servers, app, id, .. } => {
                let path = format!("apps/{}/{}", path_segment(app), path_segment(id));
                let answer = to_any(servers, Method::PUT, &path, None).await?;
                match answer.status.as_u16() {
                    404 => Ok(false),
                    _ => answer.success().map(|_| true),
                }
            }
            Self::Consul { .. } => self.join().await,
            Self::Zookeeper(member) => {
                let failure = member.keep().await;
                tracing::warn!(registry = "zookeeper", %failure, "weir registers again");
                tokio::time::sleep(BACKOFF_MIN).await;
                Ok(false)
            }
            Self::Nacos { session, query } => {
                let (name, ip, port) =
                    (value(query, "serviceName"), value(query, "ip"), value(query, "port"));
                let beat = json!({
                    "serviceName": format!("{}@@{name}", value(query, "groupName")),
                    "cluster": value(query, "clusterName"),
                    "ip": ip,
                    "port": port.parse::<u16>().unwrap_or_default(),
                    "weight": value(query, "weight").parse::<f64>().unwrap_or(1.0),
                    "scheduled": true,
                });
                let mut query = query.clone();
                query.push(("beat", beat.to_string()));
                query.push(("heartBeat", "true".to_owned()));
                let answer = match session.api {
                    super::nacos::Api::V1 => {
                        let pairs = pairs(&query);
                        session.send(Method::PUT, "v1/ns/instance/beat", &pairs, BYTES_MAX).await?
                    }
                    super::nacos::Api::V3 => {
                        let pairs = pairs(&query);
                        session
                            .send(Method::POST, "v3/client/ns/instance", &pairs, BYTES_MAX)
                            .await?
                    }
                };
                // 20404: the server does not know the instance.
                let forgotten = String::from_utf8_lossy(&answer.body).contains("20404");
                if forgotten { Ok(false) } else { answer.success().map(|_| true) }
            }
        }
    }

    /// Removes the registration.
    pub async fn leave(&self) -> Looked<()> {
        match self.clone() {
            Self::Eureka { servers, app, id, .. } => {
                let path = format!("apps/{}/{}", path_segment(&app), path_segment(&id));
                to_any(&servers, Method::DELETE, &path, None).await?.success()?;
            }
            Self::Consul { base, id, settings, .. } => {
                let url = format!("{base}agent/service/deregister/{}", path_segment(&id));
                to_consul(&url, None, &settings).await?.success()?;
            }
            Self::Nacos { mut session, query } => {
                let paths = ["v1/ns/instance", "v3/client/ns/instance"];
                nacos(&mut session, &query, Method::DELETE, paths).await?.success()?;
            }
            Self::Zookeeper(member) => member.leave().await?,
        }
        Ok(())
    }
}

/// Sends to the first server that can be reached.
async fn to_any(
    servers: &[String],
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Looked<Answer> {
    let mut last = Failure::Unreachable("no server is named".to_owned());
    for base in servers {
        let url = format!("{base}{path}");
        let ask = Ask::get(&url, TIMEOUT, BYTES_MAX);
        let ask = Ask { method: method.clone(), body: body.map(Value::to_string), ..ask };
        match ask.send().await {
            Ok(answer) => return Ok(answer),
            Err(failure) => last = failure,
        }
    }
    Err(last)
}

async fn to_consul(url: &str, body: Option<&Value>, settings: &Consul) -> Looked<Answer> {
    let mut ask = Ask {
        method: Method::PUT,
        body: body.map(Value::to_string),
        ..Ask::get(url, TIMEOUT, BYTES_MAX)
    };
    ask.headers.extend(consul::token_header(settings.token.as_ref().map(|token| token.expose())));
    ask.send().await
}

/// Sends to the API that the server has.
async fn nacos(
    session: &mut Session,
    query: &[(&'static str, String)],
    method: Method,
    [v1, v3]: [&str; 2],
) -> Looked<Answer> {
    use super::nacos::Api;
    let pairs = pairs(query);
    let path = if session.api == Api::V1 { v1 } else { v3 };
    let answer = session.send(method.clone(), path, &pairs, BYTES_MAX).await?;
    if session.api == Api::V1 && matches!(answer.status.as_u16(), 404 | 410 | 501) {
        session.api = Api::V3;
        return session.send(method, v3, &pairs, BYTES_MAX).await;
    }
    Ok(answer)
}

fn pairs<'q>(query: &'q [(&'static str, String)]) -> Vec<(&'q str, &'q str)> {
    query.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

fn value<'q>(query: &'q [(&'static str, String)], name: &str) -> &'q str {
    query.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    #[test]
    fn what_is_registered() {
        let mut settings = Settings { application: "Gate".into(), ..Settings::default() };
        let here = Here { address: SocketAddr::from(([10, 0, 0, 5], 8080)), management: None };
        assert!(Member::all(&settings, here).is_empty());
        settings.eureka.configured = true;
        settings.eureka.prefer_ip = true;
        settings.consul.configured = true;
        settings.nacos.configured = true;
        let all = Member::all(&settings, here);
        let names: Vec<_> = all.iter().map(Member::registry).collect();
        assert_eq!(names, ["eureka", "consul", "nacos"]);
        let Member::Eureka { id, body, app, .. } = &all[0] else { panic!("{all:?}") };
        assert_eq!((app.as_str(), id.as_str()), ("GATE", "10.0.0.5:gate:8080"));
        assert_eq!(body["instance"]["vipAddress"], "gate");
        let Member::Consul { body, .. } = &all[1] else { panic!("{all:?}") };
        assert_eq!(body["Check"]["HTTP"], "http://10.0.0.5:8080/actuator/health");
        settings.consul.register = false;
        assert_eq!(Member::all(&settings, here).len(), 2);
    }
}
