//! Consul: one agent in development mode, with access control.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Context, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};
use weir_testkit::tree::root;

use super::api::Api;
use super::build::Registry;
use super::gateway::Gateway;
use super::ground::{Ground, LOOK, PATIENCE};
use super::instance;
use crate::process::Process;

/// The token that may do everything.
const TOKEN: &str = "6f1c1a2e-0000-4000-8000-00000000beef";
/// A token that Consul does not know.
const UNKNOWN: &str = "6f1c1a2e-0000-4000-8000-000000000bad";

/// An agent that can end and start again, empty, at the same address.
struct Agent {
    program: PathBuf,
    api: Api,
    address: SocketAddr,
    config: String,
    process: Option<Process>,
}

/// Runs all checks.
pub(super) fn run(ground: &mut Ground) -> anyhow::Result<()> {
    eprintln!("starting Consul");
    let mut agent = Agent::new(ground)?;
    agent.start(ground)?;
    let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let ports = [instance::start(local)?, instance::start(local)?];
    let refused = refused(ground, &agent);
    ground.check("consul: an unknown ACL token: away, and why", refused)?;
    let hidden = hidden(ground, &agent);
    ground.check("consul: without a token: away, and which rights it needs", hidden)?;
    for port in ports {
        agent.put("orders", port, "passing")?;
    }
    let gateway = Gateway::start(ground, "consul", &agent.configuration(TOKEN, ""))?;
    let served = gateway.serves_from(ground, &ports);
    ground.check("consul: instances of the catalog serve", served)?;
    follow(ground, &agent, &gateway, ports)?;
    let tagged = tagged(ground, &agent, ports);
    ground.check("consul: default-query-tag", tagged)?;
    let member = member(ground, &agent);
    ground.check("consul: weir registers, and its check passes", member)?;
    let restarted = restart(ground, &mut agent, &gateway, ports);
    ground.check("consul: agent killed and started empty: no loss", restarted)?;
    let member = self::member(ground, &agent);
    ground.check("consul: weir registers again", member)?;
    let left = gateway.stop(ground).and_then(|()| {
        let known = agent.api.good("GET", "/v1/agent/services", "")?;
        ensure!(!known.contains("\"gate\""), "weir is still registered: {known}");
        Ok(())
    });
    ground.check("consul: weir leaves when it is stopped", left)?;
    let imported = import(ground, &agent);
    ground.check("consul: configuration from keys, followed", imported)?;
    if ground.record {
        agent.record(ground, ports)?;
    }
    Ok(())
}

impl Agent {
    fn new(ground: &Ground) -> anyhow::Result<Self> {
        let program = Registry::Consul.server()?;
        let port = || weir_testkit::closed_port().port();
        let address = weir_testkit::closed_port();
        let config = json!({
            "bind_addr": "127.0.0.1",
            "client_addr": "127.0.0.1",
            "node_name": "one",
            "log_level": "warn",
            "acl": { "enabled": true, "default_policy": "deny",
                     "tokens": { "initial_management": TOKEN, "agent": TOKEN } },
            "ports": { "http": address.port(), "dns": -1, "grpc": -1, "grpc_tls": -1,
                       "server": port(), "serf_lan": port(), "serf_wan": port() },
            "ui_config": { "enabled": false },
            "disable_update_check": true,
        });
        let api = Api {
            base: format!("http://{address}"),
            fields: vec![format!("X-Consul-Token: {TOKEN}")],
            ..Api::default()
        };
        let file = ground.file("consul.json");
        std::fs::write(&file, config.to_string())?;
        let config = format!("-config-file={}", file.display());
        Ok(Self { program, api, address, config, process: None })
    }

    fn start(&mut self, ground: &Ground) -> anyhow::Result<()> {
        let arguments = ["agent", "-dev", &self.config].map(str::to_owned);
        let mut process = ground.start("consul.log", &self.program, &arguments)?;
        let ready = ground.until(|| {
            process.check()?;
            let leader = self.api.good("GET", "/v1/status/leader", "")?;
            ensure!(leader.len() > 2, "no leader yet");
            // The node itself is registered a moment later.
            let nodes = self.api.good("GET", "/v1/catalog/nodes", "")?;
            ensure!(nodes.contains("\"one\""), "the agent has not joined itself yet");
            Ok(())
        });
        ready.with_context(|| process.output())?;
        self.process = Some(process);
        Ok(())
    }

    /// The configuration of a gateway. Fast, so that checks come soon.
    fn configuration(&self, token: &str, more: &str) -> String {
        format!(
            "  cloud.consul:\n    host: {}\n    port: {}\n    token: {token}\n    discovery:\n      \
             health-check-interval: 1s\n      {more}\n",
            self.address.ip(),
            self.address.port(),
        )
    }

    /// Registers an instance whose check is set by hand.
    fn put(&self, name: &str, port: u16, status: &str) -> anyhow::Result<()> {
        let check = format!("check-{port}");
        let body = json!({
            "ID": format!("{name}-{port}"), "Name": name, "Address": "127.0.0.1", "Port": port,
            "Tags": [format!("tag-{port}"), "zone=east"], "Meta": { "team": "sales" },
            "Check": { "CheckID": check, "TTL": "600s", "Status": status },
        });
        self.api.good("PUT", "/v1/agent/service/register", &body.to_string())?;
        Ok(())
    }
}

fn refused(ground: &Ground, agent: &Agent) -> anyhow::Result<()> {
    let gateway = Gateway::start(ground, "consul-refused", &agent.configuration(UNKNOWN, ""))?;
    gateway.tells(ground, &["away", "403"])?;
    ensure!(!gateway.output().contains(UNKNOWN), "weir tells the token:\n{}", gateway.output());
    gateway.stop(ground)
}

/// Without a token Consul hides all services, with status 200.
fn hidden(ground: &Ground, agent: &Agent) -> anyhow::Result<()> {
    let text =
        agent.configuration(UNKNOWN, "").replace(&format!("token: {UNKNOWN}"), "scheme: http");
    let gateway = Gateway::start(ground, "consul-hidden", &text)?;
    gateway.tells(ground, &["away", "may read services"])?;
    gateway.stop(ground)
}

/// Checks turn and instances go.
fn follow(
    ground: &mut Ground,
    agent: &Agent,
    gateway: &Gateway,
    [first, second]: [u16; 2],
) -> anyhow::Result<()> {
    let metadata = || {
        let instances = gateway.instances("orders")?;
        let one = instances.first().context("no instance")?;
        let says = |name: &str| one.pointer(&format!("/metadata/{name}")).and_then(Value::as_str);
        ensure!((says("team"), says("zone")) == (Some("sales"), Some("east")), "{one}");
        Ok(())
    };
    ground.check("consul: metadata and tags", metadata())?;
    let set =
        |state: &str| agent.api.good("PUT", &format!("/v1/agent/check/{state}/check-{second}"), "");
    let critical = set("fail").and_then(|_| {
        gateway.serves_from(ground, &[first])?;
        let listed = gateway.instances("orders")?.len();
        ensure!(listed == 2, "{listed} instances are listed");
        Ok(())
    });
    ground.check("consul: an instance with a critical check is listed, not used", critical)?;
    let passing = set("pass").and_then(|_| gateway.serves_from(ground, &[first, second]));
    ground.check("consul: passing again", passing)?;
    let path = format!("/v1/agent/service/deregister/orders-{second}");
    let gone = agent.api.good("PUT", &path, "").and_then(|_| {
        gateway.serves_from(ground, &[first])?;
        agent.put("orders", second, "passing")?;
        gateway.serves_from(ground, &[first, second])
    });
    ground.check("consul: an instance leaves and comes back", gone)
}

fn tagged(ground: &Ground, agent: &Agent, [first, _]: [u16; 2]) -> anyhow::Result<()> {
    let more = format!("{{ register: false, default-query-tag: tag-{first} }}");
    let text = agent
        .configuration(TOKEN, "")
        .replace("discovery:\n      health-check-interval: 1s\n", &format!("discovery: {more}\n"));
    let gateway = Gateway::start(ground, "consul-tagged", &text)?;
    gateway.serves_from(ground, &[first])?;
    gateway.stop(ground)
}

/// Waits until weir is registered and Consul's own check of it passes.
fn member(ground: &Ground, agent: &Agent) -> anyhow::Result<()> {
    // weir renews its registration every minute, for an agent that has lost it.
    let began = std::time::Instant::now();
    loop {
        let text = agent.api.good("GET", "/v1/health/service/gate?passing=1", "")?;
        if text.contains("\"gate\"") {
            return Ok(());
        }
        let late = began.elapsed() > PATIENCE * 2;
        ensure!(!late, "no passing instance: {text}");
        ground.interrupt.sleep(LOOK)?;
    }
}

fn restart(
    ground: &Ground,
    agent: &mut Agent,
    gateway: &Gateway,
    [first, second]: [u16; 2],
) -> anyhow::Result<()> {
    ground.without_loss(gateway.address, || {
        if let Some(process) = agent.process.take() {
            process.signal(Signal::KILL);
        }
        gateway.tells(ground, &["away"])?;
        agent.start(ground)?;
        agent.put("orders", first, "passing")?;
        agent.put("orders", second, "passing")?;
        gateway.tells(ground, &["\"up\""])?;
        gateway.serves_from(ground, &[first, second])
    })
}

/// A route from a key in YAML, and another one once the key changes.
fn import(ground: &Ground, agent: &Agent) -> anyhow::Result<()> {
    let put = |path: &str| {
        let text = format!(
            "spring.cloud.gateway.routes:\n- id: kept\n  uri: http://127.0.0.1:1\n  \
             predicates: [ 'Path={path}' ]\n"
        );
        agent.api.good("PUT", "/v1/kv/config/gate/data", &text)
    };
    put("/first/**")?;
    let address = agent.address;
    let configuration = format!(
        "  config.import: 'consul:{address}'\n  cloud.consul:\n    \
         config: {{ format: YAML, acl-token: {TOKEN}, watch.wait-time: 5 }}\n"
    );
    let gateway = Gateway::start(ground, "consul-keys", &configuration)?;
    let has = |path: &str| {
        ground.until(|| {
            let routes = gateway.routes()?;
            ensure!(routes.contains(path), "`{path}` is missing in {routes}");
            Ok(())
        })
    };
    has("/first/**")?;
    put("/second/**")?;
    has("/second/**")?;
    gateway.stop(ground)
}

impl Agent {
    /// Writes answers to where the tests of weir read them.
    fn record(&self, ground: &Ground, [port, other]: [u16; 2]) -> anyhow::Result<()> {
        let folder = root().join("crates/weir/tests/discovery/recorded/consul");
        std::fs::create_dir_all(&folder)?;
        self.api.good("PUT", &format!("/v1/agent/check/fail/check-{other}"), "")?;
        let health = || self.api.good("GET", "/v1/health/service/orders", "");
        let health = ground.until(|| {
            let text = health()?;
            ensure!(text.contains("critical"), "the check still passes");
            Ok(text)
        })?;
        // They stand for the ports that the tests have.
        let health = health.replace(&port.to_string(), "7777").replace(&other.to_string(), "7778");
        for (name, text) in [
            ("services.json", self.api.good("GET", "/v1/catalog/services", "")?),
            ("health.json", health),
            ("keys.json", self.api.good("GET", "/v1/kv/config/gate/data", "")?),
        ] {
            std::fs::write(folder.join(name), text)?;
        }
        Ok(())
    }
}
