//! `Method`: one of several request methods.

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
use crate::request::Request;
use crate::spec::{ArgKind, ArgSpec, Compatibility, Shortcut, Spec};

/// Registry entry.
pub(super) static SPEC: Spec<Make<Method>> = Spec {
    name: "Method",
    doc: "Matches requests made with one of the methods. Methods are case-sensitive.

```example
Method=GET, POST
+ GET /
+ POST /
- PUT /
- get /
```",
    args: &[ArgSpec {
        name: "methods",
        kind: ArgKind::List,
        default: None,
        required: false,
        doc: "Methods in upper case.",
    }],
    shortcut: Shortcut::GatherList,
    compatibility: Compatibility::Differs(
        "a method outside the usual ones (`PURGE`) matches; in SCG it never does",
    ),
    build,
};

/// One of several methods.
#[derive(Debug)]
pub struct Method {
    methods: OneOrMore<SmolStr>,
}

fn build(args: &Args, _: &BuildContext<'_>) -> Result<Method, ArgError> {
    let methods = args.list("methods").iter().cloned().collect();
    Ok(Method { methods })
}

impl Method {
    /// The methods, as sent on the wire.
    pub fn methods(&self) -> &[SmolStr] {
        &self.methods
    }
}

impl Condition for Method {
    fn matches(&self, request: &Request<'_>, _: &WeightGroups) -> Result<bool, PredicateError> {
        Ok(self.methods.iter().any(|method| method.as_bytes() == request.head.method()))
    }

    fn subject(&self, request: &Request<'_>, _: &WeightGroups) -> String {
        format!("the method is `{}`", request.head.method().escape_ascii())
    }

    fn key(&self) -> Option<Key<'_>> {
        Some(Key::Methods(self.methods()))
    }

    fn caution(&self) -> Option<String> {
        let odd = self.methods.iter().find(|method| method.chars().any(|c| c.is_lowercase()))?;
        let upper = odd.to_uppercase();
        Some(format!("`{odd}` does not match `{upper}` requests: methods are case-sensitive"))
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Methods: {}", bracketed(&self.methods))
    }
}
