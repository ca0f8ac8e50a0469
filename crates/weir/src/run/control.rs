//! The route table of a running gateway: from configuration and store, at start and at reload.

use std::io::IsTerminal as _;
use std::sync::Arc;

use anyhow::Context;
use weir_admin::{Control, Loaded, Refusal};
use weir_config::{Settings, Severity, Style, render};
use weir_store::{Options, Store};

use super::registries::Registries;
use crate::configuration::ConfigArgs;

/// Reads configuration and store. `None` if the configuration is refused; the findings are printed.
///
/// # Errors
/// A file or a store that cannot be read.
pub fn start(
    config: &ConfigArgs,
    registries: &Registries,
) -> anyhow::Result<Option<(Control, Arc<Settings>)>> {
    let loaded = config.load_from(registries.lasting())?;
    let settings = Arc::clone(&loaded.settings);
    let Some(mut loaded) = compile(loaded, Severity::Warning) else { return Ok(None) };
    let path = &settings.store_path;
    let store = Store::open(path, Options::default())
        .with_context(|| format!("cannot open the route store in {}", path.display()))?;
    // From here on it is known which services routes ask for.
    registries.apply(&settings)?;
    registries.wait_for_first();
    if settings.discovery.locator {
        registries.note();
        let again = config.load_from(registries.lasting())?;
        match compile(again, Severity::Error) {
            Some(again) => loaded = again,
            None => return Ok(None),
        }
    }
    match Control::start(loaded, store) {
        Ok(control) => Ok(Some((control, settings))),
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

/// Replaces the configuration of a running gateway, which `started` with its settings, or refuses
/// the new one as a whole.
pub async fn reload(
    config: &ConfigArgs,
    control: &Control,
    registries: &Arc<Registries>,
    started: &Settings,
    why: &str,
) {
    tracing::info!("reloading because of {why}");
    let loaded = match config.load_from(registries.lasting()) {
        Ok(loaded) => loaded,
        Err(error) => return tracing::error!("not reloaded: {error:#}; the old one serves on"),
    };
    let later = started.of_start_only(&loaded.settings);
    let settings = Arc::clone(&loaded.settings);
    let Some(loaded) = compile(loaded, Severity::Error) else {
        return tracing::error!(
            "not reloaded: the configuration is refused; the old one serves on"
        );
    };
    match control.reload(loaded, why.to_owned()).await {
        Ok(_) => {
            let routes = control.published().load().index.len();
            tracing::info!(routes, "reloaded");
            let registries = Arc::clone(registries);
            let applied = tokio::task::spawn_blocking(move || registries.apply(&settings)).await;
            if let Ok(Err(error)) = applied {
                tracing::error!("{error:#}");
            }
            if !later.is_empty() {
                let later = later.join(", ");
                tracing::warn!("changed, but read at a start only: {later}; restart to use them");
            }
        }
        Err(refusal) => {
            tracing::error!("not reloaded: {refusal:?}; the old one serves on");
        }
    }
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
        eprintln!("refused: see the errors above; `weir check` shows them again");
        return None;
    }
    Some(Loaded::new(&loaded, compiled))
}
