//! RequestHeaderSize: refuses requests with a header that is too large.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};
use weir_wire::Fields;

use super::{Behaviour, Build, Filter, FilterOptions, optional};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::header::HeaderName;
use crate::local_response::LocalResponse;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "RequestHeaderSize",
    doc: r#"Answers 431 to requests with a header that is larger than a limit. A header's size is
that of its name and of all values sent under it.

```yaml
filters:
- RequestHeaderSize=20B
```
```http request
GET / HTTP/1.1
X-Large: 0123456789
x-large: 0123456789
```
```http response
HTTP/1.1 431 Request Header Fields Too Large
errorMessage: Request Header/s size is larger than permissible limit (20B).
  Request Header/s size for 'X-Large' is 27B.
```"#,
    args: &[
        optional("maxSize", ArgKind::DataSize, Some("16000B"), "Most bytes of one header."),
        optional(
            "errorHeaderName",
            ArgKind::Text,
            Some("errorMessage"),
            "Name of the response header that says what was too large.",
        ),
    ],
    shortcut: Shortcut::Positions(1),
    compatibility: Compatibility::Differs(
        "several headers that are too large are listed in the order they came: SCG lists them in \
         that of a hash table",
    ),
    build,
};

/// Refuses requests with a header that is too large.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestHeaderSize(Box<Limit>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Limit {
    bytes_max: u64,
    error_header: HeaderName,
}

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let bytes_max = args.data_size("maxSize")?.unwrap_or(16_000);
    let name = args.text("errorHeaderName").unwrap_or("errorMessage");
    let error_header = HeaderName::writable("errorHeaderName", name)?;
    Ok(Filter::RequestHeaderSize(RequestHeaderSize(Box::new(Limit { bytes_max, error_header }))))
}

impl Behaviour for RequestHeaderSize {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        let fields = &context.head.fields;
        // If all headers together are within the limit, so is each: the common case.
        let total: usize = fields.iter().map(|(name, value)| name.len() + value.len()).sum();
        if total as u64 <= self.0.bytes_max {
            return Ok(Verdict::Continue);
        }
        let Some(message) = too_large(fields, self.0.bytes_max) else {
            return Ok(Verdict::Continue);
        };
        let fields = vec![(self.0.error_header.as_str().to_owned(), message)];
        let local = LocalResponse { status: 431, fields, body: Vec::new() };
        Ok(Verdict::Respond(Box::new(local)))
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.plain("maxSize", format_args!("{}B", self.0.bytes_max))
    }

    fn explain(&self) -> String {
        format!("answers 431 to requests with a header of more than {} bytes", self.0.bytes_max)
    }
}

/// Error message if a header of `fields` has more than `bytes_max` bytes.
fn too_large(fields: &Fields, bytes_max: u64) -> Option<Vec<u8>> {
    let mut message =
        format!("Request Header/s size is larger than permissible limit ({bytes_max}B).")
            .into_bytes();
    let start = message.len();
    for (at, (name, _)) in fields.iter().enumerate() {
        if fields.iter().take(at).any(|(earlier, _)| earlier.eq_ignore_ascii_case(name)) {
            continue;
        }
        let size = name.len() + fields.get_all(name).map(<[u8]>::len).sum::<usize>();
        if size as u64 > bytes_max {
            message.extend_from_slice(b" Request Header/s size for '");
            message.extend_from_slice(name);
            message.extend_from_slice(format!("' is {size}B.").as_bytes());
        }
    }
    (message.len() > start).then_some(message)
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::{check_refused, check_request};

    const SMALL: &str = "Request Header/s size is larger than permissible limit (46B).";

    fn check(fields: &str, expected: Option<&str>) {
        let request = format!("GET / HTTP/1.1\n{fields}");
        let refused = |text: &str| {
            format!("HTTP/1.1 431 Request Header Fields Too Large\nerrorMessage: {SMALL}{text}")
        };
        check_request(
            "- RequestHeaderSize=46B",
            &request,
            &expected.map_or(request.clone(), refused),
        );
    }

    #[test]
    fn each_header_is_measured_with_its_name() {
        let value = "0".repeat(39);
        check("X-A: small", None);
        check(&format!("X-Large: {value}\nX-Other: {value}"), None);
        let size = " Request Header/s size for 'X-Large' is 47B.";
        check(&format!("X-Large: {value}0"), Some(size));
        let half = "0".repeat(28);
        let size = " Request Header/s size for 'X-Large' is 63B.";
        check(&format!("X-Large: {half}\nx-large: {half}"), Some(size));
        let sizes =
            " Request Header/s size for 'X-1' is 47B. Request Header/s size for 'X-2' is 48B.";
        check(&format!("X-1: {0}\nX-2: {0}0", "0".repeat(44)), Some(sizes));
    }

    #[test]
    fn the_error_header_can_be_named() {
        let route =
            "- name: RequestHeaderSize\n  args:\n    maxSize: 1KB\n    errorHeaderName: X-Why";
        let value = "0".repeat(2000);
        let request = format!("GET / HTTP/1.1\nX-A: {value}");
        let expected = "HTTP/1.1 431 Request Header Fields Too Large\nX-Why: Request Header/s size \
                        is larger than permissible limit (1024B). Request Header/s size for \
                        'X-A' is 2003B.";
        check_request(route, &request, expected);
        check_refused("RequestHeaderSize=big", "maxSize");
        check_refused(
            "name: RequestHeaderSize\n  args:\n    errorHeaderName: a b",
            "errorHeaderName",
        );
    }
}
