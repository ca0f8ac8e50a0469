//! MapRequestHeader: copies the values of a request header to another.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, required};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::header::HeaderName;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "MapRequestHeader",
    doc: r#"Copies the values of one request header to another, after those it has already. Does
nothing if the first one is missing.

```yaml
filters:
- MapRequestHeader=Blue, X-Red
```
```http request
GET / HTTP/1.1
Blue: 1
Blue: 2
X-Red: 0
```
```http sent
GET / HTTP/1.1
Blue: 1
Blue: 2
X-Red: 0
X-Red: 1
X-Red: 2
```"#,
    args: &[
        required("fromHeader", ArgKind::Text, "Name of the header to read."),
        required("toHeader", ArgKind::Text, "Name of the header to add."),
    ],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Same,
    build,
};

/// Copies the values of a request header to another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MapRequestHeader(Box<Names>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Names {
    from: HeaderName,
    to: HeaderName,
}

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let from = HeaderName::new("fromHeader", args.required("fromHeader")?)?;
    let to = HeaderName::writable("toHeader", args.required("toHeader")?)?;
    Ok(Filter::MapRequestHeader(MapRequestHeader(Box::new(Names { from, to }))))
}

impl Behaviour for MapRequestHeader {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        let fields = &mut context.head.fields;
        let values: Vec<_> = fields.get_all(self.0.from.as_bytes()).map(<[u8]>::to_vec).collect();
        for value in values {
            fields.append(self.0.to.as_bytes(), &value);
        }
        Ok(Verdict::Continue)
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text("fromHeader", self.0.from.as_str())?;
        styled.text("toHeader", self.0.to.as_str())
    }

    fn explain(&self) -> String {
        format!("copies the request header `{}` to `{}`", self.0.from, self.0.to)
    }
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::{check_refused, check_request};

    #[test]
    fn a_missing_header_is_not_mapped() {
        let request = "GET / HTTP/1.1\nX-Red: 0";
        check_request("- MapRequestHeader=Blue, X-Red", request, request);
        check_refused("MapRequestHeader=Blue, Transfer-Encoding", "toHeader");
        check_refused("MapRequestHeader=Bl ue, X-Red", "fromHeader");
    }
}
