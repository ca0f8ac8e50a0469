//! The upstreams of a pipeline: which one takes the next connection or message.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use weir_filter::Target;

/// How long a member that could not be reached is passed over at first; twice as long each time.
const REST_MS: u64 = 5_000;
/// The longest such rest.
const REST_MS_MAX: u64 = 60_000;
/// How fast a long connect time is forgotten: to a third in so many nanoseconds.
const DECAY_NS: f64 = 10e9;
/// Weight units that a slow start is divided into.
const SLOW_STEPS: u64 = 100;

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
}

/// One upstream, and what is known of it. Outlives a change of the configuration.
#[derive(Debug)]
pub struct Member {
    /// Where it listens.
    pub target: Arc<Target>,
    active: AtomicUsize,
    /// Connections or calls it has been given.
    taken: AtomicU64,
    failed: AtomicU64,
    /// Failures to connect in a row.
    in_row: AtomicU32,
    rests_until_ms: AtomicU64,
    /// What the active check says.
    is_up: AtomicBool,
    up_since_ms: AtomicU64,
    connect_ns: AtomicU64,
    sampled_ns: AtomicU64,
}

/// What operators see of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberState {
    /// `host:port`.
    pub address: String,
    /// Share.
    pub weight: u32,
    /// Under way.
    pub active: usize,
    /// Given to it so far.
    pub taken: u64,
    /// Of these, not reached.
    pub failed: u64,
    /// Whether the active check finds it up; `true` without a check.
    pub is_up: bool,
    /// Whether it is passed over, as it could not be reached.
    pub rests: bool,
}

impl Member {
    /// A member that nothing is known of.
    pub fn new(target: Arc<Target>) -> Self {
        Self {
            target,
            active: AtomicUsize::new(0),
            taken: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            in_row: AtomicU32::new(0),
            rests_until_ms: AtomicU64::new(0),
            is_up: AtomicBool::new(true),
            up_since_ms: AtomicU64::new(0),
            connect_ns: AtomicU64::new(0),
            sampled_ns: AtomicU64::new(0),
        }
    }

    /// It could not be reached.
    pub fn unreached(&self, now_ms: u64) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        let times = self.in_row.fetch_add(1, Ordering::Relaxed).min(8);
        let rest_ms = (REST_MS << times).min(REST_MS_MAX);
        self.rests_until_ms.store(now_ms.saturating_add(rest_ms), Ordering::Relaxed);
    }

    /// It takes nothing more, as it says itself: it is passed over for a while.
    pub fn rest(&self, now_ms: u64) {
        self.rests_until_ms.store(now_ms.saturating_add(REST_MS_MAX), Ordering::Relaxed);
    }

    /// It was reached within `took_ns`. A longer time counts at once, a shorter one by and by.
    pub fn reached(&self, took_ns: u64, now_ns: u64) {
        if self.in_row.swap(0, Ordering::Relaxed) > 0 {
            self.rests_until_ms.store(0, Ordering::Relaxed);
            self.up_since_ms.store(now_ns / 1_000_000, Ordering::Relaxed);
        }
        let before = self.connect_ns.load(Ordering::Relaxed);
        let since = now_ns.saturating_sub(self.sampled_ns.swap(now_ns, Ordering::Relaxed));
        let now = match took_ns >= before {
            true => took_ns,
            false => {
                let kept = (-(since as f64) / DECAY_NS).exp();
                (before as f64 * kept + took_ns as f64 * (1.0 - kept)) as u64
            }
        };
        self.connect_ns.store(now.max(1), Ordering::Relaxed);
    }

    /// What the active check found; tells whether that is news.
    pub fn checked(&self, is_up: bool, now_ms: u64) -> bool {
        let was_up = self.is_up.swap(is_up, Ordering::Relaxed);
        if is_up && !was_up {
            self.up_since_ms.store(now_ms, Ordering::Relaxed);
            self.rests_until_ms.store(0, Ordering::Relaxed);
        }
        was_up != is_up
    }

    fn is_usable(&self, now_ms: u64) -> bool {
        self.is_up.load(Ordering::Relaxed) && self.rests_until_ms.load(Ordering::Relaxed) <= now_ms
    }
}

/// What is under way at a member; it ends when this is dropped.
#[derive(Debug)]
pub struct Taken(Arc<Member>);

impl Taken {
    /// The member.
    pub fn member(&self) -> &Arc<Member> {
        &self.0
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::Relaxed);
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
        let state = |(member, weight): &(Arc<Member>, u32)| MemberState {
            address: format!("{}:{}", member.target.host, member.target.port),
            weight: *weight,
            active: member.active.load(Ordering::Relaxed),
            taken: member.taken.load(Ordering::Relaxed),
            failed: member.failed.load(Ordering::Relaxed),
            is_up: member.is_up.load(Ordering::Relaxed),
            rests: member.rests_until_ms.load(Ordering::Relaxed) > now_ms,
        };
        self.members.iter().map(state).collect()
    }

    /// Who takes the next one, without those in `tried`; `hash` is of the client. One that is down
    /// or rests is taken only if there is no other.
    pub fn take(&self, tried: &[Arc<Member>], hash: u64, now_ms: u64) -> Option<Taken> {
        let is_left = |member: &Arc<Member>| !tried.iter().any(|tried| Arc::ptr_eq(tried, member));
        let usable = |member: &Arc<Member>| is_left(member) && member.is_usable(now_ms);
        let found =
            self.choose(usable, hash, now_ms).or_else(|| self.choose(is_left, hash, now_ms))?;
        found.active.fetch_add(1, Ordering::Relaxed);
        found.taken.fetch_add(1, Ordering::Relaxed);
        Some(Taken(found))
    }

    fn choose(
        &self,
        may: impl Fn(&Arc<Member>) -> bool,
        hash: u64,
        now_ms: u64,
    ) -> Option<Arc<Member>> {
        let all = self.members.iter().filter(|(member, _)| may(member));
        let least = |cost: &dyn Fn(&Member) -> f64| {
            let cost = |entry: &&(Arc<Member>, u32)| cost(&entry.0) / self.share(entry, now_ms);
            all.clone().min_by(|a, b| cost(a).total_cmp(&cost(b))).map(|(m, _)| Arc::clone(m))
        };
        let under_way = |member: &Member| member.active.load(Ordering::Relaxed) as f64 + 1.0;
        match self.balance {
            Balance::RoundRobin => self.in_turn(may, now_ms),
            Balance::LeastConnections => {
                let fewest = all.clone().map(|(m, _)| m.active.load(Ordering::Relaxed)).min();
                match fewest {
                    // At rest the turn decides, or the first would take all.
                    Some(0) => {
                        self.in_turn(|m| may(m) && m.active.load(Ordering::Relaxed) == 0, now_ms)
                    }
                    _ => least(&under_way),
                }
            }
            Balance::PeakEwma => least(&|member| {
                member.connect_ns.load(Ordering::Relaxed) as f64 * under_way(member)
            }),
            Balance::HashIp => least(&|member| {
                let chance = spread(hash ^ address_hash(&member.target));
                // Of weighted rendezvous hashing: the least of these is the greatest score.
                -((chance >> 11) as f64 / (1_u64 << 53) as f64).max(f64::MIN_POSITIVE).ln()
            }),
        }
    }

    fn in_turn(&self, may: impl Fn(&Arc<Member>) -> bool, now_ms: u64) -> Option<Arc<Member>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let mut total = 0;
        let mut best: Option<(&Arc<Member>, &mut i64)> = None;
        for (entry, turn) in self.members.iter().zip(turns.iter_mut()) {
            if !may(&entry.0) {
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
        let since = now_ms.saturating_sub(member.up_since_ms.load(Ordering::Relaxed));
        let weight = f64::from(*weight);
        if since >= self.slow_start_ms {
            return weight;
        }
        let steps = (since * SLOW_STEPS / self.slow_start_ms.max(1)).max(1);
        weight * steps as f64 / SLOW_STEPS as f64
    }
}

fn address_hash(target: &Target) -> u64 {
    // FNV-1a: the same on every machine and in every version.
    let port = target.port.to_be_bytes();
    target.host.bytes().chain(port).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
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

    use super::{Balance, Group, Member, REST_MS, Taken};

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
