//! Mirror: sends a copy of some requests to another server.

use std::fmt;
use std::sync::Arc;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};
use weir_wire::RequestHead;

use super::forward_auth::NOT_SENT;
use super::{Behaviour, Build, Filter, FilterOptions, optional, required};
use crate::question::Copied;
use crate::share::Share;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "Mirror",
    doc: r#"Sends a copy of requests, or of a share of them, to another server once the client has got
its answer. What the other server answers is dropped; metrics `weir_mirror_total` tell whether its
status was the same. A request whose body is longer than `spring.http.codecs.max-in-memory-size` is
not copied, nor one for which there is no room: clients never wait for it. The copy has a field
`X-Weir-Mirror: 1`. A filter of weir's own.

```yaml
filters:
- Mirror=http://next.internal:8080, 10
```
```http request
GET / HTTP/1.1
```
```http sent
GET / HTTP/1.1
```"#,
    args: &[
        required("uri", ArgKind::Text, "The server, as `http://host:port`; the path is added."),
        optional("percent", ArgKind::Text, Some("100"), "The share of requests, 0 to 100."),
        optional("timeout", ArgKind::Duration, Some("5s"), "How long its answer may take."),
    ],
    shortcut: Shortcut::Positions(2),
    compatibility: Compatibility::Own,
    build,
};

/// Sends a copy of some requests to another server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mirror(Arc<Inner>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Inner {
    base: String,
    share: Share,
    timeout_ms: u64,
    route: String,
}

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let base = args.required("uri")?.trim().trim_end_matches('/').to_owned();
    let authority = base.strip_prefix("http://").or_else(|| base.strip_prefix("https://"));
    let is_plain = base.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#".contains(&byte));
    if !is_plain || authority.is_none_or(|rest| rest.is_empty() || rest.starts_with('/')) {
        return Err(ArgError::new("uri", format!("`{base}` is no URL of a server"))
            .help("write one such as `http://next.internal:8080`"));
    }
    let share = Share::of(args, "percent")?;
    let timeout = args.duration("timeout")?.map_or(5_000, |time| time.as_millis());
    let timeout_ms = u64::try_from(timeout).unwrap_or(u64::MAX).max(1);
    let inner = Inner { base, share, timeout_ms, route: String::new() };
    Ok(Filter::Mirror(Mirror(Arc::new(inner))))
}

impl Mirror {
    /// Whether to copy a request, by random choice.
    pub fn takes(&self, dice: u64) -> bool {
        self.0.share.takes(dice)
    }

    /// Builds the copy of a request with this content.
    pub fn copy(&self, head: &RequestHead, content: Vec<u8>) -> Copied {
        let mut url = self.0.base.clone();
        url.push_str(&String::from_utf8_lossy(head.path()));
        if let Some(query) = head.query() {
            url.push('?');
            url.push_str(&String::from_utf8_lossy(query));
        }
        let is_sent =
            |name: &[u8]| !NOT_SENT.iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()));
        let fields = head.fields.iter().filter(|(name, _)| is_sent(name));
        let mut fields: Vec<(String, Vec<u8>)> = fields
            .map(|(name, value)| (String::from_utf8_lossy(name).into_owned(), value.to_vec()))
            .collect();
        fields.push(("X-Weir-Mirror".to_owned(), b"1".to_vec()));
        Copied {
            route: self.0.route.clone(),
            method: String::from_utf8_lossy(head.method()).into_owned(),
            url,
            fields,
            content,
            timeout_ms: self.0.timeout_ms,
            status: 0,
        }
    }
}

impl Behaviour for Mirror {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn bind(&mut self, route: &str, _: usize, _: &FilterOptions) {
        *self = Self(Arc::new(Inner { route: route.to_owned(), ..(*self.0).clone() }));
    }

    fn is_policy(&self) -> bool {
        true
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text("uri", &self.0.base)?;
        styled.plain("percent", self.0.share)
    }

    fn explain(&self) -> String {
        format!("sends a copy of {} % of requests to {}", self.0.share, self.0.base)
    }
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::check_refused;

    #[test]
    fn nonsense_is_refused_with_a_remedy() {
        check_refused("Mirror=next:8080", "uri");
        check_refused("Mirror=http://h/?x", "uri");
        check_refused("Mirror=http://h, 101", "percent");
    }
}
