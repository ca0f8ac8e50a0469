//! Entries of the registry, and prefixes of property names.

use weir_snapshot::Settings;

use super::kind::Kind;
use super::value::Value;

/// Prefix of Spring Cloud Gateway's properties from 4.3 on.
pub(crate) const PREFIX: &str = "spring.cloud.gateway.server.webflux";
/// Prefix up to 4.2.
pub(crate) const OLD_PREFIX: &str = "spring.cloud.gateway";
/// Prefixes of the other server, Spring Cloud Gateway Server MVC, the newer one first. Routes below
/// them are read, too.
pub(crate) const MVC_PREFIXES: [&str; 2] =
    ["spring.cloud.gateway.server.webmvc", "spring.cloud.gateway.mvc"];

/// A property: its name, type and purpose.
#[derive(Clone, Copy, Debug)]
pub struct PropertySpec {
    /// Root of its name.
    pub root: Root,
    /// Kebab-case name below its root; `*` stands for any one segment.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Text of the default; `None` means not set.
    pub default: Option<&'static str>,
    /// One or two sentences for the reference.
    pub doc: &'static str,
    /// How weir uses it.
    pub usage: Usage,
}

/// Root of a property name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// No prefix: the name is complete.
    Plain,
    /// Below `spring.cloud.gateway.server.webflux`, or the old `spring.cloud.gateway`.
    Gateway,
}

/// How weir uses a property.
#[derive(Clone, Copy, Debug)]
pub enum Usage {
    /// It sets a field of [`Settings`].
    Sets(fn(&mut Settings, &Value)),
    /// As `Sets`, for what is made once, such as threads, sockets and files: a change takes effect
    /// at the next start, and a reload says so.
    SetsAtStart(fn(&mut Settings, &Value)),
    /// It is read separately, for routes, filters or CORS.
    Read,
    /// weir does not need it, for this reason.
    Ignored(&'static str),
    /// weir does not support it; the text is the remedy.
    Unsupported(&'static str),
    /// weir does not support it, and it would be unsafe to run without: the configuration is
    /// rejected.
    Refused(&'static str),
    /// As `Refused`, unless `weir.security.ignore-spring-security` is true.
    Protects(&'static str),
}

impl PropertySpec {
    pub(super) const fn new(
        name: &'static str,
        kind: Kind,
        default: Option<&'static str>,
        doc: &'static str,
        usage: Usage,
    ) -> Self {
        Self { root: Root::Plain, name, kind, default, doc, usage }
    }

    pub(super) const fn gateway(
        name: &'static str,
        kind: Kind,
        default: Option<&'static str>,
        doc: &'static str,
        usage: Usage,
    ) -> Self {
        Self { root: Root::Gateway, name, kind, default, doc, usage }
    }

    /// Whether `value` is that of a property which is not set.
    pub(super) fn is_default(&self, value: &Value) -> bool {
        let default = self.default.and_then(|text| Value::parse(self.kind, text).ok());
        default.as_ref() == Some(value)
    }

    /// The full name, with the new prefix.
    pub fn full_name(&self) -> String {
        match self.root {
            Root::Plain => self.name.to_owned(),
            Root::Gateway => format!("{PREFIX}.{}", self.name),
        }
    }

    /// All full names, in order of priority.
    pub(crate) fn names(&self) -> Vec<String> {
        match self.root {
            Root::Plain => vec![self.full_name()],
            Root::Gateway => vec![self.full_name(), format!("{OLD_PREFIX}.{}", self.name)],
        }
    }
}
