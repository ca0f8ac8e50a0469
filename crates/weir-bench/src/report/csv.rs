//! One row per second, for spreadsheets.

use crate::outcome::Outcome;
use std::fmt::Write;

/// The table; times in nanoseconds.
pub fn render(outcome: &Outcome) -> String {
    let mut out = String::from("second,warmup,sent,ok,failed,bytes,p50_ns,p90_ns,p99_ns,max_ns\n");
    for slice in &outcome.slices {
        let time = |quantile| slice.quantile(quantile).unwrap_or(0);
        let _ = writeln!(
            out,
            "{},{},{},{},{},{},{},{},{},{}",
            slice.second,
            u8::from(slice.warmup),
            slice.sent,
            slice.ok,
            slice.failed,
            slice.bytes,
            time(0.5),
            time(0.9),
            time(0.99),
            time(1.0)
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::outcome::Outcome;
    use crate::record::Slice;

    #[test]
    fn a_second_is_a_row() {
        let responses = vec![(1000, 3), (2000, 1)];
        let slice =
            Slice { second: 4, sent: 4, ok: 3, failed: 1, bytes: 9, responses, warmup: true };
        let outcome = Outcome { slices: vec![slice], ..Outcome::default() };
        let rows = super::render(&outcome);
        assert_eq!(rows.lines().nth(1), Some("4,1,4,3,1,9,1000,2000,2000,2000"));
    }
}
