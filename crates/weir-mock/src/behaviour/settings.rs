//! Settings of one definition where it differs from the common ones.

use super::delay::Delay;
use super::envelope::Envelope;
use super::overrides::Override;
use crate::request::Enforcement;
use crate::respond::Options;

/// The settings of one definition; absent ones fall back to the common settings. They are written
/// below `x-weir-mock` of a definition, or in the configuration ([`Settings::read`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// See [`Options::dynamic`].
    pub dynamic: Option<bool>,
    /// See [`Options::seed`].
    pub seed: Option<u64>,
    /// See [`Options::errors`].
    pub errors: Option<bool>,
    /// See [`Options::validation`].
    pub validation: Option<Enforcement>,
    /// See [`Options::delay`].
    pub delay: Option<Delay>,
    /// See [`Options::envelope`].
    pub envelope: Option<Envelope>,
    /// See [`Options::stateful`].
    pub stateful: Option<bool>,
    /// Overrides of the behaviour of operations.
    pub overrides: Vec<Override>,
}

impl Settings {
    /// `options`, overridden by these settings.
    pub fn over(&self, options: &Options) -> Options {
        Options {
            dynamic: self.dynamic.unwrap_or(options.dynamic),
            seed: self.seed.or(options.seed),
            errors: self.errors.unwrap_or(options.errors),
            validation: self.validation.unwrap_or(options.validation),
            delay: self.delay.unwrap_or(options.delay),
            stateful: self.stateful.unwrap_or(options.stateful),
            select_header: options.select_header.clone(),
            envelope: self.envelope.clone().or_else(|| options.envelope.clone()),
            callbacks: options.callbacks.clone(),
        }
    }
}
