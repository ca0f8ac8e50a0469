//! The plan of a run: *arrival × stop × driver*, as values. Commands, dialects and plan files are
//! all converted to it; `driver` reads nothing else.

use crate::arrival::{Arrival, Schedule};
use crate::dice::Dice;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// One run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The addresses to connect to; connections take them in turn.
    pub addresses: Vec<SocketAddr>,
    /// The local addresses of connections, in turn; without any, the system chooses.
    pub local_addresses: Vec<IpAddr>,
    /// The requests.
    pub requests: Vec<Request>,
    /// The choice of the next request.
    pub mix: Mix,
    /// The arrival model.
    pub arrival: Arrival,
    /// The end of the run.
    pub stop: Stop,
    /// The maximum number of concurrent connections (users have one each).
    pub connections: usize,
    /// Worker threads.
    pub threads: usize,
    /// Keep connections for the next request.
    pub keep_alive: bool,
    /// The maximum time of a request from its intended start to its last byte.
    pub timeout: Duration,
    /// At the start, requests that are sent but not counted.
    pub warmup: Duration,
    /// Longest to wait for answers after the stop.
    pub drain: Duration,
    /// Seed of every random choice but the schedule's.
    pub seed: u64,
    /// Rows that fill variables at the start of each session.
    pub feeders: Vec<crate::journey::Feeder>,
    /// Number of variables of a session.
    pub slots: usize,
}

/// The conditions for the end of sending: the first limit reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stop {
    /// So many requests (journeys count once).
    pub requests: Option<u64>,
    /// After so long.
    pub after: Option<Duration>,
}

/// The order of requests.
#[derive(Clone, Debug)]
pub enum Mix {
    /// Independent requests, drawn by these cumulative weights (the last one is the total).
    Weighted(Vec<u64>),
    /// All requests in order, as one journey.
    Journey,
    /// For each slot of the schedule, which request it is.
    Trace(Arc<[u32]>),
}

/// One request, ready to be written.
#[derive(Clone, Debug)]
pub struct Request {
    /// Name in reports.
    pub name: String,
    /// Row in reports; requests of one group have one name.
    pub group: usize,
    /// Method, which decides how the answer is framed.
    pub method: Vec<u8>,
    /// The whole message, if it is the same every time; else its template.
    pub message: Message,
    /// The expected answer.
    pub expect: Expect,
    /// Tests of and values taken from the body; such a body is kept while it arrives.
    pub body_rules: Vec<crate::journey::BodyRule>,
    /// Pause after this request's answer, within a journey.
    pub think: crate::arrival::Think,
}

/// The bytes of a request.
#[derive(Clone, Debug)]
pub enum Message {
    /// The same bytes every time.
    Fixed(Arc<[u8]>),
    /// With variables in it.
    Rendered(Arc<crate::journey::Template>),
}

/// The status codes that count as success.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Expect {
    /// 100 to 399.
    #[default]
    NotError,
    /// Any answer at all (as wrk, ab and hey count).
    Any,
    /// One of these.
    OneOf(Vec<u16>),
}

impl Expect {
    /// Whether `status` is a success.
    pub fn holds(&self, status: u16) -> bool {
        match self {
            Self::NotError => status < 400,
            Self::Any => true,
            Self::OneOf(list) => list.contains(&status),
        }
    }
}

impl Mix {
    /// Weights in the order of the requests.
    pub fn weighted(weights: impl IntoIterator<Item = u64>) -> Self {
        let mut total = 0u64;
        Self::Weighted(
            weights
                .into_iter()
                .map(|weight| {
                    total += weight;
                    total
                })
                .collect(),
        )
    }

    /// The first request of a new session; `slot` is the one of the schedule it fills.
    pub fn first(&self, slot: u64, dice: &mut Dice) -> usize {
        match self {
            Self::Journey => 0,
            Self::Trace(order) => order.get(slot as usize).map_or(0, |index| *index as usize),
            Self::Weighted(sums) if sums.len() < 2 => 0,
            Self::Weighted(sums) => {
                let ticket = dice.below(sums.last().copied().unwrap_or(0));
                sums.partition_point(|&sum| sum <= ticket)
            }
        }
    }
}

/// The addresses of `locals` from which a connection to `address` can be made.
pub(crate) fn fitting(locals: &[IpAddr], address: SocketAddr) -> impl Iterator<Item = IpAddr> {
    locals.iter().copied().filter(move |local| local.is_ipv4() == address.is_ipv4())
}

impl Plan {
    /// A closed loop of `connections` on one request: the starting point of every command.
    pub fn closed(addresses: Vec<SocketAddr>, request: Request, connections: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            addresses,
            local_addresses: Vec::new(),
            requests: vec![request],
            mix: Mix::weighted([1]),
            arrival: Arrival::Closed,
            stop: Stop::default(),
            connections,
            threads: cores.min(connections).max(1),
            keep_alive: true,
            timeout: Duration::from_secs(10),
            warmup: Duration::ZERO,
            drain: Duration::from_secs(10),
            seed: 1,
            feeders: Vec::new(),
            slots: 0,
        }
    }

    /// The local and the remote address of connection number `n`. There is an address to go to.
    pub fn ends(&self, n: usize) -> (Option<IpAddr>, SocketAddr) {
        let address = self.addresses[n % self.addresses.len()];
        let locals = || fitting(&self.local_addresses, address);
        let turn = (n / self.addresses.len()).checked_rem(locals().count());
        (turn.and_then(|turn| locals().nth(turn)), address)
    }

    /// Names of the groups of requests, in their order.
    pub fn groups(&self) -> Vec<String> {
        let mut names = Vec::new();
        for request in &self.requests {
            if request.group >= names.len() {
                names.resize(request.group + 1, String::new());
            }
            if let Some(name) = names.get_mut(request.group).filter(|name| name.is_empty()) {
                name.clone_from(&request.name);
            }
        }
        names
    }

    /// The group of the request of a slot that was never sent; the first if chance decides.
    pub fn group_of(&self, slot: u64) -> usize {
        let Mix::Trace(order) = &self.mix else { return 0 };
        let index = order.get(slot as usize).map_or(0, |index| *index as usize);
        self.requests.get(index).map_or(0, |request| request.group)
    }

    /// The schedule, in an open loop.
    pub fn schedule(&self) -> Option<&Schedule> {
        match &self.arrival {
            Arrival::Open(schedule) => Some(schedule),
            Arrival::Closed | Arrival::Users(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Expect, Mix};
    use crate::dice::Dice;

    #[test]
    fn weights_are_kept() {
        let mix = Mix::weighted([1, 0, 3]);
        let mut dice = Dice::new(5);
        let mut counts = [0u32; 3];
        for _ in 0..40_000 {
            counts[mix.first(0, &mut dice)] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!((9_500..10_500).contains(&counts[0]), "{counts:?}");
    }

    #[test]
    fn expected_statuses() {
        let cases = [(Expect::NotError, 302, true), (Expect::NotError, 404, false)];
        let more = [(Expect::Any, 500, true), (Expect::OneOf(vec![404]), 404, true)];
        for (expect, status, want) in cases.into_iter().chain(more) {
            assert_eq!(expect.holds(status), want, "{expect:?} {status}");
        }
    }
}
