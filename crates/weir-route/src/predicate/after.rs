//! `After`: requests later than a moment.

use std::fmt;

use super::condition::Condition;
use super::context::{BuildContext, Make};
use super::error::PredicateError;
use super::weight_groups::WeightGroups;
use crate::args::{ArgError, Args};
use crate::request::Request;
use crate::spec::{ArgKind, ArgSpec, Compatibility, Shortcut, Spec};
use crate::value::{Moment, iso_time};

/// Registry entry.
pub(super) static SPEC: Spec<Make<After>> = Spec {
    name: "After",
    doc: "Matches requests made after a moment, such as the start of a campaign.

```example
After=2017-01-20T17:42:47.789-07:00[America/Denver]
+ GET / | @now 2017-01-21T00:42:48Z
- GET / | @now 2017-01-21T00:42:47.789Z
```",
    args: &[ArgSpec {
        name: "datetime",
        kind: ArgKind::DateTime,
        default: None,
        required: true,
        doc: "The moment: ISO date and time with offset (`2017-01-20T17:42:47.789-07:00`, a zone \
              in brackets may follow), or milliseconds since 1970.",
    }],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Same,
    build,
};

/// Later than a moment.
#[derive(Debug)]
pub struct After {
    moment: Moment,
}

fn build(args: &Args, _: &BuildContext<'_>) -> Result<After, ArgError> {
    Ok(After { moment: args.date_time("datetime")? })
}

/// Time of a request, for explanations.
pub(super) fn time_of(request: &Request<'_>) -> String {
    format!("it is {}", iso_time(request.now_ms))
}

impl Condition for After {
    fn matches(&self, request: &Request<'_>, _: &WeightGroups) -> Result<bool, PredicateError> {
        Ok(self.moment.is_before(request.now_ms))
    }

    fn subject(&self, request: &Request<'_>, _: &WeightGroups) -> String {
        time_of(request)
    }

    fn heap_bytes(&self) -> usize {
        0
    }
}

impl fmt::Display for After {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "After: {}", self.moment)
    }
}
