//! Every filter and predicate of Spring Cloud Gateway has a recording.

use std::collections::BTreeSet;

use regex::Regex;

use crate::case_file::CaseFile;

/// The recording of the gateway's own list of filters and predicates.
const LISTED: &str = "actuator/read.txt";

/// Filters and predicates that are not listed there, as they need libraries.
const OF_LIBRARIES: [&str; 6] = [
    "CircuitBreaker",
    "FallbackHeaders",
    "JsonToGrpc",
    "LocalResponseCache",
    "RequestRateLimiter",
    "TokenRelay",
];

/// Filters and predicates that only Java code can configure.
const JAVA_ONLY: [&str; 3] = ["ModifyRequestBody", "ModifyResponseBody", "ReadBody"];

/// Names that no configuration of `files` has.
pub fn unrecorded(files: &[CaseFile]) -> Vec<String> {
    let listed = files.iter().find(|file| file.name == LISTED).expect("the list of factories");
    let exchanges = listed.cases.iter().flat_map(|case| &case.exchanges);
    let lines: Vec<&str> =
        exchanges.flat_map(|it| it.responses.iter().flatten()).map(String::as_str).collect();
    let name = Regex::new(r"\[(\w+?)(?:GatewayFilter|RoutePredicate)Factory@").expect("a pattern");
    let mut names: BTreeSet<&str> = OF_LIBRARIES.into();
    names.extend(
        lines.iter().flat_map(|line| name.captures_iter(line)).map(|it| it.extract::<1>().1[0]),
    );
    assert!(names.len() > 40, "the list is not read: {names:?}");
    let configured: Vec<&str> = files
        .iter()
        .flat_map(|file| &file.sections)
        .filter(|(title, _)| title == "config")
        .flat_map(|(_, lines)| lines)
        .flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric()))
        .collect();
    names.retain(|name| !JAVA_ONLY.contains(name) && !configured.contains(name));
    names.into_iter().map(str::to_owned).collect()
}
