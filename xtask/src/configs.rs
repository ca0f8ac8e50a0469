//! `cargo xtask configs`: the real configurations that weir serves in full, and the obstacles in
//! the others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use weir_config::{Category, Code, Format, Loader, Severity, Source};

/// Arguments of `cargo xtask configs`.
#[derive(Debug, clap::Args)]
pub struct ConfigsArgs {
    /// A folder of configurations; each file is one.
    #[arg(default_value = "../shared/configs")]
    folder: PathBuf,
    /// Prints one line of JSON for each file instead of a table.
    #[arg(long)]
    json: bool,
}

/// One configuration.
struct Judged {
    name: String,
    routes: usize,
    /// The obstacles, each kind once, with its count.
    stops: BTreeMap<String, usize>,
}

/// Judges every configuration of a folder.
///
/// A configuration is served in full if it starts and nothing that it asks for is left out. A name
/// without a value (`${HOST}`) is given one, as its deployment would; a service without a registry
/// in the same file is one that its deployment names.
///
/// # Errors
/// There is no such folder.
pub fn run(args: &ConfigsArgs) -> anyhow::Result<()> {
    let mut judged = Vec::new();
    let entries = std::fs::read_dir(&args.folder);
    let entries = entries.with_context(|| format!("no folder {}", args.folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if let Some(format) = Format::of_name(&name) {
            judged.push(judge(name, &path, format)?);
        }
    }
    if judged.is_empty() {
        bail!("no configuration in {}", args.folder.display());
    }
    judged.sort_by(|a, b| a.name.cmp(&b.name));
    if args.json {
        for one in &judged {
            let line = serde_json::json!({
                "file": one.name, "routes": one.routes, "full": one.stops.is_empty(),
                "stops": one.stops,
            });
            println!("{line}");
        }
        return Ok(());
    }
    let full = judged.iter().filter(|one| one.stops.is_empty()).count();
    for one in &judged {
        let stops: Vec<String> = one
            .stops
            .iter()
            .map(
                |(what, count)| if *count > 1 { format!("{what} ({count})") } else { what.clone() },
            )
            .collect();
        let shown = if stops.is_empty() { "in full".to_owned() } else { stops.join("; ") };
        println!("{:<70} {:>4} routes  {shown}", one.name, one.routes);
    }
    println!("\n{full} of {} are served in full", judged.len());
    let mut causes: BTreeMap<&str, usize> = BTreeMap::new();
    for cause in judged.iter().flat_map(|one| one.stops.keys()) {
        *causes.entry(cause).or_default() += 1;
    }
    let mut causes: Vec<_> = causes.into_iter().collect();
    causes.sort_by_key(|(cause, files)| (std::cmp::Reverse(*files), *cause));
    for (cause, files) in causes {
        println!("{files:>4} files: {cause}");
    }
    Ok(())
}

fn judge(name: String, path: &Path, format: Format) -> anyhow::Result<Judged> {
    let bytes = std::fs::read(path)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    // Variables that a deployment sets in its environment, with a value that is valid as a host and
    // as a number.
    let mut given: Vec<(String, String)> = Vec::new();
    loop {
        let mut loader = Loader::new(given.clone(), &[], Vec::new());
        loader.add(Source::new(&name, text.as_str(), format));
        let mut loaded = loader.load();
        let checked = loaded.check();
        let missing = loaded.diagnostics.iter().filter_map(|finding| missing(&finding.message));
        let fresh: Vec<String> = missing
            .map(|name| name.replace(['-', '.'], "_").to_uppercase())
            .filter(|name| !given.iter().any(|(known, _)| known == name))
            .collect();
        if !fresh.is_empty() {
            given.extend(fresh.into_iter().map(|name| {
                let is_uri = ["URI", "URL", "ENDPOINT"].iter().any(|end| name.ends_with(end));
                let value = if is_uri { "http://host:8080" } else { "8080" };
                (name, value.to_owned())
            }));
            continue;
        }
        let mut stops = BTreeMap::new();
        for finding in &loaded.diagnostics {
            if finding.code == Code::NoInstances {
                continue;
            }
            let lost = finding.code.category() == Category::Unsupported
                && finding.severity >= Severity::Warning;
            if finding.severity == Severity::Error || lost {
                *stops.entry(cause(&finding.message)).or_default() += 1;
            }
        }
        if checked.routes == 0 && !loaded.settings.discovery.locator && stops.is_empty() {
            stops.insert("it has no route that Spring Cloud Gateway reads".to_owned(), 1);
        }
        return Ok(Judged { name, routes: checked.routes, stops });
    }
}

/// The name in a finding about a placeholder without a value.
fn missing(message: &str) -> Option<String> {
    let told = message.contains("neither a value nor a default");
    let name = message.split_once("${").filter(|_| told)?.1.split('}').next()?;
    Some(name.to_owned())
}

/// The first words of a message, which identify the kind of cause.
fn cause(message: &str) -> String {
    message.split(": ").next().unwrap_or(message).to_owned()
}
