//! `Path`: the path of the request, by pattern.

use std::borrow::Cow;
use std::fmt;

use smol_str::SmolStr;

use super::condition::Condition;
use super::context::{BuildContext, Make};
use super::error::PredicateError;
use super::key::Key;
use super::lists::bracketed;
use super::weight_groups::WeightGroups;
use crate::args::{ArgError, Args};
use crate::one_or_more::OneOrMore;
use crate::pattern::PathPattern;
use crate::request::Request;
use crate::spec::{ArgKind, ArgSpec, Compatibility, Shortcut, Spec};
use crate::vars::Vars;

/// Registry entry.
pub(super) static SPEC: Spec<Make<Path>> = Spec {
    name: "Path",
    doc: "Matches requests whose path matches one of the patterns. `?` stands for one character, \
`*` for one segment or a part of one, `{name}` for a segment that filters can use, `{name:regex}` \
for one of a certain form, `**` and `{*name}` for any number of segments at the start or at the \
end. Segments are compared percent-decoded and without `;parameters`; case matters.

```example
Path=/red/{color}, /blue/**
+ GET /red/1
+ GET /blue
+ GET /blue/a/b?x=1
- GET /red/1/2
- GET /red/1/
- GET /Red/1
```",
    args: &[
        ArgSpec {
            name: "patterns",
            kind: ArgKind::List,
            default: None,
            required: false,
            doc: "Path patterns; the first that matches supplies the variables.",
        },
        ArgSpec {
            name: "matchTrailingSlash",
            kind: ArgKind::Bool,
            default: Some("true"),
            required: false,
            doc: "Whether `/a` matches `/a/` too. Without effect unless `weir.compat.scg` is 4.3 \
                  or older, as in SCG.",
        },
    ],
    shortcut: Shortcut::GatherListTailFlag,
    compatibility: Compatibility::Differs(
        "a segment of nothing but parameters (`/a/;x`) counts as an empty one",
    ),
    build,
};

/// One of several path patterns.
#[derive(Debug)]
pub struct Path {
    patterns: OneOrMore<PathPattern>,
    match_trailing_slash: bool,
}

fn build(args: &Args, context: &BuildContext<'_>) -> Result<Path, ArgError> {
    let match_trailing_slash = args.bool("matchTrailingSlash")?.unwrap_or(true);
    let tolerate = match_trailing_slash && context.options.trailing_slash;
    let base = context.options.base_path.as_str();
    let parse = |text: &SmolStr| {
        let slash = if text.len() > 1 && !text.starts_with('/') { "/" } else { "" };
        let full = match base.is_empty() {
            true => Cow::Borrowed(text.as_str()),
            false => Cow::Owned(format!("{base}{slash}{text}")),
        };
        let pattern = PathPattern::parse(&full, context.regexes());
        pattern
            .map(|pattern| pattern.tolerating_trailing_slash(tolerate))
            .map_err(|error| ArgError::of_pattern("patterns", &full, error))
    };
    let patterns = args.list("patterns").iter().map(parse).collect::<Result<_, _>>()?;
    Ok(Path { patterns, match_trailing_slash })
}

impl Path {
    /// The patterns in the order tried, with the base path before them.
    pub fn patterns(&self) -> &[PathPattern] {
        &self.patterns
    }

    fn first(&self, request: &Request<'_>) -> Result<Option<&PathPattern>, PredicateError> {
        for pattern in &self.patterns {
            if pattern.matches(&request.parts.path)? {
                return Ok(Some(pattern));
            }
        }
        Ok(None)
    }
}

impl Condition for Path {
    fn matches(&self, request: &Request<'_>, _: &WeightGroups) -> Result<bool, PredicateError> {
        Ok(self.first(request)?.is_some())
    }

    fn subject(&self, request: &Request<'_>, _: &WeightGroups) -> String {
        format!("the path is `{}`", request.head.path().escape_ascii())
    }

    fn publish(&self, request: &Request<'_>, vars: &mut Vars) {
        if !self.patterns.iter().any(PathPattern::has_variables) {
            return;
        }
        if let Ok(Some(pattern)) = self.first(request) {
            pattern.capture(&request.parts.path, vars);
        }
    }

    fn key(&self) -> Option<Key<'_>> {
        Some(Key::Path(&self.patterns))
    }

    fn caution(&self) -> Option<String> {
        if self.patterns.is_empty() {
            return Some("never matches: there is no pattern".to_owned());
        }
        self.patterns.iter().find_map(PathPattern::caution)
    }

    fn heap_bytes(&self) -> usize {
        let patterns: usize = self.patterns.iter().map(PathPattern::heap_bytes).sum();
        self.patterns.heap_bytes() + patterns
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (patterns, slash) = (bracketed(&self.patterns), self.match_trailing_slash);
        write!(f, "Paths: {patterns}, match trailing slash: {slash}")
    }
}
