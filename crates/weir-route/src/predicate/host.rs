//! `Host`: the host of the request, by pattern.

use std::fmt;

use smol_str::SmolStr;

use super::condition::Condition;
use super::context::{BuildContext, Make};
use super::error::PredicateError;
use super::key::Key;
use super::lists::{bracketed, quoted_list};
use super::weight_groups::WeightGroups;
use crate::args::{ArgError, Args};
use crate::one_or_more::OneOrMore;
use crate::pattern::HostPattern;
use crate::request::Request;
use crate::spec::{ArgKind, ArgSpec, Compatibility, Shortcut, Spec};
use crate::vars::Vars;

/// Registry entry.
pub(super) static SPEC: Spec<Make<Host>> = Spec {
    name: "Host",
    doc:
        "Matches requests whose Host header (or absolute target) matches one of the patterns. `*` \
stands for one label, `**` for any number, `?` for one character, `{name}` for one label that \
filters can use, `{name:regex}` for one of a certain form. A port takes part in the match: write \
`**.x.org:*`, or set `predicate.host.include-port: false`.

```example
Host={tenant}.x.org, **.y.org
+ GET / | Host: a.x.org
+ GET / | Host: A.B.Y.ORG
- GET / | Host: x.org
- GET / | Host: a.x.org:8080
```",
    args: &[ArgSpec {
        name: "patterns",
        kind: ArgKind::List,
        default: None,
        required: false,
        doc: "Host patterns; the first that matches supplies the variables.",
    }],
    shortcut: Shortcut::GatherList,
    compatibility: Compatibility::Differs(
        "case does not matter (SCG: upper case in the request does not match), a dot at the end of \
         the name is ignored, an empty label (`a..b`) is not skipped, the host of an absolute \
         target counts before the Host header (RFC 9112 3.2.2)",
    ),
    build,
};

/// One of several host patterns.
#[derive(Debug)]
pub struct Host {
    patterns: OneOrMore<HostPattern>,
}

fn build(args: &Args, context: &BuildContext<'_>) -> Result<Host, ArgError> {
    let include_port = context.options.host_include_port;
    let parse = |text: &SmolStr| {
        HostPattern::parse(text, include_port, context.regexes())
            .map_err(|error| ArgError::of_pattern("patterns", text, error))
    };
    let patterns = args.list("patterns").iter().map(parse).collect::<Result<_, _>>()?;
    Ok(Host { patterns })
}

impl Host {
    /// The patterns in the order tried.
    pub fn patterns(&self) -> &[HostPattern] {
        &self.patterns
    }

    fn first(&self, request: &Request<'_>) -> Result<Option<&HostPattern>, PredicateError> {
        for pattern in &self.patterns {
            if pattern.matches(&request.parts.host)? {
                return Ok(Some(pattern));
            }
        }
        Ok(None)
    }
}

impl Condition for Host {
    fn matches(&self, request: &Request<'_>, _: &WeightGroups) -> Result<bool, PredicateError> {
        Ok(self.first(request)?.is_some())
    }

    fn subject(&self, request: &Request<'_>, _: &WeightGroups) -> String {
        let host = String::from_utf8_lossy(request.head.host());
        format!("the host is {}", quoted_list([&*host].into_iter().filter(|host| !host.is_empty())))
    }

    fn publish(&self, request: &Request<'_>, vars: &mut Vars) {
        if !self.patterns.iter().any(HostPattern::has_variables) {
            return;
        }
        if let Ok(Some(pattern)) = self.first(request) {
            pattern.capture(&request.parts.host, vars);
        }
    }

    fn key(&self) -> Option<Key<'_>> {
        Some(Key::Host(&self.patterns))
    }

    fn caution(&self) -> Option<String> {
        self.patterns.is_empty().then(|| "never matches: there is no pattern".to_owned())
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hosts: {}", bracketed(&self.patterns))
    }
}
