//! RequestSize: refuses requests with too much content.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, optional};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::local_response::LocalResponse;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "RequestSize",
    doc: r#"Answers 413 to requests whose content is larger than a limit. A body without
Content-Length is counted while it is relayed.

The limit has no shortcut: as in SCG, the value of `RequestSize=5MB` is ignored.

```yaml
filters:
- name: RequestSize
  args:
    maxSize: 5B
```
```http request
POST / HTTP/1.1
Content-Length: 6
```
```http response
HTTP/1.1 413 Request Entity Too Large
errorMessage: Request size is larger than permissible limit.
  Request size is 6 B where permissible limit is 5 B
```"#,
    args: &[optional("maxSize", ArgKind::DataSize, Some("5000000B"), "Most bytes of content.")],
    shortcut: Shortcut::Positions(0),
    compatibility: Compatibility::Differs(
        "chunked bodies count too: SCG looks at Content-Length only",
    ),
    build,
};

/// Refuses requests with too much content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestSize {
    bytes_max: u64,
}

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let bytes_max = args.data_size("maxSize")?.unwrap_or(5_000_000);
    if bytes_max == 0 {
        return Err(ArgError::new("maxSize", "no request with content could pass")
            .help("use a size above 0, such as 5MB"));
    }
    Ok(Filter::RequestSize(RequestSize { bytes_max }))
}

impl Behaviour for RequestSize {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn request_size_max(&self) -> Option<u64> {
        Some(self.bytes_max)
    }

    fn is_small(&self) -> bool {
        true
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        let length = context.head.fields.get(b"content-length").and_then(read_length);
        match length {
            Some(length) if length > self.bytes_max => {
                Ok(Verdict::Respond(Box::new(request_too_large(length, self.bytes_max))))
            }
            _ => Ok(Verdict::Continue),
        }
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.plain("max", format_args!("{}B", self.bytes_max))
    }

    fn explain(&self) -> String {
        format!("answers 413 to requests with more than {} of content", readable(self.bytes_max))
    }
}

/// The response to a request of `bytes` so far, of at most `bytes_max`. For the server, which
/// counts bodies without Content-Length against `Chain::request_size_max`.
pub fn request_too_large(bytes: u64, bytes_max: u64) -> LocalResponse {
    let message = format!(
        "Request size is larger than permissible limit. Request size is {} where permissible limit \
         is {}",
        readable(bytes),
        readable(bytes_max)
    );
    let fields = vec![("errorMessage".to_owned(), message.into_bytes())];
    LocalResponse { status: 413, fields, body: Vec::new() }
}

fn read_length(value: &[u8]) -> Option<u64> {
    std::str::from_utf8(value).ok()?.trim().parse().ok()
}

/// A number of bytes in SCG's form: decimal units, one decimal place.
fn readable(bytes: u64) -> String {
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut units = "kMGTPE".chars();
    let mut unit = units.next();
    while value >= 1000.0
        && let Some(next) = units.next()
    {
        value /= 1000.0;
        unit = Some(next);
    }
    format!("{value:.1} {}B", unit.unwrap_or('k'))
}

#[cfg(test)]
mod tests {
    use super::readable;

    fn check(bytes: u64, expected: &str) {
        assert_eq!(readable(bytes), expected);
    }

    #[test]
    fn sizes_read_as_in_scg() {
        check(6, "6 B");
        check(999, "999 B");
        check(1000, "1.0 kB");
        check(5_000_000, "5.0 MB");
        check(1_048_576, "1.0 MB");
        check(12_345_678_901, "12.3 GB");
        check(u64::MAX, "18.4 EB");
    }
}
