//! SECURITY.md says what the code does: its limits are the code's.

use std::path::Path;

use weir_config::registry;
use weir_wire::http1;

const FIXED: &[(&str, usize)] = &[
    ("EMPTY_LINES_MAX", http1::EMPTY_LINES_MAX),
    ("METHOD_BYTES_MAX", http1::METHOD_BYTES_MAX),
    ("EXTENSION_BYTES_MAX", http1::EXTENSION_BYTES_MAX),
    ("TRAILER_BYTES_MAX", http1::TRAILER_BYTES_MAX),
    ("TRAILER_LINES_MAX", http1::TRAILER_LINES_MAX),
    ("SOURCE_BYTES_MAX", weir_config::SOURCE_BYTES_MAX),
    ("weir.mock.tenant.tenants-max", weir_config::TenantRules::TENANTS_MAX),
    ("weir.mock.tenant.bytes-max", weir_config::TenantRules::BYTES_MAX as usize),
    ("weir.mock.tenant.definitions-max", weir_config::TenantRules::DEFINITIONS_MAX),
    ("dubbo.connections", weir_config::DUBBO_SHARING.connections_max),
    ("dubbo.calls", weir_config::DUBBO_SHARING.calls_max),
    ("dubbo.backlog", weir_config::DUBBO_SHARING.backlog_bytes_max),
    ("DUBBO_CALL_MS_MAX", weir_server::DUBBO_CALL_MS_MAX as usize),
];

/// Rows of the tables: the name in backticks and the last cell.
fn rows(page: &str) -> Vec<(&str, &str)> {
    let cells = page.lines().filter(|line| line.starts_with("| ") && line.contains('`'));
    cells
        .map(|line| {
            let mut cells = line.trim_matches('|').split('|').skip(1);
            let name = cells.next().and_then(|cell| cell.split('`').nth(1)).unwrap_or_default();
            let value = cells.next().unwrap_or_default().trim().trim_matches('`');
            (name, value)
        })
        .collect()
}

#[test]
fn the_limits_are_those_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../SECURITY.md");
    let page = std::fs::read_to_string(path).expect("SECURITY.md");
    let rows = rows(&page);
    for (name, value) in &rows {
        let property = registry().find(|spec| spec.full_name() == *name);
        let fixed = FIXED.iter().find(|(known, _)| known == name);
        let expected = match (property, fixed) {
            (Some(spec), _) => spec.default.unwrap_or("none").to_owned(),
            (None, Some((_, fixed))) => fixed.to_string(),
            (None, None) => panic!("{name} is neither a property nor a constant"),
        };
        assert_eq!(*value, expected, "{name}");
    }
    let told = |name: &str| rows.iter().any(|(row, _)| *row == name);
    for (name, _) in FIXED {
        assert!(told(name), "{name} is missing");
    }
    let bounds = |name: &str| name.ends_with("-max") || name.ends_with("-timeout");
    for spec in registry().filter(|spec| spec.name.starts_with("weir.") && bounds(spec.name)) {
        assert!(told(spec.name), "{} is missing", spec.name);
    }
}
