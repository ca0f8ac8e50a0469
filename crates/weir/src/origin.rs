//! `weir origin`: an upstream for tests, demonstrations and experiments.

use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};
use weir_origin::{Options, Stats};
use weir_server::raise_limits;

/// Time between two lines about connections and threads in use.
const REPORT: Duration = Duration::from_secs(5);

/// Arguments of `weir origin`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir origin
  weir origin --listen 127.0.0.1:9999 --workers 2
  weir origin --blocking --threads 200
  curl http://127.0.0.1:9999/hello/100

Paths: /ok/** /hello/{ms} /headers /get /anything/** /status/{code} /delay/{s} /stream/{lines} /sse
       /bytes/{count} /ws (WebSocket echo) /stats")]
pub struct OriginArgs {
    /// Where to listen; port 0 picks a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9999")]
    pub listen: SocketAddr,
    /// Listens on these addresses, too, at the same port: many instances in one process.
    #[arg(long, value_name = "IP", value_delimiter = ',')]
    pub also: Vec<IpAddr>,
    /// Threads that accept and serve.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub workers: usize,
    /// Lets `/hello` and `/delay` occupy a thread each while they wait, as a servlet container
    /// does.
    #[arg(long)]
    pub blocking: bool,
    /// Most such threads.
    #[arg(long, value_name = "N", default_value_t = 200, requires = "blocking")]
    pub threads: usize,
    /// Most requests waiting for such a thread; one more is answered with 503.
    #[arg(long, value_name = "N", default_value_t = 10_000, requires = "blocking")]
    pub queue: usize,
    /// Connections the kernel may hold before they are accepted.
    #[arg(long, value_name = "N", default_value_t = 65_535)]
    pub backlog: i32,
    /// Prints a line for each request.
    #[arg(long)]
    pub access_log: bool,
    /// Prints nothing but the address.
    #[arg(long)]
    pub quiet: bool,
}

/// Serves until Ctrl-C or SIGTERM.
///
/// # Errors
/// The address cannot be listened on.
pub fn run(args: OriginArgs) -> anyhow::Result<ExitCode> {
    raise_limits();
    if args.access_log {
        tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    }
    let options = Options {
        address: args.listen,
        also: args.also,
        workers: args.workers,
        blocking: args.blocking,
        threads: args.threads,
        queue: args.queue,
        backlog: args.backlog,
        access_log: args.access_log,
    };
    let running = weir_origin::serve(options).with_context(|| {
        format!("cannot listen on {}; choose another with --listen", args.listen)
    })?;
    crate::output::say(&format!("listening http {}\n", running.address()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut last = Stats::default();
        loop {
            tokio::select! {
                _ = terminate.recv() => return Ok(ExitCode::SUCCESS),
                _ = interrupt.recv() => return Ok(ExitCode::SUCCESS),
                () = tokio::time::sleep(REPORT) => {}
            }
            let now = running.stats();
            if !args.quiet && now != last {
                crate::output::say(&format!("{now}\n"));
            }
            last = now;
        }
    })
}
