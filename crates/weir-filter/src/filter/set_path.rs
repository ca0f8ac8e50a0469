//! SetPath: replaces the path.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, required};
use crate::assembly::Assembly;
use crate::context::{FilterError, RequestContext, Verdict};
use crate::path::{PathTemplate, replace_path};
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "SetPath",
    doc: r#"Replaces the path by a template; the query stays.

Values of variables are percent-encoded, but for `/`.

```yaml
predicates:
- Path=/red/{segment}/{*rest}
filters:
- SetPath=/{segment}{rest}
```
```http request
GET /red/a%20b/c/d?q=1 HTTP/1.1
```
```http sent
GET /a%20b/c/d?q=1 HTTP/1.1
```"#,
    args: &[required("template", ArgKind::Template, "The path, with `{variable}` parts.")],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Differs(
        "a request is answered with 400 if a variable brings dot segments into the path, as \
         `..%2fadmin` does",
    ),
    build,
};

/// Replaces the path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SetPath(PathTemplate);

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    Ok(Filter::SetPath(SetPath(PathTemplate::new(args.required("template")?))))
}

impl Behaviour for SetPath {
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
        let mut path = Assembly::new();
        self.0.expand(context.vars, |text| path.push(text.as_bytes()))?;
        replace_path(context, SPEC.name, path.as_bytes())
    }

    fn variables(&self) -> Vec<&str> {
        self.0.variables()
    }

    fn caution(&self) -> Option<String> {
        self.0.caution()
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text("template", self.0.text())
    }

    fn explain(&self) -> String {
        format!("sets the path to `{}`", self.0.text())
    }
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::check_path;

    #[test]
    fn templates_make_paths() {
        let route = |path: &str, template: &str| {
            format!("predicates:\n- Path={path}\nfilters:\n- SetPath={template}")
        };
        let swap = route("/set/{a}/{b}", "/new/{b}/{a}");
        check_path(&swap, "/set/1/2?q=1", "/new/2/1?q=1");
        check_path(&swap, "/set/x%20y/%C3%A9%25", "/new/%C3%A9%25/x%20y");
        check_path(&swap, "/set/a%2Fb/c", "/new/c/a/b");
        check_path(&swap, "/set/%2e%2e%2fadmin/c", "400");
        check_path(&swap, "/set/c/..%2f..%2f..%2fadmin", "400");
        let rest = route("/rest/{*rest}", "/new{rest}");
        check_path(&rest, "/rest/a/b%20c", "/new/a/b%20c");
        check_path(&rest, "/rest", "/new");
        check_path(&route("/r/{*rest}", "/new/{rest}"), "/r/a", "/new/a");
        check_path("- SetPath=/new?x=y", "/a?q=1", "/new?q=1");
        check_path("- SetPath=/a b/ü//c", "/a", "/a%20b/%C3%BC/c");
        check_path("- SetPath=bare", "/a", "500");
        check_path("- SetPath=/{nope}", "/a", "500");
    }
}
