//! The admin API of a running gateway: its listeners, and its access to the process.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use serde_json::json;
use tokio::sync::mpsc;
use weir_admin::{
    Hooks, Refresh, Server, Site, SiteOptions, breakers_prometheus, limits_prometheus, on_main_port,
};
use weir_control::{Control, callbacks_prometheus, mirrors_prometheus};
use weir_server::{ReservedPaths, Server as Gateway};
use weir_snapshot::Settings;

use super::logging::Loggers;
use super::registries::Registries;
use super::{caches, pipelines, upstreams};

/// The listeners, bound before the data plane starts.
pub struct Management {
    admin: Option<TcpListener>,
    /// The listener to which the main port forwards `/actuator`, unless management has a port of
    /// its own.
    main: Option<TcpListener>,
    refresh: mpsc::Sender<Refresh>,
}

/// Refreshes that may wait while the configuration is read.
const REFRESHES_MAX: usize = 4;

impl Management {
    /// Binds the listeners; also returns the receiver of refresh requests.
    ///
    /// # Errors
    /// An address is taken or not of this machine.
    pub fn bind(settings: &Settings) -> anyhow::Result<(Self, mpsc::Receiver<Refresh>)> {
        let admin = settings.management.listen().map(|address| {
            TcpListener::bind(address).with_context(|| {
                format!(
                    "the admin API cannot listen on {address}; choose another port with \
                     weir.admin.port or management.server.port, or none with -1"
                )
            })
        });
        let main = (!settings.management.is_configured())
            .then(|| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no loopback port"));
        let (refresh, refreshes) = mpsc::channel(REFRESHES_MAX);
        Ok((Self { admin: admin.transpose()?, main: main.transpose()?, refresh }, refreshes))
    }

    /// The paths that the data plane reserves for management on the main port: those of the exposed
    /// endpoints.
    pub fn on_main_port(&self, settings: &Settings) -> Option<ReservedPaths> {
        let address = self.main.as_ref()?.local_addr().ok()?;
        on_main_port(settings, address)
    }

    /// The address of the admin API.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().and_then(|listener| listener.local_addr().ok())
    }

    /// Starts serving.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn serve(
        self,
        control: &Arc<Control>,
        registries: &Arc<Registries>,
        settings: &Settings,
        gateway: &Gateway,
        ready: &Arc<AtomicBool>,
        loggers: Loggers,
    ) -> anyhow::Result<Server> {
        let admin = self.admin_address();
        let hooks = hooks(control, registries, gateway, ready, (loggers, self.refresh, admin));
        let files_max = gateway.files().admin_max;
        let mut sites = Vec::new();
        let mut add = |listener: TcpListener, mut options: SiteOptions| {
            let connections_max = &mut options.limits.connections_max;
            *connections_max = files_max.min(*connections_max);
            sites.push((listener, Site::new(Arc::clone(control), hooks.clone(), options)));
        };
        if let Some(listener) = self.admin {
            add(listener, SiteOptions::admin_of(settings));
        }
        if let Some(listener) = self.main {
            add(listener, SiteOptions::main_of(settings));
        }
        Server::start(sites).context("the admin API cannot start")
    }
}

fn hooks(
    control: &Arc<Control>,
    registries: &Arc<Registries>,
    gateway: &Gateway,
    ready: &Arc<AtomicBool>,
    (loggers, refresh, admin): (Loggers, mpsc::Sender<Refresh>, Option<SocketAddr>),
) -> Hooks {
    let published = control.published();
    let metrics = gateway.metrics().clone();
    let (pipelines, flowing) = (gateway.pipelines(), gateway.pipelines());
    let [counting, shown, judged, listed, drained, cached, emptied] =
        [(); 7].map(|()| Arc::clone(registries));
    // Not held: the control ends before what is asked of it.
    let limited = Arc::downgrade(control);
    let counted = metrics.clone();
    let set = loggers.clone();
    Hooks {
        prometheus: Arc::new(move || {
            metrics.prometheus(published.load().index.len())
                + &counting.prometheus()
                + &upstreams::prometheus(counting.directory())
                + &caches::prometheus(&counting.lasting().caches)
                + &mirrors_prometheus()
                + &callbacks_prometheus()
                + &pipelines::prometheus(&flowing())
                + &limited.upgrade().map(|c| limits_prometheus(&c)).unwrap_or_default()
                + &limited.upgrade().map(|c| breakers_prometheus(&c)).unwrap_or_default()
        }),
        pipelines: Arc::new(move |id| pipelines::show(&pipelines(), id)),
        services: Arc::new(move |name| shown.show(name)),
        upstreams: Arc::new(move |name| upstreams::show(listed.directory(), name)),
        drain: Arc::new(move |name, instance, is_drained| {
            upstreams::drain(drained.directory(), name, instance, is_drained)
        }),
        caches: Arc::new(move |name| caches::show(&cached.lasting().caches, name)),
        empty_caches: Arc::new(move |name| caches::empty(&emptied.lasting().caches, name)),
        discovery: Arc::new(move || judged.health()),
        ready: Arc::clone(ready),
        info: Arc::new(
            || json!({ "build": { "name": "weir", "version": env!("CARGO_PKG_VERSION") } }),
        ),
        stats: Arc::new(
            move || json!({ "connections": counted.connections(), "requests": counted.requests() }),
        ),
        loggers: Arc::new(move || loggers.list()),
        set_logger: Arc::new(move |name, level| set.set(name, level)),
        admin,
        refresh,
    }
}
