//! Upstreams of pipelines and clusters: which one takes the next connection, message or request.

use std::sync::{Arc, Mutex, PoisonError};

use weir_filter::Target;

use crate::member::{Member, MemberState, Taken};

/// Weight units that a slow start is divided into.
const SLOW_STEPS: u64 = 100;
/// How much more than its share a member may have under way before the next one of a hash takes
/// over (the bound of consistent hashing with bounded loads, Mirrokni et al. 2018).
const LOAD_MAX: f64 = 1.25;
/// So much under way is no load: with a few requests, shares are less than one.
const LOAD_MIN: f64 = 8.0;

/// Who is next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balance {
    /// Each in turn, by weight (smooth weighted round robin, as nginx does it).
    #[default]
    RoundRobin,
    /// The fewest connections or calls under way, by weight.
    LeastConnections,
    /// The shortest connect time lately, times what is under way.
    PeakEwma,
    /// The same for the same client address, as long as it is up (rendezvous hashing).
    HashIp,
    /// The same for the same hash, unless it has a quarter more to do than its share.
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

/// Upstreams that share the work of one pipeline, or of one of its routes.
#[derive(Debug)]
pub struct Group {
    members: Vec<(Arc<Member>, u32)>,
    balance: Balance,
    slow_start_ms: u64,
    /// Current weights of the smooth round robin, by member.
    turns: Mutex<Vec<i64>>,
}

impl Group {
    /// A group of members with their weights, each at least 1. One that comes back gets its full
    /// share only after `slow_start_ms`.
    pub fn new(members: Vec<(Arc<Member>, u32)>, balance: Balance, slow_start_ms: u64) -> Self {
        let turns = Mutex::new(vec![0; members.len()]);
        Self { members, balance, slow_start_ms, turns }
    }

    /// Whether it leads nowhere.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Its members.
    pub fn members(&self) -> impl Iterator<Item = &Arc<Member>> {
        self.members.iter().map(|(member, _)| member)
    }

    /// How its members are, for operators.
    pub fn states(&self, now_ms: u64) -> Vec<MemberState> {
        self.members.iter().map(|(member, weight)| member.state(*weight, now_ms)).collect()
    }

    /// Who takes the next one, without those in `tried`; `hash` is of the client. One that is down
    /// or rests is taken only if there is no other.
    pub fn take(&self, tried: &[Arc<Member>], hash: u64, now_ms: u64) -> Option<Taken> {
        let is_left = |_, member: &Arc<Member>| !tried.iter().any(|one| Arc::ptr_eq(one, member));
        let usable = |n, member: &Arc<Member>| is_left(n, member) && member.is_usable(now_ms);
        let found =
            self.choose(usable, hash, now_ms).or_else(|| self.choose(is_left, hash, now_ms))?;
        Some(Taken::of(found))
    }

    /// Whose turn it is of those that `may`, which is asked by place and member.
    pub(crate) fn choose(
        &self,
        may: impl Fn(usize, &Arc<Member>) -> bool,
        hash: u64,
        now_ms: u64,
    ) -> Option<Arc<Member>> {
        let all = || {
            let able = self.members.iter().enumerate().filter(|(n, (member, _))| may(*n, member));
            able.map(|(_, entry)| entry)
        };
        let least = |cost: &dyn Fn(&Member) -> f64| {
            let cost = |entry: &&(Arc<Member>, u32)| cost(&entry.0) / self.share(entry, now_ms);
            all().min_by(|a, b| cost(a).total_cmp(&cost(b))).map(|(m, _)| Arc::clone(m))
        };
        let under_way = |member: &Member| member.active() as f64 + 1.0;
        let score = |member: &Member| {
            let chance = chance_of(hash, &member.target);
            // Of weighted rendezvous hashing: the least of these is the greatest score.
            -((chance >> 11) as f64 / (1_u64 << 53) as f64).max(f64::MIN_POSITIVE).ln()
        };
        match self.balance {
            Balance::RoundRobin => self.in_turn(may, now_ms),
            Balance::LeastConnections => match all().map(|(m, _)| m.active()).min() {
                // At rest the turn decides, or the first would take all.
                Some(0) => self.in_turn(|n, m| may(n, m) && m.active() == 0, now_ms),
                _ => least(&under_way),
            },
            Balance::PeakEwma => least(&|member| match (member.recent_ns(), member.active()) {
                // One that nothing is known of is tried, but not by all at once.
                (0, 1..) => f64::MAX / 2.0,
                (recent, _) => recent as f64 * under_way(member),
            }),
            Balance::HashIp | Balance::Random => least(&score),
            Balance::Hash => {
                let total: f64 = all().map(|entry| self.share(entry, now_ms)).sum();
                let active: usize = all().map(|(m, _)| m.active()).sum();
                let bound = |entry: &(Arc<Member>, u32)| {
                    let share = self.share(entry, now_ms) / total;
                    (LOAD_MAX * share * (active as f64 + 1.0)).ceil().max(LOAD_MIN)
                };
                let below = all().filter(|entry| under_way(&entry.0) <= bound(entry));
                let cost =
                    |entry: &&(Arc<Member>, u32)| score(&entry.0) / self.share(entry, now_ms);
                let found = below.min_by(|a, b| cost(a).total_cmp(&cost(b)));
                found.map(|(member, _)| Arc::clone(member))
            }
        }
    }

    fn in_turn(
        &self,
        may: impl Fn(usize, &Arc<Member>) -> bool,
        now_ms: u64,
    ) -> Option<Arc<Member>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let mut total = 0;
        let mut best: Option<(&Arc<Member>, &mut i64)> = None;
        for (n, (entry, turn)) in self.members.iter().zip(turns.iter_mut()).enumerate() {
            if !may(n, &entry.0) {
                continue;
            }
            let weight = (self.share(entry, now_ms) * SLOW_STEPS as f64) as i64;
            *turn += weight;
            total += weight;
            if best.as_ref().is_none_or(|(_, most)| *turn > **most) {
                best = Some((&entry.0, turn));
            }
        }
        let (member, turn) = best?;
        *turn -= total;
        Some(Arc::clone(member))
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

/// How well `target` suits `hash` (rendezvous hashing); evenly spread.
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

    /// How many of `count` each member gets, all over at once.
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
    fn who_was_slow_lately_gets_less() {
        let two = group(&[1, 1], Balance::PeakEwma, 0);
        two.members[0].0.reached(50_000_000, 1);
        two.members[1].0.reached(1_000_000, 1);
        assert_eq!(shares(&two, 10, 0), [0, 10]);
        for n in 1..60 {
            two.members[0].0.reached(500_000, n * 1_000_000_000);
        }
        assert_eq!(shares(&two, 10, 0), [10, 0], "what was long ago is forgotten");
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
