//! `cargo xtask config-server`: a real Spring Cloud Config server, with weir as its client.
//!
//! The Java side is `bench/config-server`. Everything listens on free ports of 127.0.0.1 and ends
//! with this process.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use tempfile::TempDir;
use weir_peers::interrupt::Interrupt;
use weir_peers::maven::class_path;
use weir_peers::process::Process;
use weir_peers::program;
use weir_peers::tools::{Tool, path};
use weir_testkit::tree::root;

/// The time limit for a start; a JVM beside a busy compiler takes seconds.
const START: Duration = Duration::from_secs(90);
/// The interval at which the output of a process is read.
const LOOK: Duration = Duration::from_millis(50);
/// Longest wait for an answer.
const ANSWER: Duration = Duration::from_secs(20);
/// The files of the server: names and texts.
const FILES: &[(&str, &str)] = &[
    (
        "application.yml",
        "management.endpoints.web.exposure.include: health,info\n\
         spring.cloud.gateway.server.webflux.httpclient.connect-timeout: 2000\n",
    ),
    (
        "gate.yml",
        "upstream: http://127.0.0.1:9001\n\
         spring.cloud.gateway.server.webflux:\n  default-filters:\n  \
         - AddResponseHeader=X-From, config-server\n  routes:\n  \
         - id: orders\n    uri: ${upstream}\n    predicates:\n    - Path=/orders/**\n    \
         - name: Method\n      args: { methods: \"GET,POST\" }\n    \
         metadata: { owner: shop, weight: 1.5, active: true }\n  \
         - id: users\n    uri: ${upstream}\n    order: 5\n    \
         predicates: [ \"Path=/users/{id}\" ]\n    filters:\n    - StripPrefix=1\n\
         empty-list: []\nnothing:\n",
    ),
    ("gate-prod.properties", "upstream=http://127.0.0.1:9002\ndb.password=s3cret\n"),
];

/// Arguments of `cargo xtask config-server`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Needs Debian's maven and openjdk-17-jdk-headless; Maven fetches the server the first time.
Exit code: 0 all was as it must be, 1 something was not.")]
pub struct ConfigServerArgs {
    /// A weir that is built, instead of building it
    #[arg(long, value_name = "FILE")]
    weir: Option<PathBuf>,
    /// Write answers of the server to the tests of weir-control instead
    #[arg(long)]
    record: bool,
}

/// Runs it.
///
/// # Errors
/// Something does not build or start, or something was not as it must be.
pub fn run(args: &ConfigServerArgs) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen()?;
    let folder = tempfile::tempdir()?;
    std::fs::create_dir(folder.path().join("config"))?;
    for (name, text) in FILES {
        std::fs::write(folder.path().join("config").join(name), text)?;
    }
    let (server, address) = server(&folder, &interrupt)?;
    if args.record {
        return record(address, &folder);
    }
    let weir = program::weir(args.weir.as_deref())?;
    follow(&weir, server, address, &folder, &interrupt)
}

fn server(folder: &TempDir, interrupt: &Interrupt) -> anyhow::Result<(Process, SocketAddr)> {
    let classes = class_path("config-server")?;
    let address = weir_testkit::closed_port();
    let port = format!("--server.port={}", address.port());
    let files = folder.path().join("config");
    let files =
        format!("--spring.cloud.config.server.native.search-locations=file://{}", files.display());
    let command = [
        &path(Tool::Java)?,
        "-Xmx256m",
        "-XX:+UseSerialGC",
        "-cp",
        &classes,
        "weir.bench.config.ConfigServer",
        "--server.address=127.0.0.1",
        "--spring.profiles.active=native",
        &port,
        &files,
    ];
    let command = command.map(str::to_owned);
    eprintln!("starting Spring Cloud Config");
    let mut process = Process::start(&command, &[], &folder.path().join("server.log"))?;
    let until = Instant::now() + START;
    while !process.output().contains("Started ConfigServer") {
        process.check()?;
        ensure!(Instant::now() < until, "the server does not start:\n{}", process.output());
        interrupt.sleep(LOOK)?;
    }
    Ok((process, address))
}

/// Reads, refreshes, refuses, and starts again without the server.
fn follow(
    weir: &Path,
    server: Process,
    address: SocketAddr,
    folder: &TempDir,
    interrupt: &Interrupt,
) -> anyhow::Result<()> {
    let config = folder.path().join("application.yml");
    let text = format!(
        "spring:\n  application.name: gate\n  profiles.active: prod\n  \
         config.import: \"configserver:http://{address}\"\n\
         server: {{ address: 127.0.0.1, port: 0 }}\nweir.admin.port: 0\n"
    );
    std::fs::write(&config, text)?;
    let start = |log: &str| gateway(weir, &config, folder, log, interrupt);
    let (gateway, admin) = start("first.log")?;
    let routes = || ask(admin, "GET", "/actuator/gateway/routes");
    holds(
        &routes()?,
        &["/orders/**", "/users/{id}", "http://127.0.0.1:9002", "\"weight\":\"1.5\""],
    )?;
    let refresh = || ask(admin, "POST", "/actuator/refresh");
    holds(&refresh()?, &["200 OK", "\r\n\r\n[]"])?;
    change(folder, "/orders/**", "/parcels/**")?;
    holds(&refresh()?, &["webflux.routes[0].predicates[0]"])?;
    holds(&routes()?, &["/parcels/**"])?;
    change(folder, "Path=/parcels/**", "Paht=/parcels/**")?;
    holds(&refresh()?, &["500 ", "the configuration is refused"])?;
    holds(&routes()?, &["/parcels/**"])?;
    drop(gateway);
    drop(server);
    let (gateway, admin) = start("second.log")?;
    holds(&ask(admin, "GET", "/actuator/gateway/routes")?, &["/parcels/**"])?;
    holds(&gateway.output(), &["its last answer serves"])?;
    for log in ["first.log", "second.log"] {
        let said = std::fs::read_to_string(folder.path().join(log))?;
        ensure!(!said.contains("s3cret"), "weir told a secret:\n{said}");
    }
    println!("read, refreshed, refused a mistake, and started without the server");
    Ok(())
}

fn gateway(
    weir: &Path,
    config: &Path,
    folder: &TempDir,
    log: &str,
    interrupt: &Interrupt,
) -> anyhow::Result<(Process, SocketAddr)> {
    let data = folder.path().join("data");
    let (weir, config) = (weir.display().to_string(), config.display().to_string());
    let command = [&*weir, "run", "--data", &data.display().to_string(), &config];
    let command = command.map(str::to_owned);
    let mut process = Process::start(&command, &[], &folder.path().join(log))?;
    let admin = process.listens("admin     http ", START, interrupt)?;
    process.listens("listening http ", START, interrupt)?;
    Ok((process, admin))
}

fn change(folder: &TempDir, from: &str, to: &str) -> anyhow::Result<()> {
    let file = folder.path().join("config/gate.yml");
    let text = std::fs::read_to_string(&file)?;
    ensure!(text.contains(from), "gate.yml has no {from}");
    Ok(std::fs::write(&file, text.replace(from, to))?)
}

fn holds(text: &str, expected: &[&str]) -> anyhow::Result<()> {
    for part in expected {
        ensure!(text.contains(part), "`{part}` is missing in\n{text}");
    }
    Ok(())
}

/// Head and body of an answer.
fn ask(address: SocketAddr, method: &str, target: &str) -> anyhow::Result<String> {
    ask_for(address, method, target, "*/*")
}

fn ask_for(address: SocketAddr, method: &str, target: &str, media: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(address).with_context(|| address.to_string())?;
    stream.set_read_timeout(Some(ANSWER))?;
    write!(
        stream,
        "{method} {target} HTTP/1.0\r\nHost: localhost\r\nAccept: {media}\r\n\
         Content-Length: 0\r\n\r\n"
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

/// Writes what the server answers to where the tests read it.
fn record(address: SocketAddr, folder: &TempDir) -> anyhow::Result<()> {
    let place = root().join("crates/weir-control/tests/config-server");
    let version_2 = "application/vnd.spring-cloud.config-server.v2+json";
    for (name, target, media) in [
        ("gate-prod.json", "/gate/prod/main", "application/json"),
        ("gate-prod-v2.json", "/gate/prod", version_2),
    ] {
        let answer = ask_for(address, "GET", target, media)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("an answer without a body")?;
        ensure!(head.contains(" 200"), "{target}: {head}");
        // The folder differs in each run.
        let body = body.replace(&folder.path().display().to_string(), "");
        std::fs::write(place.join(name), body)?;
    }
    Ok(())
}
