//! The record of a worker: histograms, counts, and one slice per second. It allocates nothing per
//! request.

mod slice;

pub use slice::{Slice, Slices};

use crate::clock::Nanos;
use hdrhistogram::Histogram;

/// The kind of a request's failure.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// The connection was refused or could not be made.
    Connect,
    /// No local port was left for a connection.
    NoPort,
    /// No file descriptor was left for a connection.
    NoDescriptor,
    /// Not complete within the timeout.
    Timeout,
    /// The connection ended before the answer was complete.
    Closed,
    /// The answer is not HTTP.
    Malformed,
    /// The status is not among those expected.
    Status,
    /// A check on the answer failed.
    Check,
    /// Still in flight when the drain ended.
    Unfinished,
    /// Due but never sent, since no connection became free in time.
    NeverSent,
}

/// All failures in the order of their discriminants.
pub const FAILURES: [Failure; 10] = [
    Failure::Connect,
    Failure::NoPort,
    Failure::NoDescriptor,
    Failure::Timeout,
    Failure::Closed,
    Failure::Malformed,
    Failure::Status,
    Failure::Check,
    Failure::Unfinished,
    Failure::NeverSent,
];

impl Failure {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connect => "connection failed",
            Self::NoPort => "no local port left",
            Self::NoDescriptor => "no file descriptor left",
            Self::Timeout => "timed out",
            Self::Closed => "connection closed early",
            Self::Malformed => "malformed answer",
            Self::Status => "unexpected status",
            Self::Check => "check failed",
            Self::Unfinished => "unfinished at the end",
            Self::NeverSent => "never sent",
        }
    }
}

/// The four instants of a request, and when its connection was free.
#[derive(Clone, Copy, Debug, Default)]
pub struct Instants {
    /// The due time.
    pub intended: Nanos,
    /// The time at which the first byte was handed to the kernel.
    pub sent: Nanos,
    /// The time at which the first byte of the answer was read.
    pub first: Nanos,
    /// The time at which the last byte of the answer was read.
    pub done: Nanos,
    /// The time at which its connection became free.
    pub free: Nanos,
    /// The time at which work on it began, including the connect, if there was one.
    pub begun: Nanos,
}

/// A histogram in nanoseconds, three significant digits, 100 ns to one hour.
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(100, 3_600_000_000_000, 3).unwrap_or_else(|_| unreachable_bounds())
}

fn unreachable_bounds() -> Histogram<u64> {
    // The bounds above are constants that satisfy the constructor; see its documentation.
    unreachable!("constant histogram bounds")
}

/// Count and time of one kind of failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct FailureCount {
    /// The number.
    pub count: u64,
    /// First one, nanoseconds since the start.
    pub first_ns: Nanos,
    /// Last one, nanoseconds since the start.
    pub last_ns: Nanos,
}

/// Numbers of one request of the mix.
#[derive(Clone, Debug)]
pub struct PerRequest {
    /// Response times of successes, but for those in `simple`.
    pub response: Histogram<u64>,
    /// Successes that were sent when due and read in one piece. Their response, service and
    /// first-byte times are equal and recorded once; [`Record::add`] counts them in each histogram.
    simple: Histogram<u64>,
    /// Requests that failed.
    pub failed: u64,
    /// Bytes of answers.
    pub bytes: u64,
}

/// Everything one worker records. Complete only when [added](Record::add) to another.
#[derive(Clone, Debug)]
pub struct Record {
    /// Response time (done − intended) of all requests, failures and censored ones too.
    pub response: Histogram<u64>,
    /// Service time (done − sent) of all requests that were sent.
    pub service: Histogram<u64>,
    /// First byte − sent, of answered requests.
    pub first_byte: Histogram<u64>,
    /// Time to connect.
    pub connect: Histogram<u64>,
    /// The delay of sending although a connection was free (open loop, users).
    pub lag: Histogram<u64>,
    /// The wait for a free connection (open loop).
    pub queue: Histogram<u64>,
    /// By request of the mix.
    pub per_request: Vec<PerRequest>,
    /// Answers by status code.
    pub statuses: Vec<u64>,
    /// By kind, in the order of [`FAILURES`].
    pub failures: [FailureCount; FAILURES.len()],
    /// Requests sent.
    pub sent: u64,
    /// Successful requests.
    pub ok: u64,
    /// Bytes read, heads and bodies.
    pub bytes_read: u64,
    /// Bytes of bodies.
    pub bytes_body: u64,
    /// Connections opened.
    pub opened: u64,
    /// Last completion.
    pub last_done: Nanos,
    /// The Server field of the first answer; empty if it had none.
    pub server_field: Option<String>,
    /// Per second.
    pub slices: Slices,
    warm_until: Nanos,
    paced: bool,
}

impl Record {
    /// An empty record for a mix of `requests`. Requests due before `warm_until` count in the
    /// slices only. `paced` says whether lag and queue wait are meaningful.
    pub fn new(requests: usize, warm_until: Nanos, paced: bool) -> Self {
        // Not clones of one: memory that is only reserved would be written.
        let per_request =
            |_| PerRequest { response: histogram(), simple: histogram(), failed: 0, bytes: 0 };
        Self {
            response: histogram(),
            service: histogram(),
            first_byte: histogram(),
            connect: histogram(),
            lag: histogram(),
            queue: histogram(),
            per_request: (0..requests).map(per_request).collect(),
            statuses: vec![0; 1000],
            failures: [FailureCount::default(); FAILURES.len()],
            sent: 0,
            ok: 0,
            bytes_read: 0,
            bytes_body: 0,
            opened: 0,
            last_done: 0,
            server_field: None,
            slices: Slices::new(warm_until),
            warm_until,
            paced,
        }
    }

    /// A request was written to a connection.
    pub fn sent(&mut self, at: &Instants) {
        self.slices.sent(at.sent);
        if at.intended < self.warm_until {
            return;
        }
        self.sent += 1;
        if self.paced {
            let ready = at.intended.max(at.free.min(at.begun));
            self.queue.saturating_record(ready - at.intended);
            self.lag.saturating_record(at.begun.saturating_sub(ready));
        }
    }

    /// A connection was made.
    pub fn connected(&mut self, took: Nanos) {
        self.opened += 1;
        self.connect.saturating_record(took);
    }

    /// A request was answered in full with `status` and `bytes` of head and body.
    pub fn answered(
        &mut self,
        request: usize,
        at: &Instants,
        status: u16,
        (head, body): (u64, u64),
        failure: Option<Failure>,
    ) {
        let response = at.done.saturating_sub(at.intended);
        self.slices.done(at.done, response, head + body, failure.is_none());
        if at.intended < self.warm_until {
            return;
        }
        self.bytes_read += head + body;
        self.bytes_body += body;
        self.last_done = self.last_done.max(at.done);
        if let Some(count) = self.statuses.get_mut(usize::from(status)) {
            *count += 1;
        }
        let Some(per_request) = self.per_request.get_mut(request) else { return };
        per_request.bytes += head + body;
        if failure.is_none() && at.sent == at.intended && at.first == at.done {
            self.ok += 1;
            per_request.simple.saturating_record(response);
            return;
        }
        self.response.saturating_record(response);
        self.service.saturating_record(at.done.saturating_sub(at.sent));
        self.first_byte.saturating_record(at.first.saturating_sub(at.sent));
        match failure {
            None => {
                self.ok += 1;
                per_request.response.saturating_record(response);
            }
            Some(failure) => {
                per_request.failed += 1;
                self.count(failure, at.done);
            }
        }
    }

    /// Records a failed request: the time waited so far is a lower bound and enters the
    /// percentiles.
    pub fn failed(&mut self, request: usize, at: &Instants, failure: Failure) {
        let response = at.done.saturating_sub(at.intended);
        self.slices.done(at.done, response, 0, false);
        if at.intended < self.warm_until {
            return;
        }
        self.response.saturating_record(response);
        if at.sent > 0 {
            self.service.saturating_record(at.done.saturating_sub(at.sent));
        }
        if let Some(per_request) = self.per_request.get_mut(request) {
            per_request.failed += 1;
        }
        self.count(failure, at.done);
    }

    fn count(&mut self, failure: Failure, at: Nanos) {
        let entry = &mut self.failures[failure as usize];
        if entry.count == 0 {
            entry.first_ns = at;
        }
        entry.count += 1;
        entry.last_ns = entry.last_ns.max(at);
    }

    /// Adds another worker's record.
    pub fn add(&mut self, other: &Self) {
        // All histograms share bounds, so adding cannot fail.
        let pairs = [
            (&mut self.response, &other.response),
            (&mut self.service, &other.service),
            (&mut self.first_byte, &other.first_byte),
            (&mut self.connect, &other.connect),
            (&mut self.lag, &other.lag),
            (&mut self.queue, &other.queue),
        ];
        for (mine, theirs) in pairs {
            mine.add(theirs).ok();
        }
        for (mine, theirs) in self.per_request.iter_mut().zip(&other.per_request) {
            mine.response.add(&theirs.response).ok();
            let each =
                [&mut mine.response, &mut self.response, &mut self.service, &mut self.first_byte];
            for histogram in each {
                histogram.add(&theirs.simple).ok();
            }
            mine.failed += theirs.failed;
            mine.bytes += theirs.bytes;
        }
        for (mine, theirs) in self.statuses.iter_mut().zip(&other.statuses) {
            *mine += theirs;
        }
        for (mine, theirs) in self.failures.iter_mut().zip(&other.failures) {
            if theirs.count > 0 {
                let first = if mine.count > 0 { mine.first_ns } else { theirs.first_ns };
                mine.first_ns = first.min(theirs.first_ns);
                mine.last_ns = mine.last_ns.max(theirs.last_ns);
                mine.count += theirs.count;
            }
        }
        if self.server_field.is_none() {
            self.server_field.clone_from(&other.server_field);
        }
        self.sent += other.sent;
        self.ok += other.ok;
        self.bytes_read += other.bytes_read;
        self.bytes_body += other.bytes_body;
        self.opened += other.opened;
        self.last_done = self.last_done.max(other.last_done);
        self.slices.add(&other.slices);
    }

    /// Number of failures of one kind.
    pub fn failures(&self, failure: Failure) -> u64 {
        self.failures[failure as usize].count
    }
}

#[cfg(test)]
mod tests {
    use super::{FAILURES, Failure, Instants, Record};

    fn at(intended: u64, free: u64, sent: u64, done: u64) -> Instants {
        Instants { intended, sent, first: done, done, free, begun: sent }
    }

    #[test]
    fn failures_are_listed_in_the_order_of_their_discriminants() {
        for (at, failure) in FAILURES.iter().enumerate() {
            assert_eq!(*failure as usize, at);
        }
    }

    /// The wait for a connection is not charged to the generator; any delay after it is.
    #[test]
    fn lag_and_queue_wait_are_told_apart() {
        let mut record = Record::new(1, 0, true);
        record.sent(&at(1_000_000, 3_000_000, 3_500_000, 0));
        assert!(record.queue.max().abs_diff(2_000_000) < 2_000);
        assert!(record.lag.max().abs_diff(500_000) < 1_000);
    }

    #[test]
    fn censored_requests_enter_the_percentiles_and_warm_up_does_not() {
        let mut record = Record::new(1, 1_000, false);
        record.answered(0, &at(500, 0, 500, 900), 200, (10, 0), None);
        record.answered(0, &at(2_000, 0, 2_000, 5_000), 200, (10, 5), None);
        record.failed(0, &at(2_000, 0, 2_000, 1_000_002_000), Failure::Timeout);
        record.failed(0, &at(2_000, 0, 0, 2_000_002_000), Failure::NeverSent);
        assert_eq!((record.ok, record.bytes_read), (1, 15));
        let mut sum = Record::new(1, 1_000, false);
        sum.add(&record);
        assert_eq!((sum.response.len(), sum.service.len(), sum.first_byte.len()), (3, 2, 1));
        sum.add(&record);
        assert_eq!((sum.failures(Failure::Timeout), sum.response.len()), (2, 6));
    }

    /// However an answer came: it is once in each histogram, with its own value.
    #[test]
    fn each_time_is_counted_once() {
        let mut record = Record::new(1, 0, false);
        let simple = at(1_000_000, 0, 1_000_000, 3_000_000);
        record.answered(0, &simple, 200, (10, 0), None);
        record.answered(0, &simple, 500, (10, 0), Some(Failure::Status));
        let in_pieces = Instants { first: 2_000_000, ..simple };
        record.answered(0, &in_pieces, 200, (10, 0), None);
        record.answered(0, &Instants { intended: 0, ..simple }, 200, (10, 0), None);
        let mut sum = Record::new(1, 0, false);
        sum.add(&record);
        let all = [&sum.response, &sum.service, &sum.first_byte, &sum.per_request[0].response];
        let millis = |histogram: &hdrhistogram::Histogram<u64>| -> Vec<u64> {
            let each = histogram.iter_recorded().flat_map(|step| {
                let value = (step.value_iterated_to() + 500_000) / 1_000_000;
                (0..step.count_at_value()).map(move |_| value)
            });
            each.collect()
        };
        assert_eq!(
            all.map(millis),
            [vec![2, 2, 2, 3], vec![2; 4], vec![1, 2, 2, 2], vec![2, 2, 3]]
        );
    }
}
