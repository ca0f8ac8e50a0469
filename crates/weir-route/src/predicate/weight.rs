//! `Weight`: a share of the traffic of a group of routes.

use std::fmt;

use super::condition::Condition;
use super::context::{BuildContext, Make};
use super::error::PredicateError;
pub use super::weight_groups::Weight;
use super::weight_groups::WeightGroups;
use crate::args::{ArgError, Args};
use crate::request::Request;
use crate::spec::{ArgKind, ArgSpec, Compatibility, Shortcut, Spec};

/// Registry entry.
pub(super) static SPEC: Spec<Make<Box<Weight>>> = Spec {
    name: "Weight",
    doc: "Shares traffic among the routes of a group in proportion to their weights. One route of \
the group is drawn for each request before its other predicates are looked at: if those fail, no \
other route of the group takes over.

```example
Weight=group1, 8
+ GET /
```
```example
Weight=group1, 0
- GET /
```",
    args: &[
        ArgSpec {
            name: "weight.group",
            kind: ArgKind::Text,
            default: None,
            required: true,
            doc: "Name of the group.",
        },
        ArgSpec {
            name: "weight.weight",
            kind: ArgKind::Int,
            default: None,
            required: true,
            doc: "Share of this route, from 0; the sum over the group does not matter.",
        },
    ],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Differs(
        "a removed route gives its share back at once; in SCG it keeps it until a restart",
    ),
    build,
};

fn build(args: &Args, context: &BuildContext<'_>) -> Result<Box<Weight>, ArgError> {
    let weight = args.int("weight.weight")?.unwrap_or_default();
    let weight = u32::try_from(weight).map_err(|_| {
        ArgError::new("weight.weight", format!("`{weight}` is not a weight"))
            .help("write a whole number from 0")
    })?;
    let group = args.filled("weight.group")?;
    Ok(Box::new(Weight::new(group, weight, context.route_id)))
}

impl Condition for Weight {
    fn matches(
        &self,
        request: &Request<'_>,
        groups: &WeightGroups,
    ) -> Result<bool, PredicateError> {
        Ok(groups.winner(self.group(), request.dice) == Some(self.route_id()))
    }

    fn subject(&self, request: &Request<'_>, groups: &WeightGroups) -> String {
        match groups.winner(self.group(), request.dice) {
            Some(winner) => format!("group `{}` drew route `{winner}`", self.group()),
            None => format!("group `{}` draws no route", self.group()),
        }
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Weight: {} {}", self.group(), self.weight())
    }
}
