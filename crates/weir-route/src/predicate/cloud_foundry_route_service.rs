//! `CloudFoundryRouteService`: requests that Cloud Foundry sends to a route service.

use std::fmt;

use super::condition::Condition;
use super::context::{BuildContext, Make};
use super::error::PredicateError;
use super::header::has_header_value;
use super::weight_groups::WeightGroups;
use crate::args::{ArgError, Args};
use crate::request::Request;
use crate::spec::{Compatibility, Shortcut, Spec};

/// Registry entry.
pub(super) static SPEC: Spec<Make<CloudFoundryRouteService>> = Spec {
    name: "CloudFoundryRouteService",
    doc: "Matches requests that carry the three headers of a Cloud Foundry route service: \
`X-CF-Forwarded-Url`, `X-CF-Proxy-Signature` and `X-CF-Proxy-Metadata`. Takes no arguments.

```example
CloudFoundryRouteService=
+ GET / | X-CF-Forwarded-Url: https://a | X-CF-Proxy-Signature: s | X-CF-Proxy-Metadata: m
- GET / | X-CF-Forwarded-Url: https://a | X-CF-Proxy-Signature: s
```",
    args: &[],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Same,
    build,
};

const HEADERS: [&str; 3] = ["X-CF-Forwarded-Url", "X-CF-Proxy-Signature", "X-CF-Proxy-Metadata"];

/// The request has all three headers of a route service.
#[derive(Debug)]
pub struct CloudFoundryRouteService;

fn build(_: &Args, _: &BuildContext<'_>) -> Result<CloudFoundryRouteService, ArgError> {
    Ok(CloudFoundryRouteService)
}

impl Condition for CloudFoundryRouteService {
    fn matches(&self, request: &Request<'_>, _: &WeightGroups) -> Result<bool, PredicateError> {
        Ok(HEADERS.iter().all(|name| has_header_value(&request.head.fields, name, true)))
    }

    fn subject(&self, request: &Request<'_>, _: &WeightGroups) -> String {
        let missing = |name: &&&str| !has_header_value(&request.head.fields, name, true);
        match HEADERS.iter().find(missing) {
            Some(name) => format!("header `{name}` is absent"),
            None => "all three headers are there".to_owned(),
        }
    }

    fn heap_bytes(&self) -> usize {
        0
    }
}

impl fmt::Display for CloudFoundryRouteService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [url, signature, metadata] = HEADERS.map(|name| format!("Header: {name} regexp=.*"));
        write!(f, "(({url} && {signature}) && {metadata})")
    }
}
