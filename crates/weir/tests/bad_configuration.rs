//! Bad configuration never takes a gateway down: it is refused whole, with a message that says
//! where, and the old table keeps serving. Files at reload and bodies of the admin API alike.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use weir_testkit::{Client, Gateway, Origin, spawn_weir};

const HEAD: &str = "server: { port: 0, address: 127.0.0.1 }\nweir.admin.port: 0\n";

fn good(origin: &Origin) -> String {
    let uri = origin.uri();
    format!(
        "{HEAD}spring.cloud.gateway.routes:\n- id: old\n  uri: {uri}\n  predicates:\n  - Path=/**\n  \
         filters:\n  - AddResponseHeader=X-Old, 1\n"
    )
}

/// Nine levels of ten aliases each: a thousand million nodes if they were spelled out.
fn alias_bomb() -> String {
    let mut text = format!("{HEAD}a: &a0 [x, x]\n");
    for level in 1..10 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        let _ = writeln!(text, "b{level}: &a{level} [{aliases}]");
    }
    text + "spring.cloud.gateway.routes: *a9\n"
}

fn nested(count: usize) -> String {
    format!("{HEAD}a: {}{}\n", "[".repeat(count), "]".repeat(count))
}

/// Texts that must be refused, with a part of the message.
fn refused(good: &str) -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let with = |more: &str| format!("{good}{more}").into_bytes();
    vec![
        ("no YAML", b"a: [".to_vec(), "weir.yaml:1"),
        ("binary", (0..=255).collect(), "weir.yaml:"),
        ("invalid UTF-8", with("x: \u{e9}\n").iter().map(|b| b & 0x7f | 0x80).collect(), "UTF-8"),
        ("NUL", with("x: a\0b\n"), "weir.yaml:"),
        ("tabs", with("x:\n\t- a\n"), "weir.yaml:"),
        ("duplicate keys", with("server: { port: 1 }\n"), "weir.yaml:"),
        ("an alias bomb", alias_bomb().into_bytes(), "weir.yaml:"),
        ("deep nesting", nested(100_000).into_bytes(), "weir.yaml:"),
        ("a deep mapping", with(&"{a: ".repeat(5_000)), "weir.yaml:"),
        (
            "placeholders in a circle",
            with("p: ${q}\nq: ${p}\nserver.netty.idle-timeout: ${p}\n"),
            "weir.yaml:",
        ),
        (
            "an unknown filter",
            with("- { id: n, uri: 'no://x', filters: [ Nothing ] }\n"),
            "weir.yaml:",
        ),
        ("a wrong value", with("weir.server.workers: many\n"), "weir.yaml:"),
        (
            "an expression",
            with("- { id: n, uri: 'no://x', predicates: [ 'Path=#{1+1}' ] }\n"),
            "weir.yaml:",
        ),
    ]
}

/// Text or file, it is not taken: the old table serves on.
async fn expect_refusal(gateway: &Gateway, name: &str, message: &str, before: usize) {
    gateway.hang_up();
    let refusals =
        |gateway: &Gateway| gateway.output().matches("the old configuration stays in use").count();
    let mut waited = 0;
    while refusals(gateway) <= before {
        assert!(waited < 3_000, "{name}: nothing was refused: {}", gateway.output());
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        waited += 1;
    }
    assert!(gateway.output().contains(message), "{name}: {}", gateway.output());
    let mut client = Client::connect(gateway.address()).await;
    let response = client.get("/x").await;
    assert_eq!((response.status, response.field("x-old").as_deref()), (200, Some("1")), "{name}");
}

#[tokio::test]
async fn bad_files_are_refused_whole_and_the_old_table_serves_on() {
    let origin = Origin::start().await;
    let good = good(&origin);
    for (name, bytes, message) in refused(&good) {
        let gateway = spawn_weir(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &good);
        std::fs::write(gateway.config(), &bytes).expect("write");
        expect_refusal(&gateway, name, message, 0).await;
        // And it does not start with it.
        let check = check(gateway.config());
        assert!(check.contains(message), "{name}: {check}");
    }
}

/// The output of `weir check` for a file that it refuses.
fn check(path: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_weir")).arg("check").arg(path).output();
    let output = output.expect("run weir check");
    assert!(!output.status.success(), "{path:?}");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[tokio::test]
async fn what_is_no_file_is_refused() {
    let origin = Origin::start().await;
    let gateway = spawn_weir(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &good(&origin));
    let path = gateway.config();
    let replace = |make: &dyn Fn()| {
        if path.is_dir() {
            std::fs::remove_dir(path).expect("remove");
        } else {
            let _ = std::fs::remove_file(path);
        }
        make();
    };
    let link = |target: &str| std::os::unix::fs::symlink(target, path).expect("link");
    let fifo = || {
        let made = Command::new("mkfifo").arg(path).status().expect("mkfifo");
        assert!(made.success());
    };
    let cases: [(&str, &dyn Fn()); 5] = [
        ("there is no file", &|| {}),
        ("there is no application.yml", &|| std::fs::create_dir(path).expect("directory")),
        ("not a regular file", &|| link("/dev/zero")),
        ("not a regular file", &fifo),
        ("cannot read", &|| link("/nowhere/at/all")),
    ];
    for (before, (message, make)) in cases.iter().enumerate() {
        replace(make);
        expect_refusal(&gateway, message, message, before).await;
    }
}

/// A truncated file is accepted whole or refused whole, and `weir check` says which.
#[test]
fn a_file_cut_anywhere_is_taken_or_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("cut.yml");
    let text = "server: { port: 0 }\nspring.cloud.gateway.routes:\n- id: a\n  uri: http://h:1\n  \
                predicates:\n  - Path=/a/{x:[a-z]+}\n  filters:\n  - \"SetPath=/b/{x}\"\n";
    for end in (0..text.len()).step_by(3) {
        std::fs::write(&path, &text[..end]).expect("write");
        let output = Command::new(env!("CARGO_BIN_EXE_weir")).arg("check").arg(&path).output();
        let output = output.expect("run weir check");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 1)), "{code:?} at {end}: {told}");
        assert!(code == Some(0) || told.contains("cut.yml:"), "{end}: {told}");
    }
}

/// Harmless changes that editors and other systems make to a file.
#[test]
fn harmless_differences_are_taken() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = "server:\n  port: 0\nspring.cloud.gateway.routes:\n- id: a\n  uri: http://h:1\n  \
                predicates:\n  - Path=/a\n";
    let forms = [
        ("bom", format!("\u{feff}{text}")),
        ("crlf", text.replace('\n', "\r\n")),
        ("cr", text.replace('\n', "\r")),
        ("no end", text.trim_end().to_owned()),
        ("blank lines", format!("\n\n# é\n{text}\n\n...\n")),
    ];
    for (name, text) in forms {
        let path = directory.path().join("file.yml");
        std::fs::write(&path, text).expect("write");
        let output = Command::new(env!("CARGO_BIN_EXE_weir")).arg("check").arg(&path).output();
        let output = output.expect("run weir check");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && told.contains("1 route"), "{name}: {told}");
    }
}

/// Bodies that no route can be made of.
fn bodies() -> Vec<(&'static str, Vec<u8>)> {
    let route = r#"{"uri":"http://h:1","predicates":["Path=/n"]}"#;
    let nested = |open: &str, count: usize| open.repeat(count).into_bytes();
    let mut all = vec![
        ("empty", Vec::new()),
        ("blank", b"  \n ".to_vec()),
        ("null", b"null".to_vec()),
        ("text", b"\"x\"".to_vec()),
        ("BOM", [b"\xef\xbb\xbf".as_slice(), route.as_bytes()].concat()),
        ("NUL", b"\0".to_vec()),
        ("invalid UTF-8", b"{\"uri\":\"http://\xff\"}".to_vec()),
        ("YAML", b"uri: http://h:1\npredicates: [Path=/n]\n".to_vec()),
        ("deep arrays", nested("[", 200_000)),
        ("deep objects", nested("{\"a\":", 100_000)),
        (
            "deep metadata",
            format!("{{\"uri\":\"no://x\",\"metadata\":{}", "{\"a\":".repeat(10_000)).into(),
        ),
        (
            "a huge number",
            format!("{{\"uri\":\"no://x\",\"order\":{}}}", "9".repeat(500_000)).into(),
        ),
        ("a huge text", format!("{{\"uri\":\"http://{}\"}}", "x".repeat(900_000)).into()),
        ("too large", vec![b' '; 1_100_000]),
        ("two documents", format!("{route}{route}").into()),
        ("a lone surrogate", br#"{"uri":"http://h:1","predicates":["Path=/\ud800"]}"#.to_vec()),
        ("a placeholder as uri", br#"{"uri":"${HOME}","predicates":["Path=/n"]}"#.to_vec()),
    ];
    for end in (1..route.len()).step_by(2) {
        all.push(("cut", route.as_bytes()[..end].to_vec()));
    }
    all
}

#[tokio::test]
async fn bad_bodies_are_refused_whole_and_the_old_table_serves_on() {
    let origin = Origin::start().await;
    let gateway = spawn_weir(env!("CARGO_BIN_EXE_weir"), &["run", "{config}"], &good(&origin));
    for (name, body) in bodies() {
        for (method, path) in [("POST", "/routes/new"), ("POST", "/routes"), ("PUT", "/routes")] {
            let mut client = Client::connect(gateway.admin()).await;
            let head = format!(
                "{method} /actuator/gateway{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: \
                 application/json\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            // The gateway may answer and close before all of a large body is sent.
            let _ = client.try_send([head.as_bytes(), &body].concat()).await;
            let response = client.read_response().await;
            assert!((400..500).contains(&response.status), "{name} {method}: {response:?}");
            assert!(!response.text().is_empty(), "{name} {method}: {response:?}");
        }
    }
    let mut client = Client::connect(gateway.admin()).await;
    client.send("GET /actuator/gateway/routes HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    let routes = client.read_response().await.text();
    assert_eq!(routes.matches("route_id").count(), 1, "{routes}");
    let mut client = Client::connect(gateway.address()).await;
    assert_eq!(client.get("/x").await.status, 200);
}
