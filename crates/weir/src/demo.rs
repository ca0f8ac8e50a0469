//! `weir demo`: origin, gateway and many routes in one process, with the lines to try them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use indicatif::ProgressBar;
use weir_control::{Control, Refusal};
use weir_route::{NamedArgs, RouteDefinition, parse_shortcut};

use crate::configuration::ConfigArgs;
use crate::run::{RunArgs, Started, run_with};

/// Arguments of `weir demo`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  weir demo
  weir demo --routes 1000000 --port 8088

Ctrl-C ends it all.")]
pub struct DemoArgs {
    /// Routes in the embedded store.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub routes: usize,
    /// Port of the gateway; 0 picks a free one.
    #[arg(long, value_name = "PORT", default_value_t = 8080)]
    pub port: u16,
    /// Port of the admin API; 0 picks a free one.
    #[arg(long, value_name = "PORT", default_value_t = 9090)]
    pub admin_port: u16,
    /// Directory of the store; by default a temporary one that is removed at the end.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

/// Runs the demonstration until Ctrl-C.
///
/// # Errors
/// A port is taken, or the store cannot be written.
pub fn run(args: DemoArgs) -> anyhow::Result<ExitCode> {
    let options = weir_origin::Options {
        address: SocketAddr::from(([127, 0, 0, 1], 0)),
        ..Default::default()
    };
    let origin = weir_origin::serve(options).context("the origin cannot start")?;
    let temporary = std::env::temp_dir().join(format!("weir-demo-{}", std::process::id()));
    let data = args.data.clone().unwrap_or_else(|| temporary.clone());
    let file = temporary.join("application.yml");
    std::fs::create_dir_all(&temporary).context("no temporary directory")?;
    std::fs::write(&file, configuration(&args, origin.address()))?;
    let config = ConfigArgs { configs: vec![file.clone()], ..Default::default() };
    let run_args = RunArgs { config, data: Some(data), log: "warn".into(), is_quiet: false };
    let (count, upstream) = (args.routes, origin.address());
    let result = run_with(
        run_args,
        async |control| fill(control, count, upstream).await,
        |started| announce(started, upstream, count),
    );
    // On failure the system cleans up its temporary directory.
    let _ = std::fs::remove_dir_all(&temporary);
    result
}

fn configuration(args: &DemoArgs, origin: SocketAddr) -> String {
    format!(
        "\
server:
  address: 127.0.0.1
  port: {port}
management:
  server: {{ address: 127.0.0.1, port: {admin} }}
  endpoint.gateway.access: unrestricted
  endpoints.web.exposure.include: '*'
spring.cloud.gateway.server.webflux:
  routes:
    - id: hello
      uri: http://{origin}
      predicates: [ 'Path=/hello/**' ]
      filters: [ 'AddResponseHeader=X-Gateway, weir' ]
    - id: inspect
      uri: http://{origin}
      predicates: [ 'Path=/inspect/**' ]
      filters: [ 'RewritePath=/inspect/?(?<rest>.*), /anything/$\\{{rest}}', 'AddRequestHeader=X-Demo, 1' ]
    - id: websocket
      uri: ws://{origin}
      predicates: [ 'Path=/ws' ]
",
        port = args.port,
        admin = args.admin_port,
    )
}

/// Writes the routes of the first seed into the store: one for each API, with its id in a header.
async fn fill(control: &Control, count: usize, origin: SocketAddr) -> anyhow::Result<()> {
    let bar = ProgressBar::new(count as u64);
    let mut batch = control.batch();
    for n in 1..=count {
        batch.add(route(n, origin)?);
        if n.is_multiple_of(1_000) {
            bar.set_position(n as u64);
        }
    }
    bar.set_message("writing");
    let done = control.import(batch, "demo".into()).await;
    bar.finish_and_clear();
    done.map(drop).map_err(|refusal| match refusal {
        Refusal::Store(error) => anyhow::anyhow!("the store cannot be written: {error}"),
        other => anyhow::anyhow!("the routes were not taken: {other:?}"),
    })
}

fn route(n: usize, origin: SocketAddr) -> anyhow::Result<RouteDefinition> {
    let named = |text: String| -> anyhow::Result<NamedArgs> {
        parse_shortcut(&text, true).map_err(|error| anyhow::anyhow!("{text}: {error:?}"))
    };
    Ok(RouteDefinition {
        id: format!("api-{n}"),
        uri: format!("http://{origin}"),
        predicates: vec![named(format!("Path=/{n}"))?],
        filters: vec![
            named(format!("AddRequestHeader=x-benchmark-routeId, api-{n}"))?,
            named("PrefixPath=/ok".into())?,
        ],
        enabled: true,
        ..Default::default()
    })
}

fn announce(started: &Started, origin: SocketAddr, count: usize) {
    let Some(gateway) = started.gateway else { return };
    let admin = started.admin.map_or("-".to_owned(), |admin| admin.to_string());
    crate::output::say(&format!(
        "
what          where                       try
origin        http://{origin:<20} curl http://{origin}/get
gateway       http://{gateway:<20} curl -i http://{gateway}/1
              {count:<7} routes              curl -i http://{gateway}/{count}
              rewritten path              curl http://{gateway}/inspect/a?b=1
              a delay of 100 ms           curl -i http://{gateway}/hello/100
admin API     http://{admin:<20} curl http://{admin}/actuator/gateway/routes/api-{count}
              a new route                 curl -i -X POST -H 'Content-Type: application/json' \\
                                            -d '{{\"uri\":\"http://{origin}\",\"predicates\":[\"Path=/new\"],\"filters\":[\"SetPath=/get\"]}}' \\
                                            http://{admin}/actuator/gateway/routes/new
              it serves at once           curl http://{gateway}/new
              metrics                     curl http://{admin}/actuator/prometheus

Ctrl-C ends it all.
"
    ));
}
