//! `weir routes` against a running gateway.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

const WEIR: &str = env!("CARGO_BIN_EXE_weir");

/// A gateway with one route of a file, on ports of its own.
struct Gateway {
    process: Child,
    admin: String,
    directory: tempfile::TempDir,
}

impl Gateway {
    fn start(settings: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let config = directory.path().join("application.yml");
        let yaml = "spring.cloud.gateway.server.webflux.routes:\n\
                    - { id: fixed, uri: 'http://127.0.0.1:1', predicates: [ Path=/fixed ] }\n";
        std::fs::write(&config, yaml).expect("a file");
        let mut command = Command::new(WEIR);
        command.arg("run").arg(&config).arg("--data").arg(directory.path().join("data"));
        let local = ["server.port=0", "server.address=127.0.0.1", "management.server.port=0"];
        let rest =
            ["management.server.address=127.0.0.1", "management.endpoints.web.exposure.include=*"];
        for setting in local.iter().chain(&rest).chain(settings) {
            command.args(["--set", setting]);
        }
        let mut process = command.stdout(Stdio::piped()).spawn().expect("weir");
        let out = BufReader::new(process.stdout.take().expect("its output")).lines();
        let mut admin = None;
        for line in out.map_while(Result::ok) {
            if let Some(address) = line.strip_prefix("admin     http ") {
                admin = Some(address.to_owned());
            }
            // The last line: the rest of the output need not be read.
            if line.starts_with("listening") {
                break;
            }
        }
        Self { process, admin: admin.expect("an admin address"), directory }
    }

    fn run(&self, args: &[&str], input: &str) -> Output {
        let admin = format!("http://{}", self.admin);
        let mut child = Command::new(WEIR)
            .arg("routes")
            .args(["--admin", &admin])
            .args(args)
            .env_remove("WEIR_ADMIN_TOKEN")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("weir routes");
        let mut stdin = child.stdin.take().expect("its input");
        // It may have ended without reading.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        child.wait_with_output().expect("its end")
    }

    /// The output, if the command succeeds.
    fn ok(&self, args: &[&str], input: &str) -> String {
        let output = self.run(args, input);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{args:?}: {out}{err}");
        out
    }

    fn check_fails(&self, args: &[&str], expected: &[&str]) {
        let output = self.run(args, "");
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {err}");
        for part in expected {
            assert!(err.contains(part), "{args:?}: {part} is not in {err}");
        }
    }

    fn ids(&self) -> Vec<String> {
        let listed = self.ok(&["list", "--all", "--json"], "");
        let listed: Value = serde_json::from_str(&listed).expect("json");
        let entries = listed.as_array().expect("a list").iter();
        entries.map(|entry| entry["definition"]["id"].as_str().expect("an id").into()).collect()
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn routes_are_added_shown_set_and_removed() {
    let gateway = Gateway::start(&[]);
    let add = ["add", "a", "--uri", "http://x", "-p", "Path=/a/**", "-f", "StripPrefix=1"];
    assert_eq!(gateway.ok(&add, ""), "added a, revision 1\n");
    gateway.check_fails(&add, &["there is a route `a` already", "weir routes set a"]);
    let listed = gateway.ok(&["list"], "");
    assert_eq!(
        listed,
        "ID     ORDER  URI                 PREDICATES   FILTERS        FROM\n\
         fixed  0      http://127.0.0.1:1  Path=/fixed                 file\n\
         a      0      http://x            Path=/a/**   StripPrefix=1  store\n"
    );
    let set = ["set", "a", "--uri", "http://y", "--order", "-1", "--metadata", "k=v"];
    assert_eq!(gateway.ok(&set, ""), "set a, revision 2\n");
    let got: Value = serde_json::from_str(&gateway.ok(&["get", "a"], "")).expect("json");
    assert_eq!(got["revision"], 2);
    assert_eq!(got["definition"]["metadata"]["k"], "v");
    assert_eq!(gateway.ids(), ["a", "fixed"]);
    let old = ["set", "a", "--uri", "http://z", "--if-revision", "1"];
    gateway.check_fails(&old, &["revision 2", "weir routes get"]);
    assert_eq!(gateway.ok(&["rm", "a"], ""), "removed a\n");
    gateway.check_fails(&["rm", "a"], &["no route `a` in the store"]);
    gateway.check_fails(&["rm", "fixed"], &["configuration files"]);
    gateway.check_fails(&["get", "a"], &["there is no route `a`"]);
    gateway.check_fails(&["rm"], &["say which routes"]);
}

#[test]
fn what_is_wrong_with_a_route_is_told_whole() {
    let gateway = Gateway::start(&[]);
    let bad = ["add", "a", "--uri", "example.org", "-p", "Nope=1", "-f", "SetStatus=NOPE"];
    gateway.check_fails(&bad, &["refused, 3 problems", "uri: ", "predicates[0]: ", "filters[0]"]);
    gateway.check_fails(&["add", "a", "--uri", "http://x", "--metadata", "k"], &["has no `=`"]);
    let file = gateway.file("two.json", r#"[{"uri":"http://x"},{"uri":"http://y"}]"#);
    let file = file.to_str().expect("a path");
    gateway.check_fails(&["set", "a", "--file", file], &["several routes"]);
    assert_eq!(gateway.ids(), ["fixed"]);
}

#[test]
fn files_of_every_form_are_imported_and_exported() {
    let gateway = Gateway::start(&[]);
    let mongo = r#"{"_id":{"$oid":"60c4f055588bca06132e44cb"},
        "predicates":[{"name":"Path","args":{"_genkey_0":"/1999"}}],
        "filters":[{"name":"AddRequestHeader",
                    "args":{"_genkey_0":"x-benchmark-routeId","_genkey_1":"60c4"}}],
        "uri":"http://localhost:9999","metadata":{},"order":1,
        "_class":"com.example.scgw.benchmark.route.MongoRouteDefinition"}"#;
    let yaml = gateway.file("b.yml", "- { id: b, uri: 'http://x', predicates: [ 'Path=/b' ] }\n");
    let imported = gateway.ok(&["import", "-", yaml.to_str().expect("a path")], mongo);
    assert_eq!(imported, "imported 2 routes: 2 new, 0 replaced\n");
    let array = r#"[{"id":"b","uri":"http://y"},{"id":"c","uri":"http://y"}]"#;
    let imported = gateway.ok(&["--json", "import", "-", "--batch", "1"], array);
    assert_eq!(imported, "{\"created\":1,\"replaced\":1}\n");
    let ids = ["fixed", "b", "c", "60c4f055588bca06132e44cb"];
    assert_eq!(gateway.ids(), ids);
    let before = gateway.ok(&["export"], "");
    for format in ["jsonl", "json", "yaml"] {
        let exported = gateway.ok(&["export", "--format", format], "");
        gateway.ok(&["rm", "--all"], "");
        gateway.ok(&["import", "-"], &exported);
        assert_eq!(gateway.ok(&["export"], ""), before, "{format}");
    }
    assert_eq!(gateway.ids(), ids);
    let all = gateway.ok(&["export", "--files", "-q", "fixed"], "");
    assert_eq!(all.lines().count(), 1);
    gateway.check_fails(&["import", "nowhere.json"], &["cannot read nowhere.json"]);
}

#[test]
fn a_refused_import_says_what_was_written_before() {
    let gateway = Gateway::start(&[]);
    let lines = "{\"id\":\"a\",\"uri\":\"http://x\"}\n{\"id\":\"b\",\"uri\":\"x\"}\n";
    let output = gateway.run(&["import", "-", "--batch", "1"], lines);
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(err.contains("1 routes were written before this"), "{err}");
    assert!(err.contains("route 'b': uri"), "{err}");
    let output = gateway.run(&["import", "-"], lines);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(gateway.ids(), ["fixed", "a"]);
}

#[test]
fn searches_removals_and_counts() {
    let gateway = Gateway::start(&[]);
    let routes: Vec<String> =
        (0..5).map(|n| format!("{{\"id\":\"r{n}\",\"uri\":\"http://h{}\"}}", n % 2)).collect();
    gateway.ok(&["import", "-"], &routes.join("\n"));
    let output = gateway.run(&["list", "--limit", "2"], "");
    assert_eq!(text(&output.stdout).lines().count(), 3);
    assert!(text(&output.stderr).contains("2 of 6 routes"));
    let sorted = gateway.ok(&["list", "--with-uri", "h1", "--sort", "id"], "");
    assert_eq!(sorted.lines().skip(1).map(|line| &line[..2]).collect::<Vec<_>>(), ["r1", "r3"]);
    assert_eq!(gateway.ok(&["rm", "--with-uri", "h0"], ""), "removed 3 routes\n");
    gateway.check_fails(&["rm", "r1", "--all"], &["do not go together"]);
    assert_eq!(gateway.ids(), ["fixed", "r1", "r3"]);
    let stats = gateway.ok(&["stats"], "");
    assert!(stats.contains("routes.fromStore"), "{stats}");
    assert!(stats.contains("route r3 can never match: r1 has the same predicates"), "{stats}");
    assert!(gateway.ok(&["refresh"], "").contains("in force"));
}

#[test]
fn stats_show_the_shape_of_the_table() {
    let gateway = Gateway::start(&["weir.groups[0].id=shop", "weir.groups[0].uri=http://shop"]);
    let mut routes = String::new();
    let mut add = |id: &str, rest: &str| {
        routes += &format!("{{\"id\":\"{id}\",\"uri\":\"http://h\",{rest}}}\n");
    };
    // Told apart by a header; by nothing but expressions; twice the same; behind a wider one.
    for n in 0..50 {
        add(&format!("h{n}"), &format!("\"predicates\":[\"Path=/h\",\"Header=X,v{n}\"]"));
        let opaque = format!("\"predicates\":[\"Path=/x\",\"Query=q,[a-z]{{{n}}}\"]");
        add(&format!("x{n}"), &opaque);
    }
    add("wide", "\"predicates\":[\"Path=/w/**\"]");
    add("narrow", "\"predicates\":[\"Path=/w/1\"]");
    add("twin", "\"predicates\":[\"Path=/w/**\"]");
    add("member", "\"group\":\"shop\",\"predicates\":[\"Path=/m\"]");
    gateway.ok(&["import", "-"], &routes);
    let told = gateway.ok(&["stats"], "");
    for expected in [
        "index.scanned                                      50",
        "index.branches.header x.toldApart                  50",
        "index.groups.shop                                  1",
        "50 routes are tried one after the other (x0, x1, x2, …)",
        "told apart only by such as Query: param=q regexp=[a-z]{0}",
        "route narrow can never match: wide takes all its requests",
        "route twin can never match: wide has the same predicates",
    ] {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&told).contains(&words(expected)), "{expected} is not in {told}");
    }
    let json: Value = serde_json::from_str(&gateway.ok(&["--json", "stats"], "")).expect("json");
    let index = &json["index"];
    assert_eq!((&index["scanned"], &index["shadowed"]), (&50.into(), &2.into()));
    assert_eq!(index["crowded"][0]["routes"], 50);
    assert_eq!(index["neverMatch"][0]["id"], "narrow");
    assert_eq!(index["groups"]["shop"], 1);
    let bytes = index["bytes"].as_u64().expect("a number");
    assert!(bytes > 1_000, "{bytes}");
}

#[test]
fn a_gateway_that_is_not_there_or_refuses_says_what_to_do() {
    let gateway = Gateway::start(&[
        "management.server.address=0.0.0.0",
        "weir.admin.token=s3cret",
        "weir.admin.hosts=gw.example",
    ]);
    // Without a token a local peer may change routes, with a wrong one it may not.
    gateway.ok(&["add", "a", "--uri", "http://x"], "");
    let wrong = ["--token", "nope", "rm", "a"];
    gateway.check_fails(&wrong, &["401", "weir.admin.token", "WEIR_ADMIN_TOKEN"]);
    gateway.ok(&["--token", "s3cret", "rm", "a"], "");
    drop(gateway);
    let run = |admin: &str| {
        let output = Command::new(WEIR).args(["routes", "--admin", admin, "list"]).output();
        let output = output.expect("weir routes");
        assert_eq!(output.status.code(), Some(1));
        text(&output.stderr)
    };
    assert!(run("http://127.0.0.1:1").contains("start one with `weir run`"));
    assert!(run("https://127.0.0.1:1").contains("http only"));
    assert!(run("http://").contains("not a URL"));
}

#[test]
fn a_store_that_another_weir_uses_is_told_with_its_process() {
    let gateway = Gateway::start(&[]);
    let data = gateway.directory.path().join("data");
    let second = Command::new(WEIR)
        .args(["run", "--set", "server.port=0", "--set", "weir.admin.port=0", "--data"])
        .arg(&data)
        .output()
        .expect("weir");
    let err = text(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{err}");
    let process = format!("another weir uses it, process {}", gateway.process.id());
    assert!(err.contains(&process) && err.contains("--data"), "{err}");
}
