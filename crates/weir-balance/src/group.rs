//! Upstreams of pipelines and clusters: which one takes the next connection, message or request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::balance::Balance;
use crate::hash::{address_hash, chance_of, fraction, place_of, spread};
use crate::load::Load;
use crate::lookup::Lookup;
use crate::member::{Member, MemberState, Taken};
use crate::order::{Order, next_in_turn};

/// Weight units that a slow start is divided into.
const SLOW_STEPS: u64 = 100;
/// Load relative to its share above which a member's hashed requests go to the next member (the
/// bound of consistent hashing with bounded loads, Mirrokni et al. 2018).
const LOAD_MAX: f64 = 1.25;
/// Requests in progress up to which a member never counts as overloaded: with a few requests,
/// shares are less than one.
const LOAD_MIN: f64 = 8.0;
/// Maximum number of members compared to find the one with the fewest requests: with a thousand,
/// comparing all would cost more than the request.
const LOOKS_MAX: usize = 64;
/// The golden ratio as a fraction of 64 bits: its multiples are spread evenly.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// So often at most chance is asked for a member that may be taken, before all are looked at.
const DRAWS_MAX: usize = 16;

/// Upstreams that share the work of one pipeline, or of one of its routes.
#[derive(Debug)]
pub struct Group {
    members: Vec<(Arc<Member>, u32)>,
    balance: Balance,
    slow_start_ms: u64,
    /// All have the same share at any time.
    is_even: bool,
    order: Order,
    /// Where a hash decides.
    lookup: Option<Lookup>,
    load: Load,
    /// Counts turns, and varies chance.
    turn: AtomicUsize,
    /// Counts turns of members that start slowly: some of them are passed over.
    slow_turn: AtomicUsize,
}

impl Group {
    /// A group of members with their weights, each at least 1. A member that comes back reaches its
    /// full share only after `slow_start_ms`.
    pub fn new(members: Vec<(Arc<Member>, u32)>, balance: Balance, slow_start_ms: u64) -> Self {
        let weights: Vec<u32> = members.iter().map(|(_, weight)| *weight).collect();
        let order = Order::of(&weights);
        let is_even = slow_start_ms == 0 && weights.windows(2).all(|two| two.first() == two.last());
        let lookup = matches!(balance, Balance::Hash | Balance::HashIp).then(|| {
            let addresses = members.iter().map(|(member, _)| address_hash(&member.target));
            Lookup::of(&addresses.collect::<Vec<_>>(), &order)
        });
        Self {
            members,
            balance,
            slow_start_ms,
            is_even,
            order,
            lookup,
            load: Load::default(),
            turn: AtomicUsize::new(0),
            slow_turn: AtomicUsize::new(0),
        }
    }

    /// Whether it has no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Its members.
    pub fn members(&self) -> impl Iterator<Item = &Arc<Member>> {
        self.members.iter().map(|(member, _)| member)
    }

    /// Whether `other` has the same members, weights and rules.
    pub fn is_like(&self, other: &Self) -> bool {
        let mut pairs = self.members.iter().zip(&other.members);
        (self.balance, self.slow_start_ms) == (other.balance, other.slow_start_ms)
            && self.members.len() == other.members.len()
            && pairs.all(|(one, two)| Arc::ptr_eq(&one.0, &two.0) && one.1 == two.1)
    }

    /// State of its members, for operators.
    pub fn states(&self, now_ms: u64) -> Vec<MemberState> {
        self.members.iter().map(|(member, weight)| member.state(*weight, now_ms)).collect()
    }

    /// Takes a member for the next connection, except those in `tried`; `hash` is of the client. A
    /// member that is down or resting is taken only if there is no other.
    pub fn take(&self, tried: &[Arc<Member>], hash: u64, now_ms: u64) -> Option<Taken> {
        let is_left = |_, member: &Arc<Member>| !tried.iter().any(|one| Arc::ptr_eq(one, member));
        let usable = |n, member: &Arc<Member>| is_left(n, member) && member.is_usable(now_ms);
        let found =
            self.choose(usable, hash, now_ms).or_else(|| self.choose(is_left, hash, now_ms))?;
        self.members.get(found).map(|(member, _)| Taken::of(Arc::clone(member)))
    }

    /// The place of the one whose turn it is of those that `may`, which is asked by place and
    /// member.
    pub(crate) fn choose(
        &self,
        may: impl Fn(usize, &Arc<Member>) -> bool,
        hash: u64,
        now_ms: u64,
    ) -> Option<usize> {
        match self.balance {
            Balance::RoundRobin => self.in_turn(may, now_ms),
            Balance::LeastConnections => self.least_from_turn(may, now_ms),
            Balance::PeakEwma => self.of_two(may, hash, now_ms),
            Balance::Random => {
                let is_due = |place| self.is_due(place, self.slow_chance(), now_ms);
                let seed = self.seed(hash);
                let turns = (0..DRAWS_MAX as u64)
                    .map(|draw| place_of(spread(seed.wrapping_add(draw)), self.order.count()));
                let mut places = turns.filter_map(|turn| self.order.place(turn));
                let drawn = places.find(|place| self.allows(&may, *place) && is_due(*place));
                drawn.or_else(|| self.rendezvous(&may, seed, now_ms))
            }
            Balance::HashIp => self.hashed(&may, hash, now_ms),
            Balance::Hash => {
                let (active, shares) = self.load.of(self.members.len(), || self.counted(now_ms));
                let bound = |entry: &(Arc<Member>, u32)| {
                    let share = self.share(entry, now_ms) / shares;
                    (LOAD_MAX * share * (active as f64 + 1.0)).ceil().max(LOAD_MIN)
                };
                let below = |n: usize, member: &Arc<Member>| {
                    let entry = self.members.get(n);
                    may(n, member) && entry.is_some_and(|one| under_way(member) <= bound(one))
                };
                self.hashed(&below, hash, now_ms).or_else(|| self.hashed(&may, hash, now_ms))
            }
        }
    }

    /// What is under way at all members, and the shares of those that are usable.
    fn counted(&self, now_ms: u64) -> (usize, f64) {
        let active = self.members.iter().map(|(member, _)| member.active()).sum();
        let usable = self.members.iter().filter(|(member, _)| member.is_usable(now_ms));
        let shares: f64 = usable.map(|entry| self.share(entry, now_ms)).sum();
        // Of none: then all may be taken, and have equal bounds.
        (active, if shares > 0.0 { shares } else { self.members.len() as f64 })
    }

    fn allows(&self, may: &impl Fn(usize, &Arc<Member>) -> bool, place: usize) -> bool {
        self.members.get(place).is_some_and(|(member, _)| may(place, member))
    }

    /// Whether a member takes a turn that is its own: one that starts slowly takes only as many as
    /// its share says. `chance` is from 0 to below 1.
    fn is_due(&self, place: usize, chance: impl FnOnce() -> f64, now_ms: u64) -> bool {
        let Some(entry) = self.members.get(place) else { return false };
        let (share, weight) = (self.share(entry, now_ms), f64::from(entry.1));
        share >= weight || chance() * weight < share
    }

    /// Numbers from 0 to below 1, spread evenly (the golden ratio's multiples).
    fn slow_chance(&self) -> impl FnOnce() -> f64 + '_ {
        || {
            let turn = self.slow_turn.fetch_add(1, Ordering::Relaxed) as u64;
            fraction(turn.wrapping_mul(GOLDEN))
        }
    }

    /// The one that the table has for `hash`; if that is away, the same other one each time.
    fn hashed(
        &self,
        may: &impl Fn(usize, &Arc<Member>) -> bool,
        hash: u64,
        now_ms: u64,
    ) -> Option<usize> {
        let own_chance = |place: usize| {
            let member = self.members.get(place);
            move || member.map_or(0.0, |(member, _)| fraction(chance_of(hash, &member.target)))
        };
        let mut places = self.lookup.iter().flat_map(|lookup| lookup.places(hash));
        let found = places.find(|place| {
            self.allows(may, *place) && self.is_due(*place, own_chance(*place), now_ms)
        });
        // Few are left: all are looked at.
        found.or_else(|| self.rendezvous(may, hash, now_ms))
    }

    /// Those that `may`, with their places.
    fn able<'g>(
        &'g self,
        may: &'g impl Fn(usize, &Arc<Member>) -> bool,
    ) -> impl Iterator<Item = (usize, &'g (Arc<Member>, u32))> {
        self.members.iter().enumerate().filter(|(n, (member, _))| may(*n, member))
    }

    /// The one with the least cost.
    fn least(
        &self,
        may: &impl Fn(usize, &Arc<Member>) -> bool,
        cost: impl Fn(&(Arc<Member>, u32)) -> f64,
    ) -> Option<usize> {
        let least = self.able(may).min_by(|(_, a), (_, b)| cost(a).total_cmp(&cost(b)));
        least.map(|(n, _)| n)
    }

    /// The member for a hash: always the same (weighted rendezvous hashing).
    fn rendezvous(
        &self,
        may: &impl Fn(usize, &Arc<Member>) -> bool,
        hash: u64,
        now_ms: u64,
    ) -> Option<usize> {
        self.least(may, |entry| {
            let chance = fraction(chance_of(hash, &entry.0.target));
            // The least of these is the greatest score.
            let score = -chance.max(f64::MIN_POSITIVE).ln();
            score / self.share(entry, now_ms)
        })
    }

    /// Places by chance of those that `may`; ends when it has asked too often.
    fn drawn<'g>(
        &'g self,
        hash: u64,
        may: &'g impl Fn(usize, &Arc<Member>) -> bool,
    ) -> impl Iterator<Item = usize> + 'g {
        let seed = self.seed(hash);
        let draws = (0..DRAWS_MAX as u64).map(move |draw| spread(seed.wrapping_add(draw)));
        let places = draws.map(|bits| place_of(bits, self.members.len()));
        places.filter(|place| self.allows(may, *place))
    }

    /// Another number each time, also for the same hash.
    fn seed(&self, hash: u64) -> u64 {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) as u64;
        hash ^ turn.wrapping_mul(GOLDEN)
    }

    fn of_two(
        &self,
        may: impl Fn(usize, &Arc<Member>) -> bool,
        hash: u64,
        now_ms: u64,
    ) -> Option<usize> {
        let now_ns = now_ms.saturating_mul(1_000_000);
        let cost = |entry: &(Arc<Member>, u32)| {
            let cost = match (entry.0.recent_ns(now_ns), entry.0.active()) {
                // A member without a measurement is tried, but not by all clients at once.
                (0, 1..) => f64::MAX / 2.0,
                (recent, _) => recent as f64 * under_way(&entry.0),
            };
            cost / self.share(entry, now_ms)
        };
        let mut drawn = self.drawn(hash, &may);
        let first = drawn.next();
        let second = drawn.find(|place| Some(*place) != first);
        match (first, second) {
            (Some(a), Some(b)) => {
                let cost = |place: usize| self.members.get(place).map_or(f64::MAX, cost);
                Some(if cost(b) < cost(a) { b } else { a })
            }
            // Few may be taken.
            _ => self.least(&may, cost),
        }
    }

    /// The one with the fewest under way for its share, of those next in turn; one with none at
    /// once.
    fn least_from_turn(
        &self,
        may: impl Fn(usize, &Arc<Member>) -> bool,
        now_ms: u64,
    ) -> Option<usize> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed).checked_rem(self.order.count())?;
        let from = self.order.place(turn)?;
        let (before, after) = self.members.split_at_checked(from)?;
        let after = after.iter().enumerate().map(|(n, entry)| (n + from, entry));
        let mut best: Option<(usize, f64)> = None;
        for (looks, (place, entry)) in after.chain(before.iter().enumerate()).enumerate() {
            if looks >= LOOKS_MAX && best.is_some() {
                break;
            }
            let share = if self.is_even { 1.0 } else { self.share(entry, now_ms) };
            let cost = under_way(&entry.0) / share;
            if best.is_none_or(|(_, least)| cost < least) && may(place, &entry.0) {
                best = Some((place, cost));
                if entry.0.active() == 0 && (self.is_even || share >= f64::from(entry.1)) {
                    break;
                }
            }
        }
        if best.is_none() {
            // See [`next_in_turn`].
            self.turn.fetch_sub(1, Ordering::Relaxed);
        }
        best.map(|(place, _)| place)
    }

    fn in_turn(&self, may: impl Fn(usize, &Arc<Member>) -> bool, now_ms: u64) -> Option<usize> {
        let next = |may: &dyn Fn(usize) -> bool| {
            let may = |turn| self.order.place(turn).is_some_and(may);
            let turn = next_in_turn(&self.turn, self.order.count(), may)?;
            self.order.place(turn)
        };
        if self.is_even {
            return next(&|place| self.allows(&may, place));
        }
        let is_due = |place| self.is_due(place, self.slow_chance(), now_ms);
        next(&|place| self.allows(&may, place) && is_due(place))
            // All that there are start slowly.
            .or_else(|| next(&|place| self.allows(&may, place)))
    }

    /// The weight a member has now: less while it starts slowly.
    fn share(&self, (member, weight): &(Arc<Member>, u32), now_ms: u64) -> f64 {
        let weight = f64::from(*weight);
        let up_since_ms = member.up_since_ms();
        let since = now_ms.saturating_sub(up_since_ms);
        if up_since_ms == 0 || since >= self.slow_start_ms {
            return weight;
        }
        let steps = (since * SLOW_STEPS / self.slow_start_ms.max(1)).max(1);
        weight * steps as f64 / SLOW_STEPS as f64
    }
}

fn under_way(member: &Member) -> f64 {
    member.active() as f64 + 1.0
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_filter::{Scheme, Target};

    use super::Group;
    use crate::balance::Balance;
    use crate::member::{Member, REST_MS, Taken};

    fn group(weights: &[u32], balance: Balance, slow_start_ms: u64) -> Group {
        let member = |(n, weight): (usize, &u32)| {
            let target = Target::new(Scheme::Http, "h".to_owned(), n as u16);
            (Arc::new(Member::new(Arc::new(target))), *weight)
        };
        Group::new(weights.iter().enumerate().map(member).collect(), balance, slow_start_ms)
    }

    fn port(taken: &Taken) -> u16 {
        taken.member().target.port
    }

    /// Number of `count` requests that each member gets if each one ends at once.
    fn shares(group: &Group, count: usize, now_ms: u64) -> Vec<usize> {
        let mut shares = vec![0; group.members.len()];
        for n in 0..count {
            let taken = group.take(&[], n as u64, now_ms).expect("a member");
            shares[usize::from(port(&taken))] += 1;
        }
        shares
    }

    #[test]
    fn weights_are_kept_evenly() {
        let three = group(&[2, 1, 1], Balance::RoundRobin, 0);
        assert_eq!(shares(&three, 400, 0), [200, 100, 100]);
        let turns: Vec<_> = (0..4).map(|_| port(&three.take(&[], 0, 0).unwrap())).collect();
        assert_eq!(turns, [0, 1, 2, 0], "nobody gets its share in one go");
        let hashed = shares(&group(&[3, 1], Balance::HashIp, 0), 4_000, 0);
        assert!((2_800..3_200).contains(&hashed[0]), "{hashed:?}");
    }

    #[test]
    fn the_least_busy_is_next() {
        let two = group(&[1, 1], Balance::LeastConnections, 0);
        let first = two.take(&[], 0, 0).unwrap();
        let second = two.take(&[], 0, 0).unwrap();
        assert_ne!(port(&first), port(&second));
        let freed = port(&first);
        drop(first);
        assert_eq!(port(&two.take(&[], 0, 0).unwrap()), freed);
        let heavy = group(&[3, 1], Balance::LeastConnections, 0);
        let held: Vec<_> = (0..400).map(|_| heavy.take(&[], 0, 0).unwrap()).collect();
        let first = held.iter().filter(|taken| port(taken) == 0).count();
        assert!((299..=301).contains(&first), "{first}");
    }

    #[test]
    fn of_a_thousand_idle_ones_each_has_its_turn_and_who_is_away_adds_to_no_neighbour() {
        for balance in [Balance::RoundRobin, Balance::LeastConnections] {
            let many = group(&[1; 1_000], balance, 0);
            assert_eq!(shares(&many, 3_000, 0), [3; 1_000]);
        }
        let ten = group(&[1; 10], Balance::RoundRobin, 0);
        ten.members[4].0.unreached(0);
        assert_eq!(shares(&ten, 90, 1), [10, 10, 10, 10, 0, 10, 10, 10, 10, 10]);
        let most = group(&[1; 300], Balance::LeastConnections, 0);
        (0..299).for_each(|n| most.members[n].0.unreached(0));
        assert_eq!(shares(&most, 5, 1)[299], 5, "one beyond the looks is found");
    }

    #[test]
    fn who_was_slow_lately_gets_less() {
        let two = group(&[1, 1], Balance::PeakEwma, 0);
        two.members[0].0.reached(50_000_000, 1);
        two.members[1].0.reached(1_000_000, 1);
        assert_eq!(shares(&two, 10, 0), [0, 10]);
        let many = group(&[1; 20], Balance::PeakEwma, 0);
        many.members.iter().for_each(|(member, _)| member.reached(1_000_000, 1));
        many.members[3].0.reached(10_000_000, 1);
        let got = shares(&many, 2_000, 0);
        assert_eq!(got[3], 0, "{got:?}");
        assert!(got.iter().enumerate().all(|(n, got)| n == 3 || *got > 50), "{got:?}");
        for n in 1..60 {
            two.members[0].0.reached(500_000, n * 1_000_000_000);
        }
        assert_eq!(shares(&two, 10, 0), [10, 0], "what was long ago is forgotten");
        two.members[0].0.reached(50_000_000, 60_000_000_000);
        two.members[1].0.reached(1_000_000, 60_000_000_000);
        assert_eq!(shares(&two, 10, 60_000), [0, 10]);
        two.members[1].0.reached(1_000_000, 120_000_000_000);
        assert_eq!(shares(&two, 10, 120_000), [10, 0], "one that is given nothing is tried again");
    }

    #[test]
    fn who_is_away_rests_longer_each_time_and_is_tried_if_all_are() {
        let two = group(&[1, 1], Balance::RoundRobin, 0);
        let away = Arc::clone(&two.members[0].0);
        away.unreached(1_000);
        assert_eq!(shares(&two, 4, 1_000 + REST_MS - 1), [0, 4]);
        assert_eq!(shares(&two, 4, 1_000 + REST_MS), [2, 2]);
        away.unreached(10_000);
        assert_eq!(shares(&two, 4, 10_000 + 2 * REST_MS - 1), [0, 4]);
        two.members[1].0.checked(false, 10_000);
        assert_eq!(shares(&two, 4, 10_001).iter().sum::<usize>(), 4);
        assert!(two.take(&[Arc::clone(&away)], 0, 10_001).is_some());
        let all: Vec<_> = two.members().cloned().collect();
        assert!(two.take(&all, 0, 10_001).is_none());
    }

    #[test]
    fn one_that_comes_back_starts_slowly() {
        let two = group(&[1, 1], Balance::RoundRobin, 10_000);
        assert!(two.members[0].0.checked(false, 50_000));
        assert_eq!(shares(&two, 10, 50_000), [0, 10]);
        assert!(two.members[0].0.checked(true, 60_000));
        let early = shares(&two, 1_000, 61_000);
        assert!((70..130).contains(&early[0]), "{early:?}");
        assert_eq!(shares(&two, 1_000, 70_000), [500, 500]);
    }

    #[test]
    fn a_client_keeps_its_member_while_that_is_up() {
        let three = group(&[1, 1, 1], Balance::HashIp, 0);
        let of = |hash: u64| port(&three.take(&[], hash, 0).unwrap());
        let before: Vec<_> = (0..300).map(of).collect();
        three.members[1].0.unreached(0);
        for (hash, old) in (0..300).zip(before) {
            let new = of(hash);
            assert!(if old == 1 { new != 1 } else { new == old }, "{hash}: {old} {new}");
        }
    }
    #[test]
    fn of_a_thousand_few_are_looked_at() {
        let weights: Vec<u32> = (0..1_000).map(|n| 1 + n % 5).collect();
        let all = [
            (Balance::RoundRobin, 1_000, 2_000),
            (Balance::Random, 1_000, 2_000),
            (Balance::Hash, 1_000, 2_000),
            (Balance::HashIp, 1_000, 2_000),
            (Balance::PeakEwma, 2_100, 3_000),
            // Neighbours are away or start slowly here; 64 looks each are the bound.
            (Balance::LeastConnections, 1_000, 10_000),
        ];
        for (balance, at_rest, while_some_are_away) in all {
            let many = group(&weights, balance, 10_000);
            let looks = std::cell::Cell::new(0);
            let may = |_, member: &Arc<Member>| {
                looks.set(looks.get() + 1);
                member.is_usable(20_000)
            };
            for n in 0..1_000 {
                assert!(many.choose(may, n, 20_000).is_some());
            }
            assert!(looks.get() <= at_rest, "{balance:?}: {} looks", looks.get());
            // A tenth is away, another tenth has just come back.
            looks.set(0);
            (0..100).for_each(|n| many.members[n].0.unreached(20_000));
            (100..200).for_each(|n| {
                many.members[n].0.checked(false, 15_000);
                many.members[n].0.checked(true, 20_000);
            });
            for n in 0..1_000 {
                assert!(many.choose(may, n, 20_000).is_some());
            }
            assert!(looks.get() <= while_some_are_away, "{balance:?}: {} looks", looks.get());
        }
    }
}
