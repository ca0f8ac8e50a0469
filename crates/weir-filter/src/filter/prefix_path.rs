//! PrefixPath: puts a prefix in front of the path.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};
use weir_wire::is_plain_path;

use super::{Behaviour, Build, Filter, FilterOptions, required};
use crate::assembly::Assembly;
use crate::context::{FilterError, RequestContext, Verdict};
use crate::path::{PathTemplate, replace_path};
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "PrefixPath",
    doc: r#"Puts a prefix in front of the path.

Only the first PrefixPath of a request acts: one among the default filters switches off those of the
routes.

```yaml
filters:
- PrefixPath=/v1
```
```http request
GET /orders/a%20b?q=1 HTTP/1.1
```
```http sent
GET /v1/orders/a%20b?q=1 HTTP/1.1
```"#,
    args: &[required("prefix", ArgKind::Template, "The prefix, such as `/v1` or `/{tenant}`.")],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Differs(
        "a request is answered with 400 if a variable brings dot segments into the path",
    ),
    build,
};

/// Puts a prefix in front of the path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PrefixPath {
    prefix: PathTemplate,
    /// The prefix is a constant path without a slash at its end.
    is_plain: bool,
}

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let prefix = args.required("prefix")?;
    let is_plain = is_plain_path(prefix.as_bytes()) && !prefix.ends_with('/');
    Ok(Filter::PrefixPath(PrefixPath { prefix: PathTemplate::new(prefix), is_plain }))
}

impl Behaviour for PrefixPath {
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
        if std::mem::replace(context.prefixed, true) {
            return Ok(Verdict::Continue);
        }
        if self.is_plain && context.head.prefix_plain_path(self.prefix.text().as_bytes()) {
            return Ok(Verdict::Continue);
        }
        let mut path = Assembly::new();
        self.prefix.expand(context.vars, |prefix| {
            let prefix = prefix.as_bytes();
            path.push(prefix.strip_suffix(b"/").unwrap_or(prefix));
        })?;
        path.push(context.head.path());
        replace_path(context, SPEC.name, path.as_bytes())
    }

    fn variables(&self) -> Vec<&str> {
        self.prefix.variables()
    }

    fn caution(&self) -> Option<String> {
        self.prefix.caution()
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text("prefix", self.prefix.text())
    }

    fn explain(&self) -> String {
        format!("puts `{}` in front of the path", self.prefix.text())
    }
}

#[cfg(test)]
mod tests {
    use crate::filter::Filter;
    use crate::test_exchange::{TestExchange, check_path};

    #[test]
    fn prefixes_come_first() {
        let var = "predicates:\n- Path=/var/{v}/**\nfilters:\n- PrefixPath=/p/{v}";
        check_path("- PrefixPath=/mypath", "/a%20b%2Fc?q=1", "/mypath/a%20b%2Fc?q=1");
        check_path("- PrefixPath=/s/", "/a", "/s/a");
        check_path("- PrefixPath=/", "/a", "/a");
        check_path("- PrefixPath=/p/q", "/", "/p/q/");
        check_path("- PrefixPath=/a b", "/c//d", "/a%20b/c//d");
        check_path("- PrefixPath=bare", "/a", "500");
        check_path("- PrefixPath=/{nope}", "/a", "500");
        check_path(var, "/var/x%20y", "/p/x%20y/var/x%20y");
        check_path(var, "/var/..%2f..%2fadmin/x", "400");
    }

    #[test]
    fn only_the_first_one_acts() {
        check_path("- PrefixPath=/first\n- PrefixPath=/second", "/a", "/first/a");
    }

    #[test]
    fn what_will_fail_is_told() {
        let cautions = |route: &str| {
            let trial = TestExchange::new(route);
            trial.chain.entries().iter().filter_map(|e| Filter::caution(&e.filter)).count()
        };
        assert_eq!(cautions("- PrefixPath=bare\n- PrefixPath=/fine\n- SetPath=bare"), 2);
    }
}
