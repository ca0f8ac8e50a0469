//! ForwardAuth: asks another server whether to admit a request.

use std::fmt;
use std::sync::Arc;

use weir_auth::Claims;
use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};
use weir_wire::Fields;

use super::{Behaviour, Build, Filter, FilterOptions, optional, required};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::header::HeaderName;
use crate::local_response::LocalResponse;
use crate::question::{Answer, Question, Subrequest};
use crate::styled::Styled;

/// Fields that belong to a connection or a body, which the subrequest does not have.
pub(super) const NOT_SENT: &[&str] = &[
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "ForwardAuth",
    doc: r#"Asks another server whether a request may pass, as `auth_request` of nginx and ForwardAuth
of Traefik do: it gets the request's header fields without the body, and `X-Forwarded-Method`,
`-Proto`, `-Host`, `-Uri` and `-For`. With an answer of 2xx the request goes on, with the named
fields of the answer in place of its own; any other answer goes to the client. Who cannot be asked
lets nobody pass. A filter of weir's own.

```yaml
filters:
- name: ForwardAuth
  args:
    uri: http://auth.internal:8080/check
    responseHeaders: X-User
    principalHeader: X-User
```
```http request
GET / HTTP/1.1
X-User: forged
```
```http sent
GET / HTTP/1.1
```"#,
    args: &[
        required("uri", ArgKind::Text, "The server, as `http://host:port/path` or `https://…`."),
        optional("method", ArgKind::Text, Some("GET"), "Method of the question."),
        optional(
            "requestHeaders",
            ArgKind::List,
            None,
            "Fields of the request that are sent; all if none is named.",
        ),
        optional(
            "responseHeaders",
            ArgKind::List,
            None,
            "Fields of the answer that the upstream gets in place of the client's.",
        ),
        optional(
            "principalHeader",
            ArgKind::Text,
            None,
            "The field of the answer that says who the request is from: for limits with `key: \
             principal`.",
        ),
        optional("timeout", ArgKind::Duration, Some("5s"), "How long the answer may take."),
        optional(
            "errorStatus",
            ArgKind::Status,
            Some("503"),
            "Status if the server does not answer in time.",
        ),
    ],
    shortcut: Shortcut::Positions(1),
    compatibility: Compatibility::Own,
    build,
};

/// Asks another server whether to admit a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ForwardAuth(Arc<Inner>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct Inner {
    url: Arc<str>,
    method: String,
    sent: Vec<HeaderName>,
    taken: Vec<HeaderName>,
    principal: Option<HeaderName>,
    timeout_ms: u64,
    error_status: u16,
}

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let url = args.required("uri")?.trim();
    let authority = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_plain || authority.is_none_or(|rest| rest.is_empty() || rest.starts_with('/')) {
        return Err(ArgError::new("uri", format!("`{url}` is no URL"))
            .help("write one such as `http://auth.internal:8080/check`"));
    }
    let method = args.text("method").unwrap_or("GET").trim().to_ascii_uppercase();
    if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Err(ArgError::new("method", format!("`{method}` is no method"))
            .help("write one such as GET or HEAD"));
    }
    let names = |arg: &str| -> Result<Vec<HeaderName>, ArgError> {
        args.list(arg).iter().map(|name| HeaderName::writable(arg, name.trim())).collect()
    };
    let principal =
        args.text("principalHeader").map(|name| HeaderName::new("principalHeader", name));
    let timeout = args.duration("timeout")?.map_or(5_000, |time| time.as_millis());
    Ok(Filter::ForwardAuth(ForwardAuth(Arc::new(Inner {
        url: url.into(),
        method,
        sent: names("requestHeaders")?,
        taken: names("responseHeaders")?,
        principal: principal.transpose()?,
        timeout_ms: u64::try_from(timeout).unwrap_or(u64::MAX).max(1),
        error_status: args.status("errorStatus")?.unwrap_or(503),
    }))))
}

impl ForwardAuth {
    fn fields(&self, context: &RequestContext<'_>) -> Vec<(String, Vec<u8>)> {
        let head = &*context.head;
        let is_any = |names: &[&str], name: &[u8]| {
            names.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()))
        };
        let is_named = |name: &[u8]| {
            let mut sent = self.0.sent.iter();
            self.0.sent.is_empty() || sent.any(|one| name.eq_ignore_ascii_case(one.as_bytes()))
        };
        let kept = head.fields.iter().filter(|(name, _)| {
            !is_any(NOT_SENT, name) && is_named(name) && !name.starts_with(b":")
        });
        let kept = kept.filter(|(name, _)| !is_forwarded(name));
        let mut fields: Vec<(String, Vec<u8>)> = kept
            .map(|(name, value)| (String::from_utf8_lossy(name).into_owned(), value.to_vec()))
            .collect();
        let mut uri = head.received_path().to_vec();
        if let Some(query) = head.received_query() {
            uri.push(b'?');
            uri.extend_from_slice(query);
        }
        let before = head.fields.get(b"x-forwarded-for").map(|line| [line, b", "].concat());
        let mut chain = before.unwrap_or_default();
        chain.extend_from_slice(context.peer.ip().to_string().as_bytes());
        for (name, value) in [
            ("X-Forwarded-Method", head.method().to_vec()),
            ("X-Forwarded-Proto", b"http".to_vec()),
            ("X-Forwarded-Host", head.host().to_vec()),
            ("X-Forwarded-Uri", uri),
            ("X-Forwarded-For", chain),
        ] {
            fields.push((name.to_owned(), value));
        }
        fields
    }

    /// Removes client fields whose names the authorization server sets, so that they cannot be
    /// forged.
    fn clean(&self, fields: &mut Fields) {
        for name in &self.0.taken {
            fields.remove(name.as_bytes());
        }
    }
}

/// Whether weir itself sets the field.
fn is_forwarded(name: &[u8]) -> bool {
    ["for", "host", "method", "proto", "uri"].iter().any(|part| {
        name.len() == 12 + part.len()
            && name.get(..12).is_some_and(|start| start.eq_ignore_ascii_case(b"x-forwarded-"))
            && name.get(12..).is_some_and(|end| end.eq_ignore_ascii_case(part.as_bytes()))
    })
}

impl Behaviour for ForwardAuth {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn tells_who(&self) -> bool {
        self.0.principal.is_some()
    }

    fn asks_who(&self) -> bool {
        true
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        let question = Subrequest {
            method: self.0.method.clone(),
            url: Arc::clone(&self.0.url),
            fields: self.fields(context),
            timeout_ms: self.0.timeout_ms,
        };
        self.clean(&mut context.head.fields);
        Ok(Verdict::Ask(Box::new(Question::Subrequest(question))))
    }

    fn answered(
        &self,
        context: &mut RequestContext<'_>,
        answer: Answer,
    ) -> Result<Verdict, FilterError> {
        let Answer::Response(response) = answer else {
            let status = self.0.error_status;
            let nobody = LocalResponse { status, ..LocalResponse::default() };
            return Ok(Verdict::Respond(Box::new(nobody)));
        };
        if !(200..300).contains(&response.status) {
            return Ok(Verdict::Respond(response));
        }
        for (name, value) in &response.fields {
            let is = |own: &HeaderName| own.as_str().eq_ignore_ascii_case(name);
            if self.0.taken.iter().any(is) {
                context.head.fields.append(name.as_bytes(), value);
            }
            if self.0.principal.as_ref().is_some_and(is)
                && let Ok(who) = std::str::from_utf8(value)
            {
                *context.claims = Some(Arc::new(Claims::of_principal(who, Vec::new())));
            }
        }
        Ok(Verdict::Continue)
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text("uri", &self.0.url)
    }

    fn explain(&self) -> String {
        format!("asks {} whether the request may pass", self.0.url)
    }
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::check_refused;

    #[test]
    fn nonsense_is_refused_with_a_remedy() {
        check_refused("ForwardAuth=auth:8080", "uri");
        check_refused("ForwardAuth=http:///x", "uri");
        check_refused("ForwardAuth=http://a b/", "uri");
        let with = |arg: &str| format!("name: ForwardAuth\n  args:\n    uri: http://a/\n    {arg}");
        check_refused(&with("method: G T"), "method");
        check_refused(&with("responseHeaders: a b"), "responseHeaders");
        check_refused(&with("principalHeader: a b"), "principalHeader");
    }
}
