//! Tokens that the gateway obtains for itself: the grant `client_credentials` (RFC 6749 section
//! 4.4).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use tokio::sync::Mutex as AsyncMutex;
use weir_filter::{Answer, OAuthClient, TokenPlace};

use crate::http::{Ask, Failure, Pool, shown};
use crate::keys::metadata_of;

const BYTES_MAX: usize = 1 << 20;
/// A token is not used any more so long before it expires: it has to arrive.
const MARGIN_S: u64 = 30;
/// Life of a token that does not say how long it lives.
const LIFE_S: u64 = 60;
/// Longest life that is believed.
const LIFE_S_MAX: u64 = 24 * 3600;
/// The pause after a failure before the server is asked again.
const REST: Duration = Duration::from_secs(1);

/// Fetches in progress, by client: one for all that wait for it.
#[derive(Debug, Default)]
pub(super) struct AccessTokens {
    fetches: Mutex<HashMap<String, Arc<AsyncMutex<LastFailure>>>>,
}

/// The time and reason of the last fetch, if it failed.
type LastFailure = Option<(Instant, String)>;

#[derive(Deserialize)]
struct TokenAnswer {
    access_token: String,
    expires_in: Option<u64>,
}

impl AccessTokens {
    /// A token of `client`; fetched, unless another request has fetched it meanwhile.
    pub async fn token(&self, client: &OAuthClient, pool: &Pool) -> Answer {
        let fetch = self.fetch_of(&client.id);
        let mut failed = fetch.lock().await;
        if let Some(token) = client.token(now_ms()) {
            return Answer::AccessToken(token);
        }
        if let Some((at, why)) = &*failed
            && at.elapsed() < REST
        {
            return Answer::Nobody(why.clone());
        }
        match fetched(client, pool).await {
            Ok((token, life_s)) => {
                *failed = None;
                // A short life is used to half of it.
                let used_s = life_s.saturating_sub(MARGIN_S).max(life_s / 2);
                let used_ms = i64::try_from(used_s * 1_000).unwrap_or(i64::MAX);
                let token: Arc<str> = token.into();
                client.keep(&token, now_ms().saturating_add(used_ms));
                Answer::AccessToken(token)
            }
            Err(why) => {
                let why = why.to_string();
                tracing::warn!(client = %client.id, "no token for TokenRelay: {why}");
                *failed = Some((Instant::now(), why.clone()));
                Answer::Nobody(why)
            }
        }
    }

    fn fetch_of(&self, id: &str) -> Arc<AsyncMutex<LastFailure>> {
        let mut fetches = self.fetches.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(fetches.entry(id.to_owned()).or_default())
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A new token, and how many seconds it lives.
async fn fetched(client: &OAuthClient, pool: &Pool) -> Result<(String, u64), Failure> {
    let timeout = Duration::from_millis(client.timeout_ms);
    let url = match &client.place {
        TokenPlace::Endpoint(url) => url.clone(),
        TokenPlace::Issuer(issuer) => metadata_of(issuer, "token_endpoint", pool).await?,
    };
    let mut form = "grant_type=client_credentials".to_owned();
    if !client.scopes.is_empty() {
        form += &format!("&scope={}", encoded(&client.scopes.join(" ")));
    }
    let mut ask = Ask::get(&url, timeout, BYTES_MAX);
    ask.method = Method::POST;
    // The request may be repeated: a second token does no harm.
    ask.is_repeatable = true;
    ask.headers.push((CONTENT_TYPE, "application/x-www-form-urlencoded".to_owned()));
    let (id, secret) = (encoded(&client.client_id), encoded(&client.client_secret));
    if client.in_form {
        form += &format!("&client_id={id}&client_secret={secret}");
    } else {
        let credentials = STANDARD.encode(format!("{id}:{secret}"));
        ask.headers.push((AUTHORIZATION, format!("Basic {credentials}")));
    }
    ask.body = Some(form);
    let answer: TokenAnswer = ask.send_by(pool).await?.success()?.json()?;
    if answer.access_token.is_empty() || !answer.access_token.bytes().all(|b| b.is_ascii_graphic())
    {
        return Err(Failure::Nonsense(format!("{} gave no token", shown(&url))));
    }
    Ok((answer.access_token, answer.expires_in.unwrap_or(LIFE_S).min(LIFE_S_MAX)))
}

/// As forms have it.
fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}
