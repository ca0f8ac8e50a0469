//! Verification of tokens: Spring's `NimbusReactiveJwtDecoder` with the validators of
//! `JwtValidators.createDefault` (Spring Security 7) and Boot's for issuer and audiences.

use serde_json::{Map, Value};

use crate::compact::Compact;
use crate::{Algorithm, AuthoritySettings, Claims, KeySet, TokenError};

/// Requirements on a token.
#[derive(Clone, Debug)]
pub struct Verifier {
    /// Algorithms it may be signed with. Spring's default is RS256 alone.
    pub algorithms: Vec<Algorithm>,
    /// Values of `typ` that are allowed besides none, in any case. Spring's default is `JWT`; for
    /// the access tokens of RFC 9068 it is `at+jwt`.
    pub types: Vec<String>,
    /// The required `iss`.
    pub issuer: Option<String>,
    /// `aud` must contain one of these. Empty: any audience is accepted.
    pub audiences: Vec<String>,
    /// Allowed clock difference to the issuer, in seconds. Spring's default is 60.
    pub clock_skew_s: u32,
    /// Mapping of claims to authorities.
    pub authorities: AuthoritySettings,
}

impl Verifier {
    /// Spring's defaults.
    pub fn new(authorities: AuthoritySettings) -> Self {
        Self {
            algorithms: vec![Algorithm::Rs256],
            types: vec!["JWT".to_owned()],
            issuer: None,
            audiences: Vec::new(),
            clock_skew_s: 60,
            authorities,
        }
    }

    /// The claims of `token` if one of `keys` signed it and it is valid at `now_s` (seconds since
    /// 1970).
    ///
    /// # Errors
    /// The first defect found. The payload is read only after the signature has been verified.
    pub fn verify(&self, token: &str, keys: &KeySet, now_s: i64) -> Result<Claims, TokenError> {
        let compact = Compact::read(token)?;
        self.check_signature(&compact, keys)?;
        let all = compact.claims().ok_or(TokenError::BadClaims)?;
        let registered = Registered::read(&all).ok_or(TokenError::BadClaims)?;
        self.check_type(compact.kind.as_deref())?;
        self.check_time(&registered, now_s)?;
        if self.issuer.is_some() && registered.issuer != self.issuer.as_deref() {
            return Err(TokenError::WrongIssuer);
        }
        let meant = |audience: &String| registered.audiences.contains(&audience.as_str());
        if !self.audiences.is_empty() && !self.audiences.iter().any(meant) {
            return Err(TokenError::WrongAudience);
        }
        let expires_s = registered.expires_s;
        Ok(Claims::new(all, expires_s, &self.authorities))
    }

    /// Time up to which claims may be taken from a cache, in seconds since 1970: the last second in
    /// which [`Verifier::verify`] would accept their token.
    pub fn valid_until_s(&self, claims: &Claims) -> i64 {
        claims.expires_s().map_or(i64::MAX, |at_s| at_s.saturating_add(self.clock_skew_s.into()))
    }

    fn check_signature(&self, compact: &Compact<'_>, keys: &KeySet) -> Result<(), TokenError> {
        let allowed = Algorithm::from_name(&compact.algorithm);
        let allowed = allowed.filter(|algorithm| self.algorithms.contains(algorithm));
        let Some(algorithm) = allowed else {
            return Err(TokenError::UnsupportedAlgorithm(compact.algorithm.clone()));
        };
        if compact.critical {
            return Err(TokenError::UnsupportedExtension);
        }
        let key_id = compact.key_id.as_deref();
        let mut candidates = keys.matching(algorithm, key_id).peekable();
        if candidates.peek().is_none() {
            let unknown_key_id = key_id.is_some_and(|key_id| !keys.names(key_id));
            return Err(TokenError::NoKey { unknown_key_id });
        }
        if candidates.any(|key| key.fits(compact.signed, &compact.signature)) {
            return Ok(());
        }
        Err(TokenError::BadSignature)
    }

    /// Spring's `JwtTypeValidator`.
    fn check_type(&self, kind: Option<&str>) -> Result<(), TokenError> {
        let kind = kind.map_or("", str::trim);
        if kind.is_empty() || self.types.iter().any(|allowed| allowed.eq_ignore_ascii_case(kind)) {
            return Ok(());
        }
        Err(TokenError::WrongType(self.types.join(", ")))
    }

    /// Spring's `JwtTimestampValidator`.
    fn check_time(&self, registered: &Registered<'_>, now_s: i64) -> Result<(), TokenError> {
        let skew_s = i64::from(self.clock_skew_s);
        if let Some(at_s) = registered.expires_s
            && now_s.saturating_sub(skew_s) > at_s
        {
            return Err(TokenError::Expired { at_s });
        }
        if let Some(from_s) = registered.not_before_s
            && now_s.saturating_add(skew_s) < from_s
        {
            return Err(TokenError::NotYetValid { from_s });
        }
        Ok(())
    }
}

/// The registered claims (RFC 7519 section 4.1), by their types.
struct Registered<'a> {
    issuer: Option<&'a str>,
    audiences: Vec<&'a str>,
    expires_s: Option<i64>,
    not_before_s: Option<i64>,
}

impl<'a> Registered<'a> {
    /// None if there are no claims, one has a wrong type, or the token is issued after it expires:
    /// Nimbus' `JWTClaimsSet.parse` and Spring's `Jwt` refuse these too.
    fn read(claims: &'a Map<String, Value>) -> Option<Self> {
        let issuer = text(claims, "iss")?;
        text(claims, "sub")?;
        text(claims, "jti")?;
        let expires_s = seconds(claims, "exp")?;
        let not_before_s = seconds(claims, "nbf")?;
        let issued_s = seconds(claims, "iat")?;
        let ends_before_it_starts =
            expires_s.zip(issued_s).is_some_and(|(end, start)| end <= start);
        if claims.is_empty() || ends_before_it_starts {
            return None;
        }
        let audiences = audiences(claims)?;
        Some(Self { issuer, audiences, expires_s, not_before_s })
    }
}

/// A text; none inside if it is absent, none at all if it is something else.
fn text<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<Option<&'a str>> {
    match claims.get(name) {
        None | Some(Value::Null) => Some(None),
        Some(value) => value.as_str().map(Some),
    }
}

/// Seconds since 1970; a fraction is cut off, as Nimbus does.
fn seconds(claims: &Map<String, Value>, name: &str) -> Option<Option<i64>> {
    match claims.get(name) {
        None | Some(Value::Null) => Some(None),
        // The cast goes to the nearest number that an i64 can be.
        Some(value) => value.as_i64().or_else(|| value.as_f64().map(|s| s as i64)).map(Some),
    }
}

fn audiences(claims: &Map<String, Value>) -> Option<Vec<&str>> {
    match claims.get("aud") {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::String(one)) => Some(vec![one]),
        Some(Value::Array(list)) => list.iter().map(Value::as_str).collect(),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests;
