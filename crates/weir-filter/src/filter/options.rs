//! Parts of the configuration that filters need.

use std::sync::{Arc, Mutex, PoisonError};

use weir_auth::{ApiKeys, Users};
use weir_cache::Caches;
use weir_limit::{Breaker, BreakerSettings, LimitSettings, Valve, Valves};
use weir_mock::ApiSources;
use weir_route::pattern::RegexCache;

use crate::descriptors::Descriptors;
use crate::key_source::KeySource;
use crate::limits::LimitDefinition;
use crate::oauth::OAuthClient;
use crate::redis::RedisSettings;
use crate::same::Same;

/// Parts of the configuration that filters need when they are built.
#[derive(Clone, Debug, Default)]
pub struct FilterOptions {
    /// `filter.secure-headers.*`: header name in kebab case and value, and the enable/disable
    /// lists.
    pub secure_headers: Vec<(String, String)>,
    /// `set-status.original-status-header-name`.
    pub original_status_header: Option<String>,
    /// Cache of compiled expressions, shared with the predicates and kept over reloads.
    pub regexes: RegexCache,
    /// `weir.api-keys`.
    pub api_keys: Arc<ApiKeys>,
    /// `weir.users`.
    pub users: Arc<Users>,
    /// `spring.security.oauth2.client.registration`: clients with the grant `client_credentials`.
    pub oauth_clients: Vec<Arc<OAuthClient>>,
    /// No part of the configuration authenticates clients.
    pub nobody_is_known: bool,
    /// API definitions; `None` without a configuration.
    pub definitions: Option<ApiSources>,
    /// Descriptor sets of gRPC services; `None` where there is no configuration.
    pub descriptors: Option<Descriptors>,
    /// `weir.limits`.
    pub limits: Vec<LimitDefinition>,
    /// `weir.key-resolvers`: key of a request by the name of a Java bean.
    pub key_resolvers: Vec<(String, KeySource)>,
    /// Defaults of every LocalResponseCache.
    pub cache: CacheOptions,
    /// Defaults of every RequestRateLimiter.
    pub rate_limiting: RateLimiting,
    /// Settings of breakers by name: `resilience4j.*`.
    pub breakers: Vec<(String, BreakerSettings)>,
    /// Settings of all other breakers.
    pub breaker_default: BreakerSettings,
    /// Limits and breakers by name, kept over reloads.
    pub valves: Arc<Valves>,
    /// Settings to apply to limits and breakers once this configuration is in force.
    pub settings: Arc<Mutex<Vec<Setting>>>,
}

impl FilterOptions {
    /// The limit of this name. An existing limit keeps its settings until the configuration is in
    /// force: a rejected configuration must change nothing.
    pub fn valve(&self, name: &str, settings: &LimitSettings) -> Arc<Valve> {
        let valve = self.valves.get(name, settings);
        let mut all = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| !matches!(one, Setting::Limit(known, _) if Arc::ptr_eq(known, &valve)));
        all.push(Setting::Limit(Arc::clone(&valve), settings.clone()));
        valve
    }

    /// The breaker of this name; its settings too change only once the configuration is in force.
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

/// A limit or breaker with its new settings.
#[derive(Clone, Debug)]
pub enum Setting {
    /// A limit.
    Limit(Arc<Valve>, LimitSettings),
    /// A breaker.
    Breaker(Arc<Breaker>, BreakerSettings),
}

/// Defaults of every cache (`filter.local-response-cache.*`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheOptions {
    /// Time to live of a response, in milliseconds.
    pub ttl_ms: u64,
    /// Maximum size in bytes of the cache that routes share.
    pub bytes_max: u64,
    /// The response to a request with `no-cache` is stored.
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

/// Response headers with the state of RequestRateLimiter's buckets (`redis-rate-limiter.*`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RateHeaders {
    /// Whether the headers are added.
    pub include: bool,
    /// Name of the header with the remaining tokens.
    pub remaining: String,
    /// Name of the header with the tokens per request.
    pub requested_tokens: String,
    /// Name of the header with the capacity of a bucket.
    pub burst_capacity: String,
    /// Name of the header with the tokens added per second.
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

/// Defaults of every RequestRateLimiter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLimiting {
    /// Redis server with the buckets; `None` keeps them in this process.
    pub redis: Option<Arc<RedisSettings>>,
    /// Response headers with the state of buckets.
    pub headers: RateHeaders,
    /// Requests without a key are refused.
    pub deny_empty_key: bool,
    /// Status for requests that are refused for lack of a key.
    pub empty_key_status: u16,
}

impl Default for RateLimiting {
    fn default() -> Self {
        let headers = RateHeaders::default();
        Self { redis: None, headers, deny_empty_key: true, empty_key_status: 403 }
    }
}
