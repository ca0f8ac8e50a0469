//! Hop-by-hop fields (RFC 9110 section 7.6.1; SCG class `RemoveHopByHopHeadersFilter`).

use weir_route::ArgError;
use weir_wire::{Fields, NameSet, is_token, list_members};

/// SCG's list, and `Proxy-Connection`, which RFC 9110 names as well.
const DEFAULT: &[&str] = &[
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-application-context",
];

/// Always removed: the gateway writes these fields itself.
const OWN: &[&str] = &["connection", "transfer-encoding"];

/// A set of field names with a cheap test that excludes most other names.
#[derive(Clone, Debug)]
pub(super) struct HopByHop {
    /// In lower case.
    names: Box<[Box<[u8]>]>,
    sorts: NameSet,
}

impl Default for HopByHop {
    fn default() -> Self {
        Self::of(DEFAULT.iter().copied())
    }
}

impl HopByHop {
    /// The default list, or `written` in its place.
    ///
    /// # Errors
    /// An entry that is not a field name.
    pub fn new(written: Option<&[String]>) -> Result<Self, ArgError> {
        let Some(written) = written else { return Ok(Self::default()) };
        let names = written.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
        if let Some(bad) = names.clone().find(|name| !is_token(name.as_bytes())) {
            return Err(ArgError::new("headers", format!("`{bad}` is not a header name"))
                .help("separate header names by commas"));
        }
        Ok(Self::of(names.chain(OWN.iter().copied())))
    }

    fn of<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let names: Box<[Box<[u8]>]> =
            names.map(|name| name.to_ascii_lowercase().into_bytes().into()).collect();
        let sorts = names.iter().map(|name| NameSet::of(name));
        let sorts = sorts.fold(NameSet::default(), NameSet::with);
        Self { names, sorts }
    }

    fn contains(&self, name: &[u8]) -> bool {
        self.sorts.meets(NameSet::of(name))
            && self.names.iter().any(|own| own.eq_ignore_ascii_case(name))
    }

    /// Removes hop-by-hop fields of a request. With `upgrade`, Upgrade stays and Connection names
    /// it. `TE: trailers` stays for gRPC, which requires it.
    pub fn clean_request(&self, fields: &mut Fields, upgrade: bool) {
        if !fields.may_have(self.sorts) {
            return;
        }
        let trailers = wants_trailers(fields);
        self.remove(fields, upgrade, &[]);
        if upgrade {
            fields.append(b"Connection", b"Upgrade");
        }
        if trailers {
            fields.set(b"TE", b"trailers");
        }
    }

    /// Removes hop-by-hop fields of a response, including those that its Connection field names.
    pub fn clean_response(&self, fields: &mut Fields, upgrade: bool) {
        if !fields.may_have(self.sorts) {
            return;
        }
        let nominated: Vec<Vec<u8>> = fields
            .get_all(b"connection")
            .flat_map(list_members)
            // Fields that are removed anyway need not be remembered: mostly `keep-alive`.
            .filter(|member| !is_framing(member) && !self.contains(member))
            .map(<[u8]>::to_vec)
            .collect();
        self.remove(fields, upgrade, &nominated);
        if upgrade {
            fields.append(b"Connection", b"Upgrade");
        }
    }

    fn remove(&self, fields: &mut Fields, upgrade: bool, nominated: &[Vec<u8>]) {
        let sorts = nominated.iter().map(|name| NameSet::of(name)).fold(self.sorts, NameSet::with);
        fields.retain_among(sorts, |name, _| {
            (upgrade && name.eq_ignore_ascii_case(b"upgrade"))
                || !(self.names.iter().any(|own| own.eq_ignore_ascii_case(name))
                    || nominated.iter().any(|listed| listed.eq_ignore_ascii_case(name)))
        });
    }
}

/// Fields that frame or describe the content cannot be removed by naming them in Connection.
fn is_framing(name: &[u8]) -> bool {
    [b"content-length".as_slice(), b"content-type"].iter().any(|f| f.eq_ignore_ascii_case(name))
}

/// Whether this is a gRPC request with `TE: trailers` (SCG class `GRPCRequestHeadersFilter`).
fn wants_trailers(fields: &Fields) -> bool {
    let trailers = |member: &[u8]| member.eq_ignore_ascii_case(b"trailers");
    fields.get_all(b"te").flat_map(list_members).any(trailers)
        && fields.get(b"content-type").is_some_and(|kind| {
            kind.get(..16).is_some_and(|k| k.eq_ignore_ascii_case(b"application/grpc"))
        })
}
