//! Remedies for filters of Spring Cloud Gateway that weir does not support
//! (`weir_filter::filter::LATER` has the reasons).

/// Filter and remedy.
const REMEDIES: &[(&str, &str)] = &[
    ("Hystrix", "write CircuitBreaker instead: it has the same `name` and `fallbackUri`"),
    (
        "ModifyRequestBody",
        "write EditRequestBody instead: it removes, renames and sets JSON attributes, and replaces texts",
    ),
    (
        "ModifyResponseBody",
        "write EditResponseBody instead: it removes, renames and sets JSON attributes, and replaces texts",
    ),
];

/// The remedy for the filter `name`.
pub(super) fn remedy(name: &str) -> &'static str {
    let found = REMEDIES.iter().find(|(filter, _)| *filter == name);
    found.map_or("remove it, or leave this route with Spring Cloud Gateway", |(_, help)| *help)
}

#[cfg(test)]
mod tests {
    use super::REMEDIES;

    #[test]
    fn every_filter_to_come_has_a_remedy() {
        let names: Vec<&str> = REMEDIES.iter().map(|(name, _)| *name).collect();
        let later: Vec<&str> = weir_filter::filter::LATER.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, later);
    }
}
