//! ApiKey: admits requests with a known API key.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use weir_auth::{ApiKeys, Claims};
use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, optional};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::header::HeaderName;
use crate::local_response::LocalResponse;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "ApiKey",
    doc: r#"Admits requests with one of the keys of `weir.api-keys` in a header; others get 401. The
name of the key identifies the client for `Authorize`, and for limits with `key: principal`. The key
itself does not go to the upstream. A filter of weir's own.

```yaml
filters:
- ApiKey=X-API-Key
```
```http request
GET / HTTP/1.1
X-API-Key: guessed
```
```http response
HTTP/1.1 401 Unauthorized
WWW-Authenticate: ApiKey header="X-API-Key"
```"#,
    args: &[
        optional("header", ArgKind::Text, Some("X-API-Key"), "Name of the header."),
        optional("forward", ArgKind::Bool, Some("false"), "`true` sends the key to the upstream."),
    ],
    shortcut: Shortcut::Positions(1),
    compatibility: Compatibility::Own,
    build,
};

/// Admits requests with a known API key.
#[derive(Clone, Debug)]
pub struct ApiKey(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    header: HeaderName,
    forward: bool,
    keys: Arc<ApiKeys>,
}

impl PartialEq for ApiKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.header == other.0.header
            && self.0.forward == other.0.forward
            && (Arc::ptr_eq(&self.0.keys, &other.0.keys)
                || self.0.keys.is_empty() && other.0.keys.is_empty())
    }
}

impl Eq for ApiKey {}

impl Hash for ApiKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.header.hash(state);
    }
}

fn build(args: &Args, options: &FilterOptions) -> Result<Filter, ArgError> {
    let header = HeaderName::writable("header", args.text("header").unwrap_or("X-API-Key"))?;
    let forward = args.bool("forward")?.unwrap_or(false);
    let keys = Arc::clone(&options.api_keys);
    Ok(Filter::ApiKey(ApiKey(Arc::new(Inner { header, forward, keys }))))
}

impl Behaviour for ApiKey {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn tells_who(&self) -> bool {
        true
    }

    fn asks_who(&self) -> bool {
        true
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        let Inner { header, forward, keys } = &*self.0;
        let name = header.as_bytes();
        let given = context.head.fields.get(name).and_then(|given| std::str::from_utf8(given).ok());
        let Some(found) = given.and_then(|given| keys.find(given)) else {
            let scheme = format!("ApiKey header=\"{}\"", String::from_utf8_lossy(name));
            let fields = vec![("WWW-Authenticate".to_owned(), scheme.into_bytes())];
            let answer = LocalResponse { status: 401, fields, body: Vec::new() };
            return Ok(Verdict::Respond(Box::new(answer)));
        };
        *context.claims = Some(Arc::new(Claims::of_principal(found, Vec::new())));
        if !forward {
            context.head.fields.remove(name);
        }
        Ok(Verdict::Continue)
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text("header", &String::from_utf8_lossy(self.0.header.as_bytes()))
    }

    fn explain(&self) -> String {
        let header = String::from_utf8_lossy(self.0.header.as_bytes());
        format!("lets requests pass that bring a known key in {header}")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_auth::{ApiKeys, Secret};

    use crate::filter::FilterOptions;
    use crate::test_exchange::TestExchange;

    #[test]
    fn a_key_says_who_it_is() {
        let mut keys = ApiKeys::default();
        keys.add("alice", &Secret::of_plain("open-sesame").unwrap()).unwrap();
        let options = FilterOptions { api_keys: Arc::new(keys), ..FilterOptions::default() };
        let trial =
            TestExchange::with_options("- ApiKey=X-Key\n- Authorize=authenticated", &options);
        let run =
            |key: &str| trial.run(&format!("GET / HTTP/1.1\nX-Key: {key}"), "HTTP/1.1 200 OK");
        assert_eq!(run("open-sesame").sent.as_deref(), Some("GET / HTTP/1.1"));
        assert_eq!(run("open-sesam").sent, None);
    }
}
