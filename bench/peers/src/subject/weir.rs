//! weir: one worker unless asked otherwise, two filters on each route, metrics on.

use std::io::Write;
use std::path::Path;

use super::setup::{Setup, Start, free_address};
use crate::bench::Bench;

pub(super) fn prepare(bench: &Bench, folder: &Path, setup: &Setup) -> anyhow::Result<Start> {
    let address = free_address()?;
    let config = folder.join("application.yml");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&config)?);
    writeln!(file, "server: {{ address: 127.0.0.1, port: {} }}", address.port())?;
    writeln!(file, "spring.cloud.gateway.server.webflux:\n  routes:")?;
    match &setup.weir.routes {
        Some(lines) => file.write_all(lines.as_bytes())?,
        None => {
            for n in 0..setup.routes {
                writeln!(file, "{}", setup.weir.shape.route(n, setup.upstream))?;
            }
        }
    }
    file.flush()?;
    let admin = if setup.weir.admin { Some(free_address()?) } else { None };
    let port = admin.map_or("-1".to_owned(), |admin| admin.port().to_string());
    let program = setup.weir.program.as_ref().unwrap_or(&bench.tools.weir);
    let mut command = vec![program.display().to_string(), "run".to_owned()];
    let data = folder.join("data");
    let mut add = |words: &[&str]| command.extend(words.iter().map(|word| (*word).to_owned()));
    add(&["--log", "warn", "--data", &data.display().to_string()]);
    add(&["--set", &format!("weir.admin.port={port}")]);
    if let Some(workers) = setup.weir.workers {
        add(&["--set", &format!("weir.server.workers={workers}")]);
    }
    for property in &setup.weir.properties {
        add(&["--set", property]);
    }
    add(&[&config.display().to_string()]);
    Ok(Start { command, address, admin, config })
}
