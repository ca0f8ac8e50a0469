//! Prints the time of lookups and changes in tables of every shape, and the size of the index.
//!
//! `ROUTES=1000,1000000` chooses the sizes, `SHAPES=Exact,Mixed` the shapes. Times are of single
//! lookups, without the time of reading the clock; `STATS=1` prints the statistics of each index.
//! The RSS of the routes is only right for the first table of a process. `warm` repeats the same
//! 1,000 requests, `all over` requests routes anywhere in the table, each once.

mod tables;

use std::hint::black_box;
use std::time::{Duration, Instant};

use tables::Ask;
use tables::shapes::{FLAT, Shape};
use weir_route::index::{Change, Index, Scratch};

const WARM: usize = 1_000;
const LOOKUPS: usize = 200_000;
/// Number of lookups in a shape that is scanned.
const SCANS: usize = 2_000;
const CHANGES: usize = 2_000;
/// Maximum number of routes of a shape that is scanned: more would take minutes.
const OPAQUE_MAX: usize = 10_000;

fn main() {
    let sizes = std::env::var("ROUTES").unwrap_or_else(|_| "1,1000,100000".to_owned());
    let sizes: Vec<usize> = sizes.split(',').filter_map(|size| size.parse().ok()).collect();
    let wanted = std::env::var("SHAPES").unwrap_or_default();
    println!(
        "| shape | routes | warm p50 ns | p99 | all over p50 | p99 | change p50 µs | p99 | build CPU ms \
         | 10 % bulk CPU ms | index B/route | routes' RSS B/route |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    let others =
        [Shape::Regex, Shape::Inside, Shape::Peer, Shape::Client, Shape::Opaque, Shape::Beside];
    for shape in FLAT.into_iter().chain(others) {
        if !wanted.is_empty() && !wanted.split(',').any(|name| name == format!("{shape:?}")) {
            continue;
        }
        for &size in &sizes {
            match shape {
                Shape::Opaque if size > OPAQUE_MAX => {}
                Shape::Beside if size > OPAQUE_MAX => {}
                // As many scanned routes as in the largest table of that shape alone.
                Shape::Beside if size == OPAQUE_MAX => measure(shape, 2 * size),
                _ => measure(shape, size),
            }
        }
    }
}

fn measure(shape: Shape, size: usize) {
    let before = resident();
    let routes = shape.routes(size);
    let made = resident();
    let input = routes.clone();
    let started = on_cpu();
    let index = Index::build(input);
    let build = on_cpu() - started;
    let stats = index.stats();
    if std::env::var_os("STATS").is_some() {
        eprintln!("{stats:#?}");
    }
    let count = if shape == Shape::Opaque { SCANS } else { LOOKUPS };
    let ask = |n| shape.ask(scatter(n, size));
    let [warm_p50, warm_p99] = lookups(&index, ask, WARM, count);
    let [cold_p50, cold_p99] = lookups(&index, ask, count, count);
    let [change_p50, change_p99] = changes(&index, shape, size);
    let bulk = bulk(&index, shape, size);
    let per_route = |bytes: usize| bytes as f64 / size as f64;
    println!(
        "| {shape:?} | {size} | {warm_p50:.0} | {warm_p99:.0} | {cold_p50:.0} | {cold_p99:.0} | \
         {:.1} | {:.1} | {:.1} | {:.1} | {:.0} | {:.0} |",
        change_p50 / 1e3,
        change_p99 / 1e3,
        build.as_secs_f64() * 1e3,
        bulk.as_secs_f64() * 1e3,
        per_route(stats.bytes),
        per_route(made.saturating_sub(before)),
    );
}

/// Nanoseconds of a lookup: median and 99th percentile of `count` lookups, repeating the first
/// `asks` requests. Each request is built in the memory of the one before, as in a worker: a list
/// of requests would displace the table from the caches.
fn lookups(index: &Index<()>, ask: impl Fn(usize) -> Ask, asks: usize, count: usize) -> [f64; 2] {
    let mut scratch = Scratch::default();
    let mut times = Vec::with_capacity(count + asks);
    let rounds = count.div_ceil(asks);
    let mut worker = Ask::new("GET", "", "/", &[]);
    for round in 0..=rounds {
        for n in 0..asks {
            worker.read(&ask(n));
            let request = black_box(&worker).request();
            let started = Instant::now();
            let found = index.lookup(&request, &mut scratch);
            let took = started.elapsed();
            assert!(black_box(found).is_some(), "every request has a route");
            if round > 0 || rounds == 1 {
                times.push(took);
            }
        }
    }
    percentiles(times)
}

/// Nanoseconds of a change: a route is replaced, removed, inserted again.
fn changes(index: &Index<()>, shape: Shape, size: usize) -> [f64; 2] {
    let mut times = Vec::new();
    let mut table = index.apply(Vec::new());
    for n in 0..CHANGES {
        let n = scatter(n, size);
        let changes =
            [Change::Put(shape.route(n)), Change::Remove(n as u64), Change::Put(shape.route(n))];
        for change in changes {
            let started = Instant::now();
            let next = table.apply(vec![change]);
            times.push(started.elapsed());
            table = next;
        }
    }
    percentiles(times)
}

/// Time to replace a tenth of the table.
fn bulk(index: &Index<()>, shape: Shape, size: usize) -> Duration {
    let changes = (0..size).step_by(10).map(|n| Change::Put(shape.route(n))).collect();
    let started = on_cpu();
    let next = index.apply(changes);
    let took = on_cpu() - started;
    assert_eq!(next.len(), index.len());
    took
}

/// CPU time of this thread, if the system reports it: other processes may be running.
fn on_cpu() -> Duration {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = times.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

fn percentiles(mut times: Vec<Duration>) -> [f64; 2] {
    times.sort_unstable();
    let clock = clock();
    let at = |share: f64| {
        let index = ((times.len() - 1) as f64 * share) as usize;
        times[index].saturating_sub(clock).as_nanos() as f64
    };
    [at(0.5), at(0.99)]
}

/// Duration of two clock readings.
fn clock() -> Duration {
    let mut times: Vec<_> = (0..10_001).map(|_| Instant::now().elapsed()).collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// Pseudo-random positions in a table of `size`.
fn scatter(n: usize, size: usize) -> usize {
    let spread = (n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11;
    spread as usize % size
}

/// Resident bytes of this process; 0 if the system does not report them.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: Option<usize> = pages.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0) * 4096
}
