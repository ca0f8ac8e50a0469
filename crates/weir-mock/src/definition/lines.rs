//! The line of a JSON pointer in a text. It parses the text again, so it serves error messages
//! only.

use std::fmt;

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

/// The maximum depth that is searched.
const DEPTH_MAX: usize = 64;

/// The line of the value at `pointer`, from 1, or of its nearest existing ancestor. `None` if the
/// text is neither YAML nor JSON.
pub(super) fn line_of(text: &str, pointer: &str) -> Option<u64> {
    let options = serde_saphyr::options! { strict_booleans: true };
    let root: Spanned<Located> = serde_saphyr::from_str_with_options(text, options).ok()?;
    let mut here = &root;
    for part in pointer.split('/').skip(1).take(DEPTH_MAX) {
        let part = part.replace("~1", "/").replace("~0", "~");
        let below = match &here.value {
            Located::Map(members) => {
                members.iter().find(|(key, _)| *key == part).map(|(_, value)| value)
            }
            Located::List(elements) => part.parse().ok().and_then(|at: usize| elements.get(at)),
            Located::Scalar => None,
        };
        let Some(below) = below else { break };
        here = below;
    }
    Some(here.referenced.line())
}

/// A value of which only places are kept.
enum Located {
    Map(Vec<(String, Spanned<Located>)>),
    List(Vec<Spanned<Located>>),
    Scalar,
}

impl<'de> Deserialize<'de> for Located {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LocatedVisitor)
    }
}

struct LocatedVisitor;

impl<'de> Visitor<'de> for LocatedVisitor {
    type Value = Located;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Located, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = access.next_entry()? {
            members.push(member);
        }
        Ok(Located::Map(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Located, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = access.next_element()? {
            elements.push(element);
        }
        Ok(Located::List(elements))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Located, E> {
        Ok(Located::Scalar)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Located, E> {
        Ok(Located::Scalar)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Located, E> {
        Ok(Located::Scalar)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Located, E> {
        Ok(Located::Scalar)
    }

    fn visit_str<E>(self, _: &str) -> Result<Located, E> {
        Ok(Located::Scalar)
    }

    fn visit_unit<E>(self) -> Result<Located, E> {
        Ok(Located::Scalar)
    }

    fn visit_none<E>(self) -> Result<Located, E> {
        Ok(Located::Scalar)
    }

    fn visit_some<D: serde::Deserializer<'de>>(self, value: D) -> Result<Located, D::Error> {
        IgnoredAny::deserialize(value).map(|_| Located::Scalar)
    }
}

#[cfg(test)]
mod tests {
    use super::line_of;

    #[test]
    fn pointers_lead_to_lines() {
        let yaml = "openapi: 3.1.0\npaths:\n  /a/{b}:\n    get:\n      tags: [x,\n        y]\n";
        let check = |text: &str, pointer: &str, line: Option<u64>| {
            assert_eq!(line_of(text, pointer), line, "{pointer}");
        };
        check(yaml, "", Some(1));
        check(yaml, "/openapi", Some(1));
        check(yaml, "/paths/~1a~1{b}/get/tags/1", Some(6));
        check(yaml, "/paths/~1a~1{b}/nothing", Some(4));
        let json = "{\n\t\"a\": [\n\t\t1,\n\t\t{ \"b\": null }\n\t]\n}";
        check(json, "/a/1/b", Some(4));
        check("a: [", "/a", None);
    }
}
