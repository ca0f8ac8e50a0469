//! Upstreams of pipelines and clusters: which one takes the next connection, message or request.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use weir_filter::Target;

use crate::member::{Member, MemberState, Taken};

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
/// Maximum number of random draws for a usable member, before all are scanned.
const DRAWS_MAX: usize = 16;

/// Load-balancing algorithms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balance {
    /// Each in turn, by weight (smooth weighted round robin, as nginx does it).
    #[default]
    RoundRobin,
    /// The fewest connections or calls under way, by weight.
    LeastConnections,
    /// The better of two random members: the lower recent response time, times the requests in
    /// progress (power of two choices, Mitzenmacher 2001).
    PeakEwma,
    /// Always the same member for a client address, as long as it is up (rendezvous hashing).
    HashIp,
    /// Always the same member for a hash, unless its load exceeds its share by a quarter.
    Hash,
    /// Any, by weight.
    Random,
}

impl Balance {
    /// Name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::RoundRobin => "round-robin",
            Self::LeastConnections => "least-requests",
            Self::PeakEwma => "peak-ewma",
            Self::HashIp => "hash:ip",
            Self::Hash => "hash",
            Self::Random => "random",
        }
    }
}

/// Upstreams that share the load of one pipeline, or of one of its routes.
#[derive(Debug)]
pub struct Group {
    members: Vec<(Arc<Member>, u32)>,
    balance: Balance,
    slow_start_ms: u64,
    /// All have the same share at any time.
    is_even: bool,
    /// Counts turns where all have the same share, and varies chance.
    turn: AtomicUsize,
    /// Current weights of the smooth round robin, by member, where shares differ.
    turns: Mutex<Vec<i64>>,
}

impl Group {
    /// A group of members with their weights, each at least 1. A member that comes back reaches its
    /// full share only after `slow_start_ms`.
    pub fn new(members: Vec<(Arc<Member>, u32)>, balance: Balance, slow_start_ms: u64) -> Self {
        let turns = Mutex::new(vec![0; members.len()]);
        let mut weights = members.iter().map(|(_, weight)| weight);
        let first = weights.next();
        let is_even = slow_start_ms == 0 && weights.all(|weight| Some(weight) == first);
        Self { members, balance, slow_start_ms, is_even, turn: AtomicUsize::new(0), turns }
    }

    /// Whether it has no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Its members.
    pub fn members(&self) -> impl Iterator<Item = &Arc<Member>> {
        self.members.iter().map(|(member, _)| member)
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
            Balance::LeastConnections if self.is_even => self.least_from_turn(may),
            Balance::LeastConnections => {
                match self.able(&may).map(|(_, (m, _))| m.active()).min() {
                    // At rest the turn decides, or the first would take all.
                    Some(0) => self.in_turn(|n, m| may(n, m) && m.active() == 0, now_ms),
                    _ => self.least(&may, |entry| under_way(&entry.0) / self.share(entry, now_ms)),
                }
            }
            Balance::PeakEwma => self.of_two(may, hash, now_ms),
            Balance::Random if self.is_even => {
                self.drawn(hash, &may).next().or_else(|| self.rendezvous(&may, hash, now_ms))
            }
            Balance::HashIp | Balance::Random => self.rendezvous(&may, hash, now_ms),
            Balance::Hash => {
                let total: f64 = self.able(&may).map(|(_, entry)| self.share(entry, now_ms)).sum();
                let active: usize = self.able(&may).map(|(_, (member, _))| member.active()).sum();
                let bound = |entry: &(Arc<Member>, u32)| {
                    let share = self.share(entry, now_ms) / total;
                    (LOAD_MAX * share * (active as f64 + 1.0)).ceil().max(LOAD_MIN)
                };
                let below = |n: usize, member: &Arc<Member>| {
                    let entry = self.members.get(n);
                    may(n, member) && entry.is_some_and(|one| under_way(member) <= bound(one))
                };
                self.rendezvous(&below, hash, now_ms)
            }
        }
    }

    /// Members allowed by `may`, with their indexes.
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
            let chance = chance_of(hash, &entry.0.target);
            // The least of these is the greatest score.
            let score = -((chance >> 11) as f64 / (1_u64 << 53) as f64).max(f64::MIN_POSITIVE).ln();
            score / self.share(entry, now_ms)
        })
    }

    /// Places by chance of those that `may`; ends when it has asked too often.
    fn drawn<'g>(
        &'g self,
        hash: u64,
        may: &'g impl Fn(usize, &Arc<Member>) -> bool,
    ) -> impl Iterator<Item = usize> + 'g {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) as u64;
        let seed = hash ^ turn.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (0..DRAWS_MAX as u64).filter_map(move |draw| {
            let bits = spread(seed.wrapping_add(draw));
            let place = (u128::from(bits) * self.members.len() as u128) >> 64;
            let place = usize::try_from(place).ok()?;
            self.members.get(place).filter(|(member, _)| may(place, member)).map(|_| place)
        })
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

    /// The member with the fewest requests in progress among the next in turn; an idle one ends the
    /// search.
    fn least_from_turn(&self, may: impl Fn(usize, &Arc<Member>) -> bool) -> Option<usize> {
        let from = self.turn.fetch_add(1, Ordering::Relaxed).checked_rem(self.members.len())?;
        let (before, after) = self.members.split_at_checked(from)?;
        let after = after.iter().enumerate().map(|(n, entry)| (n + from, entry));
        let mut best: Option<(usize, usize)> = None;
        for (looks, (place, (member, _))) in after.chain(before.iter().enumerate()).enumerate() {
            if looks >= LOOKS_MAX && best.is_some() {
                break;
            }
            let active = member.active();
            if best.is_none_or(|(_, least)| active < least) && may(place, member) {
                best = Some((place, active));
                if active == 0 {
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
        if self.is_even {
            let may = |place| self.members.get(place).is_some_and(|(member, _)| may(place, member));
            return next_in_turn(&self.turn, self.members.len(), may);
        }
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let mut total = 0;
        let mut best: Option<(usize, &mut i64)> = None;
        for (n, (entry, turn)) in self.members.iter().zip(turns.iter_mut()).enumerate() {
            if !may(n, &entry.0) {
                continue;
            }
            let weight = (self.share(entry, now_ms) * SLOW_STEPS as f64) as i64;
            *turn += weight;
            total += weight;
            if best.as_ref().is_none_or(|(_, most)| *turn > **most) {
                best = Some((n, turn));
            }
        }
        let (place, turn) = best?;
        *turn -= total;
        Some(place)
    }

    /// The weight a member has now: less while it starts slowly.
    fn share(&self, (member, weight): &(Arc<Member>, u32), now_ms: u64) -> f64 {
        let since = now_ms.saturating_sub(member.up_since_ms());
        let weight = f64::from(*weight);
        if since >= self.slow_start_ms {
            return weight;
        }
        let steps = (since * SLOW_STEPS / self.slow_start_ms.max(1)).max(1);
        weight * steps as f64 / SLOW_STEPS as f64
    }
}

/// The next of `count` places that `may` allows. Turns of other places are used up: otherwise the
/// place after an unusable one would also get its share.
pub(crate) fn next_in_turn(
    turn: &AtomicUsize,
    count: usize,
    may: impl Fn(usize) -> bool,
) -> Option<usize> {
    let from = turn.fetch_add(1, Ordering::Relaxed).checked_rem(count)?;
    // From this caller's turn on: other threads take turns meanwhile, and no place may be missed.
    let place = |skipped: usize| (from + skipped) % count;
    let Some(skipped) = (0..count).find(|skipped| may(place(*skipped))) else {
        // No turn is taken: with two looks for each request every other place would be left out.
        turn.fetch_sub(1, Ordering::Relaxed);
        return None;
    };
    if skipped > 0 {
        turn.fetch_add(skipped, Ordering::Relaxed);
    }
    Some(place(skipped))
}

fn under_way(member: &Member) -> f64 {
    member.active() as f64 + 1.0
}

/// A number that is the same for the same bytes, on every machine and in every version (FNV-1a).
pub fn hash_of(bytes: &[u8]) -> u64 {
    fold(bytes.iter().copied())
}

fn fold(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn address_hash(target: &Target) -> u64 {
    fold(target.host.bytes().chain(target.port.to_be_bytes()))
}

/// Score of `target` for `hash` (rendezvous hashing); evenly distributed.
pub(crate) fn chance_of(hash: u64, target: &Target) -> u64 {
    spread(hash ^ address_hash(target))
}

/// Spreads bits evenly (the finish of splitmix64).
fn spread(bits: u64) -> u64 {
    let z = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_filter::{Scheme, Target};

    use super::{Balance, Group};
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
}
