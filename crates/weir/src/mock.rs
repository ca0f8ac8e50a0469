//! `weir mock`: an API definition goes in, a mock that validates is there.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use serde_json::json;
use weir_mock::{Api, Enforcement, Mocks, Options};

use crate::configuration::{ConfigArgs, FILES};
use crate::run::{RunArgs, run_with};
use crate::say;

/// Arguments of `weir mock`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir mock examples/petstore.yaml
  weir mock --dynamic --seed 7 apis/
  curl -H 'Prefer: code=404' http://127.0.0.1:4010/pets/1

A request may say what it prefers: `Prefer: code=404, example=none, dynamic=true, seed=7, delay=100,
validate=off`, or in the query as `__code=404`.
Exit code: 0 stopped as asked, 1 a definition or the machine did not allow a start.")]
pub struct MockArgs {
    /// Definitions, or folders of them: OpenAPI, Swagger, YApi, Postman, HAR, Apifox.
    #[arg(value_name = "FILE|DIR", required = true)]
    definitions: Vec<PathBuf>,
    /// Port to listen on.
    #[arg(long, default_value_t = 4010)]
    port: u16,
    /// Address to listen on.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    /// Makes bodies from schemas, realistic and by chance, instead of examples.
    #[arg(long)]
    dynamic: bool,
    /// What chance starts from: the same seed, the same answers.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Answers wrong requests with a problem document, even where the definition has a response.
    #[arg(long)]
    errors: bool,
    /// What becomes of requests that break the definition.
    #[arg(long, value_enum, default_value_t = Validate::Enforce)]
    validate: Validate,
    /// Lets pages of other origins read the answers; `--cors false` does not.
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    cors: bool,
    /// Waits before each answer.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 0)]
    delay: u64,
    /// Header that tells definitions with the same paths apart, by the names of their files.
    #[arg(long, value_name = "NAME")]
    select_header: Option<String>,
    /// Prints what is served as JSON.
    #[arg(long)]
    json: bool,
}

/// `--validate`.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Validate {
    /// They are refused.
    Enforce,
    /// They are answered, and told in a header.
    Report,
    /// They are not looked at.
    Off,
}

/// Serves definitions until it is told to stop.
///
/// # Errors
/// A definition that cannot be read, or a port that is taken.
pub fn run(args: MockArgs) -> anyhow::Result<ExitCode> {
    let options = Options {
        dynamic: args.dynamic,
        seed: args.seed,
        errors: args.errors,
        validation: match args.validate {
            Validate::Enforce => Enforcement::Enforce,
            Validate::Report => Enforcement::Report,
            Validate::Off => Enforcement::Off,
        },
        delay_ms: args.delay,
        select_header: args.select_header.clone(),
        ..Options::default()
    };
    let mut apis = Vec::new();
    for file in files(&args.definitions)? {
        apis.push(Arc::new(read(&file)?));
    }
    let mocks = Arc::new(Mocks::new(apis, options).map_err(anyhow::Error::msg)?);
    let temporary = std::env::temp_dir().join(format!("weir-mock-{}", std::process::id()));
    let file = temporary.join("application.yml");
    std::fs::create_dir_all(&temporary).context("no temporary directory")?;
    std::fs::write(&file, configuration(&args))?;
    let config = ConfigArgs {
        configs: vec![file],
        mocks: Some(Arc::clone(&mocks)),
        ..ConfigArgs::default()
    };
    let log = "warn,weir::mock=info".to_owned();
    let run_args = RunArgs { config, data: Some(temporary.clone()), log };
    let result = run_with(
        run_args,
        async |_| Ok(()),
        |started| {
            if let Some(gateway) = started.gateway {
                say(&served(&mocks, gateway, args.json));
            }
        },
    );
    // What is in the system's temporary directory is the system's if this fails.
    let _ = std::fs::remove_dir_all(&temporary);
    result
}

/// A gateway with one route, to the definitions.
fn configuration(args: &MockArgs) -> String {
    let cors = if args.cors {
        "  globalcors:\n    add-to-simple-url-handler-mapping: true\n    cors-configurations:\n      \
         '[/**]': { allowedOriginPatterns: '*', allowedMethods: '*', allowedHeaders: '*', \
         exposedHeaders: '*', allowCredentials: true }\n"
    } else {
        ""
    };
    format!(
        "server: {{ address: '{}', port: {} }}\nweir.admin.port: 0\n\
         weir.server.ambiguous-paths: keep\nspring.http.codecs.max-in-memory-size: 10MB\n\
         spring.cloud.gateway.server.webflux:\n{cors}  routes:\n  - {{ id: mock, uri: 'mock://all', \
         predicates: [ 'Path=/**' ] }}\n",
        args.host, args.port
    )
}

/// The definitions among what was named.
fn files(named: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let inside = FILES.definitions(path);
        let inside = inside.with_context(|| format!("cannot read {}", path.display()))?;
        if inside.is_empty() {
            bail!("there is no definition in {}: no .yaml, .yml, .json or .har", path.display());
        }
        files.extend(inside);
    }
    Ok(files)
}

fn read(file: &Path) -> anyhow::Result<Api> {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    FILES.definition(file, &stem).map_err(|why| anyhow::anyhow!("{}: {why}", file.display()))
}

/// What is served, each operation with a line that works.
fn served(mocks: &Mocks, address: std::net::SocketAddr, as_json: bool) -> String {
    if as_json {
        let each = mocks.operations().map(|one| {
            json!({
                "api": one.api.name,
                "method": one.operation.method,
                "path": one.operation.path,
                "operationId": one.operation.id,
            })
        });
        let all: Vec<_> = each.collect();
        return format!("{}\n", json!({ "address": address.to_string(), "operations": all }));
    }
    const SHOWN_MAX: usize = 200;
    let mut out = String::new();
    for api in mocks.apis() {
        let _ = writeln!(out, "{} {} ({})", api.title, api.version, api.name);
        for warning in api.warnings.iter().take(SHOWN_MAX) {
            let _ = writeln!(out, "  warning: {warning}");
        }
    }
    for one in mocks.operations().take(SHOWN_MAX) {
        let operation = one.operation;
        let method = match operation.method.as_str() {
            "GET" => String::new(),
            method => format!("-X {method} "),
        };
        let url = format!("http://{address}{}", filled(&operation.path));
        let _ = writeln!(out, "  curl {method}'{url}'  # {}", operation.summary);
    }
    let count = mocks.operations().count();
    if count > SHOWN_MAX {
        let _ = writeln!(out, "  … {} more", count - SHOWN_MAX);
    }
    let _ = writeln!(out, "{count} operations; Ctrl-C stops\nlistening http {address}");
    out
}

/// A path with something for each variable.
fn filled(path: &str) -> String {
    let mut out = String::new();
    let mut rest = path.split('#').next().unwrap_or(path);
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        out.push('1');
        rest = after.split_once('}').map_or("", |(_, rest)| rest);
    }
    out + rest
}
