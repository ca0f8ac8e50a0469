//! Weight groups: random choice of a route of a group for each request.

use std::collections::HashMap;
use std::sync::Arc;

use crate::index::keymap::KeyMap;

/// A share of the traffic of a group.
#[derive(Debug)]
pub struct Weight {
    group: Box<str>,
    weight: u32,
    route_id: Box<str>,
}

impl Weight {
    /// The share `weight` of the route `route_id` in `group`.
    pub(super) fn new(group: &str, weight: u32, route_id: &str) -> Self {
        Self { group: group.into(), weight, route_id: route_id.into() }
    }

    /// Name of the group.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// Share of this route.
    pub fn weight(&self) -> u32 {
        self.weight
    }

    /// Id of the route that this predicate belongs to.
    pub fn route_id(&self) -> &str {
        &self.route_id
    }
}

/// The weight groups of a table: the routes that share traffic, in definition order. Cheap to
/// clone; a change rebuilds the groups that it affects.
#[derive(Clone, Debug, Default)]
pub struct WeightGroups {
    /// By [`key`] of the name; a hash collision puts several groups under one key.
    groups: KeyMap<Arc<[Group]>>,
}

#[derive(Clone, Debug)]
struct Group {
    name: Arc<str>,
    /// In definition order.
    members: Arc<[Member]>,
    /// Prefix sums of the weights, each with the index of its last member.
    sums: Arc<[(u64, usize)]>,
}

/// A Weight predicate of a route in the table.
#[derive(Clone, Debug)]
struct Member {
    position: u64,
    id: Arc<str>,
    weight: u32,
}

/// Insertion or removal of a Weight predicate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WeightChange<'a> {
    /// Position of its route.
    pub(crate) position: u64,
    pub(crate) weight: &'a Weight,
    pub(crate) put: bool,
}

impl WeightGroups {
    /// The groups of `weights`, which are in definition order. A repeated route id in a group keeps
    /// its first position and its last weight.
    pub fn new<'a>(weights: impl IntoIterator<Item = &'a Weight>) -> Self {
        let numbered = (0_u64..).zip(weights);
        let changes =
            numbered.map(|(position, weight)| WeightChange { position, weight, put: true });
        Self::default().update(changes.collect())
    }

    /// The groups after `changes`. All removals are applied before all insertions.
    pub(crate) fn update(&self, mut changes: Vec<WeightChange<'_>>) -> Self {
        changes.sort_by_key(|change| change.position);
        let mut keyed: Vec<_> =
            changes.into_iter().map(|change| (key(change.weight.group()), change)).collect();
        keyed.sort_by_key(|(key, _)| *key);
        Self {
            groups: self.groups.update(&mut keyed, &mut |groups, changes| changed(groups, changes)),
        }
    }

    /// The id of the route that `group` chooses for the random number `dice`. The choice is
    /// deterministic, and independent between groups. A group whose weights are all 0 chooses none.
    pub fn winner(&self, group: &str, dice: u64) -> Option<&str> {
        let key = key(group);
        let drawn = mix(dice ^ key);
        let group = self.groups.get(key)?.iter().find(|found| *found.name == *group)?;
        let total = group.sums.last()?.0;
        let point = ((u128::from(drawn) * u128::from(total)) >> 64) as u64;
        let at = group.sums.partition_point(|(sum, _)| *sum <= point);
        let (_, member) = group.sums.get(at)?;
        group.members.get(*member).map(|member| &*member.id)
    }
}

/// The groups of one key after `changes`; `None` if none is left.
fn changed(
    groups: Option<&Arc<[Group]>>,
    changes: &[(u64, WeightChange<'_>)],
) -> Option<Arc<[Group]>> {
    let mut groups: Vec<Group> = groups.map(|groups| groups.to_vec()).unwrap_or_default();
    let mut by_name: HashMap<&str, Vec<&WeightChange<'_>>> = HashMap::new();
    for (_, change) in changes {
        by_name.entry(change.weight.group()).or_default().push(change);
    }
    for (name, changes) in by_name {
        let at = groups.iter().position(|group| *group.name == *name);
        let old = at.map(|at| groups.swap_remove(at));
        let mut members = old.map(|group| group.members.to_vec()).unwrap_or_default();
        let leaving = |member: &Member| {
            let found = changes.binary_search_by_key(&member.position, |change| change.position);
            found.is_ok()
        };
        members.retain(|member| !leaving(member));
        members.extend(changes.iter().filter(|change| change.put).map(|change| Member {
            position: change.position,
            id: change.weight.route_id().into(),
            weight: change.weight.weight(),
        }));
        if !members.is_empty() {
            members.sort_by_key(|member| member.position);
            groups.push(Group::new(name.into(), members.into()));
        }
    }
    (!groups.is_empty()).then(|| groups.into())
}

impl Group {
    fn new(name: Arc<str>, members: Arc<[Member]>) -> Self {
        // For each id, its index among the choices, and the member whose weight counts.
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut drawn: Vec<usize> = Vec::new();
        for (at, member) in members.iter().enumerate() {
            let place = *places.entry(&member.id).or_insert(drawn.len());
            match drawn.get_mut(place) {
                Some(last) => *last = at,
                None => drawn.push(at),
            }
        }
        let mut sum = 0;
        let sums = drawn.into_iter().map(|at| {
            sum += members.get(at).map_or(0, |member| u64::from(member.weight));
            (sum, at)
        });
        Self { name, sums: sums.collect(), members: Arc::clone(&members) }
    }
}

/// FNV-1a, spread over all bits.
fn key(text: &str) -> u64 {
    mix(text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    }))
}

/// The finaliser of SplitMix64: every bit of the result depends on every bit of `x`.
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::{Weight, WeightChange, WeightGroups, mix};

    fn groups(list: &[(&str, &[(&str, u32)])]) -> WeightGroups {
        let weights = list.iter().flat_map(|(group, entries)| {
            entries.iter().map(|(id, weight)| Weight::new(group, *weight, id))
        });
        WeightGroups::new(&weights.collect::<Vec<_>>())
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
    fn a_change_touches_its_group_alone() {
        let weights = [("g", "a", 1), ("g", "b", 0), ("h", "c", 1)];
        let weights = weights.map(|(group, id, weight)| Weight::new(group, weight, id));
        let change =
            |at: usize, put| WeightChange { position: at as u64, weight: &weights[at], put };
        let all: Vec<_> = (0..3).map(|at| change(at, true)).collect();
        let groups = WeightGroups::default().update(all);
        let without = groups.update(vec![change(0, false)]);
        assert_eq!((groups.winner("g", 1), without.winner("g", 1)), (Some("a"), None));
        assert_eq!(without.winner("h", 1), Some("c"));
        let b = Weight::new("g", 3, "b");
        let replaced = without
            .update(vec![change(1, false), WeightChange { position: 1, weight: &b, put: true }]);
        assert_eq!(replaced.winner("g", 1), Some("b"));
    }

    #[test]
    fn the_last_weight_of_an_id_counts_in_the_place_of_the_first() {
        let groups = groups(&[("g", &[("a", 0), ("b", 1), ("a", 9)])]);
        assert_eq!(shares(&groups, "g", &["a", "b"]), [90, 10]);
    }

    #[test]
    fn nothing_is_drawn_from_nothing() {
        let groups = groups(&[("zero", &[("a", 0), ("b", 0)]), ("empty", &[])]);
        for name in ["zero", "empty", "unknown"] {
            assert_eq!(groups.winner(name, 7), None, "{name}");
        }
    }
}
