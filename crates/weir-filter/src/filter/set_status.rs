//! SetStatus: replaces the status of the response.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, OnResponse, required};
use crate::context::{FilterError, ResponseContext};
use crate::header::HeaderName;
use crate::status;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "SetStatus",
    doc: r#"Replaces the status of the response; any number from 200 to 999 will do.

The property `spring.cloud.gateway.server.webflux.set-status.original-status-header-name` names a
response header that is to hold the upstream's status.

```yaml
filters:
- SetStatus=401
```
```http request
GET / HTTP/1.1
```
```http answer
HTTP/1.1 200 OK
X-A: 1
```
```http response
HTTP/1.1 401 Unauthorized
X-A: 1
```"#,
    args: &[required("status", ArgKind::Status, "Number, or name such as NOT_FOUND.")],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Differs(
        "a 1xx status is refused; a non-standard one has no reason phrase and is kept on HEAD, \
         where SCG loses it",
    ),
    build,
};

/// Replaces the status of the response.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SetStatus {
    /// Header for the upstream's status; boxed because it is rarely used.
    original: Option<Box<HeaderName>>,
    status: u16,
}

fn build(args: &Args, options: &FilterOptions) -> Result<Filter, ArgError> {
    args.required("status")?;
    let status = args.status("status")?.unwrap_or_default();
    if status < 200 {
        return Err(ArgError::new("status", format!("`{status}` announces another response"))
            .help("use a number from 200 to 999"));
    }
    let original = options.original_status_header.as_deref().filter(|name| !name.is_empty());
    let original = original
        .map(|name| HeaderName::writable("original-status-header-name", name).map(Box::new))
        .transpose()?;
    Ok(Filter::SetStatus(SetStatus { original, status }))
}

impl Behaviour for SetStatus {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn is_small(&self) -> bool {
        true
    }

    fn on_response(&self) -> Option<&dyn OnResponse> {
        Some(self)
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text("status", &self.status.to_string())
    }

    fn explain(&self) -> String {
        format!("sets the status of the response to {}", self.status)
    }
}

impl OnResponse for SetStatus {
    fn response(&self, context: &mut ResponseContext<'_>) -> Result<(), FilterError> {
        let head = &mut *context.head;
        if let Some(original) = &self.original {
            let value = format!("[{}]", head.status);
            head.fields.set(original.as_bytes(), value.as_bytes());
        }
        head.set_status(self.status, status::reason(self.status).as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::filter::FilterOptions;
    use crate::test_exchange::{TestExchange, check_refused, check_response};

    #[test]
    fn statuses() {
        let check = |route, expected| check_response(route, "GET / HTTP/1.1", "", expected);
        check("- SetStatus=BAD_REQUEST", "HTTP/1.1 400 Bad Request");
        check("- SetStatus=432", "HTTP/1.1 432 ");
        check("- SetStatus=401\n- SetStatus=402", "HTTP/1.1 401 Unauthorized");
        check_refused("SetStatus=NOPE", "status");
        check_refused("SetStatus=99", "status");
        check_refused("SetStatus=100", "status");
    }

    #[test]
    fn the_original_status_goes_into_a_header() {
        let options = FilterOptions {
            original_status_header: Some("original-http-status".to_owned()),
            ..FilterOptions::default()
        };
        let trial = TestExchange::with_options("- SetStatus=401", &options);
        let response = trial.run("GET / HTTP/1.1", "HTTP/1.1 432 Whatever").response;
        let expected = "HTTP/1.1 401 Unauthorized\noriginal-http-status: [432]";
        assert_eq!(response.as_deref(), Some(expected));
        assert_eq!(trial.chain.entries()[0].to_string(), "[[SetStatus status = '401'], order = 1]");
    }
}
