//! CacheRequestBody: for Java filters that read the body; weir has none.

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, optional};

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "CacheRequestBody",
    doc: r#"Does nothing: it keeps the body for Java filters that read it. Where weir needs the body
again, as for Retry, it keeps it anyway.

```yaml
filters:
- name: CacheRequestBody
  args:
    bodyClass: java.lang.String
```
```http request
POST / HTTP/1.1
```
```http sent
POST / HTTP/1.1
```"#,
    args: &[optional("bodyClass", ArgKind::Text, None, "Java class of the body; not looked at.")],
    shortcut: Shortcut::Positions(0),
    compatibility: Compatibility::Differs("the body is relayed, and kept only where it is needed"),
    build,
};

/// Does nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CacheRequestBody;

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    // Marks it as read, so that it is not reported as an unknown argument.
    let _ = args.text("bodyClass");
    Ok(Filter::CacheRequestBody(CacheRequestBody))
}

impl Behaviour for CacheRequestBody {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn is_small(&self) -> bool {
        true
    }

    fn explain(&self) -> String {
        "does nothing: no Java filter reads the body".to_owned()
    }
}
