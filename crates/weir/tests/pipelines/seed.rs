//! The files of the seed, as they stand but for their addresses.

use std::process::Command;

use weir_testkit::{Client, Origin};

use super::{echo, greeting, ini, status, until};

const TCP: &str = "[pipeline.proxy]\nlisten = 0.0.0.0:8080\n\n[module.upstream]\nname = proxy\n\
                   upstream = 192.168.122.150:80\n";

fn http(tap: &str) -> String {
    format!(
        "[pipeline.proxy]\nlisten = 0.0.0.0:8080\n\n[module.http-decode]\nname = \
         http-request-decoder\n\n{tap}[module.http-encode]\nname = http-request-encoder\n\n\
         [module.7]\nname = proxy\nupstream = 192.168.122.150:80\n"
    )
}

fn tap(limit: &str) -> String {
    format!("[module.tap]\nname = tap\nlimit = {limit}\n\n")
}

fn here(text: &str, upstream: std::net::SocketAddr) -> String {
    text.replace("0.0.0.0:8080", "127.0.0.1:0").replace("192.168.122.150:80", &upstream.to_string())
}

/// Exit code and output of `weir check` of an ini file.
fn check(text: &str) -> (Option<i32>, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("proxy.ini");
    std::fs::write(&file, text).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    let output = command.arg("check").arg("proxy.ini").current_dir(directory.path()).output();
    let output = output.expect("an output");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn all_four_are_found_right() {
    for text in [TCP.to_owned(), http(""), http(&tap("500")), http(&tap("200"))] {
        let (code, output) = check(&text);
        assert_eq!(code, Some(0), "{output}");
        assert!(output.contains("0 errors, 0 warnings"), "{output}");
    }
}

#[tokio::test]
async fn bytes_pass() {
    let gateway = ini(&here(TCP, echo("a").await));
    assert_eq!(greeting(gateway.pipeline("proxy")).await.0, "a");
}

#[tokio::test]
async fn requests_pass() {
    let origin = Origin::start().await;
    let gateway = ini(&here(&http(""), origin.address()));
    let mut client = Client::connect(gateway.pipeline("proxy")).await;
    assert_eq!(client.get("/ok").await.status, 200);
    // The host that the client asked for, as piped passes it on.
    let seen = origin.only_request();
    assert_eq!(seen.field("host").as_deref(), Some("test.example"));
}

#[tokio::test]
async fn requests_have_their_turns() {
    let origin = Origin::start().await;
    let gateway = ini(&here(&http(&tap("1/h")), origin.address()));
    let mut client = Client::connect(gateway.pipeline("proxy")).await;
    assert_eq!(client.get("/ok").await.status, 200);
    assert_eq!(client.get("/ok").await.status, 503, "its turn is in an hour");
    assert_eq!(origin.requests().len(), 1);
    let shown = status(&gateway, "proxy").await;
    assert_eq!(shown["protocol"], "http");
    until(&gateway, "proxy", |found| found["counts"]["messages"] == 2).await;
    let counts = &status(&gateway, "proxy").await["counts"];
    let sent = origin.only_request().head().len() as u64;
    assert!(counts["sent_bytes"].as_u64() >= Some(sent), "{counts}");
    assert!(counts["received_bytes"].as_u64() > Some(0), "{counts}");
}

/// Calls of Dubbo, with more lines for the pipeline and its decoder.
fn dubbo(pipeline: &str, decoder: &str) -> String {
    format!(
        "[pipeline.proxy]\nlisten = 127.0.0.1:0\n{pipeline}\n[module.decode]\nname = \
         dubbo-decoder\n{decoder}\n[module.encode]\nname = dubbo-encoder\n[module.upstream]\n\
         name = proxy\nupstream = 127.0.0.1:1\n"
    )
}

#[test]
fn what_is_wrong_is_shown_at_its_place() {
    let wrong = [
        (TCP.replace("name = proxy", "name = prox"), "there is no module `prox`", "proxy.ini:5:8"),
        (TCP.replace("[module.upstream]", "[modul]"), "no section of a pipeline", "proxy.ini:4:1"),
        (TCP.replace("192.168.122.150:80", "nowhere"), "`nowhere` is no address", "proxy.ini:6:12"),
        (TCP.replace("0.0.0.0:8080", "here"), "`here` is no address", "proxy.ini:2:10"),
        (
            TCP.replace("0.0.0.0:8080", "127.0.0.1:9090"),
            "`127.0.0.1:9090` is where the admin API",
            "proxy.ini:1:1",
        ),
        (http(&tap("0")), "0", "proxy.ini:9:9"),
        (http(&tap("many")), "many", "proxy.ini:9:9"),
        (
            http("").replace("http-request-encoder", "tap"),
            "`http-request-decoder` has no `http-request-encoder` behind it",
            "proxy.ini:5:8",
        ),
        (format!("limit = 5\n{TCP}"), "`limit` stands in no section", "proxy.ini:1:1"),
        (dubbo("", "connections = 2"), "`connections` is for connections that", "proxy.ini:6:1"),
        (dubbo("", "shared = maybe"), "`maybe` is not what `shared` takes", "proxy.ini:6:10"),
        (dubbo("", "shared = true\ncalls = 0"), "`0` is not what `calls` takes", "proxy.ini:7:9"),
        (
            dubbo("proxy-protocol.send = v2", "shared = true"),
            "a connection that consumers share cannot say who its client is",
            "proxy.ini:6:1",
        ),
    ];
    for (text, message, place) in wrong {
        let (code, output) = check(&text);
        assert_eq!(code, Some(1), "{output}");
        assert!(output.contains(message) && output.contains(place), "{place}: {output}");
    }
}
