//! Authentication by tokens: which requests need one, and which tokens are valid.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_auth::{RemoteKeys, Verifier};
use weir_route::pattern::{PathPattern, PathSegments};

/// Token verification, and the paths that need no token.
#[derive(Debug)]
pub struct Security {
    /// Checks of a token's claims and signature.
    pub verifier: Verifier,
    /// The keys of its issuer.
    pub keys: Arc<RemoteKeys>,
    /// Whether responses get the headers that Spring Security adds.
    pub response_headers: bool,
    /// Paths that need no token.
    permit: Vec<PathPattern>,
    /// Number of the configuration.
    epoch: u64,
}

/// Number of configurations made so far.
static EPOCHS: AtomicU64 = AtomicU64::new(0);

impl Security {
    /// Accepts tokens that `verifier` accepts and `keys` signed; paths of `permit` need none.
    pub fn new(
        verifier: Verifier,
        keys: Arc<RemoteKeys>,
        permit: Vec<PathPattern>,
        response_headers: bool,
    ) -> Self {
        let epoch = EPOCHS.fetch_add(1, Ordering::Relaxed);
        Self { verifier, keys, response_headers, permit, epoch }
    }

    /// Key under which verified tokens are cached: unique to each configuration and set of keys.
    pub fn generation(&self, keys: u64) -> u64 {
        self.epoch << 32 | keys & 0xffff_ffff
    }

    /// Whether requests for this path need no token.
    pub fn permits(&self, path: &PathSegments) -> bool {
        self.permit.iter().any(|pattern| pattern.matches(path).unwrap_or(false))
    }
}
