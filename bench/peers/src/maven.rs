//! Java programs of `bench/`, built with Maven.

use std::process::Command;

use anyhow::Context;
use weir_testkit::tree::root;

use super::tools::{Tool, path};

/// Builds `bench/<project>` and returns its class path. Works offline if the dependencies have been
/// fetched before.
///
/// # Errors
/// Maven cannot build it.
pub fn class_path(project: &str) -> anyhow::Result<String> {
    eprintln!("building bench/{project} with Maven");
    let maven = path(Tool::Maven)?;
    let run = |offline: &[&str]| {
        Command::new(&maven)
            .current_dir(root().join("bench").join(project))
            .args(offline)
            .args(["-q", "-B", "compile", "exec:exec"])
            .output()
            .context("mvn")
    };
    let mut output = run(&["-o"])?;
    if !output.status.success() {
        output = run(&[])?;
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    anyhow::ensure!(output.status.success(), "bench/{project} does not build:\n{text}");
    let classes = text.lines().find(|line| line.contains("target/classes"));
    let classes = classes.context("Maven printed no class path")?;
    // Terminal colours may precede it.
    Ok(classes.rsplit('\u{1b}').next().unwrap_or(classes).trim_start_matches("[0m").to_owned())
}
