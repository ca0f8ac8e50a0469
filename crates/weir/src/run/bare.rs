//! `weir run` without any configuration: it says so, and listens on loopback only until there is a
//! route.

use super::control;
use crate::configuration::ConfigArgs;

/// Beginnings of the environment variables that configure a gateway.
const VARIABLES: &[&str] = &["SERVER_", "SPRING_", "MANAGEMENT_", "WEIR_"];
/// Environment variables that begin so and configure nothing that is served.
const ELSEWHERE: &[&str] = &["WEIR_LOG", "WEIR_ADMIN", "WEIR_ADMIN_TOKEN"];

/// Whether there is neither a file nor a property.
///
/// # Errors
/// A file or directory that is named and not there.
pub fn is_bare(config: &ConfigArgs) -> anyhow::Result<bool> {
    let configures = |(name, _): (std::ffi::OsString, _)| {
        let name = name.to_string_lossy().to_uppercase();
        let begins = VARIABLES.iter().any(|start| name.starts_with(start));
        begins && !ELSEWHERE.contains(&name.as_str())
    };
    Ok(config.set.is_empty()
        && config.files()?.is_empty()
        && config.bootstraps().is_empty()
        && !std::env::vars_os().any(configures))
}

/// Says how to configure it, and makes a gateway without a route listen on loopback only.
///
/// # Errors
/// The store cannot be opened or read.
pub fn keep_local(config: &mut ConfigArgs) -> anyhow::Result<()> {
    let path = config.load()?.settings.store_path.clone();
    let is_empty = control::open(&path)?.is_empty()?;
    eprintln!(
        "no configuration: no file was named, and there is no application.yml here or in config/; \
         name one (`weir run application.yml`), or make routes with `weir routes add`"
    );
    if is_empty {
        eprintln!(
            "no routes: weir listens on 127.0.0.1 only; SERVER_ADDRESS=0.0.0.0 or a configuration \
             opens it"
        );
        config.set.push("server.address=127.0.0.1".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use weir_store::{Options, Store};

    use super::{is_bare, keep_local};
    use crate::configuration::ConfigArgs;

    #[test]
    fn without_a_route_only_this_machine_is_served() {
        let folder = tempfile::tempdir().expect("a folder");
        let local =
            |args: &ConfigArgs| args.set.iter().any(|set| set == "server.address=127.0.0.1");
        let args = || {
            let set = vec![format!("weir.store.path={}", folder.path().display())];
            ConfigArgs { set, ..ConfigArgs::default() }
        };
        let mut empty = args();
        keep_local(&mut empty).expect("a store");
        assert!(local(&empty));
        assert!(!is_bare(&empty).expect("files"), "what is set is a configuration");
        let store = Store::open(folder.path(), Options::default()).expect("a store");
        let route = weir_route::RouteDefinition { id: "a".into(), ..Default::default() };
        let route = weir_store::Encoded::new(&route).expect("JSON");
        store.commit(|change| change.put(&route).map(drop)).expect("a commit");
        drop(store);
        let mut filled = args();
        keep_local(&mut filled).expect("a store");
        assert!(!local(&filled));
    }
}
