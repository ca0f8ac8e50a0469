//! TokenRelay: sends a bearer token to the upstream.

use std::fmt;
use std::sync::Arc;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, optional};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::local_response::LocalResponse;
use crate::oauth::OAuthClient;
use crate::question::{Answer, Question};
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "TokenRelay",
    doc: r#"Gives the upstream a bearer token. With the name of a registration of
`spring.security.oauth2.client.registration` whose grant is `client_credentials`, it is a token of
the gateway's own: fetched once for all requests, kept until shortly before it expires. Without a
name it is the token that the client brought.

```yaml
filters:
- TokenRelay=
```
```http request
GET / HTTP/1.1
Authorization: Bearer abc
```
```http sent
GET / HTTP/1.1
Authorization: Bearer abc
```"#,
    args: &[optional(
        "clientRegistrationId",
        ArgKind::Text,
        None,
        "A registration with the grant `client_credentials`.",
    )],
    shortcut: Shortcut::Positions(1),
    compatibility: Compatibility::Differs(
        "no user logs in at weir: it relays the token that came, or one of its own",
    ),
    build,
};

/// Sends a bearer token to the upstream.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenRelay(Option<Arc<OAuthClient>>);

fn build(args: &Args, options: &FilterOptions) -> Result<Filter, ArgError> {
    let id = args.text("clientRegistrationId").map(str::trim).filter(|id| !id.is_empty());
    let Some(id) = id else { return Ok(Filter::TokenRelay(TokenRelay(None))) };
    let client = options.oauth_clients.iter().find(|client| client.id == id);
    let client = client.ok_or_else(|| {
        let message = format!("there is no registration `{id}` with the grant client_credentials");
        ArgError::new("clientRegistrationId", message).help(format!(
            "write `spring.security.oauth2.client.registration.{id}` with `client-id`, \
             `client-secret` and `authorization-grant-type: client_credentials`"
        ))
    })?;
    Ok(Filter::TokenRelay(TokenRelay(Some(Arc::clone(client)))))
}

fn relay(context: &mut RequestContext<'_>, token: &str) -> Verdict {
    context.head.fields.set(b"authorization", format!("Bearer {token}").as_bytes());
    Verdict::Continue
}

impl Behaviour for TokenRelay {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        let Some(client) = &self.0 else { return Ok(Verdict::Continue) };
        Ok(match client.token(context.now_ms) {
            Some(token) => relay(context, &token),
            None => Verdict::Ask(Box::new(Question::AccessToken(Arc::clone(client)))),
        })
    }

    fn answered(
        &self,
        context: &mut RequestContext<'_>,
        answer: Answer,
    ) -> Result<Verdict, FilterError> {
        Ok(match answer {
            Answer::AccessToken(token) => relay(context, &token),
            // Without its token the upstream would refuse the request, or attribute it to another
            // client.
            _ => {
                let fields = vec![("Retry-After".to_owned(), b"5".to_vec())];
                Verdict::Respond(Box::new(LocalResponse { status: 503, fields, body: Vec::new() }))
            }
        })
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        match &self.0 {
            Some(client) => styled.text("clientRegistrationId", &client.id),
            None => Ok(()),
        }
    }

    fn explain(&self) -> String {
        match &self.0 {
            Some(client) => format!("gives the upstream a token of the client {}", client.id),
            None => "leaves the client's token in place".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::filter::FilterOptions;
    use crate::oauth::{OAuthClient, TokenPlace};
    use crate::test_exchange::{TestExchange, check_refused};

    #[test]
    fn a_token_that_is_there_is_used() {
        let place = TokenPlace::Endpoint("http://a/token".to_owned());
        let client = OAuthClient::new("own", place, "id".to_owned(), "secret".to_owned());
        client.keep(&"abc".into(), 1);
        let oauth_clients = vec![Arc::new(client)];
        let options = FilterOptions { oauth_clients, ..FilterOptions::default() };
        let trial = TestExchange::with_options("- TokenRelay=own", &options);
        let sent = trial.run("GET / HTTP/1.1\nAuthorization: Bearer theirs", "").sent;
        assert_eq!(sent.as_deref(), Some("GET / HTTP/1.1\nAuthorization: Bearer abc"));
    }

    #[test]
    fn a_client_that_there_is_not_is_refused() {
        check_refused("TokenRelay=nobody", "clientRegistrationId");
    }
}
