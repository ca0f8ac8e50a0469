//! PreserveHostHeader: sends the client's Host to the upstream.

use weir_route::{ArgError, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions};
use crate::context::{FilterError, RequestContext, Verdict};

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "PreserveHostHeader",
    doc: r#"Sends the Host that the client asked for to the upstream, instead of the upstream's own.

```yaml
filters:
- PreserveHostHeader
```
```http request
GET / HTTP/1.1
Host: gw.example:1234
```
```http sent
GET / HTTP/1.1
Host: gw.example:1234
```"#,
    args: &[],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Same,
    build,
};

/// Sends the client's Host to the upstream.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PreserveHostHeader;

fn build(_: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    Ok(Filter::PreserveHostHeader(PreserveHostHeader))
}

impl Behaviour for PreserveHostHeader {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn is_small(&self) -> bool {
        true
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        *context.preserve_host = true;
        Ok(Verdict::Continue)
    }

    fn explain(&self) -> String {
        "sends the client's Host to the upstream".to_owned()
    }
}
