//! Messages with a length, with peers in Python that know nothing of weir's settings.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use super::{gateway, has, status};

/// A process that ends with the test.
struct Peer(Child);

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn python(mode: &str, spec: &str) -> Command {
    let mut command = Command::new("python3");
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pipelines/frame_peer.py"));
    command.args([mode, spec]);
    command
}

/// Passes messages of `spec`, as the peers know them, through a pipeline with `settings`.
#[track_caller]
fn check(spec: (usize, usize, &str, &str, &str), settings: &str) -> super::Gateway {
    let (before, size, len_type, trailer, counts) = spec;
    let spec = format!(
        r#"{{"before":{before},"size":{size},"type":"{len_type}","trailer":"{trailer}","counts":[{counts}]}}"#
    );
    let serving = python("serve", &spec).stdout(Stdio::piped()).spawn().expect("python");
    let mut upstream = Peer(serving);
    let mut port = String::new();
    let output = upstream.0.stdout.take().expect("its output");
    BufReader::new(output).read_line(&mut port).expect("its port");
    let gateway = gateway(&format!(
        "- id: f\n  protocol: frame\n  listen: 127.0.0.1:0\n  upstream: 127.0.0.1:{}\n  \
         frame: {{ {settings}, max: 1KB, poll: true }}\n",
        port.trim()
    ));
    let port = gateway.pipeline("f").port().to_string();
    let asked = python("ask", &spec).arg(port).output().expect("python");
    let said = String::from_utf8_lossy(&asked.stdout);
    let wrong = String::from_utf8_lossy(&asked.stderr);
    assert_eq!(said.trim(), "fine", "{settings}: {wrong}");
    assert!(upstream.0.wait().expect("its end").success(), "{settings}: the upstream failed");
    gateway
}

#[tokio::test]
async fn messages_of_python_peers_pass_in_every_framing() {
    if !has("python3", "--version") {
        return;
    }
    for (spec, settings) in [
        ((0, 4, "hex", "", ""), "len-size: 4, len-type: hex"),
        (
            (3, 4, "hex", "03", r#""before","field","trailer""#),
            r"len-offset: 3, len-size: 4, len-type: hex, len-adjust: -8, trailer: '\x03'",
        ),
        ((0, 3, "hex", "0d0a", ""), r"len-size: 3, len-type: hex, trailer: '\r\n'"),
        ((0, 2, "be", "", r#""field""#), "len-size: 2, len-adjust: -2"),
        ((0, 2, "be", "03", r#""trailer""#), r"len-size: 2, len-adjust: -1, trailer: '\x03'"),
        ((4, 2, "le", "", ""), "len-offset: 4, len-size: 2, len-type: le"),
        (
            (2, 4, "ascii", "", r#""field""#),
            "len-offset: 2, len-size: 4, len-type: ascii, len-adjust: -4",
        ),
        ((1, 2, "bcd", "ff", ""), r"len-offset: 1, len-size: 2, len-type: bcd, trailer: '\xff'"),
    ] {
        let gateway = check(spec, settings);
        let counts = &status(&gateway, "f").await["counts"];
        assert_eq!((&counts["messages"], &counts["broken"]), (&11.into(), &0.into()), "{settings}");
    }
}
