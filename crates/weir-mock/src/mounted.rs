//! A definition with the place and the settings it is served with.

use std::sync::Arc;

use crate::behaviour::{Rules, Settings};
use crate::definition::Api;
use crate::respond::Options;
use crate::router::Paths;
use crate::state::State;

/// A definition, and where and how it is served.
#[derive(Clone, Debug)]
pub struct Mount {
    /// The definition, under the name it was read with.
    pub api: Arc<Api>,
    /// In front of its paths, instead of what its `servers` say: `/v1`.
    pub base_path: Option<String>,
    /// For requests to these hosts only; for all if there are none.
    pub hosts: Vec<String>,
    /// Settings of the mount; they take precedence over those of the definition itself.
    pub settings: Settings,
}

impl From<Arc<Api>> for Mount {
    fn from(api: Arc<Api>) -> Self {
        Self { api, base_path: None, hosts: Vec::new(), settings: Settings::default() }
    }
}

/// A mount that has been validated. It keeps the state of its sequences, so it can be served
/// together with other mounts than before without restarting them.
#[derive(Debug)]
pub struct Mounted {
    pub(crate) api: Arc<Api>,
    pub(crate) base_path: String,
    pub(crate) paths: Arc<Paths>,
    /// In lower case, without ports.
    pub(crate) hosts: Vec<String>,
    pub(crate) rules: Rules,
    pub(crate) options: Options,
    /// The items that clients have written, if the definition is stateful.
    pub(crate) state: Option<State>,
}

impl Mounted {
    /// Checks a mount; `options` are those of all definitions.
    ///
    /// # Errors
    /// A path or base path that is none, more shapes of paths than are looked for, or an override
    /// that means nothing.
    pub fn new(mount: Mount, options: &Options) -> Result<Self, String> {
        let Mount { api, base_path, hosts, settings } = mount;
        let bases = match &base_path {
            Some(base_path) => vec![trimmed(base_path).map_err(|why| told(&api, &why))?],
            None => api.bases.clone(),
        };
        let base_path = base_path.and_then(|_| bases.first().cloned()).unwrap_or_default();
        let overrides = settings.overrides.iter().chain(&api.settings.overrides);
        let options = settings.over(&api.settings.over(options));
        let written = api.operations.iter().enumerate().flat_map(|(at, operation)| {
            let paths = bases.iter().map(move |base| format!("{base}{}", operation.path));
            paths.map(move |path| (path, operation.method.as_str(), at))
        });
        Ok(Self {
            paths: Arc::new(Paths::new(written).map_err(|why| told(&api, &why))?),
            rules: Rules::new(&api, &overrides.cloned().collect::<Vec<_>>())?,
            state: options.stateful.then(|| State::new(&api)),
            options,
            hosts: hosts.iter().map(|host| host_name(host.as_bytes())).collect(),
            api,
            base_path,
        })
    }

    /// The definition.
    pub fn api(&self) -> &Arc<Api> {
        &self.api
    }

    /// The router prefixes of its requests: one for each host, or the empty one.
    pub(crate) fn prefixes(&self) -> Vec<Vec<u8>> {
        let mut prefixes: Vec<Vec<u8>> = self.hosts.iter().map(|host| prefix_of(host)).collect();
        if prefixes.is_empty() {
            prefixes.push(Vec::new());
        }
        prefixes
    }
}

/// A base path without a slash at its end.
fn trimmed(written: &str) -> Result<String, String> {
    let path = written.trim_end_matches('/');
    match path.is_empty() || path.starts_with('/') {
        true => Ok(path.to_owned()),
        false => Err(format!("the base path `{path}` does not start with `/`")),
    }
}

pub(crate) fn told(api: &Api, why: &str) -> String {
    format!("{}: {why}", api.name)
}

/// A host in lower case, without its port.
pub(crate) fn host_name(written: &[u8]) -> String {
    let text = String::from_utf8_lossy(written).to_ascii_lowercase();
    match text.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host.to_owned(),
        _ => text,
    }
}

/// The router prefix of requests to a host. No path begins so.
pub(crate) fn prefix_of(host: &str) -> Vec<u8> {
    [b"\0", host.as_bytes(), b"\0"].concat()
}
