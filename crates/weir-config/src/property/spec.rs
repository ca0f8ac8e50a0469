//! One entry of the registry, and the prefixes that names lie below.

use weir_snapshot::Settings;

use super::kind::Kind;
use super::value::Value;

/// Prefix of Spring Cloud Gateway's properties from 4.3 on.
pub(crate) const PREFIX: &str = "spring.cloud.gateway.server.webflux";
/// Prefix up to 4.2.
pub(crate) const OLD_PREFIX: &str = "spring.cloud.gateway";
/// Prefixes of the other server, Spring Cloud Gateway Server MVC, the newer one first. Routes are
/// read below them, too.
pub(crate) const MVC_PREFIXES: [&str; 2] =
    ["spring.cloud.gateway.server.webmvc", "spring.cloud.gateway.mvc"];

/// One property: its name, what it takes, what it is for.
#[derive(Clone, Copy, Debug)]
pub struct PropertySpec {
    /// Where it lies.
    pub root: Root,
    /// Kebab-case name below its root; `*` stands for any one segment.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Text of the default; `None` is unset.
    pub default: Option<&'static str>,
    /// One or two sentences for the reference.
    pub doc: &'static str,
    /// What becomes of it.
    pub usage: Usage,
}

/// Where a property lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// The name is whole.
    Plain,
    /// Below `spring.cloud.gateway.server.webflux`, or the old `spring.cloud.gateway`.
    Gateway,
}

/// What becomes of a property.
#[derive(Clone, Copy, Debug)]
pub enum Usage {
    /// It is a field of [`Settings`].
    Sets(fn(&mut Settings, &Value)),
    /// Routes, filters or CORS are made from it.
    Read,
    /// weir needs it for nothing, and why.
    Ignored(&'static str),
    /// weir does not follow it; the text says what to do instead.
    Unsupported(&'static str),
    /// weir does not follow it, and it would be unsafe to run without: the configuration is
    /// refused.
    Refused(&'static str),
    /// The same, unless `weir.security.ignore-spring-security` is true.
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

    /// The whole name, under the new prefix.
    pub fn full_name(&self) -> String {
        match self.root {
            Root::Plain => self.name.to_owned(),
            Root::Gateway => format!("{PREFIX}.{}", self.name),
        }
    }

    /// The whole names it is read under, the first one first.
    pub(crate) fn names(&self) -> Vec<String> {
        match self.root {
            Root::Plain => vec![self.full_name()],
            Root::Gateway => vec![self.full_name(), format!("{OLD_PREFIX}.{}", self.name)],
        }
    }
}
