//! Work around the code: checks that run as tests, generated documents, comparisons with peers.

mod circles;
mod config_server;
mod configs;
mod differential;
mod dubbo;
mod extension;
mod layers;
mod oracles;
mod pages;
mod release;
mod soak;
mod supply;
mod tidy;

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
    /// Installs under target/ what a check needs beside Rust: cargo-deny.
    Tools,
    /// Builds weir as it is released: by the profile of a training.
    Release(release::ReleaseArgs),
    /// Measures weir beside nginx, HAProxy, Spring Cloud Gateway and a bare forwarder.
    Peers(weir_peers::PeersArgs),
    /// Provokes every failure of weir-faults in its long form, again and again.
    Soak(soak::SoakArgs),
    /// Judges real configurations: served in full, or what stops them.
    Configs(configs::ConfigsArgs),
    /// Runs weir with a real Spring Cloud Config server.
    ConfigServer(config_server::ConfigServerArgs),
    /// Sends hostile requests through weir and real servers and compares what they understand.
    Differential(differential::DifferentialArgs),
    /// Sends calls of a real consumer through weir to real providers of Apache Dubbo.
    Dubbo(dubbo::DubboArgs),
    /// Has the mock service judged by ajv, mock.js, python-stdnum and schemathesis.
    Oracles(oracles::OraclesArgs),
}

fn main() -> ExitCode {
    match Xtask::parse().command {
        Command::Docs => {
            let written = std::process::Command::new(env!("CARGO"))
                .current_dir(weir_testkit::tree::root())
                .args(["run", "--quiet", "--package", "weir", "--"])
                .args(["reference", "--write", "docs/reference"])
                .status();
            match written {
                Ok(status) if status.success() => ExitCode::SUCCESS,
                _ => ExitCode::FAILURE,
            }
        }
        Command::Soak(args) => soak::run(&args).unwrap_or_else(|error| {
            eprintln!("xtask soak: {error:#}");
            ExitCode::FAILURE
        }),
        Command::Tools => exit("tools", supply::install()),
        Command::Release(args) => exit("release", release::run(&args)),
        Command::Peers(args) => exit("peers", weir_peers::run(&args)),
        Command::Configs(args) => exit("configs", configs::run(&args)),
        Command::ConfigServer(args) => exit("config-server", config_server::run(&args)),
        Command::Differential(args) => exit("differential", differential::run(&args)),
        Command::Dubbo(args) => exit("dubbo", dubbo::run(&args)),
        Command::Oracles(args) => exit("oracles", oracles::run(&args)),
        Command::Tidy => {
            let mut findings = tidy::findings();
            findings.extend(layers::findings());
            findings.extend(circles::findings());
            findings.extend(extension::findings());
            findings.extend(extension::property_findings());
            findings.extend(extension::diff_findings());
            findings.extend(pages::findings());
            findings.extend(supply::findings());
            for finding in &findings {
                eprintln!("{finding}");
            }
            if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
    }
}

fn exit(command: &str, result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {command}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
