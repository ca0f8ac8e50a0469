//! Authorize: admits requests whose token satisfies a rule.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use weir_auth::{Denial, Rule, www_authenticate};
use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, required};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::local_response::LocalResponse;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "Authorize",
    doc: r#"Admits requests whose token satisfies a rule; others get 403, those without a token 401. A
rule is made of `scope:NAME`, `role:NAME` (an authority `ROLE_NAME`, or a role of Keycloak's realm),
`authority:NAME`, `claim:PATH`, `claim:PATH=VALUE` and `authenticated`, with `and`, `or`, `not` and
parentheses. The client is identified by
`spring.security.oauth2.resourceserver.jwt` or a filter `ApiKey`. A filter of weir's own.

```yaml
filters:
- Authorize=scope:orders.read and not role:guest
```
```http request
GET / HTTP/1.1
```
```http response
HTTP/1.1 401 Unauthorized
WWW-Authenticate: Bearer
```"#,
    args: &[required("rule", ArgKind::Text, "What the token must allow.")],
    shortcut: Shortcut::Positions(1),
    compatibility: Compatibility::Own,
    build,
};

/// Admits requests whose token satisfies a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorize(Arc<Rule>);

impl Hash for Authorize {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_string().hash(state);
    }
}

fn build(args: &Args, options: &FilterOptions) -> Result<Filter, ArgError> {
    let text = args.required("rule")?;
    let rule = Rule::parse(text).map_err(|error| {
        ArgError::new("rule", format!("at byte {}: {}", error.at, error.message))
            .help("write a rule such as `scope:orders.read and not role:guest`")
    })?;
    if options.nobody_is_known {
        return Err(ArgError::new("rule", "nothing identifies the client of a request").help(
            "set `spring.security.oauth2.resourceserver.jwt.issuer-uri`, or put a filter `ApiKey` \
             in front",
        ));
    }
    Ok(Filter::Authorize(Authorize(Arc::new(rule))))
}

impl Behaviour for Authorize {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn asks_who(&self) -> bool {
        true
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        let denial = match &*context.claims {
            None => Denial::Anonymous,
            Some(claims) if self.0.allows(claims) => return Ok(Verdict::Continue),
            Some(_) => Denial::InsufficientScope,
        };
        Ok(Verdict::Respond(Box::new(denied(&denial))))
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text("rule", &self.0.to_string())
    }

    fn explain(&self) -> String {
        format!("lets requests pass that have {}", self.0)
    }
}

/// The response to a denied request, as Spring Security sends it.
pub fn denied(denial: &Denial) -> LocalResponse {
    let field = ("WWW-Authenticate".to_owned(), www_authenticate(denial).into_bytes());
    LocalResponse { status: denial.status(), fields: vec![field], body: Vec::new() }
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::{TestExchange, check_refused};

    #[test]
    fn rules_decide() {
        let claims = |json: &str| weir_auth::Claims::of_principal("alice", vec![json.to_owned()]);
        let answer = |rule: &str, authority: Option<&str>| {
            let trial = TestExchange::new(&format!("- Authorize={rule}"));
            let outcome = trial.run_as(authority.map(claims), "GET / HTTP/1.1", "HTTP/1.1 200 OK");
            let response = outcome.response.unwrap_or_default();
            response.lines().next().unwrap_or_default().to_owned()
        };
        assert_eq!(answer("scope:a", None), "HTTP/1.1 401 Unauthorized");
        assert_eq!(answer("scope:a", Some("SCOPE_b")), "HTTP/1.1 403 Forbidden");
        assert_eq!(answer("scope:a", Some("SCOPE_a")), "HTTP/1.1 200 OK");
        assert_eq!(answer("not scope:a", None), "HTTP/1.1 401 Unauthorized");
        check_refused("Authorize=scope", "rule");
    }
}
