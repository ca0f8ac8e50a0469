//! Benchmarks of lookups and changes, at growing sizes and in all shapes: `cargo bench -p
//! weir-route --bench index`.
//!
//! Times should not grow with the size. `ROUTES=1,1000,1000000` chooses the sizes, `SHAPES=Exact`
//! the shapes; the default stays within some minutes. `benches/shapes.rs` shows percentiles.

mod tables;

use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use tables::Ask;
use tables::shapes::{FLAT, Shape};
use weir_route::index::{Change, Index, Scratch};

/// Number of different requests.
const ASKS: usize = 256;

fn sizes(default: &str) -> Vec<usize> {
    let sizes = std::env::var("ROUTES").unwrap_or_else(|_| default.to_owned());
    sizes.split(',').filter_map(|size| size.parse().ok()).collect()
}

fn shapes(all: &[Shape]) -> Vec<Shape> {
    let wanted = std::env::var("SHAPES").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split(',').filter(|name| !name.is_empty()).collect();
    let is_wanted =
        |shape: &Shape| wanted.is_empty() || wanted.contains(&format!("{shape:?}").as_str());
    all.iter().copied().filter(is_wanted).collect()
}

/// Pseudo-random positions in a table of `size`.
fn scatter(n: usize, size: usize) -> usize {
    ((n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11) as usize % size
}

fn lookup(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("lookup");
    group.warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(800));
    for shape in shapes(&FLAT) {
        for size in sizes("1,1000,10000,100000") {
            let index = Index::build(shape.routes(size));
            let asks: Vec<Ask> = (0..ASKS).map(|n| shape.ask(scatter(n, size))).collect();
            let mut scratch = Scratch::default();
            let mut turn = asks.iter().cycle();
            group.bench_function(BenchmarkId::new(format!("{shape:?}"), size), |bencher| {
                bencher.iter(|| {
                    let ask = turn.next().map(Ask::request);
                    let found = index.lookup(&ask.expect("a cycle has no end"), &mut scratch);
                    black_box(found).is_some()
                });
            });
        }
    }
}

/// The linear scan, for comparison: its time does grow with the size.
fn scan(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scan");
    group.warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(800));
    for size in [1, 1_000, 10_000] {
        let index = Index::build(Shape::Exact.routes(size));
        let asks: Vec<Ask> = (0..ASKS).map(|n| Shape::Exact.ask(scatter(n, size))).collect();
        let mut turn = asks.iter().cycle();
        group.bench_function(BenchmarkId::new("Exact", size), |bencher| {
            bencher.iter(|| turn.next().map(|ask| index.scan(&ask.request()).is_some()));
        });
    }
}

fn change(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("change");
    group.warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(800));
    for shape in shapes(&[Shape::Exact, Shape::Tenants, Shape::Mixed]) {
        for size in sizes("1,1000,10000,100000") {
            let index = Index::build(shape.routes(size));
            let mut turn = (0..size.min(ASKS)).map(|n| scatter(n, size)).cycle();
            group.bench_function(BenchmarkId::new(format!("{shape:?}"), size), |bencher| {
                bencher.iter_batched(
                    || vec![Change::Put(shape.route(turn.next().unwrap_or_default()))],
                    |changes| index.apply(changes),
                    BatchSize::SmallInput,
                );
            });
        }
    }
}

fn build(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("build");
    group.sample_size(10).measurement_time(Duration::from_secs(2));
    for shape in shapes(&[Shape::Exact, Shape::Tenants, Shape::Mixed]) {
        for size in sizes("1000,100000") {
            let routes = shape.routes(size);
            group.bench_function(BenchmarkId::new(format!("{shape:?}"), size), |bencher| {
                bencher.iter_batched(|| routes.clone(), Index::build, BatchSize::PerIteration);
            });
        }
    }
}

criterion_group!(benches, lookup, scan, change, build);
criterion_main!(benches);
