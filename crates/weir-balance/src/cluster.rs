//! A service whose instances are chosen by rules. The state of an instance outlives the
//! configuration: it is kept by the names of the cluster and the instance.

use std::sync::{Arc, Mutex, TryLockError};

use arc_swap::{ArcSwap, ArcSwapOption};

use crate::asked::Asked;
use crate::formed::{Formed, Seat, weight};
use crate::instance::Instance;
use crate::member::{Member, MemberState, Taken};
use crate::members::Members;
use crate::rules::Rules;
use crate::service::Service;

/// Instances under rules.
#[derive(Debug)]
pub struct Cluster {
    service: Arc<Service>,
    rules: Rules,
    members: Arc<Members>,
    formed: ArcSwap<Formed>,
    /// Held by the one thread that builds a group from a list.
    forming: Mutex<()>,
    /// The instance that was chosen last, where requests stay with one.
    last: ArcSwapOption<Member>,
}

/// State of an instance, for operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceState {
    /// Its description.
    pub instance: Arc<Instance>,
    /// State of its member; `None` if it is in no subset, or takes no requests at all.
    pub member: Option<MemberState>,
    /// The reason why it gets no requests; `None` if it does.
    pub why: Option<String>,
}

impl Cluster {
    /// The instances of `service` under `rules`, with their state from `members`.
    pub(crate) fn of(service: Arc<Service>, rules: Rules, members: Arc<Members>) -> Self {
        let formed = Formed::of(&service, service.listed(), &rules, &members);
        Self {
            service,
            rules,
            members,
            formed: ArcSwap::from_pointee(formed),
            forming: Mutex::new(()),
            last: ArcSwapOption::empty(),
        }
    }

    /// The name under which a [`Directory`](crate::Directory) has the state of the instances of
    /// `service`.
    pub fn owner(service: &str) -> String {
        crate::formed::owner(service)
    }

    /// Name of the service.
    pub fn name(&self) -> &str {
        self.service.name()
    }

    /// The rules by which instances are chosen.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The instance for a request, without those in `tried`.
    pub(crate) fn take(
        &self,
        asked: &Asked,
        tried: &[Arc<Member>],
        now_ms: u64,
    ) -> Option<(Taken, Arc<Instance>)> {
        let formed = self.formed();
        let seats = formed.seats.as_slice();
        let at = |n: usize| seats.get(n);
        let is_left = |member: &Arc<Member>| !tried.iter().any(|one| Arc::ptr_eq(one, member));
        let panics = formed.panics(self.rules.panic_percent, now_ms);
        let good = |member: &Arc<Member>| {
            is_left(member) && (member.is_usable(now_ms) || panics && !member.is_drained())
        };
        let seated =
            |seat: &Seat| (Taken::of(Arc::clone(&seat.member)), Arc::clone(&seat.instance));
        if let Some(seat) = self.bound(asked, seats).filter(|seat| good(&seat.member)) {
            return Some(seated(seat));
        }
        let hint = asked.hint.as_deref();
        let fits = |n| {
            let own = at(n).and_then(|seat| seat.instance.metadata.get("hint"));
            hint.is_none_or(|hint| own.is_some_and(|own| own == hint))
        };
        let near = |n| self.rules.zone.is_none() || at(n).is_some_and(|seat| seat.is_near);
        let hash = asked.hash;
        let choose =
            |may: &dyn Fn(usize, &Arc<Member>) -> bool| formed.group.choose(may, hash, now_ms);
        let found = choose(&|n, member| good(member) && fits(n) && near(n))
            .or_else(|| choose(&|n, member| good(member) && fits(n)))
            .or_else(|| choose(&|n, member| good(member) && near(n)))
            .or_else(|| choose(&|_, member| good(member)))
            // An instance that may be down is better than none.
            .or_else(|| choose(&|_, member| is_left(member) && !member.is_drained()))?;
        let seat = at(found)?;
        if self.rules.same_instance {
            self.last.store(Some(Arc::clone(&seat.member)));
        }
        Some(seated(seat))
    }

    /// The instance that a request is bound to, if any.
    fn bound<'s>(&self, asked: &Asked, seats: &'s [Seat]) -> Option<&'s Seat> {
        if let Some(id) = &asked.instance
            && let Some(seat) = seats.iter().find(|seat| seat.instance.id == *id)
        {
            return Some(seat);
        }
        if !self.rules.same_instance {
            return None;
        }
        let last = self.last.load_full()?;
        seats.iter().find(|seat| Arc::ptr_eq(&seat.member, &last))
    }

    /// Passes `member` over for a while, unless too many are already.
    pub(crate) fn eject(&self, member: &Member, now_ms: u64) {
        let Some(outlier) = &self.rules.outlier else { return };
        let formed = self.formed.load();
        let ejected = formed.seats.iter().filter(|seat| seat.member.is_ejected(now_ms)).count();
        let max = formed.seats.len() * outlier.percent_max as usize / 100;
        if !member.is_ejected(now_ms) && ejected < max.max(1) {
            member.eject(outlier.base_ms, outlier.interval_ms, now_ms);
        }
    }

    /// Whether so few instances are usable that all are used, except drained ones.
    pub fn uses_all(&self, now_ms: u64) -> bool {
        self.formed().is_short(self.rules.panic_percent, now_ms)
    }

    /// Members that take requests now, each with its description, for health checks.
    pub fn members(&self) -> Vec<(Arc<Member>, Arc<Instance>)> {
        let formed = self.formed();
        let seat = |seat: &Seat| (Arc::clone(&seat.member), Arc::clone(&seat.instance));
        formed.seats.iter().map(seat).collect()
    }

    /// Every instance, for operators.
    pub fn states(&self, now_ms: u64) -> Vec<InstanceState> {
        let formed = self.formed();
        let all = formed.of.all.iter().map(|instance| {
            let seat = formed.seats.iter().find(|seat| Arc::ptr_eq(&seat.instance, instance));
            let member = seat.map(|seat| seat.member.state(weight(instance, &self.rules), now_ms));
            let why = match (&member, instance.unused) {
                (_, Some(unused)) => Some(unused.to_string()),
                (None, None) => Some("it is not in the subset of this gateway".to_owned()),
                (Some(member), None) => against(member),
            };
            InstanceState { instance: Arc::clone(instance), member, why }
        });
        all.collect()
    }

    /// Makes a group of the list of the moment, if that is new.
    pub(crate) fn form(&self) {
        drop(self.formed());
    }

    /// The group of the moment. While a thread makes a new one, others use the one before.
    fn formed(&self) -> Arc<Formed> {
        let formed = self.formed.load_full();
        let now = self.service.listed();
        if Arc::ptr_eq(&formed.of, &now) {
            return formed;
        }
        let _one = match self.forming.try_lock() {
            Ok(one) => one,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return formed,
        };
        let now = self.service.listed();
        let formed = self.formed.load_full();
        if Arc::ptr_eq(&formed.of, &now) {
            return formed;
        }
        let new = Arc::new(Formed::of(&self.service, now, &self.rules, &self.members));
        self.formed.store(Arc::clone(&new));
        new
    }
}

/// The reason why a member gets no requests.
fn against(member: &MemberState) -> Option<String> {
    if member.is_drained {
        return Some("an operator drains it".to_owned());
    }
    if !member.is_up {
        let why = member.check_failure.as_deref().unwrap_or("no answer");
        return Some(format!("its check fails: {why}"));
    }
    if member.is_ejected {
        return Some("its requests failed: it is passed over for a while".to_owned());
    }
    member.rests.then(|| "it could not be reached a moment ago".to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::balance::Balance;
    use crate::directory::Directory;
    use crate::formed::{COUNT_MS, COUNTED_AT_ONCE};
    use crate::rules::{Hint, Outlier, Sticky, Subset};

    /// Instances on ports 1, 2, …, each with this metadata.
    fn list(metadata: &[&[(&str, &str)]]) -> Vec<Arc<Instance>> {
        let instance = |(n, texts): (usize, &&[(&str, &str)])| {
            let texts = texts.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
            let new = Instance::new("h", n as u16 + 1, false);
            Arc::new(Instance { metadata: texts.collect(), ..new })
        };
        metadata.iter().enumerate().map(instance).collect()
    }

    fn cluster(rules: Rules, metadata: &[&[(&str, &str)]]) -> Arc<Cluster> {
        let service = Arc::new(Service::new("a", list(metadata)));
        Arc::new(Cluster::new(service, rules, &Directory::default()))
    }

    /// Requests by port, out of `count`.
    fn shares(
        cluster: &Arc<Cluster>,
        asked: &Asked,
        count: u64,
        now_ms: u64,
    ) -> BTreeMap<u16, u64> {
        let mut shares = BTreeMap::new();
        for n in 0..count {
            let asked =
                Asked { hash: if asked.hash == 0 { n } else { asked.hash }, ..asked.clone() };
            let choice = cluster.choose(asked, now_ms).expect("an instance");
            *shares.entry(choice.target().port).or_default() += 1;
        }
        shares
    }

    fn ports(cluster: &Arc<Cluster>, asked: &Asked, now_ms: u64) -> Vec<u16> {
        shares(cluster, asked, 12, now_ms).into_keys().collect()
    }

    fn member(cluster: &Cluster, port: u16) -> Arc<Member> {
        let found = cluster.members().into_iter().find(|(one, _)| one.target.port == port);
        found.expect("a member").0
    }

    const PLAIN: &[&[(&str, &str)]] = &[&[], &[], &[], &[]];

    #[test]
    fn the_own_zone_serves_unless_none_there_does() {
        let rules = Rules { zone: Some("A".into()), ..Rules::default() };
        let zones: &[&[(&str, &str)]] = &[&[("zone", "a")], &[("zone", "b")], &[("zone", "a")]];
        let own = cluster(rules.clone(), zones);
        assert_eq!(ports(&own, &Asked::default(), 0), [1, 3]);
        member(&own, 1).checked(false, 0);
        assert_eq!(ports(&own, &Asked::default(), 0), [3]);
        member(&own, 3).drain(true);
        assert_eq!(ports(&own, &Asked::default(), 0), [2]);
        for balance in [Balance::RoundRobin, Balance::LeastConnections, Balance::PeakEwma] {
            let rules = Rules { balance, ..rules.clone() };
            let nobody = cluster(rules, PLAIN);
            assert_eq!(shares(&nobody, &Asked::default(), 40, 0).len(), 4, "{balance:?}");
        }
    }

    #[test]
    fn a_hint_is_followed_where_it_can_be() {
        let rules = Rules {
            hint: Some(Hint { header: "x-sc-lb-hint".into(), otherwise: None }),
            zone: Some("a".into()),
            ..Rules::default()
        };
        let texts: &[&[(&str, &str)]] = &[
            &[("hint", "blue"), ("zone", "b")],
            &[("hint", "green"), ("zone", "a")],
            &[("zone", "a")],
        ];
        let cluster = cluster(rules, texts);
        let hinted = |hint: &str| Asked { hint: Some(hint.into()), ..Asked::default() };
        assert_eq!(ports(&cluster, &hinted("green"), 0), [2]);
        assert_eq!(ports(&cluster, &hinted("blue"), 0), [1]);
        assert_eq!(ports(&cluster, &hinted("red"), 0), [2, 3]);
        assert_eq!(ports(&cluster, &Asked::default(), 0), [2, 3]);
    }

    #[test]
    fn a_session_stays_with_its_instance_while_that_is_usable() {
        let sticky = Some(Sticky { cookie: "id".into(), is_followed: true, is_passed_on: true });
        let sessions = cluster(Rules { sticky, ..Rules::default() }, PLAIN);
        let bound = |id: &str| Asked { instance: Some(id.into()), ..Asked::default() };
        assert_eq!(ports(&sessions, &bound("h:3"), 0), [3]);
        assert_eq!(ports(&sessions, &bound("gone"), 0), [1, 2, 3, 4]);
        let choice = sessions.choose(bound("h:2"), 0).expect("an instance");
        assert_eq!(choice.cookie(), Some(("id", "h:2")));
        member(&sessions, 3).unreached(0);
        assert_eq!(ports(&sessions, &bound("h:3"), 1), [1, 2, 4]);
        let same = cluster(Rules { same_instance: true, ..Rules::default() }, PLAIN);
        assert_eq!(ports(&same, &Asked::default(), 0), [1]);
        member(&same, 1).unreached(0);
        assert_eq!(ports(&same, &Asked::default(), 1), [2]);
    }

    #[test]
    fn shares_are_those_of_the_balance() {
        let weighted = Rules { weighted: true, ..Rules::default() };
        let texts: &[&[(&str, &str)]] = &[&[("weight", "3")], &[("weight", "nonsense")]];
        let got = shares(&cluster(weighted.clone(), texts), &Asked::default(), 40, 0);
        assert_eq!(got, BTreeMap::from([(1, 30), (2, 10)]));
        let got = shares(&cluster(Rules::default(), texts), &Asked::default(), 40, 0);
        assert_eq!(got, BTreeMap::from([(1, 20), (2, 20)]));
        let random = Rules { balance: Balance::Random, ..weighted };
        let got = shares(&cluster(random, texts), &Asked::default(), 4_000, 0);
        assert!((2_800..3_200).contains(&got[&1]), "{got:?}");
        let subset = Some(Subset { of: "gate".into(), size: 2 });
        let cluster = cluster(Rules { subset, ..Rules::default() }, PLAIN);
        assert_eq!(ports(&cluster, &Asked::default(), 0).len(), 2);
        let left_out = cluster.states(0).into_iter().filter(|state| state.member.is_none());
        assert!(
            left_out.map(|state| state.why.expect("a reason")).all(|why| why.contains("subset"))
        );
    }

    #[test]
    fn the_same_hash_has_the_same_instance_up_to_its_load() {
        let hashed = cluster(Rules { balance: Balance::Hash, ..Rules::default() }, PLAIN);
        let asked = Asked { hash: 77, ..Asked::default() };
        let own = ports(&hashed, &asked, 0);
        assert_eq!(own.len(), 1);
        let held: Vec<_> = (0..80).filter_map(|_| hashed.choose(asked.clone(), 0)).collect();
        let at_own = held.iter().filter(|choice| choice.target().port == own[0]).count();
        assert!((20..=25).contains(&at_own), "{at_own} of 80 where the share is 20");
        drop(held);
        assert_eq!(ports(&hashed, &asked, 0), own);
    }

    #[test]
    fn who_fails_is_passed_over_for_longer_each_time() {
        let outlier = Outlier { errors: 2, base_ms: 1_000, interval_ms: 60_000, percent_max: 50 };
        let cluster = cluster(Rules { outlier: Some(outlier), ..Rules::default() }, PLAIN);
        let fail = |port: u16, now_ms: u64| {
            let id = Asked { instance: Some(format!("h:{port}")), ..Asked::default() };
            for status in [500, 200, 503] {
                let mut choice = cluster.choose(id.clone(), now_ms).expect("an instance");
                assert_eq!(choice.target().port, port);
                choice.answered(status, now_ms * 1_000_000);
            }
            let mut choice = cluster.choose(id, now_ms).expect("an instance");
            choice.failed(now_ms);
        };
        fail(1, 10);
        assert_eq!(ports(&cluster, &Asked::default(), 1_009), [2, 3, 4]);
        assert_eq!(ports(&cluster, &Asked::default(), 1_010), [1, 2, 3, 4]);
        fail(1, 2_000);
        assert_eq!(ports(&cluster, &Asked::default(), 3_999), [2, 3, 4]);
        fail(2, 2_000);
        assert_eq!(ports(&cluster, &Asked::default(), 2_001), [3, 4]);
        // No more than half.
        fail(3, 2_000);
        assert_eq!(ports(&cluster, &Asked::default(), 2_001), [3, 4]);
        let why = cluster.states(2_001)[0].why.clone();
        assert!(why.is_some_and(|why| why.contains("requests failed")));
    }

    #[test]
    fn with_too_few_left_all_are_used() {
        let cluster = cluster(Rules { panic_percent: 50, ..Rules::default() }, PLAIN);
        for port in [1, 2] {
            member(&cluster, port).checked(false, 0);
        }
        assert_eq!(ports(&cluster, &Asked::default(), 0), [3, 4]);
        assert!(!cluster.uses_all(0));
        member(&cluster, 3).checked(false, 0);
        assert!(cluster.uses_all(0));
        assert_eq!(ports(&cluster, &Asked::default(), 0), [1, 2, 3, 4]);
        // A drained instance stays out.
        member(&cluster, 1).drain(true);
        member(&cluster, 4).checked(true, 0);
        member(&cluster, 2).checked(true, 0);
        assert_eq!(ports(&cluster, &Asked::default(), 0), [2, 4]);
    }

    #[test]
    fn of_many_the_usable_ones_are_counted_now_and_then() {
        let many = vec![&[][..]; 2 * COUNTED_AT_ONCE];
        let cluster = cluster(Rules { panic_percent: 50, ..Rules::default() }, &many);
        let now_ms = 1_000;
        assert!(cluster.choose(Asked::default(), now_ms).is_some());
        for (away, _) in cluster.members().iter().skip(1) {
            away.checked(false, now_ms);
        }
        assert_eq!(ports(&cluster, &Asked::default(), now_ms + 1), [1]);
        assert_eq!(ports(&cluster, &Asked::default(), now_ms + COUNT_MS).len(), 12);
    }

    #[test]
    fn another_try_goes_to_another_instance() {
        let cluster = cluster(Rules::default(), &PLAIN[..2]);
        let mut choice = cluster.choose(Asked::default(), 0).expect("an instance");
        assert_eq!(choice.target().port, 1);
        choice.unreached(0);
        assert!(choice.move_on(false, 0));
        assert_eq!(choice.target().port, 2);
        assert!(!choice.move_on(false, 0));
        assert!(choice.move_on(true, 0));
        assert_eq!(choice.target().port, 2);
        let states = cluster.states(0);
        let active: Vec<_> =
            states.iter().map(|one| one.member.as_ref().map(|m| m.active)).collect();
        assert_eq!(active, [Some(0), Some(1)]);
        drop(choice);
        assert!(
            cluster.states(0).iter().all(|one| one.member.as_ref().is_some_and(|m| m.active == 0))
        );
    }

    #[test]
    fn what_is_known_outlives_the_list_and_the_rules() {
        let directory: Arc<Directory> = Arc::default();
        let service = Arc::new(Service::new("a", list(PLAIN)));
        let before = Arc::new(Cluster::new(Arc::clone(&service), Rules::default(), &directory));
        member(&before, 2).drain(true);
        service.set(list(&PLAIN[..3]));
        assert_eq!(ports(&before, &Asked::default(), 0), [1, 3]);
        let after = Arc::new(Cluster::new(service, Rules::default(), &directory));
        drop(before);
        assert_eq!(ports(&after, &Asked::default(), 0), [1, 3]);
    }
}
