//! Webhooks: requests that a definition declares without an operation that sets them off.

use super::make::Making;
use super::request::CallbackRequest;
use crate::mocks::Mocks;
use crate::respond::Manner;

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
    /// The request of `webhook` of the definition `name`. `dice` is chance, for what is made without
    /// a seed.
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
        let (example, targets) = (firing.example.as_deref(), &options.callbacks);
        let made = Making { manner, example, now_ms, targets };
        let request = made.request(&format!("{name}: {webhook}"), outgoing, &firing.to);
        request.map_err(NotFired::Refused)
    }
}
