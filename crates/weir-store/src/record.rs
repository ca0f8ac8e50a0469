//! Layout of a route in the file: a format byte, its revision, then SCG's JSON.

use serde::Deserialize;
use serde_json::{Map, Value};
use smol_str::SmolStr;
use weir_route::{Arguments, NamedArgs, RouteDefinition};

/// Version of the encoding; the first byte of each record.
const FORMAT: u8 = 1;
/// Format byte and revision.
const HEADER_BYTES: usize = 9;

/// A stored route. The JSON is decoded on demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredRoute<'a> {
    /// Position in insertion order; kept when the route is overwritten.
    pub slot: u64,
    /// Revision of the table at the last change of this route.
    pub revision: u64,
    json: &'a [u8],
}

/// Reason for which a record cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordError {
    /// Format byte of a later version.
    Newer(u8),
    /// Cut short or empty.
    Short,
}

impl<'a> StoredRoute<'a> {
    /// The definition in SCG's JSON.
    pub fn json(&self) -> &'a [u8] {
        self.json
    }

    /// Decodes the definition.
    ///
    /// # Errors
    /// The reason, in words, if the JSON is invalid.
    pub fn definition(&self) -> Result<RouteDefinition, String> {
        decode_json(self.json)
    }

    /// Reads a record.
    ///
    /// # Errors
    /// See [`RecordError`].
    pub fn decode(slot: u64, bytes: &'a [u8]) -> Result<Self, RecordError> {
        let (&format, rest) = bytes.split_first().ok_or(RecordError::Short)?;
        if format != FORMAT {
            return Err(RecordError::Newer(format));
        }
        let (revision, json) = rest.split_first_chunk::<8>().ok_or(RecordError::Short)?;
        Ok(Self { slot, revision: u64::from_le_bytes(*revision), json })
    }
}

impl std::fmt::Display for RecordError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Newer(format) => write!(f, "format {format}, this weir knows {FORMAT}"),
            Self::Short => f.write_str("cut short"),
        }
    }
}

/// An encoded definition; takes a fraction of the memory of a parsed one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    id: Box<str>,
    json: Box<[u8]>,
}

impl Encoded {
    /// Encodes `definition`.
    ///
    /// # Errors
    /// The reason if the definition cannot be written as JSON.
    pub fn new(definition: &RouteDefinition) -> Result<Self, String> {
        let json = serde_json::to_vec(definition).map_err(|error| error.to_string())?;
        Ok(Self { id: definition.id.as_str().into(), json: json.into() })
    }

    /// Identifier of the route.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Decodes the definition.
    ///
    /// # Errors
    /// The reason, in words, if the JSON is invalid.
    pub fn definition(&self) -> Result<RouteDefinition, String> {
        decode_json(&self.json)
    }

    /// Writes the record into `out`, which is cleared first.
    pub fn write(&self, revision: u64, out: &mut Vec<u8>) {
        out.clear();
        out.reserve(HEADER_BYTES + self.json.len());
        out.push(FORMAT);
        out.extend_from_slice(&revision.to_le_bytes());
        out.extend_from_slice(&self.json);
    }
}

fn decode_json(json: &[u8]) -> Result<RouteDefinition, String> {
    // One UTF-8 check of the whole is faster than one for each text in it.
    let json = str::from_utf8(json).map_err(|error| error.to_string())?;
    let written: Written = serde_json::from_str(json).map_err(|error| error.to_string())?;
    Ok(RouteDefinition::from(written))
}

/// [`RouteDefinition`] in the only form that the store writes. Decoding it avoids the buffering
/// that telling shortcuts from long forms needs: half the time to load a large table.
#[derive(Deserialize)]
struct Written {
    id: String,
    predicates: Vec<WrittenArgs>,
    filters: Vec<WrittenArgs>,
    uri: String,
    metadata: Map<String, Value>,
    order: i32,
    enabled: bool,
    #[serde(default)]
    group: String,
}

#[derive(Deserialize)]
struct WrittenArgs {
    name: SmolStr,
    args: Arguments,
}

impl From<Written> for RouteDefinition {
    fn from(written: Written) -> Self {
        let named = |list: Vec<WrittenArgs>| {
            list.into_iter().map(|a| NamedArgs { name: a.name, args: a.args }).collect()
        };
        Self {
            id: written.id,
            predicates: named(written.predicates),
            filters: named(written.filters),
            uri: written.uri,
            metadata: written.metadata,
            order: written.order,
            enabled: written.enabled,
            group: written.group,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, proptest};
    use weir_route::RouteDefinition;

    use super::{Encoded, RecordError, StoredRoute};

    fn check(json: &str) {
        let definition: RouteDefinition = serde_json::from_str(json).expect("a definition");
        let mut bytes = Vec::new();
        let encoded = Encoded::new(&definition).expect("encodes");
        encoded.write(7, &mut bytes);
        assert_eq!(encoded.definition().as_ref(), Ok(&definition));
        let read = StoredRoute::decode(3, &bytes).expect("decodes");
        assert_eq!((read.slot, read.revision), (3, 7));
        assert_eq!(read.definition().expect("a definition"), definition);
    }

    #[test]
    fn what_is_written_is_read() {
        check(r#"{"id":"a","uri":"http://x"}"#);
        check(r#"{"id":"a","uri":"","group":"shop"}"#);
        check(
            r#"{"id":"ü","uri":"lb://x","order":-3,"enabled":false,
                "predicates":["Path=/a,/b",{"name":"Header","args":{"header":"X","regexp":"\\d+"}}],
                "filters":["PreserveHostHeader"],"metadata":{"z":1,"a":{"n":[true,null]}}}"#,
        );
    }

    #[test]
    fn numbers_with_a_fraction_are_read_as_written() {
        check(
            r#"{"id":"a","uri":"http://x","metadata":{"n":199999999999000000011515845246265065470}}"#,
        );
        check(
            r#"{"id":"a","uri":"http://x","metadata":{"n":[0.1,6.6666666666666666e94,1.7e-308]}}"#,
        );
    }

    #[test]
    fn a_later_format_and_a_short_record_are_named() {
        assert_eq!(StoredRoute::decode(0, &[9, 0, 0]), Err(RecordError::Newer(9)));
        assert_eq!(StoredRoute::decode(0, &[1, 0, 0]), Err(RecordError::Short));
        assert_eq!(StoredRoute::decode(0, &[]), Err(RecordError::Short));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(route) = StoredRoute::decode(0, &bytes) {
                let _ = route.definition();
            }
        }
    }
}
