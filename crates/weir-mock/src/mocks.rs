//! All definitions that are served together.

use std::sync::Arc;

use crate::definition::{Api, Operation};
use crate::problem::Fault;
use crate::request::Call;
use crate::respond::{self, Options, Reply};
use crate::router::{Found, Router};

/// Definitions, and which of their operations a request belongs to.
#[derive(Debug, Default)]
pub struct Mocks {
    apis: Vec<Arc<Api>>,
    router: Router,
    options: Options,
}

/// An operation in a list.
#[derive(Clone, Debug)]
pub struct Listed<'m> {
    /// The API.
    pub api: &'m Api,
    /// The operation.
    pub operation: &'m Operation,
}

impl Mocks {
    /// Serves `apis`, each below its own base path too. Where two have the same operation, the
    /// first one answers, unless the request names the API in the header of
    /// [`Options::select_header`].
    ///
    /// # Errors
    /// The path of an operation that is none.
    pub fn new(apis: Vec<Arc<Api>>, options: Options) -> Result<Self, String> {
        let mut router = Router::default();
        for (at, api) in apis.iter().enumerate() {
            for (n, operation) in api.operations.iter().enumerate() {
                for base in &api.bases {
                    let path = format!("{base}{}", operation.path);
                    let shards: [&[u8]; 2] = [b"", api.name.as_bytes()];
                    let own = if options.select_header.is_some() { 2 } else { 1 };
                    for shard in shards.iter().take(own) {
                        let shard = shard_key(shard);
                        router
                            .add(&shard, &path, &operation.method, at, n)
                            .map_err(|why| format!("{}: {why}", api.name))?;
                    }
                }
            }
        }
        Ok(Self { apis, router, options })
    }

    /// What is served, in the order of the definitions.
    pub fn operations(&self) -> impl Iterator<Item = Listed<'_>> {
        self.apis
            .iter()
            .flat_map(|api| api.operations.iter().map(move |operation| Listed { api, operation }))
    }

    /// The definitions.
    pub fn apis(&self) -> &[Arc<Api>] {
        &self.apis
    }

    /// The answer to a request. `dice` is chance, for what is made without a seed; `now_ms` is the
    /// time in milliseconds since 1970.
    pub fn answer(&self, call: &Call<'_>, dice: u64, now_ms: i64) -> Reply {
        let selected = self.options.select_header.as_deref();
        let selected = selected.and_then(|name| call.fields.get(name.as_bytes()));
        let shard = shard_key(selected.unwrap_or_default());
        let method = String::from_utf8_lossy(call.method);
        let mut found = self.router.find(&shard, call.path, call.query, &method);
        // A response to HEAD is that to GET without its body.
        if method == "HEAD" && !matches!(found, Found::Operation(..)) {
            found = self.router.find(&shard, call.path, call.query, "GET");
        }
        let (place, values) = match found {
            Found::Operation(place, values) => (place, values),
            Found::Methods(methods) => {
                return respond::fault(&Fault::NoMethod(methods), None);
            }
            Found::Nothing => return respond::fault(&Fault::NoPath, None),
        };
        let operation = self
            .apis
            .get(place.api)
            .and_then(|api| Some((&**api, api.operations.get(place.operation)?)));
        let Some((api, operation)) = operation else {
            return respond::fault(&Fault::NoPath, None);
        };
        respond::answer(api, operation, &values, call, &self.options, dice, now_ms)
    }
}

/// Names of APIs and paths never run into each other.
fn shard_key(name: &[u8]) -> Vec<u8> {
    let mut key = name.to_vec();
    key.push(0);
    key
}
