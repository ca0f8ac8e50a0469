//! Cost, priority and deadline of a request at a limit.

use std::time::Duration;

use weir_limit::{CLASS_DEFAULT, CLASSES};
use weir_wire::{RequestHead, is_token};

/// Maximum cost of a request: a client that chooses its own cost must not block everybody else for
/// long.
pub(crate) const COST_MAX: u64 = 10_000;

/// Cost of a request against a rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CostSource {
    /// The same for all requests.
    Fixed(u64),
    /// The number in a header: 1 if the header is missing, at most 10,000.
    Header(String),
}

impl Default for CostSource {
    fn default() -> Self {
        Self::Fixed(1)
    }
}

impl CostSource {
    /// Reads a number or `header:NAME`.
    ///
    /// # Errors
    /// The correct syntax.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if let Some(name) = header_of(text) {
            return name.map(Self::Header);
        }
        let cost = text.parse::<u64>().ok().filter(|cost| (1..=COST_MAX).contains(cost));
        let cost = cost.ok_or_else(|| {
            format!(
                "`{text}` is no cost: write a whole number from 1 to {COST_MAX}, or `header:NAME`"
            )
        })?;
        Ok(Self::Fixed(cost))
    }

    pub(crate) fn of(&self, head: &RequestHead) -> u64 {
        match self {
            Self::Fixed(cost) => *cost,
            Self::Header(name) => {
                let cost = text_of(head, name).map(str::trim);
                let is_number = |text: &&str| {
                    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
                };
                let cost = cost.filter(is_number);
                // A number with too many digits counts as the maximum.
                cost.map_or(1, |text| text.parse().unwrap_or(COST_MAX).clamp(1, COST_MAX))
            }
        }
    }
}

/// Reads the name of the header with the priority of a request.
///
/// # Errors
/// The correct syntax.
pub(crate) fn priority(text: &str) -> Result<String, String> {
    header_of(text).ok_or_else(|| format!("`{text}` is no priority: write `header:NAME`"))?
}

/// Priority class in the header `name`: 0 to 7, `u=0` to `u=7` (RFC 9218), `high`, `normal` or
/// `low`; the default for any other value. Parameters are ignored (RFC 9651 section 3.1.2).
pub(crate) fn class_of(head: &RequestHead, name: &str) -> u8 {
    let members = text_of(head, name).unwrap_or_default().split(',');
    let mut items = members.filter_map(|member| member.split(';').next()).map(str::trim);
    let class = items.find_map(|item| match item {
        "high" => Some(1),
        "normal" => Some(CLASS_DEFAULT),
        "low" => Some(5),
        other => {
            let number = other.strip_prefix("u=").unwrap_or(other);
            number.parse().ok().filter(|class| *class < CLASSES)
        }
    });
    class.unwrap_or(CLASS_DEFAULT)
}

/// Deadline of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeadlineSource {
    /// The header `grpc-timeout`, as gRPC writes it.
    GrpcTimeout,
    /// A duration in a header; a bare number is in milliseconds.
    Header(String),
}

impl DeadlineSource {
    /// Reads `grpc-timeout` or `header:NAME`.
    ///
    /// # Errors
    /// The correct syntax.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match header_of(text) {
            Some(name) => name.map(Self::Header),
            None if text == "grpc-timeout" => Ok(Self::GrpcTimeout),
            None => {
                Err(format!("`{text}` tells no deadline: write `grpc-timeout` or `header:NAME`"))
            }
        }
    }

    /// Time that the request can wait, in nanoseconds; `None` if the header is missing or
    /// malformed.
    pub(crate) fn patience_ns(&self, head: &RequestHead) -> Option<u64> {
        let patience = match self {
            Self::GrpcTimeout => grpc_timeout(text_of(head, "grpc-timeout")?)?,
            Self::Header(name) => weir_route::parse_duration(text_of(head, name)?).ok()?,
        };
        Some(u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Up to eight digits and a unit (gRPC over HTTP/2, `Timeout`).
fn grpc_timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.trim().split_at_checked(text.trim().len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(number * 3_600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

/// The name in `header:NAME`, or the error in it; `None` for another text.
fn header_of(text: &str) -> Option<Result<String, String>> {
    let name = text.strip_prefix("header:")?.trim();
    (!name.is_empty()).then(|| field_name(name))
}

/// The name of a header (RFC 9110 section 5.1).
///
/// # Errors
/// No header can have this name.
pub(crate) fn field_name(name: &str) -> Result<String, String> {
    match is_token(name.as_bytes()) {
        true => Ok(name.to_owned()),
        false => Err(format!(
            "`{name}` is not the name of a header: letters, digits and `-` are allowed, and no \
             blanks"
        )),
    }
}

fn text_of<'h>(head: &'h RequestHead, name: &str) -> Option<&'h str> {
    std::str::from_utf8(head.fields.get(name.as_bytes())?).ok()
}

#[cfg(test)]
mod tests {
    use weir_wire::RequestHead;
    use weir_wire::http1::{HeadLimits, parse_request};

    use super::*;

    fn head(line: &str) -> RequestHead {
        let mut head = RequestHead::default();
        let text = format!("GET / HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n");
        parse_request(text.as_bytes(), &mut head, &HeadLimits::default()).expect("a head");
        head
    }

    #[test]
    fn costs() {
        let source = CostSource::parse("header:X-Cost").expect("a cost");
        let check = |line: &str, expected| assert_eq!(source.of(&head(line)), expected, "{line}");
        check("X-Cost: 7", 7);
        check("X-Other: 7", 1);
        check("X-Cost: 0", 1);
        check("X-Cost: -3", 1);
        check("X-Cost: 1e9", 1);
        check("X-Cost: 99999999999999999999999", COST_MAX);
        assert_eq!(CostSource::parse("5"), Ok(CostSource::Fixed(5)));
        for bad in ["0", "-1", "many", "header:", "10001"] {
            assert!(CostSource::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn classes() {
        let check = |value: &str, expected| {
            assert_eq!(class_of(&head(&format!("P: {value}")), "P"), expected, "{value}");
        };
        check("0", 0);
        check("7", 7);
        check("high", 1);
        check("low", 5);
        check("u=1, i", 1);
        check("i, u=6", 6);
        check("u=0;a=1", 0);
        check("i;u=2, u=6 ;a", 6);
        check("high;q=1", 1);
        check("8", CLASS_DEFAULT);
        check("-1", CLASS_DEFAULT);
        check("at once", CLASS_DEFAULT);
        assert_eq!(class_of(&head("Q: 0"), "P"), CLASS_DEFAULT);
        assert!(priority("header:P").is_ok() && priority("X-Priority").is_err());
    }

    #[test]
    fn deadlines() {
        let grpc = DeadlineSource::parse("grpc-timeout").expect("a deadline");
        let own = DeadlineSource::parse("header:X-Timeout").expect("a deadline");
        assert!(DeadlineSource::parse("soon").is_err());
        let check = |source: &DeadlineSource, line: &str, expected: Option<u64>| {
            assert_eq!(source.patience_ns(&head(line)), expected, "{line}");
        };
        check(&grpc, "grpc-timeout: 2S", Some(2_000_000_000));
        check(&grpc, "grpc-timeout: 100m", Some(100_000_000));
        check(&grpc, "grpc-timeout: 99999999H", Some(u64::MAX));
        for bad in ["S", "2", "2s", "-2S", "123456789S", "2 S"] {
            check(&grpc, &format!("grpc-timeout: {bad}"), None);
        }
        check(&own, "X-Timeout: 250", Some(250_000_000));
        check(&own, "X-Timeout: PT2S", Some(2_000_000_000));
        check(&own, "X-Timeout: later", None);
        check(&own, "grpc-timeout: 2S", None);
    }
}
