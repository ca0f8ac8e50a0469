//! Spring Cloud Gateway, built from `bench/scg` with Maven: one event loop, routes from memory.

use std::path::Path;

use super::setup::{Setup, Start, free_address};
use crate::bench::Bench;
use crate::tools::{Tool, path};

pub(super) fn prepare(bench: &Bench, folder: &Path, setup: &Setup) -> anyhow::Result<Start> {
    let address = setup.address.map_or_else(free_address, Ok)?;
    let classes = bench.scg_classes()?;
    let arguments = folder.join("java.args");
    std::fs::write(&arguments, java_arguments(&classes))?;
    let command = vec![
        path(Tool::Java)?,
        format!("@{}", arguments.display()),
        "weir.bench.Application".to_owned(),
        format!("--routes={}", setup.routes),
        format!("--upstream=http://{}", setup.upstream),
        "--server.address=127.0.0.1".to_owned(),
        format!("--server.port={}", address.port()),
        "--spring.main.banner-mode=off".to_owned(),
        "--logging.level.root=WARN".to_owned(),
        "--management.endpoints.web.exposure.include=gateway".to_owned(),
        "--management.endpoint.gateway.access=unrestricted".to_owned(),
    ];
    Ok(Start { command, address, admin: Some(address), config: arguments })
}

fn java_arguments(classes: &str) -> String {
    format!("-Xmx6g\n-Dreactor.netty.ioWorkerCount=1\n-cp\n{classes}\n")
}
