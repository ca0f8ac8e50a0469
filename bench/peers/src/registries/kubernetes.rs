//! Kubernetes: its API server over TLS with roles, and etcd behind it. There are no nodes: services
//! and endpoint slices are made as the controllers of a cluster make them.

mod cluster;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::forwarder::Forwarder;
use super::gateway::Gateway;
use super::ground::Ground;
use super::instance;
use super::namespace::ADDRESS;
use cluster::{Cluster, WEIR_TOKEN};

/// Runs all checks.
pub(super) fn run(ground: &mut Ground) -> anyhow::Result<()> {
    eprintln!("starting etcd and the API server of Kubernetes");
    let mut cluster = Cluster::start(ground)?;
    let forwarder = Forwarder::start(cluster.address)?;
    let ports = [instance::start(ADDRESS)?, instance::start(ADDRESS)?, instance::start(ADDRESS)?];
    for namespace in ["shop", "other"] {
        let body = json!({ "metadata": { "name": namespace } });
        cluster.api.json("POST", "/api/v1/namespaces", &body)?;
    }
    let here = |more: &str| configuration(&cluster, &forwarder, more);
    let gateway = Gateway::start(ground, "kubernetes", &here("namespace: shop"))?;
    let refused = gateway.tells(ground, &["away", "403", "a role that may `list`"]);
    ground.check("kubernetes: without a role: away, and what to do", refused)?;
    let allowed = role(&cluster).and_then(|()| gateway.tells(ground, &["\"up\""]));
    ground.check("kubernetes: with the role of the guide: up", allowed)?;
    follow(ground, &cluster, &gateway, ports)?;
    let everywhere = everywhere(ground, &cluster, &here("namespace: shop"), ports[2]);
    ground.check("kubernetes: all namespaces, with a ClusterRole", everywhere)?;
    let untrusted = untrusted(ground, &cluster, &forwarder);
    ground.check("kubernetes: a certificate of another authority is refused", untrusted)?;
    let others = failover(ground, &mut cluster, &forwarder, &gateway, ports);
    ground.check("kubernetes: another API server takes over: 410 Gone, no loss", others)?;
    let restarted = restart(ground, &mut cluster, &forwarder, &gateway, ports);
    ground.check("kubernetes: API server killed and started again: no loss", restarted)?;
    if ground.record {
        cluster.record(ground)?;
    }
    Ok(())
}

fn configuration(cluster: &Cluster, forwarder: &Forwarder, more: &str) -> String {
    format!(
        "  cloud.kubernetes:\n    client:\n      master-url: https://{}\n      \
         oauth-token: {WEIR_TOKEN}\n      ca-cert-file: {}\n      {more}\n    \
         discovery: {{ enabled: true, primary-port-name: http }}\n\
         weir.discovery.empty-grace: 0\n",
        forwarder.address,
        cluster.authority().display(),
    )
}

/// Makes the role that the guide shows, word by word, and gives it to weir.
fn role(cluster: &Cluster) -> anyhow::Result<()> {
    let guide =
        std::fs::read_to_string(weir_testkit::tree::root().join("docs/guide/discovery.md"))?;
    let blocks = guide.split("```yaml\n").skip(1).filter_map(|block| block.split("```").next());
    let role = blocks.into_iter().find(|block| block.contains("kind: Role"));
    let role = role.context("the guide has no role")?;
    let path = "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/";
    cluster.yaml().good("POST", &format!("{path}roles"), role)?;
    bind(cluster, &format!("{path}rolebindings"), "Role", "weir-discovery")
}

/// Gives the role of this kind and name to the user weir.
fn bind(cluster: &Cluster, path: &str, kind: &str, role: &str) -> anyhow::Result<()> {
    let body = json!({
        "metadata": { "name": "weir" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "weir" }],
    });
    cluster.api.json("POST", path, &body)?;
    Ok(())
}

/// Services and slices come, change and go.
fn follow(
    ground: &mut Ground,
    cluster: &Cluster,
    gateway: &Gateway,
    [first, second, _]: [u16; 3],
) -> anyhow::Result<()> {
    let served = cluster
        .put_service("shop", "orders")
        .and_then(|()| cluster.put_slice("shop", "orders-a", first, true))
        .and_then(|()| cluster.put_slice("shop", "orders-b", second, true))
        .and_then(|()| gateway.serves_from(ground, &[first, second]));
    ground.check("kubernetes: new slices serve at once, by the name of the port", served)?;
    let metadata = || {
        let instances = gateway.instances("orders")?;
        let one = instances.first().context("no instance")?;
        let says = |name: &str| one.pointer(&format!("/metadata/{name}")).and_then(Value::as_str);
        let found = (says("team"), says("k8s_namespace"), says("zone"));
        ensure!(found == (Some("sales"), Some("shop"), Some("east")), "{one}");
        Ok(())
    };
    ground.check("kubernetes: labels, namespace and zone are metadata", metadata())?;
    let unready = cluster.put_slice("shop", "orders-b", second, false).and_then(|()| {
        gateway.serves_from(ground, &[first])?;
        let listed = gateway.instances("orders")?.len();
        ensure!(listed == 2, "{listed} instances are listed");
        Ok(())
    });
    ground.check("kubernetes: an endpoint that is not ready is listed, not used", unready)?;
    let ready = cluster
        .put_slice("shop", "orders-b", second, true)
        .and_then(|()| gateway.serves_from(ground, &[first, second]));
    ground.check("kubernetes: ready again", ready)?;
    let deleted = cluster.delete("shop", "endpointslices", "orders-b").and_then(|()| {
        gateway.serves_from(ground, &[first])?;
        let listed = gateway.instances("orders")?.len();
        ensure!(listed == 1, "{listed} instances are listed");
        Ok(())
    });
    ground.check("kubernetes: a slice that is deleted is forgotten", deleted)?;
    let gone = cluster.delete("shop", "services", "orders").and_then(|()| {
        gateway.serves_nobody(ground)?;
        cluster.put_service("shop", "orders")?;
        gateway.serves_from(ground, &[first])
    });
    ground.check("kubernetes: a service is deleted and made again", gone)
}

fn everywhere(
    ground: &Ground,
    cluster: &Cluster,
    configuration: &str,
    port: u16,
) -> anyhow::Result<()> {
    let text = configuration.replace("enabled: true", "enabled: true, all-namespaces: true");
    let gateway = Gateway::start(ground, "kubernetes-all", &text)?;
    gateway.tells(ground, &["away", "403", "all namespaces"])?;
    let path = "/apis/rbac.authorization.k8s.io/v1/";
    let rules = json!([
        { "apiGroups": [""], "resources": ["services"], "verbs": ["list", "watch"] },
        { "apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"],
          "verbs": ["list", "watch"] },
    ]);
    let body = json!({ "metadata": { "name": "weir" }, "rules": rules });
    cluster.api.json("POST", &format!("{path}clusterroles"), &body)?;
    bind(cluster, &format!("{path}clusterrolebindings"), "ClusterRole", "weir")?;
    gateway.tells(ground, &["\"up\""])?;
    cluster.put_service("other", "orders")?;
    cluster.put_slice("other", "orders-c", port, true)?;
    ground.until(|| {
        let instances = gateway.instances("orders")?;
        let of = |name: &str| {
            let is_of = |one: &&Value| one.pointer("/metadata/k8s_namespace") == Some(&json!(name));
            instances.iter().filter(is_of).count()
        };
        ensure!((of("shop"), of("other")) == (1, 1), "{instances:?}");
        Ok(())
    })?;
    gateway.stop(ground)
}

fn untrusted(ground: &Ground, cluster: &Cluster, forwarder: &Forwarder) -> anyhow::Result<()> {
    let text = configuration(cluster, forwarder, "namespace: shop");
    let other = ground.file("other-authority.pem");
    cluster::certificate(ground, "other-authority")?;
    let text =
        text.replace(&cluster.authority().display().to_string(), &other.display().to_string());
    let gateway = Gateway::start(ground, "kubernetes-untrusted", &text)?;
    gateway.tells(ground, &["away", "certificate"])?;
    gateway.stop(ground)
}

/// A second API server, which has not seen the versions that weir watches from.
fn failover(
    ground: &Ground,
    cluster: &mut Cluster,
    forwarder: &Forwarder,
    gateway: &Gateway,
    [first, second, _]: [u16; 3],
) -> anyhow::Result<()> {
    gateway.serves_from(ground, &[first])?;
    let seen = cluster.version("shop")?;
    ground.without_loss(gateway.address, || {
        // Changes that the second server learns by its first list only.
        for place in 0..3 {
            cluster.put_slice("shop", "unrelated", 1 + place, true)?;
        }
        cluster.compact(ground)?;
        cluster.next(ground)?;
        forwarder.switch(cluster.address);
        cluster.expects_gone("shop", &seen)?;
        cluster.put_slice("shop", "orders-b", second, true)?;
        gateway.serves_from(ground, &[first, second])
    })?;
    gateway.tells(ground, &["\"up\""])
}

fn restart(
    ground: &Ground,
    cluster: &mut Cluster,
    forwarder: &Forwarder,
    gateway: &Gateway,
    [first, second, _]: [u16; 3],
) -> anyhow::Result<()> {
    gateway.serves_from(ground, &[first, second])?;
    ground.without_loss(gateway.address, || {
        cluster.kill();
        gateway.tells(ground, &["away"])?;
        cluster.next(ground)?;
        forwarder.switch(cluster.address);
        cluster.delete("shop", "endpointslices", "orders-a")?;
        gateway.tells(ground, &["\"up\""])?;
        gateway.serves_from(ground, &[second])
    })
}
