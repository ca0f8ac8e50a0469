//! `weir mock`: serves a validating mock of an API definition.

mod banner;

use std::cell::OnceCell;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use weir_mock::{MockSet, MockSource};
use weir_server::StartError;
use weir_snapshot::{Snapshot, Upstream};

use crate::configuration::ConfigArgs;
use crate::files::FILES;
use crate::output::say;
use crate::run::{RunArgs, run_with};

/// Arguments of `weir mock`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir mock examples/petstore.yaml
  weir mock --dynamic --seed 7 apis/
  weir mock --watch --config mock.yml apis/petstore.yaml
  curl -H 'Prefer: code=404' http://127.0.0.1:4010/pets/1

A request may say what it prefers: `Prefer: code=404, example=none, dynamic=true, seed=7, delay=100,
validate=off`, or in the query as `__code=404`.
Exit code: 0 stopped as asked, 1 a definition or the machine did not allow a start.")]
pub struct MockArgs {
    /// Definitions, or folders of them: OpenAPI, Swagger, YApi, Postman, HAR, Apifox, and
    /// access logs of weir with bodies.
    #[arg(value_name = "FILE|DIR")]
    definitions: Vec<PathBuf>,
    /// Settings, as `weir run` has them: `weir.mock.overrides`, `weir.mock.envelope` and others.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Reloads changed files; a broken one is reported, and the old one stays in use.
    #[arg(long)]
    watch: bool,
    /// Port to listen on.
    #[arg(long, default_value_t = 4010)]
    port: u16,
    /// Address to listen on.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    /// Generates random, realistic bodies from schemas instead of examples.
    #[arg(long)]
    dynamic: bool,
    /// Seed of random values: the same seed gives the same responses.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Answers invalid requests with a problem document, even if the definition has a response.
    #[arg(long)]
    errors: bool,
    /// What to do with requests that violate the definition.
    #[arg(long, value_enum)]
    validate: Option<Validate>,
    /// Keeps what clients write to collections, and gives it back; `POST /__weir/reset` forgets it.
    #[arg(long)]
    stateful: bool,
    /// Lets pages of other origins read the answers; `--cors false` does not.
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    cors: bool,
    /// Waits before each answer.
    #[arg(long, value_name = "MILLISECONDS")]
    delay: Option<u64>,
    /// Header that selects among definitions with the same paths, by file name.
    #[arg(long, value_name = "NAME")]
    select_header: Option<String>,
    /// Servers that callbacks may be sent to, such as `http://127.0.0.1:9000`; none otherwise.
    #[arg(long, value_name = "SERVER", value_delimiter = ',')]
    callbacks: Vec<String>,
    /// Logs no line for each call.
    #[arg(long)]
    quiet: bool,
    /// Prints what is served as JSON.
    #[arg(long)]
    json: bool,
}

/// `--validate`; requests that are wrong are refused unless it says otherwise.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Validate {
    /// Refuse them.
    Enforce,
    /// Answer them, and list the violations in a header.
    Report,
    /// Do not validate them.
    Off,
}

/// Serves definitions until it is stopped.
///
/// # Errors
/// A definition that cannot be read, or a port that is taken.
pub fn run(args: MockArgs) -> anyhow::Result<ExitCode> {
    if args.definitions.is_empty() && args.config.is_none() {
        bail!("name a definition: `weir mock apis/petstore.yaml`, or `--config mock.yml`");
    }
    args.definitions.iter().try_for_each(|path| readable(path))?;
    let temporary = std::env::temp_dir().join(format!("weir-mock-{}", std::process::id()));
    let file = temporary.join("application.yml");
    std::fs::create_dir_all(&temporary).context("no temporary directory")?;
    std::fs::write(&file, configuration(&args))?;
    let config = ConfigArgs {
        configs: [Some(file), args.config.clone()].into_iter().flatten().collect(),
        set: properties(&args),
        is_unwatched: !args.watch,
        ..ConfigArgs::default()
    };
    // After a reload the served operations and the reason are logged.
    let calls = if args.quiet { "" } else { ",weir::mock=debug" };
    let log = format!("warn,weir::run=info{calls}");
    let run_args = RunArgs { config, data: Some(temporary.clone()), log, is_quiet: true };
    let mocks = OnceCell::new();
    let result = run_with(
        run_args,
        async |control| {
            mocks.get_or_init(|| all(&control.published().load()));
            Ok(())
        },
        |started| {
            if let (Some(gateway), Some(Some(mocks))) = (started.gateway, mocks.get()) {
                // A configuration may tell equal operations apart by hosts.
                let may_hide = args.select_header.is_none() && args.config.is_none();
                say(&match args.json {
                    true => banner::document(mocks, gateway),
                    false => banner::text(mocks, gateway, may_hide),
                });
            }
        },
    );
    // On failure the system cleans up its temporary directory.
    let _ = std::fs::remove_dir_all(&temporary);
    if let Err(error) = &result
        && let Some(StartError::Bind(error)) = error.downcast_ref()
        && error.cause.kind() == ErrorKind::AddrInUse
    {
        bail!(
            "{} is in use; end the process that has it, or choose another `--port`",
            error.address
        );
    }
    result
}

/// Whether a named file or folder can be served at all; what is in a file is checked later.
fn readable(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    if !path.is_dir() {
        // A pattern such as `apis/*.yaml` is no file, and is resolved later.
        let is_pattern = path.to_string_lossy().contains('*');
        if !is_pattern {
            std::fs::File::open(path).with_context(|| format!("cannot read {shown}"))?;
        }
        return Ok(());
    }
    let inside = FILES.definitions(path).with_context(|| format!("cannot read {shown}"))?;
    if inside.is_empty() {
        bail!("there is no definition in {shown}: no .yaml, .yml, .json or .har");
    }
    Ok(())
}

/// The definitions that the one route leads to.
fn all(snapshot: &Snapshot) -> Option<Arc<MockSet>> {
    snapshot.index.iter().find_map(|route| match &route.target.upstream {
        Upstream::Mock(source) => match &**source {
            MockSource::Fixed(mocks) => Some(Arc::clone(mocks)),
            MockSource::Stored(..) => None,
        },
        _ => None,
    })
}

/// The properties set by the command line, which override those of files.
fn properties(args: &MockArgs) -> Vec<String> {
    let mut set = Vec::new();
    let mut names = Vec::new();
    for (at, path) in args.definitions.iter().enumerate() {
        set.push(format!("weir.mock.apis[{at}].file={}", path.display()));
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            continue;
        }
        // Files in different folders may have the same name; the first one answers.
        let count = names.iter().filter(|name| **name == stem).count();
        if count > 0 {
            set.push(format!("weir.mock.apis[{at}].name={stem}-{}", count + 1));
        }
        names.push(stem);
    }
    let mut say = |name: &str, value: Option<String>| {
        set.extend(value.map(|value| format!("weir.mock.{name}={value}")));
    };
    say("dynamic", args.dynamic.then(|| "true".to_owned()));
    say("stateful", args.stateful.then(|| "true".to_owned()));
    say("errors", args.errors.then(|| "true".to_owned()));
    say("seed", args.seed.map(|seed| seed.to_string()));
    say("delay", args.delay.map(|delay| delay.to_string()));
    say("select-header", args.select_header.clone());
    let callbacks = Some(args.callbacks.join(",")).filter(|all| !all.is_empty());
    say("callbacks.allow", callbacks);
    let validate = args.validate.map(|validate| match validate {
        Validate::Enforce => "enforce",
        Validate::Report => "report",
        Validate::Off => "off",
    });
    say("validate", validate.map(str::to_owned));
    set
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
