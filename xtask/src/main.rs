//! Work around the code: checks that run as tests, generated documents, comparisons with peers.

mod layers;
mod peers;
mod supply;
mod tidy;
mod tree;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Work around weir's code.
#[derive(Debug, Parser)]
struct Xtask {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Checks sizes, headers and words of the sources, which crate may use which, and what comes
    /// from others.
    Tidy,
    /// Writes docs/reference anew from the code.
    Docs,
    /// Measures weir beside nginx, HAProxy, Spring Cloud Gateway and a bare forwarder.
    Peers(peers::PeersArgs),
}

fn main() -> ExitCode {
    match Xtask::parse().command {
        Command::Docs => {
            let written = std::process::Command::new(env!("CARGO"))
                .current_dir(tree::root())
                .args(["run", "--quiet", "--package", "weir", "--"])
                .args(["reference", "--write", "docs/reference"])
                .status();
            match written {
                Ok(status) if status.success() => ExitCode::SUCCESS,
                _ => ExitCode::FAILURE,
            }
        }
        Command::Peers(args) => match peers::run(&args) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("xtask peers: {error:#}");
                ExitCode::FAILURE
            }
        },
        Command::Tidy => {
            let mut findings = tidy::findings();
            findings.extend(layers::findings());
            findings.extend(supply::findings());
            for finding in &findings {
                eprintln!("{finding}");
            }
            if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
    }
}
