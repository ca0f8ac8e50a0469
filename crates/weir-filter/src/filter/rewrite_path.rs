//! RewritePath: rewrites the path by a regular expression.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, required};
use crate::assembly::Assembly;
use crate::context::{FilterError, RequestContext, Verdict};
use crate::path::replace_path;
use crate::plain_rewrite::PlainRewrite;
use crate::query::is_query_byte;
use crate::styled::Styled;
use crate::substitution::{Substitution, unescaped};

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "RewritePath",
    doc: r#"Replaces every match of a Java regular expression in the path.

The path is the raw one, percent-encoded as the client sent it. The expression may match anywhere in
it. In the replacement `$1` and `${name}` stand for groups; write `$\{name}` in configuration files,
where `${name}` is a placeholder of the configuration. What the replacement has after a `?` comes in
front of the query.

```yaml
filters:
- RewritePath=/red/?(?<segment>.*), /$\{segment}
```
```http request
GET /red/a%20b/c?q=1 HTTP/1.1
```
```http sent
GET /a%20b/c?q=1 HTTP/1.1
```"#,
    args: &[
        required("regexp", ArgKind::Regex, "Java regular expression."),
        required("replacement", ArgKind::Text, "What to put in place of a match."),
    ],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Differs(
        "a request is answered with 400 if dot segments come out, and fails if the expression \
         needs too many steps",
    ),
    build,
};

/// Rewrites the path by a regular expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RewritePath(Box<Rewrite>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Rewrite {
    /// A rewrite that needs no expression engine.
    Plain(PlainRewrite),
    Expression(Substitution),
}

fn build(args: &Args, options: &FilterOptions) -> Result<Filter, ArgError> {
    let regexp = args.filled("regexp")?;
    let replacement = unescaped(args.required("replacement")?);
    let rewrite = match PlainRewrite::parse(regexp, &replacement) {
        Some(plain) => Rewrite::Plain(plain),
        None => Rewrite::Expression(Substitution::new(args, &options.regexes)?),
    };
    Ok(Filter::RewritePath(RewritePath(Box::new(rewrite))))
}

impl Rewrite {
    fn texts(&self) -> (&str, &str) {
        match self {
            Self::Plain(plain) => (plain.regexp(), plain.replacement()),
            Self::Expression(expression) => (expression.regexp(), expression.replacement()),
        }
    }
}

impl Behaviour for RewritePath {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn changes_path(&self) -> bool {
        true
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        let path = context.head.path();
        match &*self.0 {
            Rewrite::Plain(plain) => {
                let mut new = Assembly::new();
                match plain.apply(path, &mut new) {
                    true => replace_target(context, new.as_bytes()),
                    false => Ok(Verdict::Continue),
                }
            }
            Rewrite::Expression(expression) => {
                let Ok(text) = std::str::from_utf8(path) else { return Ok(Verdict::Continue) };
                let new = expression.apply(text)?;
                if new == text {
                    return Ok(Verdict::Continue);
                }
                replace_target(context, new.as_bytes())
            }
        }
    }

    fn caution(&self) -> Option<String> {
        match &*self.0 {
            Rewrite::Plain(_) => None,
            Rewrite::Expression(expression) => expression.caution(),
        }
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        let (regexp, replacement) = self.0.texts();
        styled.text(regexp, replacement)
    }

    fn explain(&self) -> String {
        let (regexp, replacement) = self.0.texts();
        format!("replaces `{regexp}` in the path by `{replacement}`")
    }
}

/// Replaces the path by `target`. The part of `target` after a `?` is put before the query, joined
/// by `?` as in SCG.
fn replace_target(context: &mut RequestContext<'_>, target: &[u8]) -> Result<Verdict, FilterError> {
    let Some(at) = memchr::memchr(b'?', target) else {
        return replace_path(context, SPEC.name, target);
    };
    let (path, query) = target.split_at(at);
    let mut query = query.get(1..).unwrap_or_default().to_vec();
    if !query.iter().all(|&byte| is_query_byte(byte) || byte == b'%') {
        let shown = target.escape_ascii();
        return Err(FilterError(format!("{} made `{shown}`, which is no target", SPEC.name)));
    }
    let verdict = replace_path(context, SPEC.name, path)?;
    if let Some(old) = context.head.query() {
        query.push(b'?');
        query.extend_from_slice(old);
    }
    context.head.set_query(Some(&query));
    Ok(verdict)
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::{TestExchange, check_path, check_refused};

    #[test]
    fn matches_are_replaced() {
        let check = |regexp: &str, replacement: &str, path: &str, expected: &str| {
            check_path(&format!("- RewritePath={regexp}, {replacement}"), path, expected);
        };
        check("/red/?(?<segment>.*)", r"/$\{segment}", "/red/blue?q=1", "/blue?q=1");
        check("/red/?(?<segment>.*)", r"/$\{segment}", "/red", "/");
        check("/red/?(?<segment>.*)", r"/$\{segment}", "/red/a%20b%2Fc", "/a%20b%2Fc");
        check(r"/num/(\w+)/(\w+)", "/$2/$1", "/num/a/b", "/b/a");
        check(r"/num/(\w+)/(\w+)", "/$2/$1", "/num/a", "/num/a");
        check("a", "b", "/all/banana", "/bll/bbnbnb");
        check("/look(?=/api)(?<r>/.*)", r"$\{r}", "/look/api/x", "/api/x");
        check("/look(?=/api)(?<r>/.*)", r"$\{r}", "/look/x", "/look/x");
        check("/bad", "x", "/bad/x", "500");
        check("/a(.*)", "/x/.$1", "/a./b", "400");
        check("/a(.*)", "/$1", "/a..%2fb", "400");
        check("/a(.*)", "/x$1", "/a/..%2fb", "/x/..%2fb");
        check("/a(.*)", "/x$1 y", "/a/b", "500");
        check("/a(.*)", "/x$1#y", "/a/b", "500");
    }

    #[test]
    fn slashes_that_it_doubles_are_joined() {
        check_path("- RewritePath=/red(?<s>.*), /x/${s}", "/red/a", "/x/a");
        check_path("- RewritePath=/red(?<s>.*), /x${s}", "/red/a//b", "/x/a//b");
    }

    #[test]
    fn the_result_may_have_a_query() {
        let route = r"- RewritePath=/rq/(?<id>.*), /get?id=$\{id}";
        check_path(route, "/rq/7", "/get?id=7");
        check_path(route, "/rq/7?a=b", "/get?id=7?a=b");
    }

    #[test]
    fn bad_expressions_are_refused() {
        check_refused("RewritePath=/a(, /b", "regexp");
        let text = TestExchange::new(r"- RewritePath=/red/?(?<s>.*), /$\{s}").chain.entries()[0]
            .to_string();
        assert_eq!(text, "[[RewritePath /red/?(?<s>.*) = '/${s}'], order = 1]");
    }
}
