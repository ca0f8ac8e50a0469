//! Choice of the dimension that splits a crowded bucket best, estimated from a sample.

use super::dim::Dim;
use super::ranked::Ranked;
use super::way::Way;

/// Sample size for a bucket, and for one of more than `BIG` routes.
const SAMPLE: usize = 64;
const SAMPLE_BIG: usize = 1024;
const BIG: usize = 8192;
/// A list longer than this is worth a branch whose only effect is to exclude requests that show
/// another key.
const GUARDED: f64 = 32.0;

/// The dimension to branch on; `None` if no branch is worth it.
pub(crate) fn best<T>(routes: &Ranked<T>, way: &Way<'_>) -> Option<Dim> {
    let total = routes.len();
    let size = total.min(if total > BIG { SAMPLE_BIG } else { SAMPLE });
    let mut dims: Vec<Dim> = Vec::new();
    let mut filings: Vec<(usize, u64)> = Vec::new();
    let mut covered: Vec<usize> = Vec::new();
    let mut keys = Vec::new();
    let mut proposed = Vec::new();
    for n in 0..size {
        let Some(route) = routes.at(place(n, size, total)) else { continue };
        proposed.clear();
        Dim::propose(route, &mut proposed);
        for dim in &proposed {
            if dims.len() < SAMPLE_BIG && !dims.contains(dim) && !way.passed(dim) {
                dims.push(dim.clone());
                covered.push(0);
            }
        }
    }
    for n in 0..size {
        let Some(route) = routes.at(place(n, size, total)) else { continue };
        for (at, dim) in dims.iter().enumerate() {
            if way.keys(route, dim, &mut keys) {
                if let Some(count) = covered.get_mut(at) {
                    *count += 1;
                }
                filings.extend(keys.iter().map(|demand| (at, demand.key)));
            }
        }
    }
    filings.sort_unstable();
    let total = total as f64;
    let scale = total / size.max(1) as f64;
    let costs = dims.into_iter().zip(covered).enumerate().map(|(at, (dim, covered))| {
        let from = filings.partition_point(|(dim, _)| *dim < at);
        let until = filings.partition_point(|(dim, _)| *dim <= at);
        let keys = filings.get(from..until).unwrap_or_default();
        let any = (size - covered) as f64 * scale;
        (any + tries(keys, covered, scale) + dim.effort(), any, dim)
    });
    let costs: Vec<_> = costs.collect();
    let (cost, _, dim) = costs.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    if total - cost > 2.0 + total / 256.0 {
        return Some(dim.clone());
    }
    let (_, any, dim) = costs.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    (total > GUARDED && *any <= total / 2.0).then(|| dim.clone())
}

/// Estimated number of routes with a demand that a request still has to try: a request for one of
/// these routes, or for any of the demanded values, whichever is less. (The second allows a branch
/// that takes a few routes out of a bucket in which thousands demand the same value.)
fn tries(keys: &[(usize, u64)], covered: usize, scale: f64) -> f64 {
    let filed = keys.len() as f64;
    if covered == 0 || keys.is_empty() {
        return covered as f64;
    }
    // Probability that two filings share a bucket; over pairs, so that the sample size adds no
    // bias.
    let same = keys.chunk_by(|a, b| a == b);
    let pairs: f64 = same.clone().map(|same| (same.len() * (same.len() - 1)) as f64).sum();
    let together = pairs / (filed * (filed - 1.0)).max(1.0);
    let by_route = 1.0 + (filed * scale - 1.0) * together;
    let by_value = 2.0 * filed * scale / same.count() as f64;
    let copies = filed / covered as f64 - 1.0;
    by_route.min(by_value) + copies / 8.0
}

/// Position of sample `n` of `size` in `total`, irregular because tables are often periodic.
fn place(n: usize, size: usize, total: usize) -> usize {
    let step = total / size;
    let jitter = (n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
    n * total / size + jitter as usize % step.max(1)
}
