//! Parsing of raw bytes: every case of `tests/wire`, sent whole and in pieces.
//!
//! Each file has a gateway and an upstream of its own and is one test; all its failures are
//! reported together. After every play of every case another client's request must get its own
//! answer.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Mutex;
use weir_testkit::wire::{Cases, Cut, Stage, read};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/wire")
}

fn cases(name: &str) -> Cases {
    read(&directory().join(format!("{name}.txt")))
}

async fn replay(name: &str) {
    let cases = cases(name);
    let stage = Arc::new(Mutex::new(Stage::start(env!("CARGO_BIN_EXE_weir"), &cases).await));
    let mut failed = Vec::new();
    for case in cases.list {
        let case = Arc::new(case);
        for cut in Cut::all(case.request.len()) {
            let (stage, case) = (Arc::clone(&stage), Arc::clone(&case));
            let title = format!("{} ({cut:?})", case.title);
            // In a task, so that one failed case does not hide the others.
            let played = tokio::spawn(async move { stage.lock().await.play(&case, cut).await });
            if played.await.is_err() {
                failed.push(title);
                break;
            }
        }
    }
    assert!(failed.is_empty(), "failed:\n  {}", failed.join("\n  "));
}

/// One test a file, and the list of them.
macro_rules! files {
    ($($test:ident: $name:literal,)*) => {
        const FILES: &[&str] = &[$($name),*];
        $(
            #[tokio::test]
            async fn $test() {
                replay($name).await;
            }
        )*
    };
}

files! {
    chunked_requests: "1.1-chunked-requests",
    lengths_of_requests: "1.1-lengths-of-requests",
    bodies_of_responses: "1.1-responses",
    syntax_of_requests: "1.2-requests",
    syntax_of_responses: "1.2-responses",
    limits: "1.2-limits",
    targets_and_hosts: "1.3-targets-and-hosts",
    forwarded_fields: "1.4-fields",
    hops: "1.4-hops",
    expectations_and_upgrades: "1.4-expectations-and-upgrades",
    connections: "1.5-connections",
    route_matching: "1.6-route-matching",
    trusted_peers: "1.6-trusted-peers",
}

#[test]
fn every_file_is_replayed() {
    let entries = std::fs::read_dir(directory()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let text = paths.filter(|path| path.extension().is_some_and(|extension| extension == "txt"));
    let mut found: Vec<_> =
        text.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    found.sort();
    let mut listed = FILES.to_vec();
    listed.sort_unstable();
    assert_eq!(found, listed);
    let count: usize = FILES.iter().map(|name| cases(name).list.len()).sum();
    assert!(count >= 150, "only {count} cases");
}

#[test]
fn every_row_has_a_case() {
    let text = std::fs::read_to_string(directory().join("ROWS")).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    let rows: Vec<_> = rows.map(|line| line.split_once(' ').expect("a number and words")).collect();
    let numbers: Vec<String> = (1..=62).map(|number: u32| number.to_string()).collect();
    assert_eq!(rows.iter().map(|(row, _)| *row).collect::<Vec<_>>(), numbers);
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for name in FILES {
        for case in cases(name).list {
            let row = case.title.split(['[', ']']).nth(1).unwrap_or_default();
            *counts.entry(row.to_owned()).or_default() += 1;
        }
    }
    for (row, about) in rows {
        let cases = counts.remove(row).unwrap_or_default();
        assert_eq!(cases == 0, about.starts_with("- "), "row {row}, {about}: {cases} cases");
    }
    assert!(counts.is_empty(), "rows that are none: {counts:?}");
}
