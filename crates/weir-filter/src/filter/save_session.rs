//! SaveSession: accepted and without effect.

use weir_route::{ArgError, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions};

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "SaveSession",
    doc: r#"Makes SCG save its web session before the upstream is asked. weir has no sessions:
requests and their session cookies pass as they are.

```yaml
filters:
- SaveSession
```
```http request
GET / HTTP/1.1
Cookie: SESSION=abc
```
```http sent
GET / HTTP/1.1
Cookie: SESSION=abc
```"#,
    args: &[],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Differs(
        "does nothing: SCG also answers an unknown session cookie with one that deletes it",
    ),
    build,
};

/// Accepted and without effect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SaveSession;

fn build(_: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    Ok(Filter::SaveSession(SaveSession))
}

impl Behaviour for SaveSession {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn is_small(&self) -> bool {
        true
    }

    fn explain(&self) -> String {
        "does nothing: weir has no sessions".to_owned()
    }
}
