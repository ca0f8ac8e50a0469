//! Values of properties, parsed by type.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use weir_filter::forwarding::via::Via;

use super::Kind;
use crate::value;

/// A value of one of the types. Accessors of other types return an empty value; a setter uses the
/// type that its own entry declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Text, secret or choice.
    Text(String),
    /// Whole number.
    Int(i64),
    /// Boolean.
    Bool(bool),
    /// Duration.
    Duration(Duration),
    /// Size in bytes.
    Size(u64),
    /// Texts.
    List(Vec<String>),
    /// IP address.
    Address(IpAddr),
}

impl Value {
    /// Parses `text` as `kind`.
    ///
    /// # Errors
    /// The expected syntax.
    pub(crate) fn parse(kind: Kind, text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        match kind {
            Kind::Text | Kind::Secret | Kind::Tree => Ok(Self::Text(text.to_owned())),
            Kind::Int(min, max) => int(trimmed, min, max),
            Kind::Bool => value::bool(trimmed)
                .map(Self::Bool)
                .ok_or_else(|| "write `true` or `false`".to_owned()),
            Kind::Duration => value::duration(trimmed).map(Self::Duration).ok_or_else(|| {
                "write a duration such as `500ms`, `10s`, `2m` or `PT10S`; a bare number is \
                 milliseconds"
                    .to_owned()
            }),
            Kind::DataSize => value::data_size(trimmed).map(Self::Size).ok_or_else(|| {
                "write a size such as `512B`, `16KB` or `5MB`; a bare number is bytes".to_owned()
            }),
            Kind::SizeBetween(min, max) => {
                let size = value::data_size(trimmed).filter(|size| (min..=max).contains(size));
                size.map(Self::Size).ok_or_else(|| {
                    let (min, max) = (shown_size(min), shown_size(max));
                    format!("write a size from {min} to {max}, such as `64KB`")
                })
            }
            Kind::List => {
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                Ok(Self::List(parts.map(str::to_owned).collect()))
            }
            Kind::OneOf(list) => one_of(trimmed, list),
            Kind::Via => Via::parse(trimmed).map(|_| Self::Text(trimmed.to_owned())).ok_or_else(|| {
                "write `true`, `false`, or a name of letters, digits and `-.:`, such as `edge-1`"
                    .to_owned()
            }),
            Kind::Address => address(trimmed).map(Self::Address).ok_or_else(|| {
                "write an IP address such as `127.0.0.1`, `0.0.0.0` or `::1`".to_owned()
            }),
        }
    }

    /// The text.
    pub fn text(&self) -> &str {
        if let Self::Text(text) = self { text } else { "" }
    }

    /// The number.
    pub fn int(&self) -> i64 {
        if let Self::Int(n) = self { *n } else { 0 }
    }

    /// The number as a count; its type excludes negative numbers.
    pub fn count(&self) -> usize {
        usize::try_from(self.int()).unwrap_or_default()
    }

    /// The number as a port or status; its type excludes others.
    pub fn short(&self) -> u16 {
        u16::try_from(self.int()).unwrap_or_default()
    }

    /// The boolean.
    pub fn bool(&self) -> bool {
        matches!(self, Self::Bool(true))
    }

    /// The duration.
    pub fn duration(&self) -> Duration {
        if let Self::Duration(duration) = self { *duration } else { Duration::ZERO }
    }

    /// The size in bytes.
    pub fn size(&self) -> u64 {
        if let Self::Size(size) = self { *size } else { 0 }
    }

    /// The texts.
    pub fn list(&self) -> &[String] {
        if let Self::List(list) = self { list } else { &[] }
    }

    /// The address.
    pub fn address(&self) -> IpAddr {
        if let Self::Address(ip) = self { *ip } else { IpAddr::V4(Ipv4Addr::LOCALHOST) }
    }
}

fn int(text: &str, min: i64, max: i64) -> Result<Value, String> {
    let parsed = text.parse().ok().filter(|n| (min..=max).contains(n));
    parsed.map(Value::Int).ok_or_else(|| match max {
        i64::MAX => format!("write a whole number from {min} on"),
        _ => format!("write a whole number from {min} to {max}"),
    })
}

/// A size in the notation of a configuration.
pub(super) fn shown_size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)];
    let unit = UNITS.iter().find(|(_, size)| bytes >= *size && bytes.is_multiple_of(*size));
    unit.map_or_else(|| format!("{bytes}B"), |(name, size)| format!("{}{name}", bytes / size))
}

fn one_of(text: &str, list: &[&str]) -> Result<Value, String> {
    let found = list.iter().find(|name| crate::spring::key::same(name, text));
    found.map(|name| Value::Text((*name).to_owned())).ok_or_else(|| {
        let names: Vec<String> = list.iter().map(|name| format!("`{name}`")).collect();
        format!("write one of {}", names.join(", "))
    })
}

fn address(text: &str) -> Option<IpAddr> {
    if text.eq_ignore_ascii_case("localhost") {
        return Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Value, shown_size};
    use crate::property::Kind;

    fn check(text: &str, expected: Result<u64, &str>) {
        let got = Value::parse(Kind::SizeBetween(4 << 10, 1 << 20), text);
        let got = got.as_ref().map(Value::size).map_err(String::as_str);
        assert_eq!(got, expected, "{text}");
    }

    #[test]
    fn sizes_have_bounds() {
        let help = Err("write a size from 4KB to 1MB, such as `64KB`");
        check("4KB", Ok(4096));
        check(" 5000 ", Ok(5000));
        check("1MB", Ok(1 << 20));
        check("4095", help);
        check("2MB", help);
        check("-1", help);
        check("much", help);
    }

    #[test]
    fn sizes_are_shown_as_they_are_written() {
        for (bytes, shown) in [(512, "512B"), (4096, "4KB"), (3 << 20, "3MB"), (1 << 30, "1GB")] {
            assert_eq!(shown_size(bytes), shown);
        }
    }
}
