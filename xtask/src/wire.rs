//! `cargo xtask peers wire`: the cases of `tests/wire` against weir, nginx and HAProxy.
//!
//! What counts is what any gateway must do (`Judgement::AnyGateway`): what the upstream must see or
//! not see, the class of the client's answer, and whether the connection is closed. Cases that need
//! routes or settings of weir's are left out.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use tempfile::TempDir;
use weir_testkit::closed_port;
use weir_testkit::wire::{Case, Cases, Cut, Judgement, Stage, answering, read};

use crate::peers::machine::Machine;
use crate::peers::report::Table;
use crate::tree::{files, root, shown};

/// Arguments of `xtask peers wire`.
#[derive(Debug, clap::Args)]
pub struct WireArgs {
    /// A weir that is built, instead of building it
    #[arg(long, value_name = "FILE")]
    weir: Option<PathBuf>,
    /// Folder for the results, instead of bench/runs/<date>-<machine>
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// How long a peer may take to start.
const START: Duration = Duration::from_secs(20);

/// Routes that do nothing but mark answers: other gateways do without.
const MARKS_ONLY: &[&str] = &["1.3-targets-and-hosts"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peer {
    Weir,
    Nginx,
    Haproxy,
}

/// Titles of the deviating cases of one peer, by file.
type Deviations = BTreeMap<String, Vec<String>>;

/// Runs it.
///
/// # Errors
/// Something does not start.
pub fn run(args: &WireArgs) -> anyhow::Result<()> {
    let weir = args.weir.clone().map_or_else(crate::release::weir, Ok)?;
    let files = portable();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // A deviation is a failed assertion of the replay: not worth a message each.
    std::panic::set_hook(Box::new(|_| {}));
    let mut columns = Vec::new();
    for peer in [Peer::Weir, Peer::Nginx, Peer::Haproxy] {
        let Some(version) = peer.version(&weir) else { continue };
        let mut deviations = Deviations::new();
        for (name, cases) in &files {
            let found = runtime.block_on(replay(peer, &weir, cases))?;
            eprintln!("{version}: {name}: {} of {} deviate", found.len(), cases.list.len());
            deviations.insert(name.clone(), found);
        }
        columns.push((version, deviations));
    }
    let _ = std::panic::take_hook();
    let machine = Machine::here();
    let text = report(&files, &columns, &machine);
    println!("{text}");
    let folder = args.out.clone();
    let folder = folder.unwrap_or_else(|| root().join("bench/runs").join(machine.folder()));
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("wire.md");
    std::fs::write(&file, text)?;
    eprintln!("written: {}", shown(&file));
    Ok(())
}

/// The files whose cases any gateway can be asked.
fn portable() -> Vec<(String, Cases)> {
    let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let all = files("tests/wire", "txt");
    let read = all.iter().map(|path| (name(path), read(path)));
    let plain = |(name, cases): &(String, Cases)| {
        cases.config.is_empty() && (cases.routes.is_empty() || MARKS_ONLY.contains(&name.as_str()))
    };
    read.filter(plain).collect()
}

/// Plays all cases; titles of those that deviate. After each of them everything starts anew, so
/// that one deviation is not counted twice.
async fn replay(peer: Peer, weir: &Path, cases: &Cases) -> anyhow::Result<Vec<String>> {
    let mut deviating = Vec::new();
    let mut running = None;
    for case in &cases.list {
        let mut stage = match running.take() {
            Some(stage) => stage,
            None => Running::start(peer, weir, cases).await?,
        };
        let case: Arc<Case> = Arc::new(case.clone());
        let title = case.title.clone();
        let played = tokio::spawn(async move {
            stage.stage.play(&case, Cut::Whole).await;
            stage
        });
        match played.await {
            Ok(stage) => running = Some(stage),
            Err(_) => deviating.push(title),
        }
    }
    Ok(deviating)
}

/// A peer with its upstream and client.
struct Running {
    stage: Stage,
    _peer: Option<Process>,
}

/// A peer's process; killed when dropped.
struct Process {
    child: Child,
    _directory: TempDir,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    async fn start(peer: Peer, weir: &Path, cases: &Cases) -> anyhow::Result<Self> {
        let judgement = Judgement::AnyGateway;
        if peer == Peer::Weir {
            let stage = Stage::start(&weir.display().to_string(), cases).await.judged(judgement);
            return Ok(Self { stage, _peer: None });
        }
        let (origin, script) = answering().await;
        let address = closed_port();
        let directory = tempfile::tempdir()?;
        let file = directory.path().join("conf");
        std::fs::write(&file, peer.configuration(directory.path(), address, origin.address()))?;
        let arguments = match peer {
            Peer::Nginx => vec!["-p".into(), directory.path().into(), "-c".into(), file],
            _ => vec!["-f".into(), file],
        };
        let child = Command::new(peer.program())
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context(peer.program())?;
        let process = Process { child, _directory: directory };
        let started = Instant::now();
        while TcpStream::connect(address).is_err() {
            anyhow::ensure!(started.elapsed() < START, "{} does not start", peer.program());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let stage = Stage::before(address, origin, script, judgement);
        Ok(Self { stage, _peer: Some(process) })
    }
}

impl Peer {
    fn program(self) -> &'static str {
        match self {
            Self::Weir => "weir",
            Self::Nginx => "nginx",
            Self::Haproxy => "haproxy",
        }
    }

    /// Name and version; `None` if it is not here.
    fn version(self, weir: &Path) -> Option<String> {
        let (program, flag) = match self {
            Self::Weir => (weir, "--version"),
            Self::Nginx | Self::Haproxy => (Path::new(self.program()), "-v"),
        };
        let output = Command::new(program).arg(flag).output().ok()?;
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let number =
            said.split([' ', '/']).find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        let number = number?.split(['-', '+']).next()?.trim();
        Some(format!("{} {number}", self.program()))
    }

    /// A reverse proxy as it is usually set up: HTTP/1.1 and a kept connection to the upstream, all
    /// else at its default, but for timeouts short enough to play hundreds of cases.
    fn configuration(self, place: &Path, address: SocketAddr, origin: SocketAddr) -> String {
        let place = place.display();
        match self {
            Self::Nginx => format!(
                "daemon off; master_process off; worker_processes 1; pid {place}/pid;
error_log {place}/error.log crit;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {place}/body; proxy_temp_path {place}/proxy;
  fastcgi_temp_path {place}/fastcgi; uwsgi_temp_path {place}/uwsgi; scgi_temp_path {place}/scgi;
  client_header_timeout 3s; client_body_timeout 3s; proxy_read_timeout 3s; proxy_send_timeout 3s;
  upstream origin {{ server {origin}; keepalive 1; }}
  server {{
    listen {address};
    location / {{
      proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection \"\";
    }}
  }}
}}
"
            ),
            _ => format!(
                "global
  nbthread 1
defaults
  mode http
  timeout connect 3s
  timeout client 3s
  timeout server 3s
  timeout http-request 3s
frontend in
  bind {address}
  default_backend origin
backend origin
  http-reuse always
  server origin {origin} pool-max-conn 1
"
            ),
        }
    }
}

fn report(
    files: &[(String, Cases)],
    columns: &[(String, Deviations)],
    machine: &Machine,
) -> String {
    let mut text = String::from("# The wire cases against weir and its peers\n\n");
    let _ = writeln!(
        text,
        "`cargo xtask peers wire`: each case of [tests/wire](../../../tests/wire) that needs no \
         routes of weir's, in one write. A deviation is what the RFCs or safe policy do not allow of \
         any gateway: another request or body upstream than the client sent, something malformed or \
         hop-by-hop sent on, a success where an error is due, a connection kept that must be closed \
         or closed that must be kept, a neighbour's request not answered. How errors are worded and \
         which status of an error is chosen does not count. {}\n",
        machine.lines().join("; ")
    );
    let head: Vec<&str> = ["file", "cases"]
        .into_iter()
        .chain(columns.iter().map(|(version, _)| version.as_str()))
        .collect();
    let mut table = Table::new("", &head);
    let mut sums = vec![0; columns.len() + 1];
    for (name, cases) in files {
        let count = |column: &Deviations| column.get(name).map_or(0, Vec::len);
        let counts = std::iter::once(cases.list.len());
        let counts: Vec<usize> =
            counts.chain(columns.iter().map(|(_, column)| count(column))).collect();
        for (sum, count) in sums.iter_mut().zip(&counts) {
            *sum += count;
        }
        table.row(std::iter::once(name.clone()).chain(counts.iter().map(usize::to_string)));
    }
    table.row(std::iter::once("all".to_owned()).chain(sums.iter().map(usize::to_string)));
    text.push_str(&table.markdown());
    for (version, deviations) in columns {
        let _ = writeln!(text, "\n## {version}\n");
        let all: Vec<&String> = deviations.values().flatten().collect();
        if all.is_empty() {
            text.push_str("No deviation.\n");
        }
        for title in all {
            let _ = writeln!(text, "- {title}");
        }
    }
    text
}
