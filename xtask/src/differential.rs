//! `cargo xtask differential`: hostile connections through weir, the judge and real servers.
//!
//! `crates/weir/tests/differential.rs` does the same in short.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use weir_peers::machine::Machine;
use weir_peers::program;
use weir_peers::report::Table;
use weir_testkit::differential::{
    Echo, Outcome, Rig, Seen, Server, Understanding, compare, generate,
};
use weir_testkit::judge::Message;
use weir_testkit::spawn_weir;
use weir_testkit::tree::{root, shown};

/// Arguments of `xtask differential`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Asks nginx, Apache, Node.js, Go and the JDK's server, those that are installed. Results go to
bench/runs/<date>-<machine>/differential.md. Fails if a fault is found.")]
pub struct DifferentialArgs {
    /// Number of connections to make
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    count: u64,
    /// Where chance starts
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// A weir that is built, instead of building it
    #[arg(long, value_name = "FILE")]
    weir: Option<PathBuf>,
    /// Folder for the results, instead of bench/runs/<date>-<machine>
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// The maximum number of bytes shown of a refused request.
const SHOWN_MAX: usize = 160;
/// The maximum number of faults reported in full.
const TOLD_MAX: usize = 20;

/// The sum of the results of all connections.
#[derive(Default)]
struct Sum {
    judged: usize,
    sent_on: usize,
    refused_by_judge: usize,
    stricter: usize,
    faults: Vec<String>,
}

/// One server's interpretation of the forwarded bytes.
#[derive(Default)]
struct Taken {
    name: String,
    connections: usize,
    same: usize,
    /// By status and the peculiarity of the refused request; 0 is a connection closed without an
    /// answer.
    refused: BTreeMap<(u16, &'static str), Refused>,
    /// Connections that ended as the answer to such a request had announced.
    ended: BTreeMap<&'static str, Refused>,
    faults: Vec<String>,
}

/// Requests refused for the same reason.
#[derive(Default)]
struct Refused {
    count: usize,
    /// The number of the first case, and the bytes of its request.
    first: Option<(u64, Vec<u8>)>,
}

/// A case as the servers get it.
struct Case {
    number: u64,
    seen: Seen,
}

/// Runs it.
///
/// # Errors
/// Something does not start, or a fault was found.
pub fn run(args: &DifferentialArgs) -> anyhow::Result<()> {
    let binary = program::weir(args.weir.as_deref())?;
    let mut rig = Rig::new();
    let config = format!(
        "server: {{ port: 0, address: 127.0.0.1 }}\nmanagement.server.port: -1\n\
         weir.server.workers: 1\nspring.cloud.gateway.server.webflux.routes:\n\
         - {{ id: all, uri: 'http://{}', predicates: [ 'Path=/**' ] }}\n",
        rig.address()
    );
    let gateway = spawn_weir(&binary.display().to_string(), &["run", "{config}"], &config);
    let directory = tempfile::tempdir()?;
    let echo = Echo::start()?;
    let files = root().join("tests/differential");
    let servers = Server::start_all(&files, directory.path(), &echo)?;
    let (senders, asking): (Vec<_>, Vec<_>) = servers.into_iter().map(start_asking).unzip();
    let mut sum = Sum::default();
    for number in 0..args.count {
        let bytes = generate(args.seed, number);
        let seen = rig.play(gateway.address(), &bytes)?;
        sum.add(number, compare(&bytes, &seen).map_err(|fault| fault.to_string()));
        let case = Arc::new(Case { number, seen });
        for sender in senders.iter().filter(|_| !case.seen.messages.is_empty()) {
            let _ = sender.send(Arc::clone(&case));
        }
        if (number + 1) % 10_000 == 0 {
            eprintln!("{} connections, {} faults", number + 1, sum.faults.len());
        }
    }
    drop(senders);
    let taken: Vec<Taken> = asking
        .into_iter()
        .map(JoinHandle::join)
        .collect::<Result<_, _>>()
        .map_err(|_| anyhow::anyhow!("a thread that asked a server has panicked"))?;
    finish(args, &sum, &taken)
}

impl Sum {
    fn add(&mut self, number: u64, result: Result<Outcome, String>) {
        match result {
            Ok(outcome) => {
                self.judged += outcome.judged;
                self.sent_on += outcome.sent_on;
                self.refused_by_judge += usize::from(outcome.refused_by_judge);
                self.stricter += usize::from(outcome.stricter);
            }
            Err(fault) => self.faults.push(format!("case {number}: {fault}")),
        }
    }
}

fn start_asking(server: Server) -> (SyncSender<Arc<Case>>, JoinHandle<Taken>) {
    let (sender, receiver) = sync_channel(64);
    (sender, std::thread::spawn(move || ask_all(&server, &receiver)))
}

fn ask_all(server: &Server, cases: &Receiver<Arc<Case>>) -> Taken {
    let mut taken =
        Taken { name: format!("{}: {}", server.name, server.version), ..Taken::default() };
    for case in cases {
        taken.connections += 1;
        let fault = match server.ask(&case.seen.raw, &case.seen.messages) {
            Ok(Understanding::Same) => {
                taken.same += 1;
                continue;
            }
            Ok(Understanding::Refused(status, at)) => {
                taken.refused.entry((status, unusual(&case, at))).or_default().add(&case, at);
                continue;
            }
            Ok(Understanding::Ended(at)) => {
                let before = at.saturating_sub(1);
                let expects = |message: &Message| !message.all("expect").is_empty();
                let unusual = match case.seen.messages.get(before).is_some_and(expects) {
                    true => "Expect",
                    false => unusual(&case, before),
                };
                taken.ended.entry(unusual).or_default().add(&case, before);
                continue;
            }
            Ok(Understanding::Other(how)) => how,
            Err(error) => error.to_string(),
        };
        let raw = case.seen.raw.concat();
        taken.faults.push(format!(
            "case {}: {}: {fault}\n  \"{}\"",
            case.number,
            server.name,
            raw.escape_ascii()
        ));
    }
    taken
}

impl Refused {
    fn add(&mut self, case: &Case, at: usize) {
        self.count += 1;
        let bytes = || case.seen.raw.get(at).cloned().unwrap_or_default();
        self.first.get_or_insert_with(|| (case.number, bytes()));
    }
}

/// The reason why a server may refuse the request `at`, or one behind it, since some servers refuse
/// those before they answer this one.
fn unusual(case: &Case, at: usize) -> &'static str {
    let rest = case.seen.messages.get(at..).unwrap_or_default();
    rest.iter().find_map(unusual_about).unwrap_or("nothing")
}

fn unusual_about(message: &Message) -> Option<&'static str> {
    let known = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"];
    let twice = |name: &&str| message.all(name).len() > 1;
    let brackets = |byte: &u8| b"[]".contains(byte);
    match message {
        _ if !known.iter().any(|method| method.as_bytes() == message.method) => Some("its method"),
        _ if !message.trailers.is_empty() => Some("its trailers"),
        _ if ONCE.iter().any(twice) => Some("a field twice that is no list"),
        _ if !message.all("expect").is_empty() => Some("Expect"),
        _ if !message.all("upgrade").is_empty() => Some("Upgrade"),
        _ if message.target.iter().any(brackets) => Some("`[` or `]` in its target"),
        _ => None,
    }
}

/// Fields of the generator's that are no lists (RFC 9110 section 5.3).
const ONCE: &[&str] = &["authorization", "expect", "user-agent", "range", "host"];

fn finish(args: &DifferentialArgs, sum: &Sum, taken: &[Taken]) -> anyhow::Result<()> {
    let machine = Machine::here();
    let text = report(args, &machine, sum, taken);
    println!("{text}");
    let folder = args.out.clone();
    let folder = folder.unwrap_or_else(|| root().join("bench/runs").join(machine.folder()));
    let file: &Path = &folder.join("differential.md");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(file, text)?;
    eprintln!("written: {}", shown(file));
    let faults: Vec<&String> =
        sum.faults.iter().chain(taken.iter().flat_map(|server| &server.faults)).collect();
    for fault in faults.iter().take(TOLD_MAX) {
        eprintln!("{fault}");
    }
    anyhow::ensure!(faults.is_empty(), "{} faults", faults.len());
    Ok(())
}

fn report(args: &DifferentialArgs, machine: &Machine, sum: &Sum, taken: &[Taken]) -> String {
    let mut text = String::from("# What is sent on is what was understood\n\n");
    let _ = writeln!(
        text,
        "`cargo xtask differential --count {} --seed {}`: connections made by a grammar of hostile \
         requests and by changes of single bytes go through weir to a recording upstream. A strict \
         reader that shares no code with weir reads what the client sent and what the upstream got; \
         real servers get the latter. {}\n",
        args.count,
        args.seed,
        machine.lines().join("; ")
    );
    let mut table = Table::new("", &["weir against the strict reader", "count"]);
    for (name, count) in [
        ("connections", args.count as usize),
        ("of them with something the reader refuses", sum.refused_by_judge),
        ("of them with a request weir refuses and the reader takes", sum.stricter),
        ("requests the reader finds in what clients sent", sum.judged),
        ("requests sent on, each with the same method, target and body", sum.sent_on),
        ("faults: one too many, another target or body, malformed, stuck", sum.faults.len()),
    ] {
        table.row([name.to_owned(), count.to_string()]);
    }
    text.push_str(&table.markdown());
    text.push('\n');
    let head = ["server", "connections", "understood the same", "ended", "refused", "faults"];
    let mut table = Table::new("", &head);
    for server in taken {
        let ended: usize = server.ended.values().map(|ended| ended.count).sum();
        let refused: usize = server.refused.values().map(|refused| refused.count).sum();
        let counts = [server.connections, server.same, ended, refused, server.faults.len()];
        table
            .row(std::iter::once(server.name.clone()).chain(counts.map(|count| count.to_string())));
    }
    text.push_str(&table.markdown());
    text.push_str(
        "\nEnded: with its answer to a request the server said that it closes the connection, and \
         did; those behind it have to be sent anew. Refused: it answered a request that RFC 9112 \
         allows with an error, or closed the connection instead. What it understood before is the \
         same in either case. By what is unusual about the request:\n\n",
    );
    text.push_str(&refusals(taken));
    text
}

/// One line for each way in which a server ended a connection or refused.
fn refusals(taken: &[Taken]) -> String {
    let mut text = String::new();
    for server in taken {
        let name = server.name.split(':').next().unwrap_or_default();
        for (unusual, ended) in &server.ended {
            let _ =
                writeln!(text, "- {name}, ended: {} × {unusual}; {}", ended.count, first(ended));
        }
        for ((status, unusual), refused) in &server.refused {
            let how = if *status == 0 { "closed".to_owned() } else { status.to_string() };
            let (count, first) = (refused.count, first(refused));
            let _ = writeln!(text, "- {name}, {how}: {count} × {unusual}; {first}");
        }
    }
    text
}

fn first(refused: &Refused) -> String {
    let Some((number, bytes)) = &refused.first else { return String::new() };
    let start = bytes.get(..SHOWN_MAX).unwrap_or(bytes).escape_ascii();
    format!("case {number}: `{}`", start.to_string().replace('`', "\\x60"))
}
