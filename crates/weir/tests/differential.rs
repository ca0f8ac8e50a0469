//! Thousands of hostile connections through a gateway: it forwards exactly what a strict reader
//! understands of them, and real servers, where they are installed, understand the same.
//!
//! `cargo xtask differential` does it at length.

use std::path::Path;

use weir_testkit::differential::{Echo, Rig, Server, Understanding, compare, generate};
use weir_testkit::spawn_weir;

const SEED: u64 = 2026;
const COUNT: u64 = 3000;

#[test]
fn what_is_sent_on_is_what_was_understood() {
    let mut rig = Rig::new();
    let config = format!(
        "server: {{ port: 0, address: 127.0.0.1 }}\nmanagement.server.port: -1\n\
         weir.server.workers: 1\nspring.cloud.gateway.server.webflux.routes:\n\
         - {{ id: all, uri: 'http://{}', predicates: [ 'Path=/**' ] }}\n",
        rig.address()
    );
    let gateway = spawn_weir(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &config);
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/differential");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let echo = Echo::start().expect("an echo");
    let servers = Server::start_all(&files, directory.path(), &echo).expect("servers");
    let mut faults = Vec::new();
    let (mut sent_on, mut refused) = (0, 0);
    for number in 0..COUNT {
        if faults.len() > 10 {
            break;
        }
        let bytes = generate(SEED, number);
        let seen = rig.play(gateway.address(), &bytes).expect("a gateway that listens");
        match compare(&bytes, &seen) {
            Ok(outcome) => {
                sent_on += outcome.sent_on;
                refused += usize::from(outcome.refused_by_judge);
            }
            Err(fault) => faults.push(format!("case {number}: {fault}")),
        }
        for server in &servers {
            let taken = server.ask(&seen.raw, &seen.messages).expect("a server");
            if let Understanding::Other(how) = taken {
                let raw = seen.raw.concat();
                let raw = raw.escape_ascii();
                faults.push(format!("case {number}: {} {how}\n  \"{raw}\"", server.name));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    // The generator must keep making both kinds.
    assert!(sent_on > COUNT as usize && refused > COUNT as usize / 4, "{sent_on}, {refused}");
}
