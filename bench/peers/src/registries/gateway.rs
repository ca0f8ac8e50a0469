//! weir, started with a configuration, and what it says about its services.

use std::net::SocketAddr;

use anyhow::{Context, ensure};
use rustix::process::Signal;
use serde_json::Value;

use super::api::Api;
use super::ground::{Ground, PATIENCE};
use crate::process::Process;
use crate::traffic::ask;

/// A gateway that runs.
pub(super) struct Gateway {
    pub address: SocketAddr,
    process: Process,
    admin: Api,
}

impl Gateway {
    /// Starts it; `name` is that of its file, data and log. It has one route, to `lb://orders`,
    /// unless the configuration has routes.
    pub fn start(ground: &Ground, name: &str, configuration: &str) -> anyhow::Result<Self> {
        let file = ground.file(&format!("{name}.yml"));
        let route = "  cloud.gateway.routes:\n  - id: orders\n    uri: lb://orders\n    \
                     predicates: [ \"Path=/orders/**\" ]\n";
        let route = if configuration.contains("config.import") { "" } else { route };
        let common = "server: { address: 127.0.0.1, port: 0 }\nweir.admin.port: 0\n\
                      management.endpoints.web.exposure.include: '*'\n";
        let text = format!("{common}spring:\n  application.name: gate\n{route}{configuration}");
        std::fs::write(&file, text)?;
        let data = ground.file(&format!("{name}.data"));
        let arguments = ["run", "--data", &data.display().to_string(), &file.display().to_string()];
        let arguments = arguments.map(str::to_owned);
        let mut process = ground.start(&format!("{name}.log"), &ground.weir, &arguments)?;
        let admin = process.listens("admin     http ", PATIENCE, &ground.interrupt)?;
        let address = process.listens("listening http ", PATIENCE, &ground.interrupt)?;
        let admin = Api { base: format!("http://{admin}"), ..Api::default() };
        Ok(Self { address, process, admin })
    }

    pub fn output(&self) -> String {
        self.process.output()
    }

    /// The registries and services that it knows.
    pub fn services(&self) -> anyhow::Result<Value> {
        self.admin.json("GET", "/actuator/gateway/services", &Value::Null)
    }

    /// The instances of one service.
    pub fn instances(&self, service: &str) -> anyhow::Result<Vec<Value>> {
        let path = format!("/actuator/gateway/services/{service}");
        let (status, body) = self.admin.ask("GET", &path, "")?;
        if status == 404 {
            return Ok(Vec::new());
        }
        let shown: Value = serde_json::from_str(&body)?;
        Ok(shown.get("instances").and_then(Value::as_array).cloned().unwrap_or_default())
    }

    /// The routes, as text.
    pub fn routes(&self) -> anyhow::Result<String> {
        self.admin.good("GET", "/actuator/gateway/routes", "")
    }

    /// The state of the only registry, and why.
    pub fn state(&self) -> anyhow::Result<String> {
        let services = self.services()?;
        let registry = services.pointer("/registries/0").context("no registry")?;
        Ok(registry.to_string())
    }

    /// Waits until the only registry is told to be in a state, and why.
    pub fn tells(&self, ground: &Ground, parts: &[&str]) -> anyhow::Result<()> {
        ground.until(|| {
            let state = self.state()?;
            for part in parts {
                ensure!(state.contains(part), "`{part}` is missing in {state}");
            }
            Ok(())
        })
    }

    /// Waits until requests are answered by all of `ports` and by no other one.
    pub fn serves_from(&self, ground: &Ground, ports: &[u16]) -> anyhow::Result<()> {
        ground.until(|| {
            let mut answers: Vec<u16> = Vec::new();
            for _ in 0..8 {
                answers.push(ask(self.address)?.parse()?);
            }
            answers.sort_unstable();
            answers.dedup();
            let mut expected = ports.to_vec();
            expected.sort_unstable();
            ensure!(answers == expected, "{answers:?} answer instead of {expected:?}");
            Ok(())
        })
    }

    /// Waits until no instance is usable.
    pub fn serves_nobody(&self, ground: &Ground) -> anyhow::Result<()> {
        ground.until(|| match ask(self.address) {
            Ok(port) => anyhow::bail!("{port} answers"),
            Err(error) if error.to_string().contains("503") => Ok(()),
            Err(error) => Err(error),
        })
    }

    /// Stops it as an operator does.
    pub fn stop(mut self, ground: &Ground) -> anyhow::Result<()> {
        self.process.signal(Signal::TERM);
        let (status, output) = self.process.finish(PATIENCE, &ground.interrupt)?;
        ensure!(status.success(), "weir ended with {status}:\n{output}");
        Ok(())
    }
}
