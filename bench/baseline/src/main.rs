//! `weir-bare`: the floor that proxies are measured against (`cargo xtask peers`).
//!
//! `forward` copies bytes between each client connection and an upstream connection of its own, and
//! knows no HTTP; `copy` does the same with tokio. `answer` is an upstream that costs as little as
//! one can that reads its requests. One thread each, no allocation per request, raw epoll but for
//! `copy`.

mod answer;
mod copy;
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
}

fn main() -> ExitCode {
    let ended = match Bare::parse().command {
        Command::Forward { listen, to } => forward::run(listen, to),
        Command::Copy { listen, to } => copy::run(listen, to),
        Command::Answer { listen } => answer::run(listen),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("weir-bare: {error:#}");
            ExitCode::FAILURE
        }
    }
}
