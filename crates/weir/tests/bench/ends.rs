//! Runs that end early: without file descriptors, without ports, by Ctrl-C.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::{Server, json, signal};

/// Without descriptors there are no connections: that is not the server's fault, and no threshold
/// can be judged.
#[test]
fn running_out_of_descriptors_is_a_verdict_of_its_own() {
    let origin = Server::origin();
    let line = format!(
        "ulimit -n 40; exec \"$WEIR\" bench {} --users 100 --loops 1 -q --threshold 'p99<10s'",
        origin.url("/hello/300")
    );
    let mut sh = Command::new("sh");
    sh.args(["-c", &line]).env("WEIR", env!("CARGO_BIN_EXE_weir"));
    let output = sh.output().expect("sh");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert!(text.contains("PORTS EXHAUSTED") && text.contains("no file descriptor left"), "{text}");
    assert!(text.contains("a process may open 40 (ulimit -Hn)"), "{text}");
    let errors = String::from_utf8_lossy(&output.stderr);
    let told = "100 connections at a time need 200 file descriptors, but a process may open 40";
    assert!(errors.contains(told), "{errors}");
}

/// A network namespace with twenty local ports. Where none can be created, the test says so and
/// checks nothing.
#[test]
fn running_out_of_ports_is_a_verdict_of_its_own() {
    let script = r#"
        ip link set lo up && echo 40000 40019 > /proc/sys/net/ipv4/ip_local_port_range || exit 77
        "$WEIR" origin --quiet --listen 127.0.0.1:8000 > listening & origin=$!
        until grep -q listening listening; do kill -0 $origin || exit 1; sleep 0.02; done
        "$WEIR" bench http://127.0.0.1:8000/ok -c 40 -n 200 -q --threshold 'p99<1s'
        code=$?
        "$WEIR" bench http://127.0.0.1:8000/ok -c 40 -n 200 -q --local-address 127.0.0.2,127.0.0.3,127.0.0.4
        kill $origin; exit $code"#;
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new("unshare")
        .args(["-rn", "sh", "-c", script])
        .env("WEIR", env!("CARGO_BIN_EXE_weir"))
        .current_dir(folder.path())
        .output();
    let started = output.as_ref().is_ok_and(|output| !output.stdout.is_empty());
    let Some(output) = output.ok().filter(|_| started) else {
        eprintln!("no network namespace to be had here: exhausted ports are not tried");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert!(text.contains("PORTS EXHAUSTED") && text.contains("20 ports, "), "{text}");
    assert!(text.contains("--local-address") && text.contains("succeeded           200"), "{text}");
}

#[test]
fn ctrl_c_ends_a_run_with_the_report_so_far() {
    let origin = Server::origin();
    let mut bench = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["bench", &origin.url("/ok"), "-c", "1", "-d", "60s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("weir");
    // The first line of the live view: the run is on.
    let mut lines = BufReader::new(bench.stderr.take().expect("its output")).lines();
    lines.next().expect("a line").expect("a line");
    signal(&bench, Signal::INT);
    let output = bench.wait_with_output().expect("its end");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{text}");
    assert!(text.contains("interrupted: this is the report so far"), "{text}");
}

/// A server that reads requests and never answers: the wait is announced, and Ctrl-C ends it and
/// shows the report.
#[test]
fn a_silent_server_is_waited_for_aloud_and_no_longer_than_wanted() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", silent.local_addr().expect("an address"));
    let mut bench = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["bench", &url, "-c", "3", "-d", "100ms", "--grace", "1h", "--timeout", "1h"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("weir");
    let lines = BufReader::new(bench.stderr.take().expect("its output")).lines();
    let told = lines.map_while(Result::ok).find(|line| line.contains("--grace"));
    assert!(told.expect("a line").contains("for 3 answers"), "what it waits for");
    signal(&bench, Signal::INT);
    let output = bench.wait_with_output().expect("its end");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{text}");
    assert!(text.contains("unfinished at the end: 3"), "{text}");
    assert!(text.contains("3 without an answer count as long as they were waited for"), "{text}");
}

/// Commands with several runs print the result of the completed ones, and write it to the file too.
/// They are interrupted in their second run, which a line on standard error announces.
#[test]
fn ctrl_c_ends_what_runs_many_times() {
    let (origin, folder) = (Server::origin(), tempfile::tempdir().expect("a folder"));
    let url = origin.url("/ok");
    for (line, announced, printed) in [
        ("seek URL -c 1 --trial 500ms", "closed-loop ceiling", "sustainable rate under"),
        ("jmh URL -f 1 --wi 0 -i 1 -r 300ms", "avgt", "thrpt"),
        ("sweep URL -c 1,2 -R 10,20 -d 1s", ".r_1 ", "VERDICT"),
        ("compare URL URL -c 1 -d 1s --band 0.000001", "pair 1", "pairs of 1s"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command.current_dir(folder.path()).arg("bench");
        command.args(line.replace("URL", &url).split(' ')).args(["--json", "result.json"]);
        if line.starts_with("sweep") {
            command.args(["--repeat", "2"]);
        }
        let mut bench =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("weir");
        let lines = BufReader::new(bench.stderr.take().expect("its output")).lines();
        let mut lines = lines.map_while(Result::ok);
        assert!(lines.any(|line| line.contains(announced)), "{line}: no {announced}");
        if line.starts_with("sweep") {
            // Whatever the order of the cells: that of the second is behind the first run.
            lines.next().expect("another run");
        }
        signal(&bench, Signal::INT);
        assert!(lines.any(|line| line.starts_with("interrupted")), "{line}");
        let output = bench.wait_with_output().expect("its end");
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(130), "{line}: {text}");
        assert!(text.contains(printed), "{line}: {text}");
        assert!(json(folder.path().join("result.json")).to_string().len() > 2, "{line}");
    }
}
