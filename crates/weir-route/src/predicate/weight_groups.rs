//! Weight groups: which route of a group a request draws.

use std::sync::Arc;

use hashbrown::HashMap;

use super::{Predicate, Weight};
use crate::route::Route;

/// The weight groups of a table: which routes share traffic, in definition order.
#[derive(Clone, Debug, Default)]
pub struct WeightGroups {
    groups: HashMap<Box<str>, Arc<Group>>,
}

#[derive(Clone, Debug, Default)]
struct Group {
    routes: Vec<Box<str>>,
    /// `sums[n]`: the weights of `routes[..=n]` together.
    sums: Vec<u64>,
}

impl WeightGroups {
    /// The groups of `weights`, which come in definition order. Of several with the same route id
    /// in a group the last one counts, in the place of the first.
    pub fn new<'a>(weights: impl IntoIterator<Item = &'a Weight>) -> Self {
        let mut groups: HashMap<&str, Vec<(&str, u32)>> = HashMap::new();
        for weight in weights {
            let entries = groups.entry(weight.group()).or_default();
            match entries.iter_mut().find(|(id, _)| *id == weight.route_id()) {
                Some(entry) => entry.1 = weight.weight(),
                None => entries.push((weight.route_id(), weight.weight())),
            }
        }
        let groups = groups
            .into_iter()
            .map(|(name, entries)| (name.into(), Arc::new(Group::new(entries.into_iter()))));
        Self { groups: groups.collect() }
    }

    /// The groups of `routes`, which come in definition order.
    pub fn of_routes<'a, T: 'a>(routes: impl IntoIterator<Item = &'a Arc<Route<T>>>) -> Self {
        let predicates = routes.into_iter().flat_map(|route| &route.predicates);
        Self::new(predicates.filter_map(Predicate::weight))
    }

    /// Whether there is no group.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The id of the route that `group` draws with `dice`. The same dice give the same winner, and
    /// independent ones in different groups. A group whose weights are all 0 draws none.
    pub fn winner(&self, group: &str, dice: u64) -> Option<&str> {
        let drawn = mix(dice ^ hash(group));
        let group = self.groups.get(group)?;
        let total = *group.sums.last()?;
        let point = ((u128::from(drawn) * u128::from(total)) >> 64) as u64;
        let at = group.sums.partition_point(|sum| *sum <= point);
        group.routes.get(at).map(|id| &**id)
    }
}

impl Group {
    fn new<'a>(entries: impl Iterator<Item = (&'a str, u32)>) -> Self {
        let mut group = Self::default();
        let mut sum = 0;
        for (id, weight) in entries {
            sum += u64::from(weight);
            group.routes.push(id.into());
            group.sums.push(sum);
        }
        group
    }
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The finaliser of SplitMix64: every bit of the result depends on every bit of `x`.
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::{Group, WeightGroups, mix};

    fn groups(list: &[(&str, &[(&str, u32)])]) -> WeightGroups {
        let group = |(name, entries): &(&str, &[(&str, u32)])| {
            ((*name).into(), Group::new(entries.iter().copied()).into())
        };
        WeightGroups { groups: list.iter().map(group).collect() }
    }

    fn shares(groups: &WeightGroups, group: &str, ids: &[&str]) -> Vec<u32> {
        let draws = (0..10_000_u64).map(|n| groups.winner(group, mix(n.wrapping_mul(77))));
        let winners: Vec<_> = draws.collect();
        let share = |id: &&str| {
            let wins = winners.iter().filter(|winner| **winner == Some(id)).count();
            u32::try_from((wins + 50) / 100).expect("small")
        };
        ids.iter().map(share).collect()
    }

    #[test]
    fn traffic_is_shared_by_weight() {
        let groups = groups(&[("g", &[("a", 8), ("b", 2)]), ("h", &[("c", 0), ("d", 5)])]);
        let got = shares(&groups, "g", &["a", "b"]);
        assert!((79..=81).contains(&got[0]) && got[0] + got[1] == 100, "{got:?}");
        assert_eq!(shares(&groups, "h", &["c", "d"]), [0, 100]);
    }

    #[test]
    fn groups_draw_independently() {
        let groups = groups(&[("g", &[("a", 1), ("b", 1)]), ("h", &[("a", 1), ("b", 1)])]);
        let same = (0..10_000_u64)
            .filter(|n| groups.winner("g", mix(*n)) == groups.winner("h", mix(*n)))
            .count();
        assert!((4_700..5_300).contains(&same), "{same}");
    }

    #[test]
    fn nothing_is_drawn_from_nothing() {
        let groups = groups(&[("zero", &[("a", 0), ("b", 0)]), ("empty", &[])]);
        for name in ["zero", "empty", "unknown"] {
            assert_eq!(groups.winner(name, 7), None, "{name}");
        }
    }
}
