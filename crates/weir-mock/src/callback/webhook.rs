//! Webhooks: requests that a definition declares without an operation that sets them off.

use std::sync::Arc;

use percent_encoding::percent_decode;

use super::make::Making;
use super::request::{Callback, CallbackRequest};
use crate::definition::Api;
use crate::mocks::Mocks;
use crate::problem::Fault;
use crate::request::{Call, Violation};
use crate::respond::{Manner, Reply};

/// In front of the name of a webhook that a POST has sent.
const PATH: &[u8] = b"/__weir/webhooks/";
/// Names that are told where none fits.
const TOLD_MAX: usize = 20;

/// How a webhook is to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Firing {
    /// The whole URL.
    pub to: String,
    /// Made by chance; as the definition is served if nothing is said.
    pub dynamic: Option<bool>,
    /// What chance starts from.
    pub seed: Option<u64>,
    /// Name of the example to send.
    pub example: Option<String>,
}

/// Why there is no such request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotFired {
    /// No definition is served by this name.
    NoApi,
    /// The definition has no such webhook; it has these.
    NoWebhook(Vec<String>),
    /// It may not be sent there, or nothing can be made of it.
    Refused(String),
}

impl Mocks {
    /// The request of `webhook` of the definition `name`. `dice` is chance, for what has no seed.
    ///
    /// # Errors
    /// See [`NotFired`].
    pub fn webhook(
        &self,
        (name, webhook): (&str, &str),
        firing: &Firing,
        dice: u64,
        now_ms: i64,
    ) -> Result<CallbackRequest, NotFired> {
        let (api, options) = self.api(name).ok_or(NotFired::NoApi)?;
        let outgoing = api.webhooks.iter().find(|one| one.name == webhook).ok_or_else(|| {
            NotFired::NoWebhook(api.webhooks.iter().map(|one| one.name.clone()).collect())
        })?;
        let manner = Manner {
            dynamic: firing.dynamic.unwrap_or(options.dynamic),
            seed: firing.seed.or(options.seed).unwrap_or(dice),
        };
        if firing.to.is_empty() {
            return Err(NotFired::Refused("say where it goes: `to` is a URL".to_owned()));
        }
        let (example, targets) = (firing.example.as_deref(), &options.callbacks);
        let made = Making { manner, example, now_ms, targets };
        let request = made.request(&format!("{name}: {webhook}"), outgoing, &firing.to);
        request.map_err(NotFired::Refused)
    }

    /// The answer to `POST /__weir/webhooks/NAME?to=URL`, which has a webhook sent; `None` if this
    /// is not what is asked. `selected` is the name of the definition, or empty.
    pub(crate) fn fired(
        &self,
        selected: &[u8],
        call: &Call<'_>,
        dice: u64,
        now_ms: i64,
    ) -> Option<Result<Reply, Fault>> {
        let webhook = call.path.strip_prefix(PATH).filter(|_| call.method == b"POST")?;
        let webhook = percent_decode(webhook).decode_utf8_lossy().into_owned();
        let selected = String::from_utf8_lossy(selected);
        let has = |api: &&Arc<Api>| api.webhooks.iter().any(|one| one.name == webhook);
        let named = |api: &&Arc<Api>| selected.is_empty() || api.name == selected;
        let Some(api) = self.apis().filter(named).find(has) else {
            let known = self.apis().filter(named).flat_map(|api| &api.webhooks);
            let known: Vec<&str> = known.take(TOLD_MAX).map(|one| one.name.as_str()).collect();
            let why = format!("there is no webhook `{webhook}`; there are: {}", known.join(", "));
            return Some(Err(Fault::NotFound(why)));
        };
        let mut firing = Firing::default();
        for (key, text) in call.pairs() {
            match key.as_str() {
                "to" => firing.to = text,
                "example" => firing.example = Some(text),
                "dynamic" => firing.dynamic = text.parse().ok(),
                "seed" => firing.seed = text.parse().ok(),
                _ => {}
            }
        }
        let made = self.webhook((&api.name, &webhook), &firing, dice, now_ms);
        Some(made.map(accepted).map_err(|why| {
            let why = match why {
                NotFired::Refused(why) => why,
                NotFired::NoApi | NotFired::NoWebhook(_) => "there is none".to_owned(),
            };
            let place = ["request", "query", "to"].map(str::to_owned).to_vec();
            Fault::Invalid(vec![Violation::new(place, "webhook", why)])
        }))
    }
}

/// What is told of a webhook that will be sent.
fn accepted(request: CallbackRequest) -> Reply {
    let why = format!("webhook {}", request.name);
    let callback = Callback { name: request.name.clone(), request: Ok(request) };
    let body = callback.document().to_string().into_bytes();
    let fields = vec![("Content-Type".to_owned(), b"application/json".to_vec())];
    Reply { status: 202, fields, body, why, callbacks: vec![callback], ..Reply::default() }
}
