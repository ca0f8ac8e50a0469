//! Every command end to end against a small server: its counts, its refusals, its exit code.

use clap::Parser;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use weir_bench::outcome::Outcome;
use weir_bench::verdict::Limit;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    args: weir_bench::cli::Args,
}

/// Counts requests, and answers by path.
#[derive(Clone, Default)]
struct Server {
    requests: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
    url: String,
}

impl Server {
    fn start() -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").unwrap(), Duration::ZERO)
    }

    /// Accepts the second connection `pause` after the first.
    fn on(listener: TcpListener, pause: Duration) -> Self {
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = Self { url, ..Self::default() };
        let shared = server.clone();
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                if number == 0 {
                    std::thread::sleep(pause);
                }
                shared.connections.fetch_add(1, Ordering::Relaxed);
                let mine = shared.clone();
                std::thread::spawn(move || mine.serve(stream.unwrap()));
            }
        });
        server
    }

    fn serve(&self, stream: TcpStream) -> Option<()> {
        stream.set_nodelay(true).ok()?;
        let mut writer = stream.try_clone().ok()?;
        let mut reader = BufReader::new(stream);
        loop {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                if reader.read_line(&mut head).ok()? == 0 {
                    return None;
                }
            }
            self.requests.fetch_add(1, Ordering::Relaxed);
            let field = |name: &str| {
                let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(name))?;
                Some(line.split_once(':')?.1.trim().to_owned())
            };
            let length = field("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
            let mut body = vec![0; length];
            reader.read_exact(&mut body).ok()?;
            let path = head.split(' ').nth(1)?;
            let answer = match path.split('?').next()? {
                "/silent" => continue,
                "/hangup" => return None,
                "/missing" => status("404 Not Found", "no"),
                "/chunked" => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                               3\r\nabc\r\n0\r\n\r\n"
                    .into(),
                "/big" => status("200 OK", &"x".repeat(300_000)),
                "/login" => status("200 OK", "{\"token\":\"t-42\"}"),
                "/items" if field("authorization")? == "Bearer t-42" => {
                    status("200 OK", "{\"count\":3}")
                }
                "/items" => status("401 Unauthorized", ""),
                _ => status("200 OK", "hello"),
            };
            writer.write_all(answer.as_bytes()).ok()?;
            let old = head.contains("HTTP/1.0") && !head.contains("Connection: keep-alive");
            if old || head.contains("Connection: close") {
                return None;
            }
        }
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

fn status(line: &str, body: &str) -> String {
    format!("HTTP/1.1 {line}\r\nServer: test\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn bench(line: &str) -> u8 {
    weir_bench::cli::run(Cli::parse_from(["bench"].into_iter().chain(line.split_whitespace())).args)
}

/// Runs one command that writes JSON; returns the exit code and the result.
fn outcome(folder: &Path, line: &str) -> (u8, Outcome) {
    let path = folder.join("result.json");
    let code = bench(&format!("{line} -q --json {}", path.display()));
    let text = std::fs::read_to_string(&path).unwrap();
    (code, weir_bench::report::stored(&text).unwrap())
}

fn check(path: &str, flags: &str, expected: (u8, u64, &[(&str, u64)])) -> Outcome {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let (code, got) = outcome(folder.path(), &format!("{}{path} {flags}", server.url));
    let failures: Vec<(&str, u64)> =
        got.failures.iter().map(|(name, failure)| (name.as_str(), failure.count)).collect();
    assert_eq!((code, got.ok, failures.as_slice()), expected, "{path} {flags}");
    got
}

#[test]
fn requests_are_counted_exactly() {
    let got = check("/", "-n 500 -c 7", (0, 500, &[]));
    assert_eq!((got.response.count, got.service.count), (500, 500));
    assert!((1..=7).contains(&got.opened), "{} connections", got.opened);
    assert_eq!(got.bytes_body, 2_500);
    check("/chunked", "-n 50 -c 2", (0, 50, &[]));
    check("/", "-n 1 -c 5 -t 3", (0, 1, &[]));
    let got = check("/big", "-n 20 -c 2", (0, 20, &[]));
    assert_eq!(got.bytes_body, 20 * 300_000);
    let got = check("/", "-n 60 -c 3 --no-keepalive", (0, 60, &[]));
    assert_eq!((got.opened, got.connect.count), (60, 60));
    check("/", "-n 60 -c 3 --http1.0", (0, 60, &[]));
    check("/x", "-n 30 -c 3 --data @/proc/version --method PUT", (0, 30, &[]));
}

#[test]
fn failures_stay_in_the_percentiles() {
    let got = check("/missing", "-n 20 -c 2", (1, 0, &[("unexpected status", 20)]));
    assert_eq!(got.verdict.limit, Limit::NoSuccess);
    check("/missing", "-n 20 -c 2 --expect-status 404", (0, 20, &[]));
    let got = check("/hangup", "-n 20 -c 2", (1, 0, &[("connection closed early", 20)]));
    assert_eq!(got.response.count, 20);
    let got = check("/silent", "-n 4 -c 4 --timeout 300ms", (1, 0, &[("timed out", 4)]));
    // To the precision of the histogram, three digits.
    assert!(got.response.min_ns >= 299_000_000, "a timeout is a lower bound");
    let flags = "-c 4 -d 300ms --grace 200ms";
    check("/silent", flags, (1, 0, &[("unfinished at the end", 4)]));
}

/// Four connections wait for ever: the other slots are due and never sent, and all are counted.
#[test]
fn slots_that_were_never_sent_are_counted() {
    let flags = "-c 4 -R 100 -d 1s --grace 100ms --arrival constant";
    let failures = [("never sent", 96), ("unfinished at the end", 4)];
    let got = check("/silent", flags, (1, 0, &failures));
    assert_eq!((got.offered, got.response.count), (Some(100), 100));
}

#[test]
fn schedules_and_users_send_what_they_should() {
    let stages = "--stages 100:500ms,100-300:500ms -c 50 --arrival constant";
    let got = check("/", stages, (0, 150, &[]));
    assert_eq!((got.offered, got.queue.count, got.lag.count), (Some(150), 150, 150));
    let users = "--users 20 --ramp 200ms --loops 3 --think 10ms..20ms";
    let got = check("/", users, (0, 60, &[]));
    assert_eq!(got.opened, 20);
}

#[test]
fn warm_up_is_sent_but_not_counted() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let line = format!("{} -c 5 -R 100 --warmup 500ms -d 500ms --arrival constant", server.url);
    let (_, got) = outcome(folder.path(), &line);
    assert_eq!((got.ok, got.offered, server.requests()), (50, Some(50), 100));
}

#[test]
fn a_journey_carries_values_from_step_to_step() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.yaml");
    let text = format!(
        "target: {}\njourney: true\nload: {{requests: 25, connections: 4}}\n\
         feeders: [{{file: u.csv}}]\n\
         requests:\n  - {{path: '/login?u=${{user}}', extract: {{token: {{json: /token}}}}}}\n  \
         - path: /items\n    headers: {{Authorization: 'Bearer ${{token}}'}}\n    \
         checks: [{{json: /count, equals: '3'}}, {{header: server, equals: test}}]\n",
        server.url
    );
    std::fs::write(&plan, &text).unwrap();
    std::fs::write(folder.path().join("u.csv"), "user\nann\nbob\n").unwrap();
    let (code, got) = outcome(folder.path(), &format!("plan {}", plan.display()));
    assert_eq!((code, got.ok, server.requests()), (0, 50, 50));
    std::fs::write(&plan, text.replace("equals: '3'", "equals: '4'")).unwrap();
    let (_, got) = outcome(folder.path(), &format!("plan {}", plan.display()));
    assert_eq!((got.ok, got.failures["check failed"].count), (25, 25));
}

#[test]
fn thresholds_decide_the_exit_code() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    for (threshold, on_success) in [("errors<1%", 0), ("rate>1000000", 3)] {
        let line = format!("{} -n 200 -c 2 --threshold {threshold}", server.url);
        let (code, got) = outcome(folder.path(), &line);
        // A busy test machine may make the run inconclusive; then it must say so.
        let want = if got.verdict.limit.conclusive() { on_success } else { 4 };
        assert_eq!(code, want, "{threshold} {:?}", got.verdict);
    }
}

#[test]
fn nobody_listening_is_a_failure() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(bench(&format!("http://{free} -q")), 1, "not tried for ten seconds");
    for command in ["ab -q -n 3", "wrk -d 9s", "hey", "seek", "sweep", "jmh", "compare URL"] {
        let line = format!("{command} http://{free}/").replace("URL", &format!("http://{free}/"));
        assert_eq!(bench(&line), 1, "{line}");
    }
    let hangup = format!("ab -q -n 3 {}/hangup", Server::start().url);
    let (code, text, _) = written(folder.path(), "ab.json", &hangup);
    let got = weir_bench::report::stored(&text).unwrap();
    assert_eq!(
        (code, got.verdict.limit, got.failures["connection closed early"].count),
        (1, Limit::NoAnswer, 3)
    );
    assert_eq!(bench("https://127.0.0.1/ -q"), 1);
    for flag in ["-c 0", "-n 0", "-d 0s"] {
        assert_eq!(bench(&format!("http://127.0.0.1/ -q {flag}")), 1, "{flag}");
    }
}

/// Few connections fit the listen queue; the SYNs of the others are dropped, and TCP waits a second
/// before it sends them again.
#[test]
fn a_full_listen_queue_is_the_limit() {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let any: std::net::SocketAddr = "127.0.0.1:0".parse().unwrap();
    socket.bind(&any.into()).unwrap();
    socket.listen(4).unwrap();
    let server = Server::on(socket.into(), Duration::from_millis(500));
    let folder = tempfile::tempdir().unwrap();
    let line = format!("hey -n 20 -c 20 {}/", server.url);
    let (code, text, _) = written(folder.path(), "hey.json", &line);
    let got = weir_bench::report::stored(&text).unwrap();
    assert_eq!((code, got.ok), (0, 20));
    let verdict = got.verdict;
    assert_eq!(verdict.limit, Limit::ConnectionLimited, "{:?}", verdict.evidence);
    assert!(verdict.evidence.iter().any(|line| line.starts_with("listen queue full ")));
}

#[test]
fn dialects_send_what_their_tools_would() {
    let check = |line: &str, requests: usize, connections: usize| {
        let server = Server::start();
        assert_eq!(bench(&line.replace("URL", &format!("{}/", server.url))), 0, "{line}");
        // One connection checked whether the server listens.
        let opened = server.connections.load(Ordering::Relaxed) - 1;
        assert_eq!(server.requests(), requests, "{line}");
        // One worker may have done everything before another began: fewer is right, more is not.
        let kept = connections < requests;
        let right = if kept { (1..=connections).contains(&opened) } else { opened == connections };
        assert!(right, "{line}: {opened} connections");
    };
    check("ab -q -n 40 -c 4 URL", 40, 40);
    check("ab -q -k -n 40 -c 4 -H X-A:1 -p /proc/version URL", 40, 4);
    check("hey -n 43 -c 4 URL", 40, 4);
    check("hey -n 40 -c 4 -disable-keepalive URL", 40, 40);
    check("wrk2 -t 1 -c 2 -d 1s -R 50 --latency URL", 50, 2);
    let server = Server::start();
    assert_eq!(bench(&format!("wrk -t 1 -c 2 -d 300ms --latency {}/", server.url)), 0);
    assert!(server.requests() > 10);
}

fn written(folder: &Path, name: &str, line: &str) -> (u8, String, PathBuf) {
    let path = folder.join(name);
    let code = bench(&format!("{line} --json {}", path.display()));
    (code, std::fs::read_to_string(&path).unwrap(), path)
}

#[test]
fn grids_tables_pages_and_comparisons_are_made() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let url = &server.url;
    let line = format!("sweep -c 1,2 -R 50,100 -d 200ms --repeat 2 a={url}/a b={url}/b");
    let (code, text, sweep) = written(folder.path(), "sweep.json", &line);
    let cells: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    assert_eq!((code, cells.len()), (0, 16));
    assert!(cells.iter().all(|cell| cell["outcome"]["ok"].as_u64().unwrap() > 0));
    let line = format!("jmh {url}/{{cell}} --cells 1,2 -f 2 --wi 1 -i 2 -r 100ms -t 2");
    let (code, text, _) = written(folder.path(), "jmh.json", &line);
    let rows: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    // Per cell: thrpt, avgt, sample with eight percentiles, ss.
    assert_eq!((code, rows.len()), (0, 2 * 12));
    assert_eq!(rows[0]["count"], 4);
    let (_, _, one) = written(folder.path(), "one.json", &format!("{url} -d 1s -c 2 -q"));
    let page = folder.path().join("page.html");
    for source in [&sweep, &one, &page] {
        let line = format!("report {} -o {}", source.display(), page.display());
        assert_eq!(bench(&line), 0, "{}", source.display());
    }
    let compared = bench(&format!("compare {} {}", one.display(), page.display()));
    assert_eq!(compared, 4, "two single seconds cannot tell anything");
    assert_eq!(bench(&format!("compare {url} {url} --pairs 1 -d 100ms -c 1")), 4);
}

/// The server answers at once, so every tested rate is met or the run is void; the search must end
/// with an interval whose bounds it tried.
#[test]
fn a_search_ends_with_an_interval_it_tried() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let line = format!("seek {} -c 2 --trial 500ms --width 0.5 --slo p50<1s", server.url);
    let (code, text, _) = written(folder.path(), "seek.json", &line);
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(code, if found["confirmed"] == true { 0 } else { 4 });
    let rates: Vec<f64> =
        found["trials"].as_array().unwrap().iter().map(|t| t["rate"].as_f64().unwrap()).collect();
    assert!(!rates.is_empty());
    if let (Some(low), Some(high), true) =
        (found["low"].as_f64(), found["high"].as_f64(), found["confirmed"] == true)
    {
        assert!(low < high && rates.contains(&low) && rates.contains(&high), "{found}");
    }
}
