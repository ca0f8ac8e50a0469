//! Every bench command end to end: the binary against `weir origin`; its output, its files, and its
//! exit code.

mod ends;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use weir_testkit::loopbacks;

/// Exit codes of a run whose thresholds are met, or that the machine was too busy for.
const MET: &[i32] = &[0, 4];

/// A server of ours, ended with the test.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    /// Starts `weir ARGUMENTS` and waits until it listens.
    fn start(arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_weir"))
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("weir");
        let lines = BufReader::new(process.stdout.take().expect("its output")).lines();
        let mut lines = lines.map_while(Result::ok);
        let line = lines.find(|line| line.starts_with("listening")).expect("an address");
        let address = line.split_whitespace().last().expect("an address").to_owned();
        Self { process, address }
    }

    fn origin() -> Self {
        Self::start(&["origin", "--quiet", "--listen", "127.0.0.1:0"])
    }

    fn port(&self) -> &str {
        self.address.rsplit(':').next().expect("a port")
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Ends it as an operator would, and waits for it.
    fn stop(mut self) {
        signal(&self.process, Signal::TERM);
        self.process.wait().expect("its end");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn signal(process: &Child, signal: Signal) {
    kill_process(Pid::from_child(process), signal).expect("send a signal");
}

fn weir(folder: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.current_dir(folder).args(line.split_whitespace()).output().expect("weir")
}

/// Runs `weir LINE` and looks for all of `expected` in its output.
fn check(folder: &Path, line: &str, codes: &[i32], expected: &[&str]) -> String {
    let output = weir(folder, line);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code().unwrap_or(-1);
    assert!(codes.contains(&code), "weir {line}: exit {code}\n{text}\n{errors}");
    for part in expected {
        assert!(text.contains(part), "weir {line}: no '{part}' in\n{text}\n{errors}");
    }
    text
}

fn json(path: PathBuf) -> Value {
    let text = std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{path:?}: {why}"));
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn one_run_writes_every_form_of_its_result() {
    let (origin, folder) = (Server::origin(), tempfile::tempdir().expect("a folder"));
    let url = origin.url("/ok");
    let here = folder.path();
    let outputs = "-q --json r.json --html r.html --csv r.csv --hlog r.hlog";
    let line = format!("bench {url} -n 300 -c 4 --threshold errors<1% {outputs}");
    check(here, &line, MET, &["succeeded           300    failed 0", "response", "server"]);
    let result = json(here.join("r.json"));
    assert_eq!((result["ok"].as_u64(), result["sent"].as_u64()), (Some(300), Some(300)));
    assert!(!result["verdict"]["evidence"].as_array().expect("evidence").is_empty());
    let read = |name: &str| std::fs::read_to_string(here.join(name)).expect(name);
    assert!(read("r.html").contains("id=\"result\"") && read("r.html").contains("uPlot"));
    assert!(read("r.csv").starts_with("second,warmup,sent,ok,failed"));
    assert!(read("r.hlog").contains("Tag=response,"));
    check(here, "bench report r.json -o again.html", &[0], &["again.html"]);
    check(here, "bench report again.html -o twice.html", &[0], &["twice.html"]);
    let missed = format!("bench {url} -n 50 -c 1 -q --threshold rate>1000000000");
    check(here, &missed, &[3, 4], &["threshold rate>1000000000"]);
    check(here, &format!("bench {url} -q -c 0"), &[1], &[]);
    let output = weir(here, &format!("bench {url} -d 60s -q --html no/such/folder.html"));
    assert_eq!(output.status.code(), Some(1), "before the run, not after it");
    check(here, "bench compare r.json r.json", &[4], &["cannot tell"]);
}

#[test]
fn open_loops_users_and_replays() {
    let (origin, folder) = (Server::origin(), tempfile::tempdir().expect("a folder"));
    let url = origin.url("/ok");
    let here = folder.path();
    let line = format!("bench {url} -R 200 -d 500ms --arrival constant -q");
    check(here, &line, &[0], &["succeeded           100"]);
    let line = format!("bench {url} --stages 100:200ms,100-300:500ms -q --arrival constant");
    check(here, &line, &[0], &["succeeded           120"]);
    let line = format!("bench {url} --users 20 --ramp 200ms --loops 3 --think 10ms..20ms -q");
    check(here, &line, &[0], &["20 users over 0.2 s, 3 loops", "succeeded            60"]);
    let line = format!("bench {}/${{random(200,204)}} -n 40 -c 2 -q", origin.url("/status"));
    check(here, &line, &[0], &["succeeded            40"]);
}

#[test]
fn dialects_print_their_tools_reports() {
    let (origin, folder) = (Server::origin(), tempfile::tempdir().expect("a folder"));
    let url = origin.url("/ok");
    let here = folder.path();
    let cases: [(&str, &[&str]); 5] = [
        (
            "ab -q -c 10 -n 200 --json ab.json URL",
            &["Concurrency Level:      10", "Complete requests:      200", "99%", "busiest"],
        ),
        ("ab -q -k -c 2 -n 20 URL", &["Keep-Alive requests:    "]),
        (
            "wrk -t1 -c2 -d1s --latency --json wrk.json URL",
            &["1 threads and 2 connections", "Latency Distribution", "Requests/sec:"],
        ),
        (
            "wrk2 -t1 -c2 -d1s -R 100 --latency URL",
            &["Recorded Latency", "  100 requests in ", "Detailed Percentile spectrum"],
        ),
        ("hey -n 40 -c 4 URL", &["Summary:", "[200]\t40 responses", "Latency distribution"]),
    ];
    for (line, expected) in cases {
        check(here, &format!("bench {}", line.replace("URL", &url)), &[0], expected);
    }
    assert_eq!(json(here.join("ab.json"))["ok"], 200);
    assert!(json(here.join("wrk.json"))["ok"].as_u64() > Some(0));
}

#[test]
fn grids_searches_tables_and_comparisons() {
    let (origin, folder) = (Server::origin(), tempfile::tempdir().expect("a folder"));
    let url = origin.url("/ok");
    let here = folder.path();
    let sweep = format!("bench sweep -c 1,2 -R 50,100 -d 200ms --repeat 2 a={url} --json s.json");
    check(here, &sweep, &[0], &["KEY", "50.a.r_0", "100.a.r_1", "TP999"]);
    check(here, "bench report s.json -o s.html", &[0], &["s.html"]);
    let jmh = format!("bench jmh {url} -f 1 --wi 0 -i 3 -r 50ms --name B.m --json j.json");
    check(here, &jmh, &[0], &["Benchmark", "Mode", "thrpt", "B.m:m·p0.50", "ss"]);
    check(here, "bench report j.json -o j.html", &[0], &["j.html"]);
    let seek = format!("bench seek {url} -c 2 --trial 500ms --width 1 --slo p50<1s --json k.json");
    check(here, &seek, MET, &["sustainable rate under p50<1s: ["]);
    assert!(!json(here.join("k.json"))["trials"].as_array().expect("trials").is_empty());
    check(here, "bench report k.json -o k.html", &[0], &["k.html"]);
    let compare = format!("bench compare {url} {url} --pairs 1 -d 1s -c 1 --json c.json");
    check(here, &compare, &[4], &["1 pairs", "B/A", "cannot tell", "too few"]);
    check(here, "bench report c.json -o c.html", &[0], &["c.html"]);
    let page = |name: &str| std::fs::read_to_string(here.join(name)).expect(name);
    assert!(page("j.html").contains("<td>thrpt") && page("c.html").contains("<td>p99 response"));
    // No server listens there: an error, without a table of failures or a result.
    let nobody = "http://127.0.0.1:1/";
    for line in [
        format!("sweep {nobody}"),
        format!("seek {nobody}"),
        format!("jmh {nobody}"),
        format!("compare {url} {nobody}"),
        format!("ab {nobody}"),
        format!("wrk {nobody}"),
        format!("hey {nobody}"),
        format!("sweep -c 0 {url}"),
    ] {
        check(here, &format!("bench {line}"), &[1], &[]);
    }
}

/// The logged requests are replayed, as many and in the same mix.
#[test]
fn an_access_log_is_imported_and_replayed() {
    let (origin, folder) = (Server::origin(), tempfile::tempdir().expect("a folder"));
    let here = folder.path();
    let log = here.join("access.log");
    let config = format!(
        "server: {{ address: 127.0.0.1, port: 0 }}\n\
         weir: {{ admin.port: -1, store.path: {0}/data, access-log: {{ path: {0}/access.log, \
         format: json }} }}\n\
         spring.cloud.gateway.server.webflux.routes:\n\
         - {{ id: all, uri: 'http://{1}', predicates: ['Path=/**'] }}\n",
        here.display(),
        origin.address
    );
    std::fs::write(here.join("application.yml"), config).expect("a file");
    let gateway = Server::start(&["run", &here.join("application.yml").display().to_string()]);
    let line = format!("bench {} -n 30 -c 2 -q", gateway.url("/ok/a?b=c"));
    check(here, &line, &[0], &["succeeded            30"]);
    gateway.stop();
    let import = format!("bench import access-log {} --target {}", log.display(), origin.url("/"));
    let plan = check(here, &import, &[0], &["# 30 requests in ", "replay: "]);
    std::fs::write(here.join("plan.yaml"), plan).expect("a file");
    check(
        here,
        "bench plan plan.yaml -q",
        &[0],
        &["replay of 30 requests", "succeeded            30"],
    );
    let line = format!("bench {} --replay access.log --speed 2 -q --json r.json", origin.url("/"));
    check(here, &line, &[0], &["succeeded            30"]);
    assert_eq!(json(here.join("r.json"))["requests"][0]["name"], "all");
}

/// On Linux all of 127.0.0.0/8 are local addresses.
#[test]
fn connections_come_from_where_they_are_to_come_from() {
    let (origin, folder) = (Server::origin(), tempfile::tempdir().expect("a folder"));
    let (here, url) = (folder.path(), origin.url("/anything"));
    for (locals, successes) in [("127.0.0.2", 0), ("127.0.0.3", 20), ("127.0.0.2, 127.0.0.3", 10)] {
        let plan = format!(
            "target: {}\nload: {{ requests: 20, connections: 4, threads: 1, local_addresses: \
             [{locals}], keep_alive: false }}\nrequests: [{{ path: /anything, checks: \
             [{{ json: /origin, equals: 127.0.0.3 }}] }}]\n",
            origin.url("")
        );
        std::fs::write(here.join("plan.yaml"), plan).expect("a file");
        weir(here, "bench plan plan.yaml -q --json r.json");
        let ok = json(here.join("r.json"))["ok"].as_u64();
        assert_eq!(ok, Some(successes), "from {locals}");
    }
    let ok = ["succeeded            20"];
    // One of the other kind is left out, and cannot do alone.
    for six in loopbacks().iter().filter(|address| address.is_ipv6()) {
        check(here, &format!("bench {url} -n 20 -q --local-address 127.0.0.2,{six}"), &[0], &ok);
        let alone = format!("bench {url} -n 1 -q --local-address {six}");
        refused(here, &alone, "no address of the kind");
    }
    check(here, &format!("bench ab -n 20 -c 2 -B 127.0.0.2 {url}"), &[0], &["requests:      20"]);
    let no = format!("bench {url} -n 1 -q --local-address 192.0.2.1");
    refused(here, &no, "nothing can be sent from 192.0.2.1: is it an address of this machine?");
}

#[test]
fn other_tools_files_become_plans_that_run() {
    let (origin, folder) = (Server::origin(), tempfile::tempdir().expect("a folder"));
    let here = folder.path();
    let files = [
        ("curl", format!("curl -H 'X-A: 1' {}\n", origin.url("/ok"))),
        ("http", format!("POST {}\nX-A: 1\n\nhello\n", origin.url("/anything/x"))),
        ("vegeta", format!("GET {}\nX-A: 1\n", origin.url("/ok"))),
        (
            "har",
            format!(
                r#"{{"log":{{"entries":[{{"request":{{"method":"GET","url":"{}","headers":[]}}}}]}}}}"#,
                origin.url("/ok")
            ),
        ),
        (
            "openapi",
            format!(
                "openapi: 3.0.0\nservers: [{{ url: '{}' }}]\npaths: {{ '/ok/{{id}}': {{ get: {{ \
                 parameters: [{{ name: id, in: path, required: true, example: 7 }}], \
                 responses: {{ '200': {{}} }} }} }} }}\n",
                origin.url("")
            ),
        ),
    ];
    for (format, text) in files {
        std::fs::write(here.join("file"), text).expect("a file");
        let plan = check(here, &format!("bench import {format} file"), &[0], &["target: "]);
        std::fs::write(here.join("plan.yaml"), plan + "load: { requests: 20 }\n").expect("a file");
        check(here, "bench plan plan.yaml -q", &[0], &["succeeded            20"]);
    }
    let address = format!("<stringProp name=\"HTTPSampler.port\">{}</stringProp>", origin.port());
    let storm = include_str!("../../../weir-bench/src/import/jmx/storm.jmx")
        .replace("<stringProp name=\"HTTPSampler.port\">8888</stringProp>", &address)
        .replace(">3000<", ">5<")
        .replace(">/test<", ">/anything/x<")
        .replace(">$.id<", ">$.method<")
        .replace(">/items/${id}<", ">/anything/${id}<");
    std::fs::write(here.join("file"), &storm).expect("a file");
    let plan = check(here, "bench import jmx file", &[0], &["users: 5", "journey: true"]);
    std::fs::write(here.join("plan.yaml"), plan).expect("a file");
    // Five users go twice through two steps, the second of which needs what the first extracts.
    check(here, "bench plan plan.yaml -q", &[0], &["succeeded            20", "Second"]);
    std::fs::write(here.join("file"), storm.replace("ConstantTimer", "CookieManager"))
        .expect("a file");
    let output = weir(here, "bench import jmx file");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(errors.contains("line 26: CookieManager \"Pause\": it is not"), "{errors}");
}

/// Runs `weir LINE`, which must be refused, and looks for `expected` in its message.
fn refused(folder: &Path, line: &str, expected: &str) {
    refused_with(1, folder, line, expected);
}

fn refused_with(code: i32, folder: &Path, line: &str, expected: &str) {
    let output = weir(folder, line);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "weir {line}: {errors}");
    assert!(errors.contains(expected), "weir {line}: no '{expected}' in\n{errors}");
}

#[test]
fn what_is_not_understood_is_told_with_its_place() {
    let (origin, folder) = (Server::origin(), tempfile::tempdir().expect("a folder"));
    let (here, url) = (folder.path(), origin.url("/ok"));
    let write = |name: &str, text: &str| std::fs::write(here.join(name), text).expect("a file");
    write("targets", "GET http://127.0.0.1:9/\n\nGET example\n");
    refused(here, "bench import vegeta targets", "targets: line 3: 'example' is no whole URL");
    write("file.http", "### one\n\nGET /x\nHost: 127.0.0.1:9\n");
    refused(here, "bench import http file.http", "file.http: line 3: '/x' is no whole URL");
    refused(here, "bench import har targets", "targets: it is not JSON, as a HAR archive is");
    write("plan.yaml", "target: http://127.0.0.1:9\nrequests:\n  - path: /\n   weight: 1\n");
    refused(here, "bench plan plan.yaml", "--> plan.yaml:4:4");
    write("plan.yaml", "");
    refused(here, "bench plan plan.yaml", "plan.yaml: ");
    let check_one = format!("bench {url} -n 20 -c 2 -q --json r.json");
    check(here, &check_one, &[0], &["succeeded            20"]);
    let whole = std::fs::read_to_string(here.join("r.json")).expect("a result");
    write("cut.json", &whole[..whole.len() / 2]);
    refused(here, "bench report cut.json", "cut.json: the file is empty or cut short");
    write("old.json", &whole.replace("\"weir_bench\": 1", "\"weir_bench\": 0"));
    refused(here, "bench compare r.json old.json", "format 0 is not known");
    write("none.json", "[]");
    refused(here, "bench report none.json", "there is no result in it");
    refused(here, &format!("bench compare r.json {url}"), "give two of the same kind");
    refused(here, &format!("bench {url} -H no-colon"), "write 'Name: value'");
    refused_with(2, here, &format!("bench --json {url}"), "`-` is standard output");
    refused_with(2, here, &format!("bench wrk --html {url}"), "a URL is no file");
    refused(here, "bench ftp://127.0.0.1/", "speaks http:// only");
    refused(here, "bench --users 3 --loops 1 -q http://127.0.0.1:1/", "is the server running");
}

#[test]
fn standard_output_has_the_result_asked_for_and_nothing_else() {
    let (origin, folder) = (Server::origin(), tempfile::tempdir().expect("a folder"));
    let (here, url) = (folder.path(), origin.url("/ok"));
    let told = |line: &str| {
        let output = weir(here, line);
        assert!(output.status.success(), "weir {line}");
        String::from_utf8(output.stdout).expect("text")
    };
    let load = format!("bench {url} -n 20 -c 2 -q");
    assert!(told(&format!("{load} --csv -")).starts_with("second,"));
    assert!(told(&format!("{load} --html -")).starts_with("<!doctype html>"));
    assert!(told(&format!("{load} --hlog -")).starts_with("#"));
    let ab = format!("bench ab -n 20 -c 2 -q -e table.csv --json - {url}");
    serde_json::from_str::<Value>(&told(&ab)).expect("JSON alone");
    let table = std::fs::read_to_string(here.join("table.csv")).expect("the other result too");
    assert!(table.starts_with("Percentage served"), "{table}");
    refused(here, &format!("{load} --csv - --json -"), "one result at most");
}

/// Ten results and ten that are twice as fast.
#[test]
fn a_history_tells_where_it_changed() {
    let (origin, folder) = (Server::origin(), tempfile::tempdir().expect("a folder"));
    let here = folder.path();
    let line = format!("bench {} -n 20 -c 2 -q --json r.json", origin.url("/ok"));
    check(here, &line, &[0], &["succeeded            20"]);
    let mut result = json(here.join("r.json"));
    let mut names = String::new();
    for at in 0..20 {
        let level = if at < 10 { 100.0 } else { 200.0 };
        result["rate"] = (level + f64::from(at % 3)).into();
        std::fs::write(here.join(format!("{at}.json")), result.to_string()).expect("a file");
        names.push_str(&format!(" {at}.json"));
    }
    let line = format!("bench compare --history{names} --json changes.json");
    let expected = ["rate: changed at 10.json (+99", "p99 response: no change in 20 results"];
    check(here, &line, &[0], &expected);
    let changes = json(here.join("changes.json"));
    assert_eq!(
        (&changes["results"], &changes["changes"][0]["at"]),
        (&20.into(), &"10.json".into())
    );
    check(here, "bench report changes.json -o changes.html", &[0], &["changes.html"]);
    let page = std::fs::read_to_string(here.join("changes.html")).expect("a page");
    assert!(page.contains("Changes in 20 results") && page.contains("<td>10.json"));
}

/// A small experiment with all there is: an origin, a gateway with routes, another gateway, tables
/// with published numbers; and the shortest of the seeds'.
#[test]
fn experiments_print_published_numbers_beside_ours() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let experiment = "
title: Small
quick: '-c 2 -q'
tables:
  - { name: '3 routes', key: run, columns: [rate, errors], published: 'all | 370 | 1 %' }
steps:
  - { table: '{value} routes', series: origin, row: all, values: &v { quick: [3], full: [9] },
      bench: ['{origin}/ok/mock/2 -n 20'] }
  - { table: '{value} routes', series: weir, row: all, values: *v, gateway: '', routes: '{value}',
      bench: ['{gateway}/mock/{last} -n 20 --expect-status 200'] }
";
    let small = experiment.replace("full: [9]", "full: [3]");
    std::fs::write(here.join("small.yaml"), small).expect("a file");
    let other = Server::origin();
    let line = format!("lab run small.yaml --scg {} --origin 127.0.0.1:0", other.url("/ok"));
    let output = weir(here, &line);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && errors.contains("needs a port"), "{errors}");
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let line = line.replace("127.0.0.1:0", &free.local_addr().expect("a port").to_string());
    drop(free);
    let text = check(here, &line, &[0], &["req/s published", "req/s weir", "req/s SCG", "370"]);
    let row = text.lines().rfind(|line| line.trim_start().starts_with("all ")).expect("a row");
    assert!(row.trim_end().ends_with("0.00 %") && row.contains("1 %"), "{row}");
    let page = std::fs::read_to_string(here.join("lab-small/report.html")).expect("a page");
    assert!(page.contains("<th>req/s published<th>req/s origin<th>req/s weir<th>req/s SCG"));
    assert!(text.contains("short runs; rows without our numbers belong to --full"), "{text}");
    assert!(page.contains("<h1>Small") && page.contains("<h2>Notes"), "title and notes");
    check(here, "bench report lab-small/report.html -o again.html", &[0], &["again.html"]);
    let again = std::fs::read_to_string(here.join("again.html")).expect("a page");
    assert!(again.contains("<h1>Small") && again.contains("<th>req/s SCG"));
    // The output of the servers is kept apart.
    assert!(here.join("lab-small/gateway-2/log").is_file() && !text.contains("draining"));
    check(
        here,
        "lab run seed-002",
        &[0],
        &["12941.32", "req/s piped", "req/s weir", "an HTTP proxy, 500/s", "an HTTP proxy, 200/s"],
    );
    check(here, "lab list", &[0], &["seed-000", "seed-004"]);
}
