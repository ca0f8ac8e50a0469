//! HTTP pipelines: a route table of their own, with one route.

use std::sync::Arc;

use serde_json::Value;
use weir_balance::{Balance, Cluster, Directory, HashOf, Instance, Rules, Service};
use weir_route::{NamedArgs, RouteDefinition};

use super::upstreams::Address;
use crate::compile::Compiler;
use crate::fields::Fields;
use weir_snapshot::{Snapshot, Upstream};

/// `balance`, and the duration of a slow start in milliseconds.
type Shares = (Balance, u64);

/// The table of the pipeline `id`; `None` after reporting problems.
pub(super) fn table(
    fields: &mut Fields<'_, '_>,
    compiler: &Compiler,
    id: &str,
    addresses: &[Address],
    (directory, shares): (&Directory, Shares),
    limit: Option<String>,
) -> Option<Arc<Snapshot>> {
    let first = addresses.first()?;
    let mut filters = vec![named("PreserveHostHeader", &[])];
    filters.extend(limit.map(|limit| named("Throttle", &[("limit", &limit)])));
    let definition = RouteDefinition {
        id: name(id),
        filters,
        uri: format!("http://{}:{}", first.host, first.port),
        enabled: true,
        ..RouteDefinition::default()
    };
    let route = match compiler.compile(&definition, 0) {
        Ok(route) => route,
        Err(problems) => {
            // Of the filters, only the limit is written by somebody.
            let at = fields.node("limit").map_or(fields.at(), |node| node.span());
            for problem in problems {
                fields.wrong(at, problem.message, problem.help);
            }
            return None;
        }
    };
    // No other reference exists yet.
    let mut route = Arc::into_inner(route)?;
    // With one upstream there is nothing to choose.
    if addresses.len() > 1 {
        let cluster = cluster(id, addresses, shares, directory);
        route.target.upstream = Upstream::Clustered(Arc::new(cluster));
    }
    let route = Arc::new(route);
    Some(Arc::new(compiler.snapshot(vec![route])))
}

fn named(name: &str, args: &[(&str, &str)]) -> NamedArgs {
    let args = args.iter().map(|(key, value)| (*key, Value::from(*value)));
    NamedArgs { name: name.into(), args: args.collect() }
}

/// The upstreams of a pipeline, by the rules of its `balance`.
fn cluster(id: &str, addresses: &[Address], rules: Shares, directory: &Directory) -> Cluster {
    let (balance, slow_start_ms) = rules;
    let instance = |one: &Address| {
        let plain = Instance::new(&one.host, one.port, false);
        Arc::new(Instance { weight: one.weight, ..plain })
    };
    let service = Service::new(&name(id), addresses.iter().map(instance).collect());
    let hash = if balance == Balance::HashIp { HashOf::Ip } else { HashOf::Nothing };
    let rules = Rules { balance, hash, weighted: true, slow_start_ms, ..Rules::default() };
    Cluster::new(Arc::new(service), rules, directory)
}

/// Name of the service of a pipeline.
fn name(id: &str) -> String {
    format!("pipeline:{id}")
}

/// The owner of the upstreams' state.
pub(super) fn owner(id: &str) -> String {
    Cluster::owner(&name(id))
}
