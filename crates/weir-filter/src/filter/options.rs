//! What filters need to know of the configuration.

use std::sync::{Arc, Mutex, PoisonError};

use weir_auth::{ApiKeys, Users};
use weir_cache::Caches;
use weir_limit::{Breaker, BreakerSettings, LimitSettings, Valve, Valves};
use weir_mock::ApiSources;
use weir_route::pattern::RegexCache;

use crate::descriptors::Descriptors;
use crate::limits::{KeySource, LimitDefinition};
use crate::oauth::OAuthClient;
use crate::redis::RedisSettings;
use crate::same::Same;

/// What filters need to know of the configuration when they are built.
#[derive(Clone, Debug, Default)]
pub struct FilterOptions {
    /// `filter.secure-headers.*`: header key in kebab case to value, and the enable/disable lists.
    pub secure_headers: Vec<(String, String)>,
    /// `set-status.original-status-header-name`.
    pub original_status_header: Option<String>,
    /// Expressions compiled so far: the same cache as that of the predicates, kept over reloads.
    pub regexes: RegexCache,
    /// `weir.api-keys`.
    pub api_keys: Arc<ApiKeys>,
    /// `weir.users`.
    pub users: Arc<Users>,
    /// `spring.security.oauth2.client.registration`: those that get tokens for themselves.
    pub oauth_clients: Vec<Arc<OAuthClient>>,
    /// Nothing in the configuration tells who a request is from.
    pub nobody_is_known: bool,
    /// API definitions; `None` where there is no configuration.
    pub definitions: Option<ApiSources>,
    /// Descriptor sets of gRPC services; `None` where there is no configuration.
    pub descriptors: Option<Descriptors>,
    /// `weir.limits`.
    pub limits: Vec<LimitDefinition>,
    /// `weir.key-resolvers`: whom a request counts for, by the name of a Java bean.
    pub key_resolvers: Vec<(String, KeySource)>,
    /// What holds for every LocalResponseCache.
    pub cache: CacheOptions,
    /// What holds for every RequestRateLimiter.
    pub rate_limiting: RateLimiting,
    /// What breakers are set to, by name: `resilience4j.*`.
    pub breakers: Vec<(String, BreakerSettings)>,
    /// What a breaker of another name is set to.
    pub breaker_default: BreakerSettings,
    /// Limits and breakers by name, kept over reloads.
    pub valves: Arc<Valves>,
    /// What limits are to be set to once this configuration is in force.
    pub settings: Arc<Mutex<Vec<Setting>>>,
}

impl FilterOptions {
    /// The limit of this name. One that is there already goes on as it is until the configuration
    /// is in force: one that is refused must change nothing.
    pub fn valve(&self, name: &str, settings: &LimitSettings) -> Arc<Valve> {
        let valve = self.valves.get(name, settings);
        let mut all = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| !matches!(one, Setting::Limit(known, _) if Arc::ptr_eq(known, &valve)));
        all.push(Setting::Limit(Arc::clone(&valve), settings.clone()));
        valve
    }

    /// The breaker of this name; what holds for limits holds for it.
    pub(crate) fn breaker(&self, name: &str) -> Arc<Breaker> {
        let own = self.breakers.iter().find(|(known, _)| known == name);
        let settings = own.map_or(&self.breaker_default, |(_, settings)| settings);
        let breaker = self.valves.breaker(name, settings);
        let mut all = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(
            |one| !matches!(one, Setting::Breaker(known, _) if Arc::ptr_eq(known, &breaker)),
        );
        all.push(Setting::Breaker(Arc::clone(&breaker), settings.clone()));
        breaker
    }
}

/// A limit or breaker, and what it is to be set to.
#[derive(Clone, Debug)]
pub enum Setting {
    /// A limit.
    Limit(Arc<Valve>, LimitSettings),
    /// A breaker.
    Breaker(Arc<Breaker>, BreakerSettings),
}

/// What holds for every cache (`filter.local-response-cache.*`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheOptions {
    /// How long a response is used, in milliseconds.
    pub ttl_ms: u64,
    /// Bytes of the cache that routes share.
    pub bytes_max: u64,
    /// What a request with `no-cache` brings is kept.
    pub updates_on_no_cache: bool,
    /// Caches by name, kept over reloads.
    pub caches: Same<Arc<Caches>>,
}

impl Default for CacheOptions {
    fn default() -> Self {
        Self {
            ttl_ms: 300_000,
            bytes_max: 64 << 20,
            updates_on_no_cache: false,
            caches: Same::default(),
        }
    }
}

/// How RequestRateLimiter tells about its buckets (`redis-rate-limiter.*`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RateHeaders {
    /// Whether it does at all.
    pub include: bool,
    /// Name of the header with the tokens that are left.
    pub remaining: String,
    /// Name of the header with the tokens that a request takes.
    pub requested_tokens: String,
    /// Name of the header with the size of a bucket.
    pub burst_capacity: String,
    /// Name of the header with the tokens of a second.
    pub replenish_rate: String,
}

impl Default for RateHeaders {
    fn default() -> Self {
        Self {
            include: true,
            remaining: "X-RateLimit-Remaining".to_owned(),
            requested_tokens: "X-RateLimit-Requested-Tokens".to_owned(),
            burst_capacity: "X-RateLimit-Burst-Capacity".to_owned(),
            replenish_rate: "X-RateLimit-Replenish-Rate".to_owned(),
        }
    }
}

/// What holds for every RequestRateLimiter, unless it says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLimiting {
    /// Where buckets are kept; `None`: in this process.
    pub redis: Option<Arc<RedisSettings>>,
    /// How it tells about them.
    pub headers: RateHeaders,
    /// Requests without a key are refused.
    pub deny_empty_key: bool,
    /// With this status.
    pub empty_key_status: u16,
}

impl Default for RateLimiting {
    fn default() -> Self {
        let headers = RateHeaders::default();
        Self { redis: None, headers, deny_empty_key: true, empty_key_status: 403 }
    }
}
