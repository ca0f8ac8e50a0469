//! The route table of a running gateway: from configuration and store, at start and at reload.

use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;

use weir_config::{Severity, Style, render};
use weir_control::{Control, Loaded, Refusal};
use weir_snapshot::Settings;
use weir_store::{Options, Store};

use super::changes::Pipelines;
use super::registries::{Registries, Said};
use crate::configuration::ConfigArgs;
use crate::imports::Reach;

/// Reads configuration and store. `None` if the configuration is refused; the findings are printed.
///
/// # Errors
/// A file or a store that cannot be read.
pub fn start(
    config: &ConfigArgs,
    registries: &Registries,
) -> anyhow::Result<Option<(Control, Arc<Settings>)>> {
    let servers = || registries.configuration();
    let loaded = config.load_from(registries.lasting(), Reach::Servers(&servers))?;
    let settings = Arc::clone(&loaded.settings);
    let mut said = Said::of(&loaded);
    let Some(mut loaded) = compile(loaded, Severity::Warning) else { return Ok(None) };
    let path = &settings.store_path;
    let store = open(path)?;
    // From here on the services that routes name are known.
    registries.apply(&settings)?;
    registries.wait_for_first();
    if settings.discovery.locator {
        registries.note();
        let again = config.load_from(registries.lasting(), Reach::Servers(&servers))?;
        said = Said::of(&again);
        match compile(again, Severity::Error) {
            Some(again) => loaded = again,
            None => return Ok(None),
        }
    }
    match Control::start(loaded, store) {
        Ok(control) => {
            registries.accept(said);
            Ok(Some((control, settings)))
        }
        Err(Refusal::Invalid(problems)) => {
            for problem in &problems {
                eprintln!("error: {problem}");
            }
            eprintln!(
                "refused: routes of the store do not fit this configuration; mend them, or set \
                 spring.cloud.gateway.server.webflux.fail-on-route-definition-error=false to leave \
                 them out"
            );
            Ok(None)
        }
        Err(refusal) => anyhow::bail!("the route table cannot be made: {refusal:?}"),
    }
}

/// Opens the route store in a directory.
///
/// # Errors The reason, the process that has it open, if there is one, and the remedy.
pub fn open(directory: &Path) -> anyhow::Result<Store> {
    Store::open(directory, Options::default()).map_err(|error| {
        let place = directory.display();
        anyhow::anyhow!("cannot open the route store in {place}: {error}; {}", error.remedy())
    })
}

/// Replaces the configuration of a running gateway, which `started` with its settings, or refuses
/// the new one as a whole. Returns the properties of configuration servers that have changed.
///
/// # Errors
/// Why the old configuration serves on, or which server's last answer does. It is in the log, too.
pub async fn reload(
    config: &ConfigArgs,
    control: &Control,
    registries: &Arc<Registries>,
    started: &Settings,
    why: &str,
) -> Result<Vec<String>, String> {
    tracing::info!("reloading because of {why}");
    let refused = |reason: String| {
        tracing::error!("not reloaded: {reason}; the old configuration stays in use");
        format!("not reloaded: {reason}; the old configuration stays in use")
    };
    let loaded = load(config.clone(), Arc::clone(registries)).await;
    let loaded = loaded.map_err(|error| refused(format!("{error:#}")))?;
    let later = started.of_start_only(&loaded.settings);
    let settings = Arc::clone(&loaded.settings);
    let said = Said::of(&loaded);
    let Some(loaded) = compile(loaded, Severity::Error) else {
        return Err(refused("the configuration is refused".to_owned()));
    };
    let before = Pipelines::of(control);
    let reloaded = control.reload(loaded, why.to_owned()).await;
    reloaded.map_err(|refusal| refused(format!("{refusal:?}")))?;
    let routes = control.published().load().index.len();
    match Pipelines::of(control).since(&before) {
        None => tracing::info!(routes, "reloaded"),
        Some(pipelines) => {
            // Without routes there is no listener for them, either.
            let routes = (routes > 0).then_some(routes);
            tracing::info!(routes, %pipelines, "reloaded");
            pipelines.log_names();
        }
    }
    let own = Arc::clone(registries);
    let applied = tokio::task::spawn_blocking(move || {
        let changed = own.accept(said);
        own.apply(&settings).map(|()| changed)
    });
    let applied = applied.await.map_err(|error| error.to_string());
    let applied = applied.and_then(|applied| applied.map_err(|error| format!("{error:#}")));
    if !later.is_empty() {
        let later = later.join(", ");
        tracing::warn!("changed settings need a restart: {later}");
    }
    let failures = registries.failures();
    match applied {
        Err(error) => {
            tracing::error!("{error}");
            Err(error)
        }
        Ok(_) if !failures.is_empty() => {
            Err(format!("{}; the last answer stays in use", failures.join("; ")))
        }
        Ok(changed) => Ok(changed),
    }
}

/// Reads the configuration on a thread that may wait for servers.
async fn load(
    config: ConfigArgs,
    registries: Arc<Registries>,
) -> anyhow::Result<weir_config::Loaded> {
    let loading = tokio::task::spawn_blocking(move || {
        let servers = || registries.configuration();
        config.load_from(registries.lasting(), Reach::Servers(&servers))
    });
    loading.await?
}

/// Compiles and checks everything; prints findings from `shown` up. `None` if it is refused.
fn compile(mut loaded: weir_config::Loaded, shown: Severity) -> Option<Loaded> {
    let compiled = loaded.compile();
    loaded.sort_findings();
    let style = if std::io::stderr().is_terminal() { Style::Coloured } else { Style::Plain };
    for finding in loaded.diagnostics.iter().filter(|finding| finding.severity >= shown) {
        eprintln!("{}\n", render(finding, loaded.sources(), style));
    }
    if loaded.is_refused() {
        eprintln!("refused: see the errors above");
        return None;
    }
    Some(Loaded::new(&loaded, compiled))
}
