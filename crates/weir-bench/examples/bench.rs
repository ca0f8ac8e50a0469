//! `weir bench` alone, for measuring it without the rest of weir.

use clap::Parser;

#[derive(Parser)]
#[command(name = "bench", disable_version_flag = true)]
struct Cli {
    #[command(flatten)]
    args: weir_bench::cli::Args,
}

fn main() -> std::process::ExitCode {
    weir_bench::cli::run(Cli::parse().args).into()
}
