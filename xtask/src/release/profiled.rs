//! The steps of a profile-guided build: build with counters, train, merge, build by the profile.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::layout::{Layout, stamp};
use super::toolchain::Toolchain;
use super::{target, training};
use crate::peers::interrupt::Interrupt;
use crate::peers::process::Process;

/// How long cargo may take; slow machines take as long as they take.
const BUILD_MAX: Duration = Duration::from_secs(4 * 3600);
/// How long merging may take.
const MERGE_MAX: Duration = Duration::from_secs(300);
/// What cargo puts between two flags.
const SEPARATOR: char = '\u{1f}';

/// weir built by the profile of its training; its path.
///
/// # Errors
/// It does not build, fails in its training, or Ctrl-C.
pub fn build(toolchain: &Toolchain, interrupt: &Interrupt) -> anyhow::Result<PathBuf> {
    let layout = Layout::new(target().join("released"))?;
    let _alone = layout.lock()?;
    let weir = |folder: &Path, flag: String| -> anyhow::Result<PathBuf> {
        let command = cargo(&["weir", "--target", &toolchain.host], folder);
        let user = |name: &str| std::env::var(name).ok();
        let flags = flags(user("CARGO_ENCODED_RUSTFLAGS"), user("RUSTFLAGS"), &flag);
        build_with(&command, &[("CARGO_ENCODED_RUSTFLAGS", flags.into())], interrupt)?;
        Ok(folder.join(&toolchain.host).join("release/weir"))
    };
    let counting = step("building weir with counters", || {
        weir(&layout.counting, format!("-Cprofile-generate={}", layout.counters.display()))
    })?;
    let program = std::fs::read(&counting).with_context(|| counting.display().to_string())?;
    let stamp = stamp(&program, training::DEFINITION);
    if layout.is_trained(&stamp) {
        eprintln!("release: it was trained before, and nothing has changed since");
    } else {
        layout.forget()?;
        let bare = step("building weir-bare, the upstream of the training", || {
            build_with(&cargo(&["weir-bare"], &target()), &[], interrupt)?;
            Ok(target().join("release/weir-bare"))
        })?;
        step("training", || {
            training::run(&counting, &bare, interrupt, |weight| layout.weigh(weight))
        })?;
        step("merging the counters", || merge(toolchain, &layout, interrupt))?;
        layout.keep(&stamp)?;
    }
    let optimised = step("building weir by the profile", || {
        weir(&layout.optimised, format!("-Cprofile-use={}", layout.profile.display()))
    })?;
    layout.publish(&optimised)?;
    Ok(layout.weir)
}

/// Does `work`, and says what it is and how long it took.
fn step<T>(what: &str, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    eprintln!("release: {what}");
    let began = Instant::now();
    let done = work().with_context(|| format!("while {what}"))?;
    eprintln!("release: {what} took {:.0} s", began.elapsed().as_secs_f64());
    Ok(done)
}

/// The command that builds a package in release into a target directory.
fn cargo(package: &[&str], folder: &Path) -> Vec<String> {
    let folder = folder.display().to_string();
    let command = [env!("CARGO"), "build", "--release", "--quiet", "--target-dir", &folder, "-p"];
    command.iter().chain(package).map(|word| (*word).to_owned()).collect()
}

fn build_with(
    command: &[String],
    variables: &[(&str, OsString)],
    interrupt: &Interrupt,
) -> anyhow::Result<()> {
    let (ended, _) = Process::visible(command, variables)?.finish(BUILD_MAX, interrupt)?;
    ensure!(ended.success(), "it does not build; what rustc said is above ({ended})");
    Ok(())
}

/// The flags of the user, in cargo's order of precedence, and `flag` behind them, as
/// `CARGO_ENCODED_RUSTFLAGS`, in which a flag may have spaces.
fn flags(encoded: Option<String>, plain: Option<String>, flag: &str) -> String {
    let split = |plain: String| {
        plain.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join("\u{1f}")
    };
    let mut flags = encoded.or(plain.map(split)).unwrap_or_default();
    if !flags.is_empty() {
        flags.push(SEPARATOR);
    }
    flags + flag
}

fn merge(toolchain: &Toolchain, layout: &Layout, interrupt: &Interrupt) -> anyhow::Result<()> {
    let (program, profile) =
        (toolchain.profdata.display().to_string(), layout.profile.display().to_string());
    let mut command = [&*program, "merge", "-o", &profile].map(str::to_owned).to_vec();
    let weighed = layout.weighed()?;
    let inputs =
        weighed.iter().map(|(weight, file)| format!("-weighted-input={weight},{}", file.display()));
    command.extend(inputs);
    let (ended, _) = Process::visible(&command, &[])?.finish(MERGE_MAX, interrupt)?;
    ensure!(ended.success(), "llvm-profdata failed; what it said is above ({ended})");
    Ok(std::fs::remove_dir_all(&layout.counters)?)
}

#[cfg(test)]
mod tests {
    use super::{cargo, flags, step};

    #[test]
    fn flags_of_the_user_are_kept() {
        let check = |encoded: Option<&str>, plain: Option<&str>, expected: &str| {
            let got = flags(encoded.map(str::to_owned), plain.map(str::to_owned), "-Cp=/a b");
            assert_eq!(got, expected);
        };
        check(None, None, "-Cp=/a b");
        check(None, Some(""), "-Cp=/a b");
        check(None, Some(" -g  -Ctarget-cpu=native "), "-g\u{1f}-Ctarget-cpu=native\u{1f}-Cp=/a b");
        check(Some("-L\u{1f}/c d"), Some("-g"), "-L\u{1f}/c d\u{1f}-Cp=/a b");
    }

    #[test]
    fn a_folder_with_spaces_is_one_argument() {
        let command = cargo(&["weir", "--target", "h"], std::path::Path::new("/a b"));
        let at = command.iter().position(|word| word == "--target-dir").unwrap();
        assert_eq!(command[at + 1], "/a b");
        assert_eq!(command[at + 2..], ["-p", "weir", "--target", "h"]);
    }

    #[test]
    fn a_step_that_fails_is_named() {
        let failed = step("baking", || -> anyhow::Result<()> { anyhow::bail!("no flour") });
        assert_eq!(format!("{:#}", failed.unwrap_err()), "while baking: no flour");
    }
}
