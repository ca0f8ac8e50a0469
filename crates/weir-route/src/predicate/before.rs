//! `Before`: requests earlier than a moment.

use std::fmt;

use super::after::time_of;
use super::condition::Condition;
use super::context::{BuildContext, Make};
use super::error::PredicateError;
use super::weight_groups::WeightGroups;
use crate::args::{ArgError, Args};
use crate::request::Request;
use crate::spec::{ArgKind, ArgSpec, Compatibility, Shortcut, Spec};
use crate::value::Moment;

/// Registry entry.
pub(super) static SPEC: Spec<Make<Before>> = Spec {
    name: "Before",
    doc: "Matches requests made before a moment, such as the end of a campaign.

```example
Before=2017-01-20T17:42:47.789-07:00[America/Denver]
+ GET / | @now 2017-01-21T00:42:47Z
- GET / | @now 2017-01-21T00:42:47.789Z
```",
    args: &[ArgSpec {
        name: "datetime",
        kind: ArgKind::DateTime,
        default: None,
        required: true,
        doc: "The moment: ISO date and time with offset, or milliseconds since 1970.",
    }],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Same,
    build,
};

/// Earlier than a moment.
#[derive(Debug)]
pub struct Before {
    moment: Moment,
}

fn build(args: &Args, _: &BuildContext<'_>) -> Result<Before, ArgError> {
    Ok(Before { moment: args.date_time("datetime")? })
}

impl Condition for Before {
    fn matches(&self, request: &Request<'_>, _: &WeightGroups) -> Result<bool, PredicateError> {
        Ok(self.moment.is_after(request.now_ms))
    }

    fn subject(&self, request: &Request<'_>, _: &WeightGroups) -> String {
        time_of(request)
    }

    fn heap_bytes(&self) -> usize {
        0
    }
}

impl fmt::Display for Before {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Before: {}", self.moment)
    }
}
