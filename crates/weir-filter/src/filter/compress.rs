//! Compress: compresses responses.

use std::fmt;
use std::sync::Arc;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};
use weir_wire::{RequestHead, ResponseHead};

use super::{Behaviour, Build, Filter, FilterOptions, optional};
use crate::coding::Coding;
use crate::content::media_type;
use crate::styled::Styled;

/// Types of Spring's `server.compression.mime-types`.
const TYPES: &str = "text/html,text/xml,text/plain,text/css,text/javascript,application/javascript,\
                     application/json,application/xml";

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "Compress",
    doc: r#"Sends responses in `br`, `zstd` or `gzip`, as the client prefers by `Accept-Encoding`, where
their type is one of `types` and their length is not known or at least `minSize`. A response that has a
coding already, a range, or `Cache-Control: no-transform` goes as it is. Streams are passed on as they
come. `server.compression.enabled` gives every route one. A filter of weir's own.

```yaml
filters:
- Compress=
```
```http request
GET / HTTP/1.1
```
```http sent
GET / HTTP/1.1
```"#,
    args: &[
        optional("types", ArgKind::List, Some(TYPES), "Types; `text/*` is any of its kind."),
        optional("minSize", ArgKind::DataSize, Some("2KB"), "Shorter ones are not worth it."),
        optional(
            "codings",
            ArgKind::List,
            Some("br,zstd,gzip"),
            "Those that are made, best first.",
        ),
    ],
    shortcut: Shortcut::Positions(0),
    compatibility: Compatibility::Own,
    build,
};

/// Compresses responses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Compress(Arc<Inner>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct Inner {
    types: Vec<String>,
    bytes_min: u64,
    codings: Vec<Coding>,
}

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let lower = |text: &str| text.trim().to_ascii_lowercase();
    let mut types: Vec<String> = args.list("types").iter().map(|text| lower(text)).collect();
    if types.is_empty() {
        types = TYPES.split(',').map(lower).collect();
    }
    if let Some(wrong) = types.iter().find(|text| text.split('/').count() != 2) {
        return Err(ArgError::new("types", format!("`{wrong}` is no media type"))
            .help("write one such as `application/json` or `text/*`"));
    }
    let named = args.list("codings").iter().map(|name| {
        let found = Coding::ALL.into_iter().find(|coding| coding.name() == lower(name));
        found.ok_or_else(|| {
            ArgError::new("codings", format!("weir does not make `{name}`"))
                .help("write one or more of `br`, `zstd` and `gzip`")
        })
    });
    let mut codings: Vec<Coding> = named.collect::<Result<_, _>>()?;
    if codings.is_empty() {
        codings = Coding::ALL.to_vec();
    }
    let bytes_min = args.data_size("minSize")?.unwrap_or(2_048);
    Ok(Filter::Compress(Compress(Arc::new(Inner { types, bytes_min, codings }))))
}

impl Compress {
    /// Chooses the coding of a response, with `length` bytes of content if that is known, and sets
    /// its head accordingly.
    pub fn apply(
        &self,
        request: &RequestHead,
        head: &mut ResponseHead,
        length: Option<u64>,
    ) -> Option<Coding> {
        let content_type = head.fields.get(b"content-type").unwrap_or_default();
        let content_type = media_type(content_type).to_ascii_lowercase();
        let is_meant = self.0.types.iter().any(|one| match one.strip_suffix('*') {
            Some(start) => content_type.starts_with(start.as_bytes()),
            None => content_type == one.as_bytes(),
        });
        let has_no_transform = |line: &[u8]| {
            line.split(|byte| *byte == b',')
                .any(|part| part.trim_ascii().eq_ignore_ascii_case(b"no-transform"))
        };
        let is_left = head.fields.contains(b"content-encoding")
            || head.fields.contains(b"content-range")
            || matches!(head.status, 204 | 206 | 304)
            || head.fields.get_all(b"cache-control").any(has_no_transform);
        if !is_meant || is_left || length.is_some_and(|length| length < self.0.bytes_min) {
            return None;
        }
        // Caches need Vary whether or not the response is compressed.
        vary(head);
        let accepted = request.fields.get_all(b"accept-encoding");
        let coding = Coding::choose(&self.0.codings, accepted)?;
        head.fields.remove(b"content-length");
        head.fields.remove(b"accept-ranges");
        head.fields.append(b"Content-Encoding", coding.name().as_bytes());
        weaken(head);
        Some(coding)
    }
}

fn vary(head: &mut ResponseHead) {
    let is_there = head.fields.get_all(b"vary").any(|line| {
        line.split(|byte| *byte == b',')
            .map(<[u8]>::trim_ascii)
            .any(|name| name == b"*" || name.eq_ignore_ascii_case(b"accept-encoding"))
    });
    if !is_there {
        head.fields.append(b"Vary", b"Accept-Encoding");
    }
}

/// The bytes differ from the upstream's, so a strong ETag must become weak (RFC 9110 section
/// 8.8.1).
fn weaken(head: &mut ResponseHead) {
    let Some(tag) = head.fields.get(b"etag").filter(|tag| tag.starts_with(b"\"")) else { return };
    let weak = [b"W/", tag].concat();
    head.fields.set(b"ETag", &weak);
}

impl Behaviour for Compress {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.plain("types", format_args!("[{}]", self.0.types.join(", ")))?;
        styled.plain("minSize", format_args!("{}B", self.0.bytes_min))
    }

    fn explain(&self) -> String {
        let names: Vec<&str> = self.0.codings.iter().map(|coding| coding.name()).collect();
        format!("sends responses of {} bytes and more in {}", self.0.bytes_min, names.join(" or "))
    }
}

#[cfg(test)]
mod tests {
    use crate::coding::Coding;
    use crate::filter::{Filter, FilterOptions, find};
    use crate::test_exchange::{check_refused, request_head, response_head};
    use weir_route::Arguments;

    fn check(fields: &str, length: Option<u64>, expected: Option<Coding>) {
        let spec = find("Compress").expect("a filter");
        let args = spec.bind(&Arguments::default()).expect("arguments");
        let filter = (spec.build)(&args, &FilterOptions::default()).expect("a filter");
        let Filter::Compress(filter) = filter else { panic!("{filter:?}") };
        let request = request_head("GET / HTTP/1.1\nAccept-Encoding: gzip");
        let mut head = response_head(&format!("HTTP/1.1 200 OK\n{fields}"));
        assert_eq!(filter.apply(&request, &mut head, length), expected, "{fields}");
    }

    #[test]
    fn what_is_worth_it() {
        let gzip = Some(Coding::Gzip);
        check("Content-Type: text/html;charset=UTF-8", None, gzip);
        check("Content-Type: Application/JSON", Some(2_048), gzip);
        check("Content-Type: application/json", Some(2_047), None);
        check("Content-Type: image/png", None, None);
        check("Content-Type: text/html\nContent-Encoding: br", None, None);
        check("Content-Type: text/html\nContent-Range: bytes 0-1/2", None, None);
        check("Content-Type: text/html\nCache-Control: public, no-transform", None, None);
    }

    #[test]
    fn the_head_says_so() {
        let spec = find("Compress").expect("a filter");
        let args = spec.bind(&Arguments::default()).expect("arguments");
        let filter = (spec.build)(&args, &FilterOptions::default()).expect("a filter");
        let Filter::Compress(filter) = filter else { panic!("{filter:?}") };
        let mut head = response_head(
            "HTTP/1.1 200 OK\nContent-Type: text/css\nETag: \"1\"\nContent-Length: 9000\n\
             Accept-Ranges: bytes",
        );
        let request = request_head("GET / HTTP/1.1\nAccept-Encoding: br");
        assert_eq!(filter.apply(&request, &mut head, Some(9_000)), Some(Coding::Brotli));
        let field = |name: &str| head.fields.get(name.as_bytes()).map(String::from_utf8_lossy);
        assert_eq!(field("content-encoding").as_deref(), Some("br"));
        assert_eq!(
            (field("vary").as_deref(), field("etag").as_deref()),
            (Some("Accept-Encoding"), Some("W/\"1\""))
        );
        assert_eq!((field("content-length"), field("accept-ranges")), (None, None));
    }

    #[test]
    fn nonsense_is_refused_with_a_remedy() {
        check_refused("name: Compress\n  args:\n    types: json", "types");
        check_refused("name: Compress\n  args:\n    codings: zip", "codings");
    }
}
