//! `cargo xtask peers`: weir beside nginx, HAProxy, Spring Cloud Gateway and a bare forwarder, on
//! one machine in one run.
//!
//! Everything listens on free ports of 127.0.0.1, runs pinned, and ends with this process. Ratios
//! are what to read: absolute numbers belong to the machine of the run.

mod bench;
mod chart;
pub mod client;
mod common;
mod compare;
mod generators;
pub mod interrupt;
mod launch;
pub mod machine;
pub mod maven;
mod mock;
pub mod process;
pub mod program;
mod proxy;
mod registries;
pub mod report;
mod routes;
pub mod shapes;
mod stats;
mod subject;
mod system;
pub mod tools;
mod traffic;
pub mod usage;
mod wire;

/// Arguments of `xtask peers`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Needs Debian's nginx, haproxy, wrk, apache2-utils and strace; says what is missing, or installs it with
--install. Loads 127.0.0.1 only. Two cores at least: with two, the proxy has core 0 to itself, client and
upstream share core 1; with more, each has one.

Results go to bench/runs/<date>-<machine>/ and, if nothing is left out, into docs/performance.md. A machine that
does something else at the same time spoils rates and latencies first, ratios of CPU last.")]
pub struct PeersArgs {
    #[command(subcommand)]
    measure: Measure,
}

#[derive(Debug, clap::Subcommand)]
enum Measure {
    /// What a proxied request costs: 35 minutes, longer with --full
    Proxy(proxy::ProxyArgs),
    /// What the number of routes costs: 15 minutes, hours with --full
    Routes(routes::RoutesArgs),
    /// Spring Cloud Gateway beside the others: 20 minutes; or alone, as a target
    Scg(proxy::ScgArgs),
    /// What each makes of the cases of tests/wire: 5 minutes
    Wire(wire::WireArgs),
    /// What a request costs `weir bench`, wrk, wrk2, ab, hey and oha: 3 minutes
    Bench(generators::GeneratorArgs),
    /// weir and Spring Cloud Gateway with a real Eureka and its services: 2 minutes
    System(system::SystemArgs),
    /// weir with a real Kubernetes API server and a real Consul: 2 minutes, and 15 to build them
    Registries(registries::RegistriesArgs),
    /// What an answer of a mock costs, beside Prism, WireMock and MockServer: 5 minutes
    Mock(mock::MockArgs),
    /// Becomes another program on given cores
    #[command(hide = true)]
    Launch(launch::LaunchArgs),
}

/// Runs it.
///
/// # Errors
/// A tool is missing, something does not start, or Ctrl-C.
pub fn run(args: &PeersArgs) -> anyhow::Result<()> {
    match &args.measure {
        Measure::Proxy(args) => proxy::run(args),
        Measure::Routes(args) => routes::run(args),
        Measure::Scg(args) => proxy::run_scg(args),
        Measure::Wire(args) => wire::run(args),
        Measure::Bench(args) => generators::run(args),
        Measure::System(args) => system::run(args),
        Measure::Registries(args) => registries::run(args),
        Measure::Mock(args) => mock::run(args),
        Measure::Launch(args) => launch::run(args),
    }
}
