//! The steps of a profile-guided build: build with counters, train, merge, build with the profile.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use weir_peers::interrupt::Interrupt;
use weir_peers::process::Process;
use weir_testkit::tree::target;

use super::layout::{Layout, Part, stamp};
use super::order::Profiles;
use super::toolchain::Toolchain;
use super::{order, training};

/// The time limit for cargo, generous for slow machines.
const BUILD_MAX: Duration = Duration::from_secs(4 * 3600);
/// The time limit for merging.
const MERGE_MAX: Duration = Duration::from_secs(300);
/// The separator that cargo expects between two flags.
const SEPARATOR: &str = "\u{1f}";

/// weir built by the profile of its training; its path.
///
/// # Errors
/// It does not build, fails in its training, or Ctrl-C.
pub fn build(toolchain: &Toolchain, interrupt: &Interrupt) -> anyhow::Result<PathBuf> {
    let layout = Layout::new(target().join("released"))?;
    let _alone = layout.lock()?;
    let weir = |folder: &Path, own: &[String]| -> anyhow::Result<PathBuf> {
        let command = cargo(&["weir", "--target", &toolchain.host], folder);
        let user = |name: &str| std::env::var(name).ok();
        let flags = flags(user("CARGO_ENCODED_RUSTFLAGS"), user("RUSTFLAGS"), own);
        build_with(&command, &[("CARGO_ENCODED_RUSTFLAGS", flags.into())], interrupt)?;
        Ok(folder.join(&toolchain.host).join("release/weir"))
    };
    let counting = step("building weir with counters", || {
        weir(&layout.counting, &[format!("-Cprofile-generate={}", layout.counters.display())])
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
            training::run(&counting, &bare, interrupt, |part| layout.keep_apart(part))
        })?;
        step("merging the counters", || {
            let weighed = Part::ALL.map(|part| (part.weight(), part));
            merge(toolchain, &layout, &weighed, &layout.profile, interrupt)?;
            order(toolchain, &layout, &counting, interrupt)?;
            Ok(std::fs::remove_dir_all(&layout.counters)?)
        })?;
        layout.keep(&stamp)?;
    }
    let optimised = step("building weir by the profile", || {
        let mut own = vec![format!("-Cprofile-use={}", layout.profile.display())];
        if toolchain.takes_order() {
            own.extend(ordered(&layout.order));
        }
        weir(&layout.optimised, &own)
    })?;
    layout.publish(&optimised)?;
    Ok(layout.weir)
}

/// Runs `work`; prints its name and duration.
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

/// The flags of the user, in cargo's order of precedence, and our `own` behind them, as
/// `CARGO_ENCODED_RUSTFLAGS`, in which a flag may have spaces.
fn flags(encoded: Option<String>, plain: Option<String>, own: &[String]) -> String {
    let split = |plain: String| plain.split_whitespace().collect::<Vec<_>>().join(SEPARATOR);
    let user = encoded.or(plain.map(split)).filter(|flags| !flags.is_empty());
    user.iter().chain(own).map(String::as_str).collect::<Vec<_>>().join(SEPARATOR)
}

/// The flags that have the linker lay functions out in the order of a file. It may name some that
/// were inlined everywhere.
fn ordered(order: &Path) -> [String; 4] {
    let file = format!("-Clink-arg=--symbol-ordering-file={}", order.display());
    let to_linker = || "-Clink-arg=-Xlinker".to_owned();
    [to_linker(), file, to_linker(), "-Clink-arg=--no-warn-symbol-ordering".to_owned()]
}

/// Merges the counters of `parts`, with their weights, into `profile`.
fn merge(
    toolchain: &Toolchain,
    layout: &Layout,
    parts: &[(u64, Part)],
    profile: &Path,
    interrupt: &Interrupt,
) -> anyhow::Result<()> {
    let (program, profile) =
        (toolchain.profdata.display().to_string(), profile.display().to_string());
    let mut command = [&*program, "merge", "-o", &profile].map(str::to_owned).to_vec();
    for (weight, part) in parts {
        let input = |file: &PathBuf| format!("-weighted-input={weight},{}", file.display());
        command.extend(layout.counted(*part)?.iter().map(input));
    }
    let (ended, _) = Process::visible(&command, &[])?.finish(MERGE_MAX, interrupt)?;
    ensure!(ended.success(), "llvm-profdata failed; what it said is above ({ended})");
    Ok(())
}

/// Writes the order of functions in the program that is built by the profile.
fn order(
    toolchain: &Toolchain,
    layout: &Layout,
    counting: &Path,
    interrupt: &Interrupt,
) -> anyhow::Result<()> {
    let [idle, serving] = ["idle.profdata", "serving.profdata"].map(|n| layout.counters.join(n));
    merge(toolchain, layout, &[(1, Part::Idle)], &idle, interrupt)?;
    merge(toolchain, layout, &[(1, Part::Serving)], &serving, interrupt)?;
    let profiles = Profiles { idle: &idle, serving: &serving, all: &layout.profile };
    let order = order::of(toolchain, &profiles, counting)?;
    std::fs::write(&layout.order, order).with_context(|| layout.order.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::{cargo, flags, step};

    #[test]
    fn flags_of_the_user_are_kept() {
        let check = |encoded: Option<&str>, plain: Option<&str>, expected: &str| {
            let own = ["-Cp=/a b".to_owned()];
            let got = flags(encoded.map(str::to_owned), plain.map(str::to_owned), &own);
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
