//! All definitions that are served together.

use std::sync::Arc;

use serde_json::Value;

use crate::behaviour::{Rules, Settings};
use crate::definition::{Api, Operation};
use crate::problem::Fault;
use crate::request::{Asked, Call, check_head};
use crate::respond::{self, Matched, Options, Reply};
use crate::router::{Found, Router};
use crate::state::State;
use crate::table::WrongHead;

/// A POST to it forgets what stateful definitions keep.
const RESET_PATH: &[u8] = b"/__weir/reset";

/// Violations that are told in a header.
const TOLD_MAX: usize = 10;

/// Definitions, and which of their operations a request belongs to.
#[derive(Debug, Default)]
pub struct Mocks {
    mounted: Vec<Arc<Mounted>>,
    router: Router,
    /// Whether any definition is for some hosts only.
    has_hosts: bool,
    /// Whether any definition is stateful.
    has_state: bool,
    options: Options,
}

/// A definition, and where and how it is served.
#[derive(Clone, Debug)]
pub struct Mount {
    /// The definition; its name is the one it was read with.
    pub api: Arc<Api>,
    /// In front of its paths, instead of what its `servers` say: `/v1`.
    pub base_path: Option<String>,
    /// For requests to these hosts only; for all if there are none.
    pub hosts: Vec<String>,
    /// How it is served, which goes before what it says itself.
    pub settings: Settings,
}

impl From<Arc<Api>> for Mount {
    fn from(api: Arc<Api>) -> Self {
        Self { api, base_path: None, hosts: Vec::new(), settings: Settings::default() }
    }
}

/// What a mount is once it is checked. It keeps the turns of its sequences, and so may be served
/// with others than before without beginning anew.
#[derive(Debug)]
pub struct Mounted {
    api: Arc<Api>,
    base_path: String,
    /// In front of its paths.
    bases: Vec<String>,
    /// In lower case, without ports.
    hosts: Vec<String>,
    rules: Rules,
    options: Options,
    /// What clients have written, if it is stateful.
    state: Option<State>,
}

impl Mounted {
    /// Checks a mount; `options` are those of all definitions.
    ///
    /// # Errors
    /// A base path that is none, or an override that means nothing.
    pub fn new(mount: Mount, options: &Options) -> Result<Self, String> {
        let Mount { api, base_path, hosts, settings } = mount;
        let bases = match &base_path {
            Some(base_path) => vec![trimmed(base_path).map_err(|why| told(&api, &why))?],
            None => api.bases.clone(),
        };
        let base_path = base_path.and_then(|_| bases.first().cloned()).unwrap_or_default();
        let overrides = settings.overrides.iter().chain(&api.settings.overrides);
        let options = settings.over(&api.settings.over(options));
        Ok(Self {
            rules: Rules::new(&api, &overrides.cloned().collect::<Vec<_>>())?,
            state: options.stateful.then(|| State::new(&api)),
            options,
            hosts: hosts.iter().map(|host| host_name(host.as_bytes())).collect(),
            api,
            base_path,
            bases,
        })
    }

    /// The definition.
    pub fn api(&self) -> &Arc<Api> {
        &self.api
    }
}

/// An operation in a list.
#[derive(Clone, Debug)]
pub struct Listed<'m> {
    /// The API.
    pub api: &'m Api,
    /// The operation.
    pub operation: &'m Operation,
    /// What stands in front of its path; empty if nothing must.
    pub base_path: &'m str,
}

/// Where a request belongs.
pub(crate) struct Target<'m> {
    pub api: &'m Api,
    pub operation: &'m Operation,
    pub values: Vec<(&'m str, String)>,
    mounted: &'m Mounted,
    at: usize,
}

impl Mocks {
    /// Serves `apis`, each below its own base path too. Where two have the same operation, the
    /// first one answers, unless the request names the API in the header of
    /// [`Options::select_header`].
    ///
    /// # Errors
    /// The path of an operation that is none.
    pub fn new(apis: Vec<Arc<Api>>, options: Options) -> Result<Self, String> {
        Self::mount(apis.into_iter().map(Mount::from).collect(), options)
    }

    /// Serves definitions, each where and how its mount says.
    ///
    /// # Errors
    /// A path that is none, or an override that means nothing.
    pub fn mount(mounts: Vec<Mount>, options: Options) -> Result<Self, String> {
        let mounted = mounts.into_iter().map(|mount| Mounted::new(mount, &options).map(Arc::new));
        let is_named = options.select_header.is_some();
        Self::of_mounted(mounted.collect::<Result<_, _>>()?, options, is_named)
    }

    /// Serves definitions that were checked under these `options`; if `is_named`, each can be asked
    /// for by its name too.
    ///
    /// # Errors
    /// A path that is none, or more shapes of paths than are looked for.
    pub fn of_mounted(
        mounted: Vec<Arc<Mounted>>,
        options: Options,
        is_named: bool,
    ) -> Result<Self, String> {
        let mut router = Router::default();
        for (at, one) in mounted.iter().enumerate() {
            let api = &one.api;
            let mut shards: Vec<Vec<u8>> = one.hosts.iter().map(|host| host_shard(host)).collect();
            if shards.is_empty() {
                shards.push(name_shard(b""));
            }
            if is_named {
                shards.push(name_shard(api.name.as_bytes()));
            }
            for (n, operation) in api.operations.iter().enumerate() {
                for base in &one.bases {
                    let path = format!("{base}{}", operation.path);
                    for shard in &shards {
                        let added = router.add(shard, &path, &operation.method, at, n);
                        added.map_err(|why| told(api, &why))?;
                    }
                }
            }
        }
        let has_hosts = mounted.iter().any(|one| !one.hosts.is_empty());
        let has_state = mounted.iter().any(|one| one.state.is_some());
        Ok(Self { mounted, router, has_hosts, has_state, options })
    }

    /// What is served, in the order of the definitions.
    pub fn operations(&self) -> impl Iterator<Item = Listed<'_>> {
        self.mounted.iter().flat_map(|one| {
            let Mounted { api, base_path, .. } = &**one;
            api.operations.iter().map(move |operation| Listed { api, operation, base_path })
        })
    }

    /// The definitions.
    pub fn apis(&self) -> impl Iterator<Item = &Arc<Api>> {
        self.mounted.iter().map(|one| &one.api)
    }

    /// The answer to a request. `dice` is chance, for what is made without a seed; `now_ms` is the
    /// time in milliseconds since 1970.
    pub fn answer(&self, call: &Call<'_>, dice: u64, now_ms: i64) -> Reply {
        self.answer_as(None, call, dice, now_ms)
    }

    /// The same of the definition `name` alone, if one is given.
    pub(crate) fn answer_as(
        &self,
        name: Option<&str>,
        call: &Call<'_>,
        dice: u64,
        now_ms: i64,
    ) -> Reply {
        if respond::asks_why(call) {
            let document = self.explain_as(name, call, dice, now_ms).document();
            let fields = vec![("Content-Type".to_owned(), b"application/json".to_vec())];
            let body = document.to_string().into_bytes();
            let why = "asked what becomes of it".to_owned();
            return Reply { status: 200, fields, body, why, ..Reply::default() };
        }
        if self.has_state && call.method == b"POST" && call.path == RESET_PATH {
            self.reset(str::from_utf8(self.selected(name, call)).unwrap_or_default());
            return Reply { status: 204, why: "the state is reset".to_owned(), ..Reply::default() };
        }
        let target = self.target_of_call(name, call);
        self.wrapped(target.and_then(|target| self.reply(&target, call, dice, now_ms)))
    }

    pub(crate) fn wrong_head(&self, name: Option<&str>, call: &Call<'_>) -> Option<WrongHead> {
        let checked = self.target_of_call(name, call).and_then(|target| {
            let Target { api, operation, mounted, .. } = target;
            let failed =
                |fault| Failed { fault, place: Some((api, operation)), options: &mounted.options };
            match check_head(api, operation, &target.values, call) {
                Ok(violations) if violations.is_empty() => Ok(()),
                Ok(violations) => Err(failed(Fault::Invalid(violations))),
                Err(fault) => Err(failed(fault)),
            }
        });
        let failed = checked.err()?;
        let document = failed.fault.document();
        let first = document.get("validation").and_then(|all| all.as_array());
        let first = first.map(|all| all.iter().take(TOLD_MAX).cloned().collect::<Value>());
        let told = first.unwrap_or(document).to_string();
        Some(WrongHead { reply: self.wrapped(Err(failed)), told })
    }

    /// Forgets what clients have written to the definition `name`; to all if it is empty.
    pub fn reset(&self, name: &str) {
        let meant = self.mounted.iter().filter(|one| name.is_empty() || one.api.name == name);
        meant.filter_map(|one| one.state.as_ref()).for_each(State::reset);
    }

    /// The name of the definition that is asked for; empty if any may answer.
    fn selected<'c>(&self, name: Option<&'c str>, call: &Call<'c>) -> &'c [u8] {
        let header = self.options.select_header.as_deref();
        let header = header.and_then(|header| call.fields.get(header.as_bytes()));
        name.map(str::as_bytes).or(header).unwrap_or_default()
    }

    /// Where a request belongs, by its path and what tells definitions apart: a name, or the header
    /// that has one, or else the host.
    pub(crate) fn target_of_call<'m>(
        &'m self,
        name: Option<&str>,
        call: &Call<'_>,
    ) -> Result<Target<'m>, Failed<'m>> {
        let name = self.selected(name, call);
        let mut found = Found::Nothing;
        if self.has_hosts && name.is_empty() {
            let host = host_name(call.fields.get(b"host").unwrap_or_default());
            found = self.found(&host_shard(&host), call);
        }
        if !matches!(found, Found::Operation(..)) {
            let general = self.found(&name_shard(name), call);
            if !matches!(general, Found::Nothing) {
                found = general;
            }
        }
        self.target(found)
    }

    fn found<'m>(&'m self, shard: &[u8], call: &Call<'_>) -> Found<'m> {
        let method = String::from_utf8_lossy(call.method);
        let found = self.router.find(shard, call.path, call.query, &method);
        // A response to HEAD is that to GET without its body.
        match method == "HEAD" && !matches!(found, Found::Operation(..)) {
            true => self.router.find(shard, call.path, call.query, "GET"),
            false => found,
        }
    }

    fn target<'m>(&'m self, found: Found<'m>) -> Result<Target<'m>, Failed<'m>> {
        let failed = |fault| Failed { fault, place: None, options: &self.options };
        let (place, values) = match found {
            Found::Operation(place, values) => (place, values),
            Found::Methods(methods) => return Err(failed(Fault::NoMethod(methods))),
            Found::Nothing => return Err(failed(Fault::NoPath)),
        };
        let mounted = self.mounted.get(place.api);
        let operation = mounted.and_then(|one| one.api.operations.get(place.operation));
        let (Some(mounted), Some(operation)) = (mounted, operation) else {
            return Err(failed(Fault::NoPath));
        };
        Ok(Target { api: &mounted.api, operation, values, mounted, at: place.operation })
    }

    pub(crate) fn reply<'m>(
        &self,
        target: &Target<'m>,
        call: &Call<'_>,
        dice: u64,
        now_ms: i64,
    ) -> Result<(Reply, &'m Options), Failed<'m>> {
        let asked = Asked::new(call, &target.values);
        let Mounted { rules, options, state, .. } = target.mounted;
        let rule = rules.has(target.at).then(|| rules.find(target.at, &asked));
        let kept = state.as_ref().and_then(|state| Some((state, state.subject(target.at)?)));
        let matched = Matched {
            api: target.api,
            operation: target.operation,
            path_values: &target.values,
            call,
            options,
            rule: rule.flatten(),
            asked: &asked,
            kept,
            dice,
            now_ms,
        };
        let place = Some((target.api, target.operation));
        let failed = |fault| Failed { fault, place, options };
        Ok((respond::answer(matched).map_err(failed)?, options))
    }

    /// The answer in its envelope.
    pub(crate) fn wrapped(&self, answered: Result<(Reply, &Options), Failed<'_>>) -> Reply {
        match answered {
            Ok((reply, options)) => respond::wrapped(reply, options.envelope.as_ref()),
            Err(Failed { fault, place, options }) => {
                respond::fault(&fault, place, options.envelope.as_ref())
            }
        }
    }
}

/// Why there is no answer of a definition.
pub(crate) struct Failed<'m> {
    pub fault: Fault,
    place: Option<(&'m Api, &'m Operation)>,
    options: &'m Options,
}

/// A base path without a slash at its end.
fn trimmed(written: &str) -> Result<String, String> {
    let path = written.trim_end_matches('/');
    match path.is_empty() || path.starts_with('/') {
        true => Ok(path.to_owned()),
        false => Err(format!("the base path `{path}` does not start with `/`")),
    }
}

fn told(api: &Api, why: &str) -> String {
    format!("{}: {why}", api.name)
}

/// A host in lower case, without its port.
fn host_name(written: &[u8]) -> String {
    let text = String::from_utf8_lossy(written).to_ascii_lowercase();
    match text.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host.to_owned(),
        _ => text,
    }
}

/// Names of APIs and paths never run into each other.
fn name_shard(name: &[u8]) -> Vec<u8> {
    [name, b"\0"].concat()
}

/// No name begins so.
fn host_shard(host: &str) -> Vec<u8> {
    [b"\0", host.as_bytes(), b"\0"].concat()
}
