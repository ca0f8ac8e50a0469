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
use tokio::sync::Mutex;
use tokio::task::JoinError;
use weir_testkit::closed_port;
use weir_testkit::tree::{files, root, shown};
use weir_testkit::wire::{Cases, Cut, Deviation, Judgement, Stage, answering, read};

use crate::machine::Machine;
use crate::report::Table;

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

/// The time limit for a peer to start.
const START: Duration = Duration::from_secs(20);

/// A file about bounds: they are settings of each gateway.
const BOUNDS: &str = "1.2-limits";

/// Rows whose messages RFC 9112 has a gateway refuse (sections 3.2, 5.1, 6.1 and 6.3), so that
/// repairing them is wrong.
const REFUSED_BY_RFC: &[&str] = &["2", "5", "6", "22", "31"];

/// Routes that do nothing but mark answers: other gateways do without.
const MARKS_ONLY: &[&str] = &["1.3-targets-and-hosts"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peer {
    Weir,
    Nginx,
    Haproxy,
}

/// A case that a peer fails.
struct Failed {
    title: String,
    kind: Deviation,
    /// The first violated expectation.
    what: String,
}

/// The deviations of one peer, by file.
type Deviations = BTreeMap<String, Vec<Failed>>;

/// The maximum number of characters reported for one deviation.
const TOLD_MAX: usize = 160;

/// Runs it.
///
/// # Errors
/// Something does not start.
pub fn run(args: &WireArgs) -> anyhow::Result<()> {
    let weir = crate::program::weir(args.weir.as_deref())?;
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

/// The files with cases for any gateway.
fn portable() -> Vec<(String, Cases)> {
    let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let all = files("tests/wire", "txt");
    let read = all.iter().map(|path| (name(path), read(path)));
    let plain = |(name, cases): &(String, Cases)| {
        let marked = cases.routes.is_empty() || MARKS_ONLY.contains(&name.as_str());
        cases.config.is_empty() && marked && name != BOUNDS
    };
    let asked = |(name, mut cases): (String, Cases)| {
        cases.list.retain(|case| case.open.is_none());
        (name, cases)
    };
    read.filter(plain).map(asked).collect()
}

/// Plays all cases; returns the failed ones. A failed case is followed by a fresh start, so that
/// one deviation is not counted twice.
async fn replay(peer: Peer, weir: &Path, cases: &Cases) -> anyhow::Result<Vec<Failed>> {
    let mut deviating = Vec::new();
    let mut running: Option<Running> = None;
    for case in &cases.list {
        let started = match running.take() {
            Some(started) => started,
            None => Running::start(peer, weir, cases).await?,
        };
        let (stage, played) = (Arc::clone(&started.stage), Arc::new(case.clone()));
        let playing = tokio::spawn(async move {
            stage.lock().await.play(&played, Cut::Whole).await;
        });
        match playing.await {
            Ok(()) => running = Some(started),
            Err(failed) => {
                let stage = started.stage.lock().await;
                let what = message(failed);
                let kind = judge(&case.title, stage.deviation(&what));
                let sent_on = stage.sent_on_broken().map(|head| format!("sent on {head:?}"));
                let what = sent_on.unwrap_or(what);
                deviating.push(Failed { title: case.title.clone(), kind, what });
            }
        }
    }
    Ok(deviating)
}

/// Repairing a message that must be refused is wrong.
fn judge(title: &str, kind: Deviation) -> Deviation {
    let row = title.split(['[', ']']).nth(1).unwrap_or_default();
    match kind {
        Deviation::Repaired if REFUSED_BY_RFC.contains(&row) => Deviation::Wrong,
        kind => kind,
    }
}

/// The message of the assertion that failed.
fn message(failed: JoinError) -> String {
    let Ok(panic) = failed.try_into_panic() else { return "was not played".to_owned() };
    match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(text), _) => text.clone(),
        (_, Some(text)) => (*text).to_owned(),
        _ => "failed".to_owned(),
    }
}

/// A message on one line, shortened, without debugging details.
fn told(message: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.split(": Response {").next().unwrap_or_default().replace('`', "'");
    match line.char_indices().nth(TOLD_MAX) {
        Some((end, _)) => format!("{} ...", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// A peer with its upstream and client.
struct Running {
    stage: Arc<Mutex<Stage>>,
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
            return Ok(Self { stage: Arc::new(Mutex::new(stage)), _peer: None });
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
        Ok(Self { stage: Arc::new(Mutex::new(stage)), _peer: Some(process) })
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

    /// A reverse proxy as it is usually set up: HTTP/1.1, upgrades and a kept connection to the
    /// upstream, all else at its default, but for timeouts short enough to play hundreds of
    /// cases.
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
  map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
  upstream origin {{ server {origin}; keepalive 1; }}
  server {{
    listen {address};
    location / {{
      proxy_pass http://origin; proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;
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
         routes and no bounds of weir's and that the RFCs do not leave open, in one write. {}\n\n{}\n",
        machine.lines().join("; "),
        JUDGED.trim()
    );
    let peers = columns.iter().map(|(version, _)| version.as_str());
    let head: Vec<&str> = ["file", "cases"].into_iter().chain(peers).collect();
    let mut table = Table::new("", &head);
    for (name, cases) in files {
        let counts = columns.iter().map(|(_, column)| counts(column.get(name)));
        table.row([name.clone(), cases.list.len().to_string()].into_iter().chain(counts));
    }
    let all: usize = files.iter().map(|(_, cases)| cases.list.len()).sum();
    let sums = columns.iter().map(|(_, column)| counts(column.values()));
    table.row(["all".to_owned(), all.to_string()].into_iter().chain(sums));
    text.push_str(&table.markdown());
    for (version, deviations) in columns {
        let _ = writeln!(text, "\n## {version}");
        if deviations.values().all(Vec::is_empty) {
            text.push_str("\nNo deviation.\n");
        }
        for (kind, name) in KINDS {
            let of_kind = deviations.values().flatten().filter(|failed| failed.kind == *kind);
            let list: Vec<&Failed> = of_kind.collect();
            if !list.is_empty() {
                let _ = writeln!(text, "\n{name}:\n");
            }
            for failed in list {
                let _ = writeln!(text, "- {}: `{}`", failed.title, told(&failed.what));
            }
        }
    }
    text
}

/// The number of deviations of each kind.
fn counts<'d>(deviations: impl IntoIterator<Item = &'d Vec<Failed>>) -> String {
    let all: Vec<&Failed> = deviations.into_iter().flatten().collect();
    let count = |kind: Deviation| all.iter().filter(|failed| failed.kind == kind).count();
    let counts: Vec<String> = KINDS.iter().map(|(kind, _)| count(*kind).to_string()).collect();
    counts.join(" / ")
}

const KINDS: &[(Deviation, &str)] = &[
    (Deviation::Wrong, "Wrong"),
    (Deviation::PassedOn, "Passed on"),
    (Deviation::Repaired, "Repaired"),
];

const JUDGED: &str = "
Three numbers for each gateway. **Wrong**: something valid is refused or changed, something is answered
that the RFCs have a gateway refuse, a connection is kept or closed that must not be, a neighbour's
request is not answered. **Passed on**: a message that is not valid goes on as it came, so that whoever
gets it has to cope. **Repaired**: a message that is not valid is taken and goes on in a form that is
valid. RFC 9110 section 2.2 allows that in general; weir refuses such messages, because two readers may
repair differently.

Not counted: which error is answered, or that the connection is closed instead; that a connection ends
which was announced to end; that a request is tried again which changes nothing; that a body is collected
before any of it goes on; how bodies are framed anew and what is added to heads.
";

#[cfg(test)]
mod tests {
    use super::{Deviation, Failed, counts, judge, portable, told};

    #[test]
    fn repairing_what_must_be_refused_is_wrong() {
        for (title, kind, expected) in [
            ("a.txt:1 [31] two Hosts", Deviation::Repaired, Deviation::Wrong),
            ("a.txt:1 [31] two Hosts", Deviation::PassedOn, Deviation::PassedOn),
            ("a.txt:1 [3] a coding", Deviation::Repaired, Deviation::Repaired),
        ] {
            assert_eq!(judge(title, kind), expected, "{title}");
        }
    }

    #[test]
    fn what_the_rfcs_leave_open_is_not_asked() {
        let files = portable();
        assert!(files.iter().all(|(name, _)| name != "1.2-limits"));
        let cases: Vec<_> = files.iter().flat_map(|(_, cases)| &cases.list).collect();
        assert!(cases.len() > 400 && cases.iter().all(|case| case.open.is_none()));
    }

    #[test]
    fn deviations_are_told_in_short() {
        assert_eq!(
            told("answered 200, not 400: Response { status: 200 }"),
            "answered 200, not 400"
        );
        assert!(told(&"a `b` ".repeat(100)).len() < 200);
        let failed = |kind| Failed { title: String::new(), kind, what: String::new() };
        let list = vec![failed(Deviation::Wrong), failed(Deviation::Repaired)];
        assert_eq!(counts([&list, &Vec::new()]), "1 / 0 / 1");
    }
}
