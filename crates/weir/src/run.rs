//! `weir run`: the gateway.

mod bare;
mod caches;
mod changes;
mod control;
mod logging;
mod management;
mod pipelines;
mod reasons;
mod registries;
mod upstreams;
mod watch;

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::sleep;
use weir_control::Control;
use weir_server::{
    INQUIRIES_MAX, Limits, ProgramPages, Server, ServerOptions, SocketBuffer, SocketBuffers,
    give_back_memory, raise_limits,
};
use weir_snapshot::Settings;

use crate::configuration::ConfigArgs;
use management::Management;
use reasons::{Reason, Reasons};
use registries::Registries;

/// Arguments of `weir run`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir run application.yml
  weir run --profile prod --set server.port=8081 config/
  SERVER_PORT=8081 weir run

Without any configuration and without routes in the store, weir listens on this machine only.

Signals: SIGHUP reloads the configuration, SIGTERM and Ctrl-C finish what runs and stop, a second
one stops at once.
Exit code: 0 stopped as asked, 1 the configuration or the machine did not allow a start.")]
pub struct RunArgs {
    /// What to run.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Directory of the route store, instead of `weir.store.path` (`weir-data`).
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Log filter, such as `info` or `weir_server=debug`.
    #[arg(long, value_name = "FILTER", env = "WEIR_LOG", default_value = "info")]
    pub log: String,
    /// What was started is told by whoever started it.
    #[arg(skip)]
    pub is_quiet: bool,
}

/// The time after a start or a reload by which the threads that it woke are idle again.
const SETTLED: Duration = Duration::from_millis(500);

/// Runs the gateway until it is stopped.
///
/// # Errors
/// Whatever keeps it from starting.
pub fn run(args: RunArgs) -> anyhow::Result<ExitCode> {
    run_with(args, async |_| Ok(()), |_| {})
}

/// Name, type and meaning of every metric that a gateway may have besides those of the data plane,
/// as an empty scrape.
pub fn further_metrics() -> String {
    Registries::metrics_of(&[])
        + &upstreams::metrics_of(&[])
        + &caches::metrics()
        + &weir_control::mirrors_metrics()
        + &weir_control::callbacks_prometheus()
        + &pipelines::metrics()
        + &weir_admin::limits_metrics()
        + &weir_admin::breakers_metrics()
}

/// The process's limits and the state of its program pages.
struct Machine {
    limits: Limits,
    program: ProgramPages,
}

/// The addresses that a gateway listens on.
pub struct Started {
    /// The data plane; `None` if there are pipelines alone.
    pub gateway: Option<SocketAddr>,
    /// The admin API, unless it is switched off.
    pub admin: Option<SocketAddr>,
}

/// Runs the gateway; `prepare` may change the route table before traffic is taken, `announce` is
/// called once it is.
///
/// # Errors
/// Whatever keeps it from starting.
pub fn run_with(
    mut args: RunArgs,
    prepare: impl AsyncFnOnce(&Control) -> anyhow::Result<()>,
    announce: impl FnOnce(&Started),
) -> anyhow::Result<ExitCode> {
    // Before there is a thread that could load a library.
    let program = ProgramPages::find();
    let loggers = logging::start(&args.log)?;
    let is_bare = bare::is_bare(&args.config)?;
    if let Some(data) = &args.data {
        args.config.set.push(format!("weir.store.path={}", data.display()));
    }
    if is_bare {
        bare::keep_local(&mut args.config)?;
    }
    let machine = Machine { limits: raise_limits(), program };
    // Taken before the files are read, so that a change in between is not missed.
    let changes = watch::Watch::new(&args.config);
    let registries = Arc::new(Registries::default());
    let Some((control, settings)) = control::start(&args.config, &registries)? else {
        return Ok(ExitCode::FAILURE);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let control = Arc::new(control);
        prepare(&control).await?;
        let parts = Parts { control, registries, settings: &settings, machine: &machine };
        serve(&args, parts, loggers, changes, announce).await
    })
}

/// The parts of a gateway before it serves.
struct Parts<'a> {
    control: Arc<Control>,
    registries: Arc<Registries>,
    settings: &'a Arc<Settings>,
    machine: &'a Machine,
}

async fn serve(
    args: &RunArgs,
    parts: Parts<'_>,
    loggers: logging::Loggers,
    changes: watch::Watch<'_>,
    announce: impl FnOnce(&Started),
) -> anyhow::Result<ExitCode> {
    let Parts { control, registries, settings, machine } = parts;
    // Signals are taken from the start, so that none ends the process half-way.
    let hangup = signal(SignalKind::hangup())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (management, refreshes) = Management::bind(settings)?;
    let (services, servers) = (registries.watch(), registries.watch_servers());
    let mut reasons = Reasons { hangup, files: changes, services, servers, refreshes };
    let options = options(&registries, &management, &control, settings);
    let server =
        Server::start(&control.published(), &options).context("the gateway cannot start")?;
    let ready = Arc::new(AtomicBool::new(true));
    let admin_address = management.admin_address();
    let admin = management.serve(&control, &registries, settings, &server, &ready, loggers)?;
    let started = Started { gateway: server.address(), admin: admin_address };
    report(args, &control, settings, &machine.limits, &server, &started);
    announce(&started);
    if let Some(gateway) = started.gateway {
        registries.register(gateway, settings, admin_address);
    }
    let mut unsettled = true;
    loop {
        let reason = tokio::select! {
            reason = reasons.next(&control) => reason,
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            () = sleep(SETTLED), if unsettled => {
                machine.program.forget();
                give_back_memory();
                unsettled = false;
                continue;
            }
        };
        reload(args, &control, &registries, settings, reason, &server).await;
        unsettled = true;
    }
    ready.store(false, Ordering::Relaxed);
    tokio::task::spawn_blocking(move || registries.leave()).await?;
    let timeout = control.published().load().settings.shutdown_timeout;
    let cut = stop(server, timeout, &mut terminate, &mut interrupt).await?;
    admin.stop();
    match cut {
        0 => eprintln!("stopped; every request was answered"),
        _ => eprintln!("stopped; {cut} connections were cut"),
    }
    Ok(ExitCode::SUCCESS)
}

fn options(
    registries: &Arc<Registries>,
    management: &Management,
    control: &Control,
    settings: &Settings,
) -> ServerOptions {
    let (inquiries, questions) = mpsc::channel(INQUIRIES_MAX);
    registries.answer(questions, management.admin_address());
    ServerOptions {
        seed: random_seed(),
        reserved: management.on_main_port(settings),
        admin: management.admin_address(),
        inquiries: Some(inquiries),
        recorder: Arc::clone(control.recorder()),
    }
}

/// Lets requests in flight end; a further signal aborts them. Returns the number of aborted
/// connections.
async fn stop(
    server: Server,
    timeout: Duration,
    terminate: &mut Signal,
    interrupt: &mut Signal,
) -> anyhow::Result<i64> {
    let hurry = Arc::new(AtomicBool::new(false));
    eprintln!("draining {} connections", server.metrics().connections());
    let stopping = tokio::task::spawn_blocking({
        let hurry = Arc::clone(&hurry);
        move || drain(server, timeout, &hurry)
    });
    tokio::pin!(stopping);
    loop {
        tokio::select! {
            cut = &mut stopping => return Ok(cut?),
            _ = terminate.recv() => hurry.store(true, Ordering::Relaxed),
            _ = interrupt.recv() => hurry.store(true, Ordering::Relaxed),
        }
    }
}

async fn reload(
    args: &RunArgs,
    control: &Control,
    registries: &Arc<Registries>,
    settings: &Settings,
    reason: Reason,
    server: &Server,
) {
    let reloaded = control::reload(&args.config, control, registries, settings, reason.why).await;
    if let Some(asked) = reason.asked {
        // Fails only if the receiver is gone.
        let _ = asked.send(reloaded);
    }
    let (metrics, snapshot) = (server.metrics().clone(), control.published().load_full());
    let before = server.pipelines()();
    let failures = server.set_pipelines(&snapshot);
    pipelines::log_changes(&before, &server.pipelines()());
    for (pipeline, error) in failures {
        tracing::error!(pipeline, "not served: {error}");
    }
    // Routes that were read again are counted where they were.
    drop(tokio::task::spawn_blocking(move || metrics.recognise(&snapshot)));
}

fn drain(server: Server, timeout: Duration, hurry: &AtomicBool) -> i64 {
    server.finish(timeout, || hurry.load(Ordering::Relaxed))
}

/// 64 bits that differ between starts.
fn random_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

/// The report at start: the parts with their addresses, and the settings that the system refused.
/// Scripts read the first words of the lines. A mock reports its operations itself.
fn report(
    args: &RunArgs,
    control: &Control,
    settings: &Settings,
    limits: &Limits,
    server: &Server,
    started: &Started,
) {
    if args.is_quiet {
        return;
    }
    let mut out = String::new();
    let workers = match server.acceptors() {
        0 => format!("{} (each accepts)", server.workers()),
        1 => format!("{} (1 acceptor)", server.workers()),
        n => format!("{} ({n} acceptors)", server.workers()),
    };
    let _ = writeln!(out, "routes    {}", control.published().load().index.len());
    let pinned = if settings.pinning { ", each kept to one core" } else { "" };
    let _ = writeln!(out, "workers   {workers}{pinned}");
    if let Some(refused) = server.unpinned() {
        let _ = writeln!(out, "          the system refused to keep them there: {refused}");
    }
    out.push_str(&buffers(settings, server.socket_buffers()));
    let _ = writeln!(out, "store     {}", settings.store_path.display());
    let _ = writeln!(
        out,
        "files     {} open files allowed (were {}): {} clients at a time, {} kept for upstreams",
        limits.files,
        limits.files_before,
        server.files().clients_max.min(settings.connections_max),
        server.files().upstreams_min,
    );
    if let Some(refused) = &limits.refused {
        let _ = writeln!(out, "          the limit on open files was not raised: {refused}");
    }
    if settings.backlog > limits.backlog_max {
        let _ = writeln!(
            out,
            "          backlog {} is cut to {}: raise net.core.somaxconn",
            settings.backlog, limits.backlog_max
        );
    }
    if let Some(admin) = started.admin {
        let _ = writeln!(out, "admin     http {admin}");
    }
    if let Some(gateway) = started.gateway {
        let _ = writeln!(out, "listening http {gateway}");
    }
    for pipeline in server.pipelines()() {
        for address in pipeline.listen {
            let _ = writeln!(out, "listening {} {address} ({})", pipeline.protocol, pipeline.id);
        }
    }
    crate::output::say(&out);
}

/// The read buffers of connections, and the buffers of their sockets.
fn buffers(settings: &Settings, sockets: SocketBuffers) -> String {
    let size = |bytes: usize| match bytes % 1024 {
        0 => format!("{} KB", bytes / 1024),
        _ => format!("{bytes} bytes"),
    };
    let of = |name: &str, buffer: Option<SocketBuffer>| match buffer {
        Some(buffer) => format!("{name} {}", size(buffer.granted)),
        None => format!("{name} system default"),
    };
    let (receive, send) = (of("receive", sockets.receive), of("send", sockets.send));
    let read = size(settings.read_buffer_bytes);
    let mut out = format!("buffers   {read} per read; of clients' sockets: {receive}, {send}\n");
    for (property, buffer, limit) in [
        ("weir.server.receive-buffer-size", sockets.receive, "net.core.rmem_max"),
        ("weir.server.send-buffer-size", sockets.send, "net.core.wmem_max"),
    ] {
        if let Some(SocketBuffer { asked, granted }) = buffer
            && granted < asked
        {
            let (asked, granted) = (size(asked), size(granted));
            let cut = format!("{property} {asked} is cut to {granted}: raise {limit}");
            let _ = writeln!(out, "          {cut}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Settings, SocketBuffer, SocketBuffers, buffers};

    #[test]
    fn buffers_are_told_as_chosen_and_as_refused() {
        let mut settings = Settings::default();
        let told = buffers(&settings, SocketBuffers::default());
        let expected = "buffers   96 KB per read; of clients' sockets: receive system default, \
                        send system default\n";
        assert_eq!(told, expected);
        settings.read_buffer_bytes = 5_000;
        let receive = Some(SocketBuffer { asked: 8 << 20, granted: 212_992 });
        let send = Some(SocketBuffer { asked: 16 << 10, granted: 16 << 10 });
        let told = buffers(&settings, SocketBuffers { receive, send });
        let expected = "buffers   5000 bytes per read; of clients' sockets: receive 208 KB, send \
                        16 KB\n          weir.server.receive-buffer-size 8192 KB is cut to 208 \
                        KB: raise net.core.rmem_max\n";
        assert_eq!(told, expected);
    }
}
