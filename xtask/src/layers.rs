//! The permitted dependencies between crates: they point one way only.

use weir_testkit::tree::{files, root};

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
    ("weir-peers", &["weir-bench", "weir-testkit"]),
    ("weir-testkit", &["weir-wire"]),
    ("weir-faults", &["weir-origin", "weir-testkit"]),
];

/// Crates without sockets, clocks, threads or a runtime: they must not depend on crates with these,
/// and their `lib.rs` denies the calls that `clippy.toml` lists.
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
const DENIES: &str = "clippy::disallowed_methods";
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
        if PURE.contains(name) && !denies_impure_calls(name) {
            findings.push(format!("{name} is pure: its lib.rs must deny `{DENIES}`"));
        }
        let lock = std::fs::read_to_string(root().join("fuzz/Cargo.lock")).unwrap_or_default();
        findings.extend(not_locked(name, text, &lock).map(|dependency| {
            format!("fuzz/Cargo.lock: {name} has no {dependency}: run `cargo metadata` in fuzz")
        }));
    }
    findings
}

/// Whether the crate's attributes make clippy deny calls that pure crates must not make.
fn denies_impure_calls(name: &str) -> bool {
    let path = root().join("crates").join(name).join("src/lib.rs");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut attributes = text.split("#![deny(").skip(1);
    attributes.any(|rest| rest.split(")]").next().is_some_and(|lints| lints.contains(DENIES)))
}

/// Dependencies of a crate that `lock`, which is kept apart, does not know, if it has the crate.
fn not_locked<'m>(name: &str, manifest: &'m str, lock: &str) -> impl Iterator<Item = &'m str> {
    let start = format!("\nname = \"{name}\"\n");
    let package = lock.split("\n[[package]]").find(|package| package.starts_with(&start));
    let package = package.map(str::to_owned);
    dependencies(manifest).filter(move |dependency| {
        // A version follows a name that several packages have.
        let is_there = |package: &String| {
            [format!(" \"{dependency}\","), format!(" \"{dependency} ")]
                .iter()
                .any(|line| package.contains(line))
        };
        !package.as_ref().is_none_or(is_there)
    })
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
        let lock = "version = 4\n\n[[package]]\nname = \"x\"\ndependencies = [\n \"b 1.0.0\",\n]\n";
        assert_eq!(super::not_locked("x", text, lock).collect::<Vec<_>>(), ["a"]);
        assert_eq!(super::not_locked("y", text, lock).count(), 0);
    }
}
