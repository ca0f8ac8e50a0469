//! The result of a scenario.

/// The maximum number of failures described in words; the others are only counted.
const TOLD_MAX: usize = 8;

/// The size of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Seconds, for every test run.
    Short,
    /// Long enough to find rare faults.
    Long,
}

impl Size {
    /// One of two numbers.
    pub fn of<T>(self, short: T, long: T) -> T {
        match self {
            Self::Short => short,
            Self::Long => long,
        }
    }
}

/// The counts of a scenario. Nothing failed unless `failures` is above 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Requests sent.
    pub requests: u64,
    /// Failed requests and other violated expectations.
    pub failures: u64,
    /// The first failures in words.
    pub told: Vec<String>,
    /// The worst values measured, which are reported and not judged.
    pub worst: Vec<Measure>,
    /// The reason why the scenario, or a part of it, was skipped on this machine.
    pub skipped: Option<String>,
}

/// A value of which more is worse.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// The measured quantity, with its unit.
    pub what: &'static str,
    /// The value.
    pub value: f64,
}

impl Tally {
    /// A scenario that cannot be played on this machine.
    pub fn skipped(why: impl Into<String>) -> Self {
        Self { skipped: Some(why.into()), ..Self::default() }
    }

    /// Counts a request, and a failure with the text of `why` unless it is `good`.
    pub fn request(&mut self, good: bool, why: impl FnOnce() -> String) {
        self.requests += 1;
        self.check(good, why);
    }

    /// Counts a failure with the text of `why` unless it is `good`.
    pub fn check(&mut self, good: bool, why: impl FnOnce() -> String) {
        if good {
            return;
        }
        self.failures += 1;
        if self.told.len() < TOLD_MAX {
            self.told.push(why());
        }
    }

    /// Remembers the worst value of `what`.
    pub fn measure(&mut self, what: &'static str, value: f64) {
        match self.worst.iter_mut().find(|measure| measure.what == what) {
            Some(measure) => measure.value = measure.value.max(value),
            None => self.worst.push(Measure { what, value }),
        }
    }

    /// Adds what another part, or another run, counted.
    pub fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.failures += other.failures;
        let room = TOLD_MAX.saturating_sub(self.told.len());
        self.told.extend(other.told.into_iter().take(room));
        for measure in other.worst {
            self.measure(measure.what, measure.value);
        }
        self.skipped = self.skipped.take().or(other.skipped);
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn parts_add_up_and_the_worst_value_stays() {
        let mut all = Tally::default();
        for n in 0..20 {
            let mut part = Tally::default();
            part.request(n % 2 == 0, || format!("{n} is odd"));
            part.measure("n", f64::from(n % 7));
            all.add(part);
        }
        assert_eq!((all.requests, all.failures, all.told.len()), (20, 10, 8));
        assert_eq!(all.told[0], "1 is odd");
        assert_eq!(all.worst[0].value, 6.0);
        all.add(Tally::skipped("no strace"));
        assert_eq!(all.skipped.as_deref(), Some("no strace"));
    }
}
