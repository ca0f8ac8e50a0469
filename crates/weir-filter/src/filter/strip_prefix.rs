//! StripPrefix: drops the first segments of the path.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, optional};
use crate::assembly::Assembly;
use crate::context::{FilterError, RequestContext, Verdict};
use crate::path::replace_path;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "StripPrefix",
    doc: r#"Drops the first segments of the path. At least `/` remains.

Empty segments do not count and do not survive: `/a//b//c` without two parts is `/c`. An encoded
slash is part of its segment.

```yaml
filters:
- StripPrefix=2
```
```http request
GET /name/blue/red/?q=1 HTTP/1.1
```
```http sent
GET /red/?q=1 HTTP/1.1
```"#,
    args: &[optional("parts", ArgKind::Int, Some("1"), "How many segments to drop.")],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Same,
    build,
};

/// Drops the first segments of the path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StripPrefix {
    parts: u32,
}

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let parts = args.int("parts")?.unwrap_or(1);
    let parts = u32::try_from(parts).map_err(|_| {
        ArgError::new("parts", format!("`{parts}` is not a number of segments"))
            .help("use 0 or more")
    })?;
    Ok(Filter::StripPrefix(StripPrefix { parts }))
}

impl Behaviour for StripPrefix {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn changes_path(&self) -> bool {
        true
    }

    fn is_small(&self) -> bool {
        true
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        let path = context.head.path();
        let drop = usize::try_from(self.parts).unwrap_or(usize::MAX);
        let mut kept = Assembly::new();
        for segment in path.split(|&b| b == b'/').filter(|s| !s.is_empty()).skip(drop) {
            kept.push(b"/");
            kept.push(segment);
        }
        if kept.as_bytes().is_empty() || path.ends_with(b"/") {
            kept.push(b"/");
        }
        replace_path(context, SPEC.name, kept.as_bytes())
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.plain("parts", self.parts)
    }

    fn explain(&self) -> String {
        match self.parts {
            1 => "drops the first segment of the path".to_owned(),
            parts => format!("drops the first {parts} segments of the path"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::{check_path, check_refused};

    #[test]
    fn segments_are_dropped() {
        let check = |path, expected| check_path("- StripPrefix=2", path, expected);
        check("/strip/a/b/c?q=1", "/b/c?q=1");
        check("/strip/a/b/", "/b/");
        check("/strip/a", "/");
        check("/strip/a/", "/");
        check("/strip", "/");
        check("/", "/");
        check("/strip/a//b//c", "/b/c");
        check("/strip/a%2Fb/c", "/c");
        check_path("- StripPrefix", "/strip1/a/b", "/a/b");
        check_path("- StripPrefix=0", "/strip0/a", "/strip0/a");
        check_path("- StripPrefix=4000000000", "/a/b/", "/");
    }

    #[test]
    fn what_is_no_number_is_refused() {
        check_refused("StripPrefix=-1", "parts");
    }
}
