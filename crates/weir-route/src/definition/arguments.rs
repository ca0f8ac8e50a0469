//! Written arguments: an insertion-ordered map, optimized for one or two entries.
//!
//! `serde_json::Map` hashes every name and allocates a table beside its entries, which took a third
//! of the time to read a large table.

use std::collections::HashMap;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use smol_str::SmolStr;

/// Maximum number of names that are compared one by one. More are hashed, so that the cost stays
/// linear in the length of the definition.
const FEW: usize = 16;

/// Argument names and values in the order written, each name once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments {
    entries: Vec<(SmolStr, Value)>,
}

impl Arguments {
    /// Number of arguments.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value of argument `name`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.iter().find(|(other, _)| *other == name).map(|(_, value)| value)
    }

    /// Sets one argument in linear time; to set many, collect them.
    pub fn insert(&mut self, name: &str, value: Value) {
        match self.entries.iter_mut().find(|(other, _)| other == name) {
            Some((_, slot)) => *slot = value,
            None => self.entries.push((name.into(), value)),
        }
    }

    /// Names and values in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &Value)> + ExactSizeIterator {
        self.entries.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Names in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(name, _)| name)
    }

    /// Values in order of the names.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.iter().map(|(_, value)| value)
    }
}

impl<N: Into<SmolStr>> FromIterator<(N, Value)> for Arguments {
    /// A repeated name keeps its first position and its last value.
    fn from_iter<I: IntoIterator<Item = (N, Value)>>(written: I) -> Self {
        let mut collected = Collected::default();
        for (name, value) in written {
            collected.take(name.into(), value);
        }
        Self { entries: collected.entries }
    }
}

impl Serialize for Arguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MapVisitor)
    }
}

struct MapVisitor;

impl<'de> Visitor<'de> for MapVisitor {
    type Value = Arguments;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_unit<E>(self) -> Result<Arguments, E> {
        Ok(Arguments::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Arguments, A::Error> {
        let mut collected = Collected::default();
        while let Some((name, value)) = map.next_entry()? {
            collected.take(name, value);
        }
        Ok(Arguments { entries: collected.entries })
    }
}

/// Entries so far, and a hash index once there are many.
#[derive(Default)]
struct Collected {
    entries: Vec<(SmolStr, Value)>,
    places: HashMap<SmolStr, usize, foldhash::fast::RandomState>,
}

impl Collected {
    fn take(&mut self, name: SmolStr, value: Value) {
        let Self { entries, places } = self;
        let place = if entries.len() < FEW {
            entries.iter().position(|(other, _)| *other == name)
        } else {
            if places.is_empty() {
                places.extend(entries.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)));
            }
            let at = *places.entry(name.clone()).or_insert(entries.len());
            Some(at).filter(|at| *at < entries.len())
        };
        match place.and_then(|at| entries.get_mut(at)) {
            Some((_, slot)) => *slot = value,
            None => entries.push((name, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value};

    use super::{Arguments, FEW};

    fn check(json: &str) {
        let expected: Map<String, Value> = serde_json::from_str(json).expect("a map");
        let read: Arguments = serde_json::from_str(json).expect("arguments");
        let collected: Arguments = expected.clone().into_iter().collect();
        let mut inserted = Arguments::default();
        expected.iter().for_each(|(name, value)| inserted.insert(name, value.clone()));
        assert_eq!((&read, &collected), (&inserted, &inserted));
        let text = serde_json::to_string(&expected).expect("json");
        assert_eq!(serde_json::to_string(&read).expect("json"), text);
        assert_eq!(read.len(), expected.len());
        assert!(read.keys().all(|name| read.get(name) == expected.get(name)), "{json}");
        assert_eq!(read.get("none"), None);
    }

    #[test]
    fn behaves_as_a_map_of_json() {
        check("{}");
        check(r#"{"_genkey_0":"/a","b":[1,{"c":null}]}"#);
        check(r#"{"a":1,"b":2,"a":3}"#);
        check(r#"{"long names have memory of their own":1,"é\n":true}"#);
        let many = |n: usize| (0..n).map(|at| format!("\"{}\":{at}", at % 40));
        for n in [FEW - 1, FEW, FEW + 1, 100] {
            check(&format!("{{{}}}", many(n).collect::<Vec<_>>().join(",")));
        }
    }

    #[test]
    fn only_a_map_is_taken() {
        assert!(serde_json::from_str::<Arguments>("[]").is_err());
        assert!(serde_json::from_str::<Arguments>(r#"{"a":1"#).is_err());
    }
}
