//! A call through a circuit breaker, which is counted however it ends.

use weir_limit::{Breaker, Call};

use crate::error::{ErrorKind, ProxyError};
use crate::pacer::now_ns;

/// A call counted by its breaker; if it is dropped, it has no result.
pub(super) struct Counted<'s> {
    breaker: &'s Breaker,
    call: Option<Call>,
}

impl<'s> Counted<'s> {
    pub(super) fn new(breaker: &'s Breaker, call: Call) -> Self {
        Self { breaker, call: Some(call) }
    }

    /// Records the result of the call.
    pub(super) fn end(mut self, failed: bool) {
        if let Some(call) = self.call.take() {
            self.breaker.end(call, failed, now_ns());
        }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            self.breaker.cancel(call);
        }
    }
}

/// The answer while the breaker is open.
pub(super) fn is_open(breaker: &Breaker) -> ProxyError {
    let what = format!("CircuitBreaker '{}' is OPEN and does not permit calls", breaker.name());
    ProxyError::with(ErrorKind::BreakerOpen, what)
}
