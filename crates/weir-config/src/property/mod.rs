//! Every property weir knows: one ordered registry that drives reading, the reference, the JSON
//! Schema and the findings about unknown keys.

mod clients;
mod discovery;
mod filters;
mod gateway;
mod imports;
mod kind;
mod kubernetes;
mod loadbalancer;
mod nacos;
mod read;
mod schema;
mod server;
mod spec;
mod texts;
mod unknown;
mod value;
mod weir;
mod zookeeper;

pub use kind::Kind;
pub(crate) use read::{one, report, settings};
pub use schema::{json_schema, reference};
pub(crate) use spec::{MVC_PREFIXES, OLD_PREFIX, PREFIX};
pub use spec::{PropertySpec, Root, Usage};
pub(crate) use unknown::unknown;
pub use value::Value;

/// Every property, in the order in which they are applied: if two set the same field, the later one
/// wins.
pub fn registry() -> impl Iterator<Item = &'static PropertySpec> + Clone {
    weir::COMPAT
        .iter()
        .chain(server::SERVER)
        .chain(server::MANAGEMENT)
        .chain(gateway::GATEWAY)
        .chain(filters::FILTERS)
        .chain(discovery::DISCOVERY)
        .chain(nacos::NACOS)
        .chain(zookeeper::ZOOKEEPER)
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
            if let Usage::Sets(apply) | Usage::SetsAtStart(apply) = spec.usage {
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
            let (Usage::Sets(apply) | Usage::SetsAtStart(apply)) = spec.usage else { continue };
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
