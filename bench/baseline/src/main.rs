//! `weir-bare`: the floor that proxies are measured against (`cargo xtask peers`).
//!
//! `forward` copies bytes between each client connection and an upstream connection of its own, and
//! knows no HTTP; `copy` does the same with tokio. `answer` is an upstream that costs as little as
//! one can that reads its requests. One thread each, no allocation per request, raw epoll but for
//! `copy`. `dubbo-answer` and `dubbo-load` are a Dubbo provider and its consumer, with a thread for
//! each connection (`bench/pipelines.sh`).

mod answer;
mod copy;
mod dubbo;
mod forward;
mod net;

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The floor that proxies are measured against.
#[derive(Debug, Parser)]
struct Bare {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Copies bytes between clients and an upstream, a connection there for each one here.
    Forward {
        /// Where to listen; port 0 picks a free one.
        #[arg(long, value_name = "ADDRESS")]
        listen: SocketAddr,
        /// The upstream.
        #[arg(long, value_name = "ADDRESS")]
        to: SocketAddr,
    },
    /// The same with tokio, as most would write it.
    Copy {
        /// Where to listen; port 0 picks a free one.
        #[arg(long, value_name = "ADDRESS")]
        listen: SocketAddr,
        /// The upstream.
        #[arg(long, value_name = "ADDRESS")]
        to: SocketAddr,
    },
    /// Answers every request with 200 and `ok`, or as its X-Answer field asks: a number of bytes,
    /// or a number and `,chunked`.
    Answer {
        /// Where to listen; port 0 picks a free one.
        #[arg(long, value_name = "ADDRESS")]
        listen: SocketAddr,
    },
    /// Answers every Dubbo call by its own body.
    DubboAnswer {
        /// Where to listen; port 0 picks a free one.
        #[arg(long, value_name = "ADDRESS")]
        listen: SocketAddr,
    },
    /// Makes Dubbo calls, and fails if an answer is wrong.
    DubboLoad {
        /// The gateway or provider.
        #[arg(long, value_name = "ADDRESS")]
        to: SocketAddr,
        /// How many connections.
        #[arg(long, value_name = "N", default_value_t = 8)]
        connections: u64,
        /// Calls under way on each of them.
        #[arg(long, value_name = "N", default_value_t = 1)]
        depth: u64,
        /// Calls in all.
        #[arg(long, value_name = "N", default_value_t = 100_000)]
        calls: u64,
    },
}

fn main() -> ExitCode {
    let ended = match Bare::parse().command {
        Command::Forward { listen, to } => forward::run(listen, to),
        Command::Copy { listen, to } => copy::run(listen, to),
        Command::Answer { listen } => answer::run(listen),
        Command::DubboAnswer { listen } => dubbo::answer(listen),
        Command::DubboLoad { to, connections, depth, calls } => {
            dubbo::load(to, connections, depth, calls)
        }
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("weir-bare: {error:#}");
            ExitCode::FAILURE
        }
    }
}
