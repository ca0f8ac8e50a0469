//! HDR histogram interval log (version 1.3), as HdrHistogram's own tools read it: one line per
//! second and one tagged line for the whole run.

use crate::outcome::Outcome;
use crate::record::Slice;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2Serializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use std::time::Duration;

/// The log.
///
/// # Errors
/// When a histogram cannot be serialised.
pub fn render(outcome: &Outcome) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let mut serializer = V2Serializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment("weir bench; values in nanoseconds")
        .with_max_value_divisor(1e6)
        .begin_log_with(&mut bytes, &mut serializer)?;
    for slice in outcome.slices.iter().filter(|slice| !slice.warmup) {
        let start = Duration::from_secs(slice.second);
        log.write_histogram(&of_slice(slice), start, Duration::from_secs(1), None)
            .map_err(|why| anyhow::anyhow!("interval log: {why:?}"))?;
    }
    let whole = Duration::from_secs_f64(outcome.measured_s);
    let start = Duration::from_secs_f64(outcome.asked.warmup_s);
    for (tag, distribution) in [("response", &outcome.response), ("service", &outcome.service)] {
        log.write_histogram(&distribution.to_histogram(), start, whole, Tag::new(tag))
            .map_err(|why| anyhow::anyhow!("interval log: {why:?}"))?;
    }
    Ok(String::from_utf8(bytes)?)
}

fn of_slice(slice: &Slice) -> Histogram<u64> {
    let mut histogram = crate::record::histogram();
    for &(value, count) in &slice.responses {
        histogram.saturating_record_n(value, count);
    }
    histogram
}

#[cfg(test)]
mod tests {
    use crate::outcome::{Distribution, Outcome};
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    #[test]
    fn the_log_is_read_back_by_its_own_library() {
        let mut histogram = crate::record::histogram();
        histogram.record_n(1_000_000, 7).unwrap();
        let response = Distribution::of(&histogram);
        let outcome = Outcome { response, measured_s: 2.0, ..Outcome::default() };
        let log = super::render(&outcome).unwrap();
        let entries: Vec<_> = IntervalLogIterator::new(log.as_bytes()).collect();
        let intervals = entries.iter().filter(|entry| matches!(entry, Ok(LogEntry::Interval(_))));
        assert_eq!(intervals.count(), 2, "{log}");
        assert!(log.contains("Tag=response"), "{log}");
    }
}
