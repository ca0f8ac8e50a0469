//! `Between`: requests later than one moment and earlier than another.

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
pub(super) static SPEC: Spec<Make<Box<Between>>> = Spec {
    name: "Between",
    doc: "Matches requests made after the first moment and before the second.

```example
Between=2017-01-20T00:00:00Z, 2017-01-21T00:00:00Z
+ GET / | @now 2017-01-20T12:00:00Z
- GET / | @now 2017-01-20T00:00:00Z
- GET / | @now 2017-01-21T00:00:00Z
```",
    args: &[
        ArgSpec {
            name: "datetime1",
            kind: ArgKind::DateTime,
            default: None,
            required: true,
            doc: "The start: ISO date and time with offset, or milliseconds since 1970.",
        },
        ArgSpec {
            name: "datetime2",
            kind: ArgKind::DateTime,
            default: None,
            required: true,
            doc: "The end, later than the start.",
        },
    ],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Same,
    build,
};

/// Between two moments.
#[derive(Debug)]
pub struct Between {
    start: Moment,
    end: Moment,
}

fn build(args: &Args, _: &BuildContext<'_>) -> Result<Box<Between>, ArgError> {
    let (start, end) = (args.date_time("datetime1")?, args.date_time("datetime2")?);
    if start >= end {
        return Err(ArgError::new("datetime2", format!("`{end}` is not later than `{start}`"))
            .help("give the earlier moment first"));
    }
    Ok(Box::new(Between { start, end }))
}

impl Condition for Between {
    fn matches(&self, request: &Request<'_>, _: &WeightGroups) -> Result<bool, PredicateError> {
        Ok(self.start.is_before(request.now_ms) && self.end.is_after(request.now_ms))
    }

    fn subject(&self, request: &Request<'_>, _: &WeightGroups) -> String {
        time_of(request)
    }
}

impl fmt::Display for Between {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Between: {} and {}", self.start, self.end)
    }
}
