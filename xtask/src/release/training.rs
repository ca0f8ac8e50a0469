//! The training of weir: a gateway's work, mostly keep-alive proxying of small answers, and
//! everything else often enough to be counted. The number of requests is fixed, so that a training
//! is the same work on every machine, except for the six seconds of `weir bench wrk`; it takes a
//! minute on two cores.

use std::net::SocketAddr;
use std::path::Path;

use weir_peers::client::{ab, browser, wrk};
use weir_peers::interrupt::Interrupt;
use weir_peers::shapes::{Shape, drawn};

use super::layout::Part;
use super::load::{Gateway, Ground, Raw};

/// The definition of the training: a change of it makes a new training necessary.
pub const DEFINITION: &[&str] = &[
    include_str!("training.rs"),
    include_str!("load.rs"),
    include_str!("layout.rs"),
    include_str!("order.rs"),
    include_str!("../../../bench/peers/src/shapes.rs"),
    include_str!("../../../bench/peers/src/client/mod.rs"),
];

/// Routes of the large table.
const ROUTES: u64 = 100_000;
/// The number of routes in the table that receives most requests.
const SOME_ROUTES: u64 = 1_000;
/// Routes of each shape in the table of all shapes.
const SHAPE_ROUTES: u64 = 500;
/// The shapes in that table; prefixes are what the large one has.
const SHAPES: [Shape; 8] = [
    Shape::Exact,
    Shape::Templates,
    Shape::HostPath,
    Shape::WildcardHosts,
    Shape::Header,
    Shape::Query,
    Shape::Cookie,
    Shape::Method,
];

/// The number of the first route of each shape: ids and paths of two do not meet.
const STARTS: [u64; SHAPES.len()] = [0, 500, 1000, 1500, 2000, 2500, 3000, 3500];

/// Trains `weir`, which has counters; `bare` is the upstream. `counted` is called after each part.
///
/// # Errors
/// Something does not start or end well, a request fails, or Ctrl-C.
pub fn run(
    weir: &Path,
    bare: &Path,
    interrupt: &Interrupt,
    counted: impl Fn(Part) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let ground = Ground::new(weir, bare, interrupt)?;
    let (_process, upstream) = ground.upstream()?;
    idle(&ground, upstream)?;
    counted(Part::Idle)?;
    one_route(&ground, upstream)?;
    counted(Part::Serving)?;
    some_routes(&ground, upstream)?;
    shapes(&ground, upstream)?;
    counted(Part::Proxying)?;
    many_routes(&ground, upstream)?;
    stored_routes(&ground, upstream)?;
    counted(Part::Starting)
}

/// Prints the current step, since it takes a while.
fn say(what: &str) {
    eprintln!("  {what}");
}

/// The same gateway as in [`one_route`], without requests.
fn idle(ground: &Ground<'_>, upstream: SocketAddr) -> anyhow::Result<()> {
    say("no request");
    let gateway = ground.gateway(&table(Shape::Exact, 0, 1, upstream), "idle")?;
    ground.end(gateway)
}

fn one_route(ground: &Ground<'_>, upstream: SocketAddr) -> anyhow::Result<()> {
    say("one route");
    let gateway = ground.gateway(&table(Shape::Exact, 0, 1, upstream), "one")?;
    let url = format!("http://{}/0", gateway.address);
    // wrk sends nothing but Host.
    ground.dialect(&["wrk", "-t", "1", "-c", "64", "-d", "4s", &url], wrk::parse, None)?;
    get(ground, &url, 30_000, &[])?;
    ground.end(gateway)
}

fn many_routes(ground: &Ground<'_>, upstream: SocketAddr) -> anyhow::Result<()> {
    say("100,000 routes from YAML");
    let gateway = ground.gateway(&table(Shape::Prefixes, 0, ROUTES, upstream), "many")?;
    let path = drawn("/svc{n}/orders/7", 0, ROUTES);
    get(ground, &format!("http://{}{path}", gateway.address), 30_000, &[])?;
    ground.end(gateway)
}

fn some_routes(ground: &Ground<'_>, upstream: SocketAddr) -> anyhow::Result<()> {
    say("1,000 routes");
    let gateway = ground.gateway(&table(Shape::Prefixes, 0, SOME_ROUTES, upstream), "some")?;
    let path = drawn("/svc{n}/orders/7", 0, SOME_ROUTES);
    let url = format!("http://{}{path}", gateway.address);
    get(ground, &url, 150_000, &[])?;
    let browser = browser();
    get(ground, &url, 50_000, &browser.lines().collect::<Vec<_>>())?;
    let pipelined = Raw { answers: 16, end: b"\r\n\r\nok\n", connections: 16, times: 250 };
    ground.raw(gateway.address, pipelined, |dice| {
        let one = |_| {
            let route = dice.u64(0..SOME_ROUTES);
            format!("GET /svc{route}/orders/7 HTTP/1.1\r\nHost: gateway.test\r\n\r\n")
        };
        (0..pipelined.answers).map(one).collect::<String>().into_bytes()
    })?;
    let fixed = format!("http://{}/svc471/orders/7", gateway.address);
    ground.dialect(&["wrk", "-t", "1", "-c", "64", "-d", "2s", &fixed], wrk::parse, None)?;
    say("short connections");
    ground.dialect(&["ab", "-q", "-c", "100", "-n", "20000", &fixed], ab::parse, Some(20_000))?;
    bodies(ground, &gateway, &fixed)?;
    ground.end(gateway)
}

fn bodies(ground: &Ground<'_>, gateway: &Gateway, url: &str) -> anyhow::Result<()> {
    say("bodies");
    for (bytes, requests) in [(16_384, 10_000), (1 << 20, 200)] {
        let file = ground.file("body");
        std::fs::write(&file, vec![b'x'; bytes])?;
        let (data, count) = (format!("@{}", file.display()), requests.to_string());
        let answer = format!("X-Answer: {bytes}");
        let load = ["-q", "-t", "1", "-c", "32", "--timeout", "30s", "-n", &count, url];
        ground.bench(&[&load[..], &["-H", &answer]].concat(), requests)?;
        ground.bench(&[&load[..], &["--data", &data]].concat(), requests)?;
    }
    let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
    let request = format!(
        "POST /svc471/orders/7 HTTP/1.1\r\nHost: gateway.test\r\nX-Answer: 16384,chunked\r\n\
         Transfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n",
        chunk.repeat(4)
    );
    let chunked = Raw { answers: 1, end: b"\r\n0\r\n\r\n", connections: 16, times: 150 };
    ground.raw(gateway.address, chunked, |_| request.clone().into_bytes())
}

fn shapes(ground: &Ground<'_>, upstream: SocketAddr) -> anyhow::Result<()> {
    say("routes of all shapes");
    let gateway = ground.gateway(&table_of_shapes(upstream), "shapes")?;
    for (shape, from) in SHAPES.into_iter().zip(STARTS) {
        let patterns = shape.patterns();
        let requests = 6_000 / patterns.len() as u64;
        for pattern in patterns {
            let place = |text| drawn(text, from, from + SHAPE_ROUTES);
            let url = format!("http://{}{}", gateway.address, place(pattern.target));
            let fields = place(pattern.fields);
            let count = requests.to_string();
            let mut load = vec!["-q", "-t", "1", "-c", "64", "-n", &count, "-m", pattern.method];
            load.extend(fields.lines().flat_map(|line| ["-H", line]));
            load.push(&url);
            ground.bench(&load, requests)?;
        }
    }
    ground.end(gateway)
}

fn stored_routes(ground: &Ground<'_>, upstream: SocketAddr) -> anyhow::Result<()> {
    say("100,000 routes in the store, and changes of them");
    let file = ground.file("routes.jsonl");
    let uri = format!("http://{upstream}");
    let lines = (0..ROUTES).map(|n| {
        let route = serde_json::json!({
            "id": format!("api-{n}"),
            "uri": uri,
            "predicates": [format!("Path=/svc{n}/**")],
            "filters": [format!("AddRequestHeader=x-route, api-{n}"), "PrefixPath=/ok"],
            "metadata": { "owner": format!("team-{n}") },
        });
        format!("{route}\n")
    });
    std::fs::write(&file, lines.collect::<String>())?;
    let gateway = ground.gateway("    []\n", "store")?;
    let admin = format!("http://{}", gateway.admin);
    ground.weir(&["routes", "--admin", &admin, "import", &file.display().to_string()])?;
    ground.end(gateway)?;
    let gateway = ground.gateway("    []\n", "store")?;
    let path = drawn("/svc{n}/orders/7", 0, ROUTES);
    get(ground, &format!("http://{}{path}", gateway.address), 30_000, &[])?;
    changes(ground, &gateway, &uri)?;
    ground.end(gateway)
}

/// Routes are made, replaced and removed.
fn changes(ground: &Ground<'_>, gateway: &Gateway, uri: &str) -> anyhow::Result<()> {
    let requests = 3_000;
    let route = serde_json::json!({
        "uri": uri,
        "predicates": ["Path=/change/${random(1,1000)}"],
        "filters": ["AddRequestHeader=x-change, ${random(1,1000)}"],
    });
    let plan = serde_json::json!({
        "target": format!("http://{}/actuator/gateway", gateway.admin),
        "load": { "connections": 32, "threads": 1, "requests": requests },
        "requests": [
            {
                "method": "POST",
                "path": "/routes/change-${random(1,1000)}",
                "headers": { "Content-Type": "application/json" },
                "body": route.to_string(),
                "expect": [200, 201],
                "weight": 2,
            },
            {
                "method": "DELETE",
                "path": "/routes/change-${random(1,1000)}",
                "expect": [200, 404],
            },
        ],
    });
    let file = ground.file("changes.yml");
    std::fs::write(&file, plan.to_string())?;
    ground.bench(&["plan", "-q", &file.display().to_string()], requests)
}

/// GETs on 64 connections.
fn get(ground: &Ground<'_>, url: &str, requests: u64, fields: &[&str]) -> anyhow::Result<()> {
    let count = requests.to_string();
    let mut load = vec!["-q", "-t", "1", "-c", "64", "-n", &count];
    load.extend(fields.iter().flat_map(|line| ["-H", line]));
    load.push(url);
    ground.bench(&load, requests)
}

fn table_of_shapes(upstream: SocketAddr) -> String {
    let tables = SHAPES.into_iter().zip(STARTS);
    tables.map(|(shape, from)| table(shape, from, SHAPE_ROUTES, upstream)).collect()
}

/// Lines of YAML: `count` routes of a shape from number `from` on.
fn table(shape: Shape, from: u64, count: u64, upstream: SocketAddr) -> String {
    (from..from + count).map(|n| shape.route(n, upstream) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::{SHAPE_ROUTES, SHAPES, table_of_shapes};

    #[test]
    fn shapes_share_no_id() {
        let lines = table_of_shapes("127.0.0.1:1".parse().unwrap());
        let id = |line: &str| line.split(',').next().unwrap_or_default().to_owned();
        let ids: std::collections::HashSet<String> = lines.lines().map(id).collect();
        assert_eq!(ids.len() as u64, SHAPES.len() as u64 * SHAPE_ROUTES);
    }
}
