//! Keys of token issuers: fetched at once, then every few minutes, and when a token arrives that is
//! signed with an unknown key.
//!
//! While an issuer is away, its last keys stay valid. A client that invents key ids causes at most
//! one fetch in [`ASKED_PAUSE`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use weir_auth::{JWKS_BYTES_MAX, KeyPlace, KeyRing, KeySet, RemoteKeys};

use crate::http::{Answer, Ask, Failure, Pool, shown};
use crate::plane::Plane;

/// The interval after which keys are fetched again; that of Spring's decoder.
const REFRESH: Duration = Duration::from_secs(300);
/// After a failure, and twice as long each time up to [`REFRESH`].
const RETRY: Duration = Duration::from_secs(1);
/// The minimum pause between two fetches on demand.
const ASKED_PAUSE: Duration = Duration::from_secs(10);
/// From the connection to the last byte.
const TIMEOUT: Duration = Duration::from_secs(4);

/// Fetches the keys of `ring`, for as long as the plane lives.
pub fn fetch_keys(plane: &Plane, ring: &Arc<KeyRing>) -> AbortHandle {
    let wanted = Arc::new(Notify::new());
    let told = Arc::clone(&wanted);
    ring.when_asked(move || told.notify_one());
    let ring = Arc::clone(ring);
    plane.supervise("keys", move || fetch_all(Arc::clone(&ring), Arc::clone(&wanted)))
}

/// The task for one set of keys.
struct Tended {
    keys: Arc<RemoteKeys>,
    fetched: Instant,
    /// When they were last fetched on demand.
    asked: Option<Instant>,
    next: Instant,
    failures: u32,
}

async fn fetch_all(ring: Arc<KeyRing>, wanted: Arc<Notify>) {
    let mut tended: Vec<Tended> = Vec::new();
    let pool = Pool::default();
    loop {
        tended.retain(|one| Arc::strong_count(&one.keys) > 1);
        for keys in ring.all() {
            let at = tended.iter().position(|one| Arc::ptr_eq(&one.keys, &keys));
            match at.and_then(|at| tended.get_mut(at)) {
                Some(one) => one.tend(&pool).await,
                None => {
                    let now = Instant::now();
                    let mut one =
                        Tended { keys, fetched: now, asked: None, next: now, failures: 0 };
                    one.keys.take_wanted();
                    one.fetch(&pool).await;
                    // Whoever has asked meanwhile has the answer.
                    if one.keys.take_wanted() {
                        one.keys.pass();
                    }
                    tended.push(one);
                }
            }
        }
        let next = tended.iter().map(|one| one.next).min();
        let pause = next.map_or(REFRESH, |next| next.saturating_duration_since(Instant::now()));
        tokio::select! {
            () = wanted.notified() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

impl Tended {
    async fn tend(&mut self, pool: &Pool) {
        let is_asked = self.keys.take_wanted();
        let is_new = self.keys.keys().generation == 0;
        // An issuer may rotate its keys right after they were fetched by the clock.
        let has_rested = self.asked.is_none_or(|asked| asked.elapsed() >= ASKED_PAUSE)
            || is_new && self.fetched.elapsed() >= RETRY;
        if is_asked && has_rested {
            self.asked = Some(Instant::now());
            self.fetch(pool).await;
        } else if Instant::now() >= self.next {
            self.fetch(pool).await;
        } else if is_asked {
            self.keys.pass();
        }
    }

    async fn fetch(&mut self, pool: &Pool) {
        self.fetched = Instant::now();
        let place = self.keys.place().clone();
        match fetch(&place, pool).await {
            Ok(set) => {
                self.failures = 0;
                self.next = self.fetched + REFRESH;
                for skipped in set.skipped() {
                    tracing::info!(key = ?skipped.key_id, "not used: {}", skipped.reason);
                }
                let count = set.len();
                if self.keys.put(set) {
                    tracing::info!(from = %name(&place), count, "keys of the issuer");
                }
            }
            Err(why) => {
                let wait = RETRY * 2_u32.saturating_pow(self.failures.min(8));
                self.failures += 1;
                self.next = self.fetched + wait.min(REFRESH);
                tracing::warn!(from = %name(&place), "no keys of the issuer: {why}");
                self.keys.fail(why.to_string());
            }
        }
    }
}

fn name(place: &KeyPlace) -> String {
    match place {
        KeyPlace::Issuer(url) | KeyPlace::JwkSet(url) => shown(url),
        KeyPlace::Fixed => "a file".to_owned(),
    }
}

async fn fetch(place: &KeyPlace, pool: &Pool) -> Result<KeySet, Failure> {
    let url = match place {
        KeyPlace::JwkSet(url) => url.clone(),
        KeyPlace::Issuer(issuer) => metadata_of(issuer, "jwks_uri", pool).await?,
        KeyPlace::Fixed => return Err(Failure::Nonsense("it has no place".to_owned())),
    };
    let answer = get(&url, pool).await?;
    let text = std::str::from_utf8(&answer.body);
    let text = text.map_err(|error| Failure::Nonsense(error.to_string()))?;
    KeySet::from_jwks(text).map_err(|error| Failure::Nonsense(error.message().to_owned()))
}

async fn get(url: &str, pool: &Pool) -> Result<Answer, Failure> {
    Ask::get(url, TIMEOUT, JWKS_BYTES_MAX).send_by(pool).await?.success()
}

/// The value of `name` in the metadata of an issuer, looked up in the locations that Spring tries,
/// in its order.
pub(crate) async fn metadata_of(issuer: &str, name: &str, pool: &Pool) -> Result<String, Failure> {
    let mut last = Failure::Nonsense("it has no metadata".to_owned());
    for url in metadata_urls(issuer) {
        let metadata: Value = match get(&url, pool).await.and_then(|answer| answer.json()) {
            Ok(metadata) => metadata,
            Err(why @ Failure::Status(_)) => {
                last = why;
                continue;
            }
            Err(why) => return Err(why),
        };
        let text = |name: &str| metadata.get(name).and_then(Value::as_str).unwrap_or_default();
        if text("issuer") != issuer {
            let said = text("issuer");
            return Err(Failure::Nonsense(format!(
                "it says that it is `{said}`, not `{issuer}`; write issuer-uri as it does"
            )));
        }
        return match text(name) {
            "" => Err(Failure::Nonsense(format!("its metadata have no {name}"))),
            uri => Ok(uri.to_owned()),
        };
    }
    Err(last)
}

/// `JwtDecoderProviderConfigurationUtils`: OpenID Connect Discovery, the same with the path
/// behind, and RFC 8414.
fn metadata_urls(issuer: &str) -> Vec<String> {
    let base = issuer.trim_end_matches('/');
    let start = base.find("://").map_or(0, |at| at + 3);
    let path_at = base.get(start..).and_then(|rest| rest.find('/')).map(|at| start + at);
    let (host, path) = base.split_at_checked(path_at.unwrap_or(base.len())).unwrap_or((base, ""));
    let (openid, oauth) =
        ("/.well-known/openid-configuration", "/.well-known/oauth-authorization-server");
    vec![format!("{base}{openid}"), format!("{host}{openid}{path}"), format!("{host}{oauth}{path}")]
}

#[cfg(test)]
mod tests {
    use super::metadata_urls;

    #[test]
    fn metadata_are_where_spring_looks() {
        assert_eq!(
            metadata_urls("https://idp.example/realms/a/"),
            [
                "https://idp.example/realms/a/.well-known/openid-configuration",
                "https://idp.example/.well-known/openid-configuration/realms/a",
                "https://idp.example/.well-known/oauth-authorization-server/realms/a",
            ]
        );
        assert_eq!(metadata_urls("http://idp")[0], "http://idp/.well-known/openid-configuration");
    }
}
