//! Every property weir knows: one ordered registry that drives reading, the reference, the JSON
//! Schema and the findings about unknown keys.

mod clients;
mod discovery;
mod filters;
mod gateway;
mod imports;
mod kubernetes;
mod loadbalancer;
mod nacos;
mod read;
mod schema;
mod server;
mod unknown;
mod value;
mod weir;

use weir_snapshot::Settings;

pub(crate) use read::{one, report, settings};
pub use schema::{json_schema, reference};
pub(crate) use unknown::unknown;
pub use value::Value;

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

/// What a property takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A text that is never shown.
    Secret,
    /// A whole number from the first to the second.
    Int(i64, i64),
    /// `true` or `false`.
    Bool,
    /// `10ms`, `5s`, `2m`, `PT1S`, or milliseconds.
    Duration,
    /// `5MB`, or bytes.
    DataSize,
    /// The same, from the first to the second number of bytes.
    SizeBetween(u64, u64),
    /// Several texts: a list, or one text with commas.
    List,
    /// One of these, in any case.
    OneOf(&'static [&'static str]),
    /// An IP address, or `localhost`.
    Address,
    /// `true`, `false`, or a name for Via.
    Via,
    /// A tree of its own.
    Tree,
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
    const fn new(
        name: &'static str,
        kind: Kind,
        default: Option<&'static str>,
        doc: &'static str,
        usage: Usage,
    ) -> Self {
        Self { root: Root::Plain, name, kind, default, doc, usage }
    }

    const fn gateway(
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

/// Every property, in the order in which they are applied: where two set the same field, the later
/// one wins.
pub fn registry() -> impl Iterator<Item = &'static PropertySpec> + Clone {
    weir::COMPAT
        .iter()
        .chain(server::SERVER)
        .chain(server::MANAGEMENT)
        .chain(gateway::GATEWAY)
        .chain(filters::FILTERS)
        .chain(discovery::DISCOVERY)
        .chain(nacos::NACOS)
        .chain(imports::IMPORTS)
        .chain(clients::CLIENTS)
        .chain(kubernetes::KUBERNETES)
        .chain(loadbalancer::LOADBALANCER)
        .chain(weir::WEIR)
}

#[cfg(test)]
mod tests {
    use super::{Kind, Usage, Value, registry};
    use weir_snapshot::Settings;

    #[test]
    fn names_are_unique_and_documented() {
        let mut names: Vec<String> = registry().map(|spec| spec.full_name()).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
        for spec in registry() {
            assert!(spec.doc.ends_with('.'), "{}: a sentence", spec.name);
        }
    }

    #[test]
    fn documented_defaults_are_the_defaults() {
        let plain = format!("{:?}", Settings::default());
        for spec in registry() {
            let Some(default) = spec.default else { continue };
            let value = Value::parse(spec.kind, default);
            let value = value.unwrap_or_else(|why| panic!("{}: {why}", spec.name));
            if let Usage::Sets(apply) = spec.usage {
                let mut settings = Settings::default();
                apply(&mut settings, &value);
                assert_eq!(format!("{settings:?}"), plain, "{}", spec.name);
            }
        }
    }

    #[test]
    fn every_setter_has_a_field() {
        let plain = format!("{:?}", Settings::default());
        for spec in registry() {
            let Usage::Sets(apply) = spec.usage else { continue };
            let samples: &[&str] = match spec.kind {
                Kind::Text | Kind::Secret => &["x"],
                Kind::List => &["x,y"],
                Kind::Int(..) => &["599", "7", "0"],
                Kind::Bool => &["true", "false"],
                Kind::Duration => &["7ms"],
                Kind::DataSize => &["777"],
                Kind::SizeBetween(..) => &["5000"],
                Kind::OneOf(list) => list,
                Kind::Address => &["127.0.0.7"],
                Kind::Via => &["edge"],
                Kind::Tree => &[],
            };
            let changes = samples.iter().filter_map(|text| Value::parse(spec.kind, text).ok());
            let seen = changes.into_iter().any(|value| {
                let mut settings = Settings::default();
                apply(&mut settings, &value);
                format!("{settings:?}") != plain
            });
            assert!(seen, "{} sets nothing", spec.name);
        }
    }
}
