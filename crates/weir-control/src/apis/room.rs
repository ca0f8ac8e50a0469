//! The bounds of tenants (`weir.mock.tenant.*-max`).
//!
//! A change may not let a number grow beyond its bound. What is above it already, as it is after
//! the bound was lowered, goes on being served and may be replaced or become less.

use std::collections::BTreeSet;

use super::shelf::Shelf;
use crate::table::Problem;

/// The maximum number of tenants that one warning names.
const NAMED_MAX: usize = 10;

/// Whether `next` is within the bounds, or at least not further beyond them than `before`;
/// `written_to` are the tenants that got definitions.
///
/// # Errors
/// Each bound that the change would break.
pub(super) fn check(
    before: &Shelf,
    next: &Shelf,
    written_to: &BTreeSet<String>,
) -> Result<(), Vec<Problem>> {
    let rules = &next.common.tenants;
    let mut problems = Vec::new();
    let (was, is) = (before.tenant_count(), next.tenant_count());
    if is > rules.tenants_max && is > was {
        // Without the number: the holder of a tenant's token may not know it.
        let why = "no tenant can be added: there are as many as may be";
        let help = "remove all definitions of one that is not needed, or raise \
                    `weir.mock.tenant.tenants-max`";
        problems.push(Problem::new("", why).help(help.to_owned()));
    }
    let mut grows = |of: &str, (was, is, max): (u64, u64, u64), unit: &str, help: &str| {
        if is > max && is > was {
            let problem = Problem::new("", format!("{of} would have more than {max} {unit}"));
            problems.push(problem.help(help.to_owned()));
        }
    };
    for tenant in written_to.iter().filter(|tenant| !tenant.is_empty()) {
        let of = format!("tenant `{tenant}`");
        let count = |shelf: &Shelf| shelf.of(tenant).len() as u64;
        let definitions = (count(before), count(next), rules.definitions_max as u64);
        let help = "remove some of them, or raise `weir.mock.tenant.definitions-max`";
        grows(&of, definitions, "definitions", help);
        let bytes = (before.bytes_of(tenant), next.bytes_of(tenant), rules.bytes_max);
        let help = "shorten or remove some of them, or raise `weir.mock.tenant.bytes-max`";
        grows(&of, bytes, "bytes of definitions", help);
    }
    problems.truncate(crate::table::Refusal::PROBLEMS_MAX);
    match problems.is_empty() {
        true => Ok(()),
        false => Err(problems),
    }
}

/// Logs what is beyond its bound. All of it is served.
pub(super) fn warn(shelf: &Shelf) {
    let rules = &shelf.common.tenants;
    let count = shelf.tenant_count();
    if count > rules.tenants_max {
        tracing::warn!(
            tenants = count,
            max = rules.tenants_max,
            "there are more tenants than weir.mock.tenant.tenants-max: all are served, and none is \
             added"
        );
    }
    let owners = shelf.owners().filter(|(tenant, _)| !tenant.is_empty());
    let above = owners.filter(|(tenant, own)| {
        own.len() > rules.definitions_max || shelf.bytes_of(tenant) > rules.bytes_max
    });
    let mut more = 0_usize;
    for (at, (tenant, own)) in above.enumerate() {
        if at >= NAMED_MAX {
            more += 1;
            continue;
        }
        tracing::warn!(
            tenant = &**tenant,
            definitions = own.len(),
            bytes = shelf.bytes_of(tenant),
            "a tenant has more than weir.mock.tenant.definitions-max or bytes-max: all of it is \
             served, and nothing is added"
        );
    }
    if more > 0 {
        tracing::warn!(more, "more tenants have too much; `weir apis tenants` lists them");
    }
}
