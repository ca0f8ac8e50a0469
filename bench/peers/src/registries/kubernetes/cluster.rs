//! etcd, API servers on it, and what is done through them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};
use weir_testkit::tree::root;

use super::super::api::Api;
use super::super::build::Registry;
use super::super::ground::Ground;
use super::super::namespace::ADDRESS;
use crate::process::Process;
use crate::tools::{Tool, path};

/// The credentials of weir's user, who may do nothing at first.
pub(super) const WEIR_TOKEN: &str = "token-of-weir";
/// The credentials of a user who may do everything.
const ADMIN_TOKEN: &str = "token-of-admin";
/// Stands in recordings for the port of an instance.
const RECORDED_PORT: u16 = 7777;
/// The API of endpoint slices.
const SLICES: &str = "/apis/discovery.k8s.io/v1";

/// A cluster without nodes.
pub(super) struct Cluster {
    pub address: SocketAddr,
    /// The API, for a user who may do everything.
    pub api: Api,
    program: PathBuf,
    server: Option<Process>,
    etcd: SocketAddr,
    _etcd: Process,
    authority: PathBuf,
    servers: usize,
}

impl Cluster {
    /// Starts everything.
    pub fn start(ground: &Ground) -> anyhow::Result<Self> {
        let program = Registry::Kubernetes.server()?;
        let etcd = weir_testkit::closed_port();
        let peer = weir_testkit::closed_port();
        let arguments = [
            format!("--data-dir={}", ground.file("etcd").display()),
            format!("--listen-client-urls=http://{etcd}"),
            format!("--advertise-client-urls=http://{etcd}"),
            format!("--listen-peer-urls=http://{peer}"),
            format!("--initial-advertise-peer-urls=http://{peer}"),
            format!("--initial-cluster=default=http://{peer}"),
        ];
        let process = ground.start("etcd.log", Path::new(&path(Tool::Etcd)?), &arguments)?;
        certificate(ground, "api")?;
        std::fs::write(
            ground.file("tokens.csv"),
            format!("{WEIR_TOKEN},weir,1\n{ADMIN_TOKEN},admin,2,\"system:masters\"\n"),
        )?;
        let mut cluster = Self {
            address: weir_testkit::closed_port(),
            api: Api::default(),
            program,
            server: None,
            etcd,
            _etcd: process,
            authority: ground.file("api.pem"),
            servers: 0,
        };
        cluster.next(ground)?;
        Ok(cluster)
    }

    /// The PEM file of the authority of the API server.
    pub fn authority(&self) -> &Path {
        &self.authority
    }

    /// Starts another API server in place of the one that runs.
    pub fn next(&mut self, ground: &Ground) -> anyhow::Result<()> {
        self.servers += 1;
        self.address = weir_testkit::closed_port();
        let key = ground.file("api.key").display().to_string();
        let arguments = [
            format!("--etcd-servers=http://{}", self.etcd),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--advertise-address={ADDRESS}"),
            format!("--secure-port={}", self.address.port()),
            format!("--tls-cert-file={}", self.authority.display()),
            format!("--tls-private-key-file={key}"),
            format!("--token-auth-file={}", ground.file("tokens.csv").display()),
            "--authorization-mode=RBAC".to_owned(),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-signing-key-file={key}"),
            // The public key, which the certificate has.
            format!("--service-account-key-file={}", self.authority.display()),
        ];
        let log = format!("api-server-{}.log", self.servers);
        let mut process = ground.start(&log, &self.program, &arguments)?;
        self.api = Api {
            base: format!("https://{}", self.address),
            fields: vec![
                format!("Authorization: Bearer {ADMIN_TOKEN}"),
                "Content-Type: application/json".to_owned(),
            ],
            authority: Some(self.authority.clone()),
        };
        let ready = ground.until(|| {
            process.check()?;
            self.api.good("GET", "/readyz", "")
        });
        ready.with_context(|| process.output())?;
        self.server = Some(process);
        Ok(())
    }

    /// Kills the API server.
    pub fn kill(&mut self) {
        if let Some(server) = self.server.take() {
            server.signal(Signal::KILL);
        }
    }

    /// The API, for objects in YAML.
    pub fn yaml(&self) -> Api {
        let fields = self.api.fields.iter().map(|field| field.replace("json", "yaml"));
        Api { fields: fields.collect(), ..self.api.clone() }
    }

    /// Makes a service with two ports.
    pub fn put_service(&self, namespace: &str, name: &str) -> anyhow::Result<()> {
        let body = json!({
            "metadata": { "name": name, "labels": { "team": "sales" } },
            "spec": { "ports": [
                { "name": "https", "port": 443, "targetPort": 1 },
                { "name": "http", "port": 80, "targetPort": 2 },
            ] },
        });
        self.api.json("POST", &format!("/api/v1/namespaces/{namespace}/services"), &body)?;
        Ok(())
    }

    /// Makes or replaces a slice of the service `orders` with one endpoint.
    pub fn put_slice(
        &self,
        namespace: &str,
        name: &str,
        port: u16,
        is_ready: bool,
    ) -> anyhow::Result<()> {
        let service = if name.starts_with("orders") { "orders" } else { name };
        let body = json!({
            "metadata": { "name": name, "labels": { "kubernetes.io/service-name": service } },
            "addressType": "IPv4",
            "ports": [{ "name": "https", "port": 1 }, { "name": "http", "port": port }],
            "endpoints": [{
                "addresses": [ADDRESS.to_string()],
                "conditions": { "ready": is_ready },
                "zone": "east",
                "targetRef": { "kind": "Pod", "name": name, "namespace": namespace, "uid": name },
            }],
        });
        let all = format!("{SLICES}/namespaces/{namespace}/endpointslices");
        let one = format!("{all}/{name}");
        let (status, text) = self.api.ask("PUT", &one, &body.to_string())?;
        match status {
            404 => self.api.json("POST", &all, &body).map(drop),
            _ => {
                ensure!(status < 300, "PUT {one}: {status} {text}");
                Ok(())
            }
        }
    }

    /// Deletes an object.
    pub fn delete(&self, namespace: &str, plural: &str, name: &str) -> anyhow::Result<()> {
        let group = if plural == "services" { "/api/v1" } else { SLICES };
        self.api.good("DELETE", &format!("{group}/namespaces/{namespace}/{plural}/{name}"), "")?;
        Ok(())
    }

    /// The version of all slices of a namespace.
    pub fn version(&self, namespace: &str) -> anyhow::Result<String> {
        let path = format!("{SLICES}/namespaces/{namespace}/endpointslices");
        let list = self.api.json("GET", &path, &Value::Null)?;
        let version = list.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        Ok(version.context("a list without a version")?.to_owned())
    }

    /// Drops all old versions from etcd.
    pub fn compact(&self, ground: &Ground) -> anyhow::Result<()> {
        let version = self.version("shop")?;
        let etcd = Api { base: format!("http://{}", self.etcd), ..Api::default() };
        let body = json!({ "revision": version, "physical": true });
        ground.interrupt.check()?;
        etcd.json("POST", "/v3/kv/compaction", &body).map(drop)
    }

    /// What the server answers to a watch that lasts for `seconds`.
    fn watch(&self, namespace: &str, version: &str, seconds: u32) -> anyhow::Result<String> {
        let path = format!(
            "{SLICES}/namespaces/{namespace}/endpointslices?watch=1&allowWatchBookmarks=true\
             &resourceVersion={version}&timeoutSeconds={seconds}"
        );
        Ok(self.api.ask("GET", &path, "")?.1)
    }

    /// Fails unless the server has forgotten a version.
    pub fn expects_gone(&self, namespace: &str, version: &str) -> anyhow::Result<()> {
        let text = self.watch(namespace, version, 1)?;
        ensure!(text.contains("\"code\":410"), "a watch from {version} begins with {text}");
        Ok(())
    }

    /// Writes lists, watches and refusals to where the tests of weir read them.
    pub fn record(&self, ground: &Ground) -> anyhow::Result<()> {
        let folder = root().join("crates/weir/tests/discovery/recorded/kubernetes");
        std::fs::create_dir_all(&folder)?;
        let services = "/api/v1/namespaces/shop/services?limit=500";
        let slices = format!("{SLICES}/namespaces/shop/endpointslices?limit=500");
        let version = self.version("shop")?;
        self.put_slice("shop", "orders-b", RECORDED_PORT, false)?;
        self.put_slice("shop", "orders-b", RECORDED_PORT, true)?;
        self.delete("shop", "endpointslices", "orders-b")?;
        let watched = self.watch("shop", &version, 3)?;
        self.put_slice("shop", "orders-b", RECORDED_PORT, true)?;
        let stranger =
            Api { fields: vec![format!("Authorization: Bearer {WEIR_TOKEN}")], ..self.api.clone() };
        let (_, refused) = stranger.ask("GET", "/api/v1/namespaces/default/secrets", "")?;
        ground.interrupt.check()?;
        for (name, text) in [
            ("services.json", self.api.good("GET", services, "")?),
            ("slices.json", self.api.good("GET", &slices, "")?),
            ("watch.jsonl", watched),
            ("gone.jsonl", self.watch("shop", "1", 1)?),
            ("forbidden.json", refused),
        ] {
            // The tests have their instances on the loopback.
            let text = text.replace(&ADDRESS.to_string(), "127.0.0.1");
            std::fs::write(folder.join(name), text)?;
        }
        Ok(())
    }
}

/// Makes `name.pem`, a certificate for 127.0.0.1 that is its own authority, and `name.key`.
pub(super) fn certificate(ground: &Ground, name: &str) -> anyhow::Result<()> {
    let output = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
        .args(["-days", "2", "-subj", "/CN=api", "-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(ground.file(&format!("{name}.key")))
        .arg("-out")
        .arg(ground.file(&format!("{name}.pem")))
        .output()
        .context("openssl")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
