//! A property's value, read as its kind.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use super::Kind;
use crate::value;

/// A value of one of the kinds. The accessors of other kinds give an empty value; a setter asks for
/// the kind that its own entry declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Text, secret or choice.
    Text(String),
    /// Whole number.
    Int(i64),
    /// Truth value.
    Bool(bool),
    /// Duration.
    Duration(Duration),
    /// Bytes.
    Size(u64),
    /// Texts.
    List(Vec<String>),
    /// IP address.
    Address(IpAddr),
}

impl Value {
    /// Reads `text` as `kind`.
    ///
    /// # Errors
    /// What would be a value instead.
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
            Kind::List => {
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                Ok(Self::List(parts.map(str::to_owned).collect()))
            }
            Kind::OneOf(list) => one_of(trimmed, list),
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

    /// The number as a count; its kind has no negative ones.
    pub fn count(&self) -> usize {
        usize::try_from(self.int()).unwrap_or_default()
    }

    /// The number as a port or status; its kind has no others.
    pub fn short(&self) -> u16 {
        u16::try_from(self.int()).unwrap_or_default()
    }

    /// The truth value.
    pub fn bool(&self) -> bool {
        matches!(self, Self::Bool(true))
    }

    /// The duration.
    pub fn duration(&self) -> Duration {
        if let Self::Duration(duration) = self { *duration } else { Duration::ZERO }
    }

    /// The bytes.
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
