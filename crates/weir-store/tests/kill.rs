//! Acknowledged writes survive `kill -9`.

use std::collections::HashSet;
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use weir_route::RouteDefinition;
use weir_store::{Encoded, Options, Store, StoreError};

/// Environment variable for the test's child process: directory to write to, and first number.
const CHILD: &str = "WEIR_STORE_KILL_TEST";
const ROUNDS: usize = 10;

/// Writes routes until killed, and prints each id once it is acknowledged.
fn write_for_ever(directory: &Path, from: usize) {
    let store = Store::open(directory, Options::default()).expect("a store");
    for n in from.. {
        let ids = [format!("r{n}"), format!("s{n}")];
        store
            .commit(|change| {
                for id in &ids {
                    let uri = "http://x".to_owned();
                    let route = RouteDefinition { id: id.clone(), uri, ..Default::default() };
                    change.put(&Encoded::new(&route).expect("encodes"))?;
                    change.put_api(id, id.as_bytes())?;
                }
                Ok(())
            })
            .expect("a write");
        println!("wrote {n}");
        std::io::stdout().flush().expect("a pipe");
    }
}

fn stored(directory: &Path) -> HashSet<String> {
    let store = Store::open(directory, Options::default()).expect("opens after a kill");
    let mut ids = HashSet::new();
    store
        .scan::<StoreError>(0..u64::MAX, |route| {
            ids.insert(route.definition().expect("a definition").id);
            Ok(())
        })
        .expect("a scan");
    ids
}

fn stored_apis(directory: &Path) -> HashSet<String> {
    let store = Store::open(directory, Options::default()).expect("opens after a kill");
    let mut names = HashSet::new();
    store
        .scan_apis::<StoreError>(|api| {
            assert_eq!(api.bytes, api.name.as_bytes());
            names.insert(api.name.to_owned());
            Ok(())
        })
        .expect("a scan");
    names
}

#[test]
fn every_acknowledged_route_survives_a_kill() {
    if let Ok(child) = env::var(CHILD) {
        let (from, directory) = child.split_once(' ').expect("a number and a directory");
        write_for_ever(Path::new(directory), from.parse().expect("a number"));
    }
    let directory = tempfile::tempdir().expect("a directory");
    let mut acknowledged: Vec<usize> = Vec::new();
    for round in 0..ROUNDS {
        let from = round * 1_000_000;
        let mut child = Command::new(env::current_exe().expect("this test"))
            .args(["--exact", "every_acknowledged_route_survives_a_kill", "--nocapture"])
            .env(CHILD, format!("{from} {}", directory.path().display()))
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut wrote = 0;
        while let Some(Ok(line)) = lines.next() {
            // The test harness prints lines of its own too, the first without a line break.
            let Some((_, number)) = line.split_once("wrote ") else { continue };
            acknowledged.push(number.parse().expect("a number"));
            wrote += 1;
            if wrote == 3 + round * 7 {
                child.kill().expect("a kill");
            }
        }
        child.wait().expect("its end");
        let ids = stored(directory.path());
        assert_eq!(ids, stored_apis(directory.path()), "routes and definitions in one change");
        for n in &acknowledged {
            assert!(ids.contains(&format!("r{n}")), "r{n} is lost in round {round}");
            assert!(ids.contains(&format!("s{n}")), "s{n} is lost in round {round}");
        }
        for id in ids.iter().filter_map(|id| id.strip_prefix('r')) {
            assert!(ids.contains(&format!("s{id}")), "half of a change was kept: {id}");
        }
    }
    assert!(acknowledged.len() >= ROUNDS * 3);
}
