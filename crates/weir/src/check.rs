//! `weir check`: the errors of a configuration, its differences from Spring Cloud Gateway, and
//! unsupported features.

mod findings;
mod online;

use std::fmt::Write as _;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_config::{Category, Checked, DEVIATIONS, Format, Loaded, Severity, Style, to_json};

use weir_server::{FilesPlan, files_max_raised, files_plan};

use crate::configuration::{ConfigArgs, Lasting};
use crate::imports::Reach;
use crate::output::counted;

/// Exit code when nothing was checked, also that of a wrong command line.
const USAGE: u8 = 2;

/// Arguments of `weir check`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir check application.yml
  weir check --profile prod --set server.port=8081 config/
  weir check --json application.yml | jq '.findings[].message'
  weir check --online application.yml

Exit code: 0 the gateway would start (there may be warnings), 1 it would not, 2 nothing was checked:
there is no such file, it cannot be read, or the command line is wrong.")]
pub struct CheckArgs {
    /// What to check.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Prints one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
    /// Also tells what to do about differences from Spring Cloud Gateway, and those that every
    /// configuration has.
    #[arg(long)]
    pub all: bool,
    /// Also reads what the configuration imports from servers, and tries registries and upstreams.
    #[arg(long)]
    pub online: bool,
}

/// Checks, prints, and returns the exit code.
///
/// # Errors
/// None: what could not be checked has its own exit code.
pub fn run(args: CheckArgs) -> anyhow::Result<ExitCode> {
    Ok(checked(&args).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(USAGE)
    }))
}

fn checked(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let loaded = match args.config.files() {
        Ok(files) if files.is_empty() && args.config.bootstraps().is_empty() => {
            Err(anyhow::anyhow!(
                "no configuration: name a file, or run where there is an application.yml"
            ))
        }
        Ok(_) if args.online => {
            args.config.load_from(&Lasting::default(), Reach::Servers(&online::asking))
        }
        Ok(_) => args.config.load(),
        Err(error) => Err(error),
    };
    let mut loaded = loaded?;
    let checked = loaded.check();
    loaded.sort_findings();
    let tried = if args.online { Some(online::try_all(&mut loaded)?) } else { None };
    let mut out = std::io::stdout().lock();
    let text = if args.json {
        let mut json = as_json(&loaded, checked);
        if let (Some(all), Some(tried)) = (json.as_object_mut(), &tried) {
            all.insert("online".to_owned(), online::as_json(tried));
        }
        format!("{json:#}\n")
    } else {
        let plain = !out.is_terminal() || std::env::var_os("NO_COLOR").is_some();
        let style = if plain { Style::Plain } else { Style::Coloured };
        let reached = tried.map(|tried| online::as_text(&tried)).unwrap_or_default();
        reached + &as_text(&loaded, checked, style, args.all)
    };
    match out.write_all(text.as_bytes()) {
        // The reader has seen enough: `weir check … | head`.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        result => result?,
    }
    Ok(if loaded.is_refused() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn as_json(loaded: &Loaded, checked: Checked) -> Value {
    let findings: Vec<Value> =
        loaded.diagnostics.iter().map(|finding| to_json(finding, loaded.sources())).collect();
    let deviations: Vec<Value> = DEVIATIONS
        .iter()
        .map(|deviation| {
            json!({
                "topic": deviation.topic,
                "weir": deviation.weir,
                "scg": deviation.scg,
                "switch": deviation.switch,
            })
        })
        .collect();
    let files = files_plan(&loaded.settings, files_max_raised());
    json!({
        "refused": loaded.is_refused(),
        "profiles": loaded.profiles,
        "routes": checked.routes,
        "scannedRoutes": checked.scanned,
        "pipelines": checked.pipelines,
        "errors": count(loaded, Severity::Error),
        "warnings": count(loaded, Severity::Warning),
        "notes": count(loaded, Severity::Note),
        "unread": loaded.unread,
        "findings": findings,
        "deviations": deviations,
        "openFiles": {
            "limit": files_max_raised(),
            "clients": clients_max(loaded, &files),
            "upstreams": files.upstreams_min,
        },
    })
}

fn as_text(loaded: &Loaded, checked: Checked, style: Style, all: bool) -> String {
    let mut out = findings::as_text(loaded, style);
    deviations(&mut out, loaded, all);
    open_files(&mut out, loaded);
    if !loaded.unread.is_empty() {
        let unread = loaded.unread.join(", ");
        let _ = writeln!(out, "Not read without --online: {unread}\n");
    }
    let _ = writeln!(
        out,
        "{}: {}{}, {}, {}, {} (profiles: {})",
        verdict(loaded, checked),
        counted(checked.routes, "route"),
        match checked.pipelines {
            0 => String::new(),
            count => format!(", {}", counted(count, "pipeline")),
        },
        counted(count(loaded, Severity::Error), "error"),
        counted(count(loaded, Severity::Warning), "warning"),
        counted(count(loaded, Severity::Note), "note"),
        loaded.profiles.join(", "),
    );
    out
}

/// Whether the configuration can be run, and whether it contains anything to run.
fn verdict(loaded: &Loaded, checked: Checked) -> &'static str {
    match (loaded.is_refused(), checked.routes) {
        (true, _) => "refused",
        (false, 0) if checked.pipelines > 0 => "fine",
        (false, 0) if loaded.settings.discovery.locator => {
            match loaded.settings.discovery.is_used() {
                true => "fine, with routes for the services that registries list",
                false => "no routes (the locator has no registry to ask: name one)",
            }
        }
        (false, 0) if is_ini(loaded) => "no pipelines",
        (false, 0) => {
            "no routes (choose the documents with --profile, or make routes with `weir routes add`)"
        }
        (false, _) => "fine",
    }
}

/// Whether what was read is an ini file, which can hold pipelines only.
fn is_ini(loaded: &Loaded) -> bool {
    let sources = loaded.sources();
    let is_ini = |name| Format::of_name(name) == Some(Format::Ini);
    (0..sources.len()).any(|n| is_ini(sources.name(n as u32)))
}

/// The deviations of weir for this configuration, one line each; with `all`, the remedies and the
/// deviations for every configuration, too.
fn deviations(out: &mut String, loaded: &Loaded, all: bool) {
    out.push_str("Differs from Spring Cloud Gateway, here:\n");
    let findings = loaded.diagnostics.iter();
    let mut none = true;
    for finding in findings.filter(|finding| finding.code.category() == Category::Deviation) {
        let place = finding.at.map(|at| format!("{}: ", loaded.sources().place(at)));
        let place = place.unwrap_or_default();
        let _ = writeln!(out, "  - {place}{}", finding.message);
        if all {
            let _ = writeln!(out, "    {}", finding.help);
        }
        none = false;
    }
    if none {
        out.push_str("  nothing\n");
    }
    if !all {
        let count = DEVIATIONS.len();
        let _ = writeln!(
            out,
            "  and {} in every configuration: `weir check --all`\n",
            counted(count, "thing")
        );
        return;
    }
    out.push_str("\nDiffers from Spring Cloud Gateway, everywhere:\n");
    for deviation in DEVIATIONS {
        let _ = writeln!(
            out,
            "  - {}: {}\n    there: {}",
            deviation.topic, deviation.weir, deviation.scg
        );
        if let Some(switch) = deviation.switch {
            let _ = writeln!(out, "    to have it as there: {switch}");
        }
    }
    out.push('\n');
}

/// The number of concurrent clients that this machine's limit of open files permits.
fn open_files(out: &mut String, loaded: &Loaded) {
    let limit = files_max_raised();
    let files = files_plan(&loaded.settings, limit);
    let clients = clients_max(loaded, &files);
    let _ = write!(
        out,
        "Open files: {limit} allowed here, which is {clients} clients at a time and {} kept for \
         upstreams",
        files.upstreams_min
    );
    if clients < loaded.settings.connections_max {
        let wanted = loaded.settings.connections_max;
        let _ = write!(out, ";\n  weir.server.connections-max would allow {wanted}");
    }
    out.push_str("\n\n");
}

fn clients_max(loaded: &Loaded, files: &FilesPlan) -> usize {
    files.clients_max.min(loaded.settings.connections_max)
}

fn count(loaded: &Loaded, severity: Severity) -> usize {
    loaded.diagnostics.iter().filter(|finding| finding.severity == severity).count()
}

#[cfg(test)]
mod tests;
