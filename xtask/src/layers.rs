//! Which crate may use which: dependencies point one way only.

use crate::tree::files;

/// For each crate, those of ours it may depend on (development dependencies aside).
const ALLOWED: &[(&str, &[&str])] = &[
    ("weir-wire", &[]),
    ("weir-regex", &[]),
    ("weir-route", &["weir-regex", "weir-wire"]),
    ("weir-limit", &[]),
    ("weir-cache", &["weir-wire"]),
    ("weir-auth", &[]),
    ("weir-mock", &["weir-wire"]),
    (
        "weir-filter",
        &["weir-auth", "weir-cache", "weir-limit", "weir-mock", "weir-route", "weir-wire"],
    ),
    ("weir-balance", &["weir-filter"]),
    (
        "weir-snapshot",
        &[
            "weir-auth",
            "weir-balance",
            "weir-filter",
            "weir-limit",
            "weir-mock",
            "weir-route",
            "weir-wire",
        ],
    ),
    (
        "weir-config",
        &[
            "weir-auth",
            "weir-balance",
            "weir-cache",
            "weir-filter",
            "weir-limit",
            "weir-mock",
            "weir-route",
            "weir-snapshot",
            "weir-wire",
        ],
    ),
    ("weir-store", &["weir-config", "weir-route"]),
    (
        "weir-server",
        &[
            "weir-auth",
            "weir-balance",
            "weir-cache",
            "weir-filter",
            "weir-limit",
            "weir-mock",
            "weir-route",
            "weir-snapshot",
            "weir-wire",
        ],
    ),
    (
        "weir-control",
        &[
            "weir-auth",
            "weir-balance",
            "weir-config",
            "weir-filter",
            "weir-limit",
            "weir-mock",
            "weir-route",
            // The writer sets the limits that the workers keep to, and yields to traffic.
            "weir-server",
            "weir-snapshot",
            "weir-store",
            "weir-wire",
        ],
    ),
    (
        "weir-admin",
        &[
            "weir-balance",
            "weir-config",
            "weir-control",
            "weir-filter",
            "weir-limit",
            "weir-mock",
            "weir-route",
            "weir-server",
            "weir-snapshot",
            "weir-store",
            "weir-wire",
        ],
    ),
    ("weir-origin", &["weir-wire"]),
    ("weir-bench", &["weir-wire"]),
    ("weir-bare", &["weir-wire"]),
    ("weir-testkit", &["weir-wire"]),
    ("weir-faults", &["weir-origin", "weir-testkit"]),
];

/// Crates without sockets, clocks or a runtime: they must not depend on these.
const PURE: &[&str] = &[
    "weir-wire",
    "weir-regex",
    "weir-route",
    "weir-limit",
    "weir-cache",
    "weir-auth",
    "weir-mock",
    "weir-filter",
    "weir-balance",
    "weir-snapshot",
    "weir-config",
];
const IMPURE: &[&str] = &["tokio", "hyper", "socket2", "rustix", "libc", "axum", "redb"];

/// Every dependency that points the wrong way.
pub fn findings() -> Vec<String> {
    let mut findings = Vec::new();
    let manifests: Vec<String> = ["crates", "testing", "bench"]
        .into_iter()
        .flat_map(|directory| files(directory, "toml"))
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .collect();
    for (name, allowed) in ALLOWED {
        let is_of = |text: &&String| text.starts_with(&format!("[package]\nname = \"{name}\"\n"));
        let Some(text) = manifests.iter().find(is_of) else {
            findings.push(format!("{name}: no manifest"));
            continue;
        };
        for dependency in dependencies(text) {
            if dependency.starts_with("weir-") && !allowed.contains(&dependency) {
                findings.push(format!("{name} must not depend on {dependency}"));
            }
            if PURE.contains(name) && IMPURE.contains(&dependency) {
                findings.push(format!("{name} is pure and must not depend on {dependency}"));
            }
        }
    }
    findings
}

/// Names under `[dependencies]`.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let section = manifest.split("\n[dependencies]").nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    section
        .lines()
        .filter_map(|line| Some(line.split_once([' ', '=', '.'])?.0))
        .filter(|n| !n.is_empty())
}

#[cfg(test)]
mod tests {
    #[test]
    fn dependencies_point_one_way() {
        assert_eq!(super::findings(), Vec::<String>::new());
    }

    #[test]
    fn dependencies_are_read() {
        let text = "[package]\nname = \"x\"\n\n[dependencies]\na = { }\nb.workspace = true\n\n[dev-dependencies]\nc = 1\n";
        assert_eq!(super::dependencies(text).collect::<Vec<_>>(), ["a", "b"]);
    }
}
