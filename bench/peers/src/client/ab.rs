//! ApacheBench's report.

use super::Counted;

/// Reads it.
///
/// # Errors
/// It is not one.
pub fn parse(report: &str) -> anyhow::Result<Counted> {
    let number = |name: &str| {
        let line = report.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<f64>().ok()
    };
    let (Some(complete), Some(failed), Some(rate)) =
        (number("Complete requests:"), number("Failed requests:"), number("Requests per second:"))
    else {
        anyhow::bail!("ab reported nothing:\n{report}");
    };
    let bad = number("Non-2xx responses:").unwrap_or(0.0);
    Ok(Counted { requests: complete as u64, errors: (failed + bad) as u64, rate })
}

#[cfg(test)]
mod tests {
    use super::{Counted, parse};

    #[test]
    fn reports_are_read() {
        let report = "\
Concurrency Level:      100
Time taken for tests:   0.729 seconds
Complete requests:      20000
Failed requests:        3
   (Connect: 0, Receive: 0, Length: 3, Exceptions: 0)
Non-2xx responses:      2
Total transferred:      2460000 bytes
Requests per second:    27440.94 [#/sec] (mean)
";
        let expected = Counted { requests: 20_000, errors: 5, rate: 27_440.94 };
        assert_eq!(parse(report).unwrap(), expected);
        assert!(parse("apr_socket_recv: Connection refused (111)").is_err());
    }
}
