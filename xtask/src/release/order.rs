//! The order of functions in the program: those that serve requests are placed together. The system
//! loads code in blocks of 64 KiB, of which a needed function may be a hundredth.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use super::toolchain::Toolchain;

/// The total count of each function, by its symbol, and of each place within it.
type Counts = HashMap<String, u64>;

/// Profiles that show which functions run when.
#[derive(Debug)]
pub struct Profiles<'a> {
    /// A gateway that starts and ends.
    pub idle: &'a Path,
    /// A gateway that starts, serves and ends.
    pub serving: &'a Path,
    /// The whole training.
    pub all: &'a Path,
}

/// Symbols for the linker, one a line: first functions that run more often in a serving gateway;
/// then those without counters (the standard library, the allocator), whose use is unknown; then
/// the others that run. `program` is the one with counters.
///
/// # Errors
/// The tools of the toolchain fail.
pub fn of(
    toolchain: &Toolchain,
    profiles: &Profiles<'_>,
    program: &Path,
) -> anyhow::Result<String> {
    let show = |profile: &Path| -> anyhow::Result<Counts> {
        let profile = profile.display().to_string();
        let shown =
            output(&toolchain.profdata, &["show", "--all-functions", "--counts", &profile])?;
        Ok(counts(&shown))
    };
    let symbols = output(
        &toolchain.nm,
        &["--defined-only", "--numeric-sort", &program.display().to_string()],
    )?;
    let (idle, serving, all) = (show(profiles.idle)?, show(profiles.serving)?, show(profiles.all)?);
    let ordered = order(&idle, &serving, &all, &functions(&symbols));
    ensure!(!ordered.is_empty(), "no function has run in {}", profiles.serving.display());
    Ok(ordered.into_iter().map(|symbol| format!("{symbol}\n")).collect())
}

fn output(program: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.with_context(|| program.display().to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} {}: {said}", program.display(), arguments.join(" "));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Parses the output of `llvm-profdata show --all-functions --counts`: a line with the name of a
/// function, prefixed with its file if it is local, and indented lines about it.
fn counts(shown: &str) -> Counts {
    let mut counts = Counts::new();
    let mut function = None;
    for line in shown.lines() {
        if let Some(name) = line.strip_prefix("  ").filter(|line| !line.starts_with(' ')) {
            let symbol = name.trim_end_matches(':').rsplit(';').next().unwrap_or_default();
            function = Some(counts.entry(symbol.to_owned()).or_default());
            continue;
        }
        let Some((what, numbers)) = line.trim().split_once(": ") else { continue };
        if let Some(count) = &mut function
            && matches!(what, "Function count" | "Block counts")
        {
            let numbers = numbers.trim_matches(['[', ']']).split(", ");
            **count += numbers.filter_map(|number| number.parse::<u64>().ok()).sum::<u64>();
        }
    }
    counts
}

/// The functions in the output of `llvm-nm`.
fn functions(symbols: &str) -> Vec<&str> {
    let of_line = |line| {
        let words: Vec<&str> = str::split_ascii_whitespace(line).collect();
        match words[..] {
            [_, "t" | "T", symbol] => Some(symbol),
            _ => None,
        }
    };
    symbols.lines().filter_map(of_line).collect()
}

fn order<'a>(
    idle: &'a Counts,
    serving: &'a Counts,
    all: &'a Counts,
    functions: &[&'a str],
) -> Vec<&'a str> {
    let more = serving.iter().map(|(symbol, count)| {
        let before = idle.get(symbol).copied().unwrap_or_default();
        (symbol.as_str(), count.saturating_sub(before))
    });
    let uncounted = functions.iter().copied().filter(|symbol| !all.contains_key(*symbol));
    let run = all.iter().map(|(symbol, count)| (symbol.as_str(), *count));
    let mut seen = HashSet::new();
    let mut ordered = most_first(more);
    ordered.extend(uncounted);
    ordered.extend(most_first(run));
    ordered.retain(|symbol| seen.insert(*symbol));
    ordered
}

/// The functions that ran, the most frequent first; equal ones by name.
fn most_first<'a>(counted: impl Iterator<Item = (&'a str, u64)>) -> Vec<&'a str> {
    let mut counted: Vec<_> = counted.filter(|(_, count)| *count > 0).collect();
    counted.sort_by_key(|(symbol, count)| (std::cmp::Reverse(*count), *symbol));
    counted.into_iter().map(|(symbol, _)| symbol).collect()
}

#[cfg(test)]
mod tests {
    use super::{Counts, counts, functions, order};

    #[test]
    fn counts_of_functions_are_read() {
        let shown = "Counters:\n  file.rs-cgu.0;_ZN1a1b:\n    Hash: 0x0e\n    Counters: 3\n    \
                     Function count: 2\n    Block counts: [3, 0]\n  c:\n    Counters: 1\n    \
                     Block counts: [7]\n  never:\n    Block counts: []\nTotal functions: 9\n\
                     Maximum function count: 12\n";
        let expected = [("_ZN1a1b", 5), ("c", 7), ("never", 0)];
        assert_eq!(counts(shown), Counts::from(expected.map(|(name, n)| (name.to_owned(), n))));
    }

    #[test]
    fn functions_are_told_from_other_symbols() {
        let symbols = "0000000000001000 r table\n0000000000002000 t mi_free\n                 w x\n\
                       0000000000003000 T main\n";
        assert_eq!(functions(symbols), ["mi_free", "main"]);
    }

    #[test]
    fn what_serves_comes_first_and_nothing_twice() {
        let of = |list: &[(&str, u64)]| -> Counts {
            list.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect()
        };
        let idle = of(&[("start", 9), ("both", 5), ("rare", 0)]);
        let serving = of(&[("start", 9), ("both", 8), ("hot", 90), ("rare", 0)]);
        let all = of(&[("start", 18), ("both", 13), ("hot", 90), ("rare", 0), ("body", 40)]);
        let functions = ["malloc", "hot", "both", "rare", "start", "body", "free"];
        let expected = ["hot", "both", "malloc", "free", "body", "start"];
        assert_eq!(order(&idle, &serving, &all, &functions), expected);
    }
}
