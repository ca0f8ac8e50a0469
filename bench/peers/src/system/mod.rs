//! `cargo xtask peers system`: a real Eureka server, real services that register there, and in
//! front of them weir and Spring Cloud Gateway with the same configuration.
//!
//! The Java side is `bench/eureka` and `bench/eureka-client`. Everything listens on free ports of
//! 127.0.0.1 and ends with this process.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::process::Signal;
use tempfile::TempDir;

use super::interrupt::Interrupt;
use super::maven::class_path;
use super::process::Process;
use super::tools::{Tool, path};
use crate::program;
use crate::traffic::{Counted, Traffic, ask};

/// The time limit for a start; five JVMs beside a busy compiler are slow.
const START: Duration = Duration::from_secs(180);
/// The time limit for a registry and its clients to agree.
const AGREEMENT: Duration = Duration::from_secs(60);
/// The polling interval of every wait.
const LOOK: Duration = Duration::from_millis(100);
/// The options of all JVMs: several share a machine.
const JAVA: &str = "-Xmx192m -XX:+UseSerialGC -XX:TieredStopAtLevel=1";
/// The duration of traffic after each event.
const AFTER: Duration = Duration::from_secs(4);

/// Arguments of `cargo xtask peers system`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Needs Debian's maven and openjdk-17-jdk-headless; Maven fetches Spring Cloud the first time. Takes two minutes.
Exit code: 0 weir lost no request, 1 it lost some, or something did not start.")]
pub struct SystemArgs {
    /// A weir that is built, instead of building it
    #[arg(long, value_name = "FILE")]
    weir: Option<PathBuf>,
    /// weir alone, without Spring Cloud Gateway beside it
    #[arg(long)]
    alone: bool,
}

/// Runs it.
///
/// # Errors
/// Something does not build or start, or weir lost a request.
pub fn run(args: &SystemArgs) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen()?;
    let weir = program::weir(args.weir.as_deref())?;
    let ground = Ground::new(&interrupt)?;
    let registry = ground.registry("registry-1.log")?;
    let ports = [weir_testkit::closed_port().port(), weir_testkit::closed_port().port()];
    let first = ground.service(ports[0], "service-1.log")?;
    let _second = ground.service(ports[1], "service-2.log")?;
    let mut gateways = vec![ground.weir(&weir)?];
    if !args.alone {
        gateways.push(ground.scg()?);
    }
    for gateway in &gateways {
        gateway.serves_from(&ports, &interrupt)?;
        println!("{} serves orders from both services", gateway.name);
    }
    let mut lost = 0;
    let mut told = |what: &str, counted: Vec<Counted>| {
        for (gateway, counted) in gateways.iter().zip(counted) {
            let name = gateway.name;
            println!("{what:<34} {name:<5} {:>7} requests, {:>4} lost", counted.sent, counted.lost);
            counted.words.iter().for_each(|words| println!("  {words}"));
            lost += if name == "weir" { counted.lost } else { 0 };
        }
    };
    let under = |doing: &mut dyn FnMut() -> anyhow::Result<()>| -> anyhow::Result<Vec<Counted>> {
        let traffic: Vec<Traffic> =
            gateways.iter().map(|gateway| Traffic::start(gateway.address)).collect();
        doing()?;
        interrupt.sleep(AFTER)?;
        Ok(traffic.into_iter().map(Traffic::finish).collect())
    };

    let mut first = Some(first);
    let counted = under(&mut || {
        drop(first.take());
        Ok(())
    })?;
    told("a service stops", counted);
    let mut again = None;
    let counted = under(&mut || {
        again = Some(ground.service(ports[0], "service-1-again.log")?);
        gateways.iter().try_for_each(|gateway| gateway.serves_from(&ports, &interrupt))
    })?;
    told("it starts again", counted);
    let counted = under(&mut || {
        registry.signal(Signal::KILL);
        Ok(())
    })?;
    told("the registry is killed", counted);
    let mut empty = None;
    let counted = under(&mut || {
        empty = Some(ground.registry("registry-2.log")?);
        interrupt.sleep(AFTER)?;
        gateways.iter().try_for_each(|gateway| gateway.serves_from(&ports, &interrupt))
    })?;
    told("it starts again, empty", counted);
    drop(registry);
    ensure!(lost == 0, "weir lost {lost} requests");
    Ok(())
}

/// The environment of the processes.
struct Ground<'i> {
    folder: TempDir,
    /// Class paths of the server, and of its clients.
    classes: [String; 2],
    registry: SocketAddr,
    interrupt: &'i Interrupt,
}

/// A gateway that runs.
struct Gateway {
    name: &'static str,
    address: SocketAddr,
    _process: Process,
}

impl<'i> Ground<'i> {
    fn new(interrupt: &'i Interrupt) -> anyhow::Result<Self> {
        let classes = [class_path("eureka")?, class_path("eureka-client")?];
        let folder = tempfile::tempdir()?;
        let registry = weir_testkit::closed_port();
        std::fs::write(folder.path().join("application.yml"), configuration(registry))?;
        Ok(Self { folder, classes, registry, interrupt })
    }

    /// A Java program, started.
    fn java(&self, class: &str, log: &str, properties: &[String]) -> anyhow::Result<Process> {
        eprintln!("starting {class}");
        let [server, clients] = &self.classes;
        let classes = if class == "Registry" { server } else { clients };
        // Arguments go to a file: the class path would fill the message of a failure.
        let arguments = self.folder.path().join(format!("{class}.args"));
        std::fs::write(&arguments, format!("{JAVA}\n-cp\n{classes}\n"))?;
        let mut command = vec![
            path(Tool::Java)?,
            format!("@{}", arguments.display()),
            format!("weir.bench.eureka.{class}"),
        ];
        command.extend(properties.iter().map(|property| format!("--{property}")));
        let mut process = Process::start(&command, &[], &self.folder.path().join(log))?;
        let started = format!("Started {class}");
        until(START, self.interrupt, || {
            process.check()?;
            Ok(process.output().contains(&started))
        })
        .with_context(|| format!("{class} does not start:\n{}", process.output()))?;
        Ok(process)
    }

    fn registry(&self, log: &str) -> anyhow::Result<Process> {
        let mut properties = common(self.registry.port());
        properties.extend(
            [
                "eureka.client.register-with-eureka=false",
                "eureka.client.fetch-registry=false",
                "eureka.server.enable-self-preservation=false",
                "eureka.server.eviction-interval-timer-in-ms=1000",
                "eureka.server.response-cache-update-interval-ms=500",
            ]
            .map(str::to_owned),
        );
        self.java("Registry", log, &properties)
    }

    fn service(&self, port: u16, log: &str) -> anyhow::Result<Process> {
        let mut properties = common(port);
        properties.extend(
            [
                "spring.application.name=orders",
                "spring.cloud.gateway.enabled=false",
                "server.shutdown=graceful",
                "eureka.instance.hostname=127.0.0.1",
                "eureka.instance.lease-renewal-interval-in-seconds=1",
                "eureka.instance.lease-expiration-duration-in-seconds=3",
            ]
            .map(str::to_owned),
        );
        properties.push(format!("eureka.instance.instance-id=orders-{port}"));
        properties.push(default_zone(self.registry));
        self.java("Service", log, &properties)
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("application.yml")
    }

    fn scg(&self) -> anyhow::Result<Gateway> {
        let address = weir_testkit::closed_port();
        let mut properties = common(address.port());
        properties.push(format!("spring.config.location=file:{}", self.file().display()));
        let process = self.java("Gateway", "scg.log", &properties)?;
        Ok(Gateway { name: "SCG", address, _process: process })
    }

    fn weir(&self, weir: &Path) -> anyhow::Result<Gateway> {
        let command = [
            weir.display().to_string(),
            "run".to_owned(),
            "--data".to_owned(),
            self.folder.path().join("data").display().to_string(),
            "--set".to_owned(),
            "server.port=0".to_owned(),
            "--set".to_owned(),
            "weir.admin.port=-1".to_owned(),
            self.file().display().to_string(),
        ];
        let mut process = Process::start(&command, &[], &self.folder.path().join("weir.log"))?;
        let address = process.listens("listening http ", START, self.interrupt)?;
        Ok(Gateway { name: "weir", address, _process: process })
    }
}

impl Gateway {
    /// Waits until requests are answered by all of `ports`.
    fn serves_from(&self, ports: &[u16], interrupt: &Interrupt) -> anyhow::Result<()> {
        let mut last = String::new();
        until(AGREEMENT, interrupt, || {
            let answers: Vec<String> = (0..8)
                .map(|_| ask(self.address).unwrap_or_else(|error| error.to_string()))
                .collect();
            last = answers.join(", ");
            Ok(ports.iter().all(|port| answers.contains(&port.to_string())))
        })
        .with_context(|| format!("{} does not serve from {ports:?}: {last}", self.name))
    }
}

/// The configuration of both gateways.
fn configuration(registry: SocketAddr) -> String {
    format!(
        "server.address: 127.0.0.1\n\
         spring:\n  application.name: gateway\n  cloud:\n    \
         loadbalancer.cache.ttl: 1s\n    \
         gateway.routes:\n    - id: orders\n      uri: lb://orders\n      \
         predicates: [ \"Path=/orders/**\" ]\n\
         eureka:\n  instance.hostname: 127.0.0.1\n  client:\n    \
         registry-fetch-interval-seconds: 1\n    \
         service-url.defaultZone: http://{registry}/eureka/\n"
    )
}

fn common(port: u16) -> Vec<String> {
    let port = format!("server.port={port}");
    let quiet = ["spring.main.banner-mode=off", "server.address=127.0.0.1"].map(str::to_owned);
    std::iter::once(port).chain(quiet).collect()
}

fn default_zone(registry: SocketAddr) -> String {
    format!("eureka.client.service-url.defaultZone=http://{registry}/eureka/")
}

fn until(
    longest: Duration,
    interrupt: &Interrupt,
    mut done: impl FnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let began = Instant::now();
    while !done()? {
        ensure!(began.elapsed() < longest, "not within {longest:?}");
        interrupt.sleep(LOOK)?;
    }
    Ok(())
}
