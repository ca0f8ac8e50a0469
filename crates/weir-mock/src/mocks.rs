//! All definitions that are served together.

use std::sync::Arc;

use crate::behaviour::{Rules, Settings};
use crate::definition::{Api, Operation};
use crate::problem::Fault;
use crate::request::{Asked, Call};
use crate::respond::{self, Matched, Options, Reply};
use crate::router::{Found, Router};

/// Definitions, and which of their operations a request belongs to.
#[derive(Debug, Default)]
pub struct Mocks {
    apis: Vec<Arc<Api>>,
    mounted: Vec<Mounted>,
    router: Router,
    options: Options,
}

/// A definition, and where and how it is served.
#[derive(Clone, Debug)]
pub struct Mount {
    /// The definition; its name is the one it was read with.
    pub api: Arc<Api>,
    /// In front of its paths, instead of what its `servers` say: `/v1`.
    pub base_path: Option<String>,
    /// How it is served, which goes before what it says itself.
    pub settings: Settings,
}

impl From<Arc<Api>> for Mount {
    fn from(api: Arc<Api>) -> Self {
        Self { api, base_path: None, settings: Settings::default() }
    }
}

/// What a mount is once it is checked.
#[derive(Debug)]
struct Mounted {
    base_path: String,
    rules: Rules,
    options: Options,
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
    rules: &'m Rules,
    options: &'m Options,
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
        let is_named = options.select_header.is_some();
        let mut router = Router::default();
        let (mut apis, mut mounted) = (Vec::new(), Vec::new());
        for (at, mount) in mounts.into_iter().enumerate() {
            let api = mount.api;
            let told = |why: String| format!("{}: {why}", api.name);
            let base_path = base_path(mount.base_path.as_deref()).map_err(told)?;
            let bases = match mount.base_path {
                Some(_) => std::slice::from_ref(&base_path),
                None => &api.bases,
            };
            let shards: &[&[u8]] = if is_named { &[b"", api.name.as_bytes()] } else { &[b""] };
            for (n, operation) in api.operations.iter().enumerate() {
                for base in bases {
                    let path = format!("{base}{}", operation.path);
                    for shard in shards {
                        let shard = shard_key(shard);
                        router.add(&shard, &path, &operation.method, at, n).map_err(told)?;
                    }
                }
            }
            let own = mount.settings.over(&api.settings.over(&options));
            let overrides = mount.settings.overrides.iter().chain(&api.settings.overrides);
            let rules = Rules::new(&api, &overrides.cloned().collect::<Vec<_>>())?;
            mounted.push(Mounted { base_path, rules, options: own });
            apis.push(api);
        }
        Ok(Self { apis, mounted, router, options })
    }

    /// What is served, in the order of the definitions.
    pub fn operations(&self) -> impl Iterator<Item = Listed<'_>> {
        self.apis.iter().zip(&self.mounted).flat_map(|(api, mounted)| {
            let base_path = mounted.base_path.as_str();
            api.operations.iter().map(move |operation| Listed { api, operation, base_path })
        })
    }

    /// The definitions.
    pub fn apis(&self) -> &[Arc<Api>] {
        &self.apis
    }

    /// The answer to a request. `dice` is chance, for what is made without a seed; `now_ms` is the
    /// time in milliseconds since 1970.
    pub fn answer(&self, call: &Call<'_>, dice: u64, now_ms: i64) -> Reply {
        if respond::asks_why(call) {
            let document = self.explain(call, dice, now_ms).document();
            let fields = vec![("Content-Type".to_owned(), b"application/json".to_vec())];
            let body = document.to_string().into_bytes();
            let why = "asked what becomes of it".to_owned();
            return Reply { status: 200, fields, body, why, ..Reply::default() };
        }
        let target = self.target_of_call(call);
        self.wrapped(target.and_then(|target| self.reply(&target, call, dice, now_ms)))
    }

    /// What the header that tells definitions apart says.
    fn selected<'c>(&self, call: &Call<'c>) -> &'c [u8] {
        let name = self.options.select_header.as_deref();
        let value = name.and_then(|name| call.fields.get(name.as_bytes()));
        value.unwrap_or_default()
    }

    /// Where a request belongs, by its path and the header that tells definitions apart.
    pub(crate) fn target_of_call<'m>(&'m self, call: &Call<'_>) -> Result<Target<'m>, Failed<'m>> {
        self.target(self.selected(call), call)
    }

    fn target<'m>(&'m self, shard: &[u8], call: &Call<'_>) -> Result<Target<'m>, Failed<'m>> {
        let failed = |fault| Failed { fault, place: None, options: &self.options };
        let shard = shard_key(shard);
        let method = String::from_utf8_lossy(call.method);
        let mut found = self.router.find(&shard, call.path, call.query, &method);
        // A response to HEAD is that to GET without its body.
        if method == "HEAD" && !matches!(found, Found::Operation(..)) {
            found = self.router.find(&shard, call.path, call.query, "GET");
        }
        let (place, values) = match found {
            Found::Operation(place, values) => (place, values),
            Found::Methods(methods) => return Err(failed(Fault::NoMethod(methods))),
            Found::Nothing => return Err(failed(Fault::NoPath)),
        };
        let api = self.apis.get(place.api);
        let operation = api.and_then(|api| api.operations.get(place.operation));
        let (Some(api), Some(operation), Some(mounted)) =
            (api, operation, self.mounted.get(place.api))
        else {
            return Err(failed(Fault::NoPath));
        };
        Ok(Target {
            api,
            operation,
            values,
            rules: &mounted.rules,
            options: &mounted.options,
            at: place.operation,
        })
    }

    pub(crate) fn reply<'m>(
        &self,
        target: &Target<'m>,
        call: &Call<'_>,
        dice: u64,
        now_ms: i64,
    ) -> Result<(Reply, &'m Options), Failed<'m>> {
        let asked = Asked::new(call, &target.values);
        let rule = target.rules.has(target.at).then(|| target.rules.find(target.at, &asked));
        let matched = Matched {
            api: target.api,
            operation: target.operation,
            path_values: &target.values,
            call,
            options: target.options,
            rule: rule.flatten(),
            asked: &asked,
            dice,
            now_ms,
        };
        let place = Some((target.api, target.operation));
        let failed = |fault| Failed { fault, place, options: target.options };
        Ok((respond::answer(matched).map_err(failed)?, target.options))
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
fn base_path(written: Option<&str>) -> Result<String, String> {
    let path = written.unwrap_or_default().trim_end_matches('/');
    match path.is_empty() || path.starts_with('/') {
        true => Ok(path.to_owned()),
        false => Err(format!("the base path `{path}` does not start with `/`")),
    }
}

/// Names of APIs and paths never run into each other.
fn shard_key(name: &[u8]) -> Vec<u8> {
    let mut key = name.to_vec();
    key.push(0);
    key
}
