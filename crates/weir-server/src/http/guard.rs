//! Authentication: checks the token of a request, if the configuration requires one.
//!
//! As in Spring Security's resource server, it runs before routing: an unauthorized client does not
//! learn which routes exist. A preflight passes, as browsers send it without a token and no
//! upstream sees it.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use weir_auth::{BearerError, Denial, KeyPlace, RemoteKeys, TokenError, bearer};
use weir_filter::LocalResponse;
use weir_filter::cors::CorsDecision;
use weir_filter::filter::denied;
use weir_snapshot::Security;

use super::exchange::Exchange;
use super::find::Found;
use crate::worker::Worker;

/// The usual spelling of the scheme.
const SCHEME: &str = "Bearer ";
/// How long a request waits for keys that have not been loaded yet.
const KEYS_TIMEOUT: Duration = Duration::from_secs(5);

/// Result of the check.
pub(super) enum Guarded {
    /// The request is allowed.
    Passes,
    /// The request is refused with this response.
    Denied(Box<LocalResponse>),
    /// The token's key is unknown: a fetch of newer keys has begun.
    Unknown(u64),
}

/// Checks the token of a request and keeps its identity.
pub(super) fn guard(
    worker: &Worker,
    x: &mut Exchange,
    security: &Security,
    found: &Found<'_>,
) -> Guarded {
    let is_reserved = match (&worker.reserved, found.route) {
        (Some(reserved), Some(route)) => std::ptr::eq(&*reserved.route, route),
        _ => false,
    };
    // The admin API has a token of its own.
    if is_reserved || matches!(found.cors, CorsDecision::Respond(_)) {
        return Guarded::Passes;
    }
    let Some(field) = x.request.fields.get(b"authorization") else {
        return anonymous(x, security);
    };
    let Ok(field) = std::str::from_utf8(field) else { return deny(&BearerError.into()) };
    let keys = security.keys.keys();
    let generation = security.generation(keys.generation);
    let now_s = worker.deadlines.wall_ms().div_euclid(1_000);
    // Cached tokens were found to be well formed.
    let whole = field.get(SCHEME.len()..).filter(|_| field.starts_with(SCHEME));
    let known = whole.and_then(|token| worker.tokens.borrow_mut().get(token, generation, now_s));
    if known.is_some() {
        x.claims = known;
        return Guarded::Passes;
    }
    let token = match bearer(field) {
        Ok(Some(token)) => token,
        Ok(None) => return anonymous(x, security),
        Err(error) => return deny(&error.into()),
    };
    match security.verifier.verify(token, &keys.set, now_s) {
        Ok(claims) => {
            let until_s = security.verifier.valid_until_s(&claims);
            let claims = Arc::new(claims);
            x.claims = Some(Arc::clone(&claims));
            worker.tokens.borrow_mut().put(token, generation, claims, until_s);
            Guarded::Passes
        }
        Err(error) => {
            let is_unknown = matches!(error, TokenError::NoKey { unknown_key_id: true })
                || matches!(error, TokenError::NoKey { .. }) && keys.set.is_empty();
            match is_unknown.then(|| security.keys.ask()).flatten() {
                Some(since) => Guarded::Unknown(since),
                None => deny(&error.into()),
            }
        }
    }
}

fn anonymous(x: &Exchange, security: &Security) -> Guarded {
    match security.permits(&x.parts.path) {
        true => Guarded::Passes,
        false => deny(&Denial::Anonymous),
    }
}

fn deny(denial: &Denial) -> Guarded {
    Guarded::Denied(Box::new(denied(denial)))
}

/// Waits until a try to fetch keys has ended, and looks again.
pub(super) async fn guard_again(
    worker: &Worker,
    x: &mut Exchange,
    security: &Security,
    found: &Found<'_>,
    since: u64,
) -> Result<(), Box<LocalResponse>> {
    wait(worker, &security.keys, since).await;
    match guard(worker, x, security, found) {
        Guarded::Unknown(_) => match security.keys.keys().set.is_empty() {
            // The token may be valid, but the keys to check it are missing.
            true => {
                let fields = vec![("Retry-After".to_owned(), b"5".to_vec())];
                Err(Box::new(LocalResponse { status: 503, fields, body: Vec::new() }))
            }
            false => {
                let error = TokenError::NoKey { unknown_key_id: true };
                Err(Box::new(denied(&error.into())))
            }
        },
        Guarded::Denied(local) => Err(local),
        Guarded::Passes => Ok(()),
    }
}

async fn wait(worker: &Worker, keys: &RemoteKeys, since: u64) {
    debug_assert!(*keys.place() != KeyPlace::Fixed, "fixed keys are never asked for");
    tokio::select! {
        () = poll_fn(|cx| keys.poll_tried(since, cx)) => {}
        () = worker.deadlines.sleep(KEYS_TIMEOUT) => {}
    }
}
