//! The gateway as an OAuth client: `spring.security.oauth2.client.*`.

use std::sync::Arc;

use weir_filter::{OAuthClient, TokenPlace};

use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::spring::{self, Layers, Node, key};

const ROOT: &str = "spring.security.oauth2.client";

/// Clients with the grant `client_credentials`. A registration for user login is an error unless
/// `ignores` is set: the routes would be unprotected.
pub(crate) fn clients(
    layers: &Layers<'_>,
    ignores: bool,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Arc<OAuthClient>> {
    let mut clients: Vec<Arc<OAuthClient>> = Vec::new();
    let mut known: Vec<String> = Vec::new();
    for node in layers.all(&format!("{ROOT}.registration")).flat_map(Node::children) {
        if known.iter().any(|id| id == node.key()) {
            continue;
        }
        known.push(node.key().to_owned());
        let reading = Reading { layers, id: node.key() };
        let grant = reading.own("authorization-grant-type").unwrap_or_default();
        if key::same(&grant, "client_credentials") {
            match reading.client() {
                Ok(client) => clients.push(Arc::new(client)),
                Err((message, help)) => {
                    let message = format!("registration `{}`: {message}", node.key());
                    let found = Diagnostic::new(Code::InvalidValue, message).at(node.key_span());
                    problems.push(found.help(help));
                }
            }
        } else if !ignores {
            let message = format!("registration `{}` has users log in", node.key());
            let found = Diagnostic::new(Code::PropertyUnsupported, message);
            problems.push(found.severity(Severity::Error).at(node.key_span()).help(
                "nobody logs in at weir, and the routes would stand open; protect them elsewhere \
                 and set `weir.security.ignore-spring-security: true`, or write \
                 `authorization-grant-type: client_credentials` if it is for TokenRelay",
            ));
        }
    }
    clients
}

struct Reading<'a, 'l> {
    layers: &'a Layers<'l>,
    id: &'a str,
}

impl Reading<'_, '_> {
    fn text(&self, name: &str) -> Option<String> {
        let node = self.layers.find(&format!("{ROOT}.{name}"))?;
        let text = self.layers.resolve(&node.text()?).0.trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    fn own(&self, name: &str) -> Option<String> {
        self.text(&format!("registration.{}.{name}", self.id))
    }

    fn client(&self) -> Result<OAuthClient, (String, String)> {
        let missing = |name: &str| {
            let help = format!("write `{ROOT}.registration.{}.{name}`", self.id);
            (format!("it has no {name}"), help)
        };
        let client_id = self.own("client-id").ok_or_else(|| missing("client-id"))?;
        let secret = self.own("client-secret").ok_or_else(|| missing("client-secret"))?;
        let provider = self.own("provider").unwrap_or_else(|| self.id.to_owned());
        let of_provider = |name: &str| self.text(&format!("provider.{provider}.{name}"));
        let place = match (of_provider("token-uri"), of_provider("issuer-uri")) {
            (Some(url), _) => TokenPlace::Endpoint(url),
            (None, Some(issuer)) => TokenPlace::Issuer(issuer),
            (None, None) => {
                let help = format!("write `{ROOT}.provider.{provider}.token-uri`");
                return Err(("no token endpoint is configured".to_owned(), help));
            }
        };
        let (TokenPlace::Endpoint(url) | TokenPlace::Issuer(url)) = &place;
        if !url.starts_with("http://") && !url.starts_with("https://") {
            let help = "write one that begins with https://".to_owned();
            return Err((format!("`{url}` is no URL"), help));
        }
        let mut client = OAuthClient::new(self.id, place, client_id, secret);
        let method = self.own("client-authentication-method").unwrap_or_default();
        client.in_form = match method.to_ascii_lowercase().replace('-', "_").as_str() {
            "" | "client_secret_basic" | "basic" => false,
            "client_secret_post" | "post" => true,
            _ => {
                let help = "write client_secret_basic or client_secret_post".to_owned();
                return Err((format!("weir does not know the method `{method}`"), help));
            }
        };
        let scope = self.layers.find(&format!("{ROOT}.registration.{}.scope", self.id));
        let scopes = scope.map(|node| spring::texts(self.layers, node)).unwrap_or_default();
        client.scopes = scopes.into_iter().map(|scope| scope.trim().to_owned()).collect();
        Ok(client)
    }
}
