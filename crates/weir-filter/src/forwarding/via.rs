//! The Via field of forwarded messages (RFC 9110 section 7.6.3).

use weir_wire::{Fields, Version, list_members};

/// `weir.forward.via`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Via {
    /// No Via field, as in Spring Cloud Gateway.
    #[default]
    Off,
    /// A name unique to the process.
    Process,
    /// This name: a host with or without a port, or a pseudonym.
    Named(Box<str>),
}

impl Via {
    /// Reads `true`, `false` or a name; `None` if the text is not a valid name.
    pub fn parse(text: &str) -> Option<Self> {
        let is_name =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:[]".contains(&byte);
        match text {
            "true" => Some(Self::Process),
            "false" => Some(Self::Off),
            _ if text.is_empty() || !text.bytes().all(is_name) => None,
            _ => Some(Self::Named(text.into())),
        }
    }

    /// The name to send; `process` is the name of this process.
    pub fn name<'a>(&'a self, process: &'a str) -> Option<&'a str> {
        match self {
            Self::Off => None,
            Self::Process => Some(process),
            Self::Named(name) => Some(name),
        }
    }
}

/// Appends a Via member: a message of this version passed through the gateway of this name.
pub fn append(fields: &mut Fields, version: Version, name: &str) {
    let number = match version {
        Version::Http10 => "1.0",
        Version::Http11 => "1.1",
    };
    fields.append(b"via", format!("{number} {name}").as_bytes());
}

/// Whether a message has passed through the gateway of this name.
pub fn names(fields: &Fields, name: &str) -> bool {
    fields.get_all(b"via").flat_map(list_members).any(|member| is_by(member, name))
}

/// Whether a member of Via was written by the gateway of this name.
pub fn is_by(member: &[u8], name: &str) -> bool {
    // A comment may follow the name.
    let mut words = member.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.nth(1) == Some(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_host_or_a_pseudonym() {
        let check = |text: &str, expected: Option<Via>| assert_eq!(Via::parse(text), expected);
        let named = |name: &str| Some(Via::Named(name.into()));
        check("true", Some(Via::Process));
        check("false", Some(Via::Off));
        check("edge-1", named("edge-1"));
        check("gw.example:8080", named("gw.example:8080"));
        check("[::1]:80", named("[::1]:80"));
        check("", None);
        check("two words", None);
        check("a,b", None);
        check("a\r\nX: y", None);
        check("(a comment)", None);
    }

    #[test]
    fn a_gateway_finds_itself_by_its_name_alone() {
        let check = |value: &str, expected: bool| {
            let mut fields = Fields::default();
            fields.append(b"via", value.as_bytes());
            assert_eq!(names(&fields, "edge"), expected, "{value}");
        };
        check("1.1 edge", true);
        check("1.0 fred, HTTP/1.1  edge (a comment)", true);
        check("1.1 edge2", false);
        check("1.1 fred (edge)", false);
        check("1.1 fred ( edge )", false);
        check("edge", false);
    }
}
