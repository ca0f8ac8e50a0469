//! HTTP pipelines: a route table of their own, with one route.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use weir_balance::{Balance, Group, Instance, Member, Service};
use weir_route::{NamedArgs, RouteDefinition};

use super::upstreams::Address;
use crate::compile::Compiler;
use crate::fields::Fields;
use weir_snapshot::{Snapshot, Upstream};

/// The table of the pipeline `id`; `None` after reporting problems.
pub(super) fn table(
    fields: &mut Fields<'_, '_>,
    compiler: &Compiler,
    id: &str,
    addresses: &[Address],
    limit: Option<String>,
) -> Option<Arc<Snapshot>> {
    let first = addresses.first()?;
    let mut filters = vec![named("PreserveHostHeader", &[])];
    filters.extend(limit.map(|limit| named("Throttle", &[("limit", &limit)])));
    let definition = RouteDefinition {
        id: format!("pipeline:{id}"),
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
    if addresses.len() > 1 {
        route.target.upstream = Upstream::Balanced(Arc::new(service(id, addresses)));
    }
    let route = Arc::new(route);
    Some(Arc::new(compiler.snapshot(vec![route])))
}

fn named(name: &str, args: &[(&str, &str)]) -> NamedArgs {
    let args = args.iter().map(|(key, value)| (*key, Value::from(*value)));
    NamedArgs { name: name.into(), args: args.collect() }
}

/// A service with weighted round robin: each upstream is in the list as often as its weight, evenly
/// spread.
fn service(id: &str, addresses: &[Address]) -> Service {
    let instances: BTreeMap<String, (Arc<Instance>, u32)> = addresses
        .iter()
        .map(|one| Instance::new(&one.host, one.port, false))
        .zip(addresses)
        .map(|(instance, one)| (instance.id.clone(), (Arc::new(instance), one.weight)))
        .collect();
    let member = |(instance, weight): &(Arc<Instance>, u32)| {
        (Arc::new(Member::new(Arc::clone(&instance.target))), *weight)
    };
    let turns = Group::new(instances.values().map(member).collect(), Balance::RoundRobin, 0);
    let divisor = instances.values().map(|(_, weight)| *weight).fold(0, greatest_common_divisor);
    let rounds: u32 = instances.values().map(|(_, weight)| weight / divisor.max(1)).sum();
    let in_turn = (0..rounds).filter_map(|_| {
        let taken = turns.take(&[], 0, 0)?;
        let target = &taken.member().target;
        instances.values().find(|(one, _)| one.target == *target).map(|(one, _)| Arc::clone(one))
    });
    Service::new(&format!("pipeline:{id}"), in_turn.collect())
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
