//! Which requests need a token, and which tokens are valid.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_auth::{RemoteKeys, Verifier};
use weir_route::pattern::{PathPattern, PathSegments};

/// Whose tokens are taken, and where none is needed.
#[derive(Debug)]
pub struct Security {
    /// What a token must be.
    pub verifier: Verifier,
    /// The keys of its issuer.
    pub keys: Arc<RemoteKeys>,
    /// Responses have the headers that Spring Security adds.
    pub response_headers: bool,
    /// Paths that need no token.
    permit: Vec<PathPattern>,
    /// Which configuration this is.
    epoch: u64,
}

/// Configurations so far.
static EPOCHS: AtomicU64 = AtomicU64::new(0);

impl Security {
    /// Tokens that `verifier` takes, signed with `keys`; paths of `permit` need none.
    pub fn new(
        verifier: Verifier,
        keys: Arc<RemoteKeys>,
        permit: Vec<PathPattern>,
        response_headers: bool,
    ) -> Self {
        let epoch = EPOCHS.fetch_add(1, Ordering::Relaxed);
        Self { verifier, keys, response_headers, permit, epoch }
    }

    /// The number under which tokens are kept that hold with these keys: another one for each
    /// configuration and set of keys.
    pub fn generation(&self, keys: u64) -> u64 {
        self.epoch << 32 | keys & 0xffff_ffff
    }

    /// Whether requests for this path need no token.
    pub fn permits(&self, path: &PathSegments) -> bool {
        self.permit.iter().any(|pattern| pattern.matches(path).unwrap_or(false))
    }
}
