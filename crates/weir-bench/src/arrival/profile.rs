//! Rate over time as stages, and the inverse of its integral.

use crate::clock::{Nanos, nanos};

/// The course of the rate within a stage. Rates are in requests per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// A constant rate.
    Hold(f64),
    /// A linear change from one rate to another.
    Ramp(f64, f64),
    /// `mean + swing · sin(2π t / period_s)`; `swing` is at most `mean`.
    Sine {
        /// Mean rate.
        mean: f64,
        /// Amplitude.
        swing: f64,
        /// Length of a period in seconds.
        period_s: f64,
    },
}

/// A shape for so many seconds (may be infinite for the last stage).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// The rate within the stage.
    pub shape: Shape,
    /// Length in seconds.
    pub seconds: f64,
}

/// Stages one after another.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// In order of time.
    pub stages: Vec<Stage>,
}

impl Shape {
    /// Arrivals expected in the first `t` seconds of a stage.
    fn area(self, t: f64) -> f64 {
        match self {
            Self::Hold(rate) => rate * t,
            // A ramp needs its stage's length: see `Stage::area`.
            Self::Ramp(from, _) => from * t,
            Self::Sine { mean, swing, period_s } => {
                let omega = std::f64::consts::TAU / period_s;
                mean * t + swing / omega * (1.0 - (omega * t).cos())
            }
        }
    }
}

impl Stage {
    /// Rate `t` seconds into the stage.
    pub fn rate(&self, t: f64) -> f64 {
        match self.shape {
            Shape::Hold(rate) => rate,
            Shape::Ramp(from, to) => from + (to - from) * (t / self.seconds).clamp(0.0, 1.0),
            Shape::Sine { mean, swing, period_s } => {
                mean + swing * (std::f64::consts::TAU * t / period_s).sin()
            }
        }
    }

    /// Arrivals expected in the first `t` seconds.
    pub fn area(&self, t: f64) -> f64 {
        match self.shape {
            Shape::Ramp(from, to) => from * t + (to - from) * t * t / (2.0 * self.seconds),
            Shape::Hold(_) | Shape::Sine { .. } => self.shape.area(t),
        }
    }

    /// Arrivals expected in the whole stage.
    pub fn total(&self) -> f64 {
        if self.seconds.is_infinite() { f64::INFINITY } else { self.area(self.seconds) }
    }

    /// The time at which the expected number of arrivals reaches `target`, in seconds into the
    /// stage.
    fn inverse(&self, target: f64) -> f64 {
        match self.shape {
            Shape::Hold(rate) => target / rate,
            Shape::Ramp(from, to) => {
                // Root of slope/2 t² + from t = target, in the form that does not cancel.
                let slope = (to - from) / self.seconds;
                let root = (from * from + 2.0 * slope * target).max(0.0).sqrt();
                if from + root == 0.0 { 0.0 } else { 2.0 * target / (from + root) }
            }
            Shape::Sine { mean, swing, period_s } => {
                // The area lies between mean·t and mean·t + 2·swing/ω: bisect in between.
                let reach = 2.0 * swing / (std::f64::consts::TAU / period_s);
                let (mut low, mut high) = (((target - reach) / mean).max(0.0), target / mean);
                for _ in 0..60 {
                    let middle = 0.5 * (low + high);
                    if self.area(middle) < target { low = middle } else { high = middle }
                }
                high
            }
        }
    }
}

impl Profile {
    /// A constant rate without end.
    pub fn constant(rate: f64) -> Self {
        Self { stages: vec![Stage { shape: Shape::Hold(rate), seconds: f64::INFINITY }] }
    }

    /// Length in seconds; infinite if the last stage is.
    pub fn seconds(&self) -> f64 {
        self.stages.iter().map(|stage| stage.seconds).sum()
    }

    /// Rate at `t` seconds; 0 after the end.
    pub fn rate_at(&self, t: f64) -> f64 {
        let mut start = 0.0;
        for stage in &self.stages {
            if t < start + stage.seconds {
                return stage.rate(t - start);
            }
            start += stage.seconds;
        }
        0.0
    }

    /// Arrivals expected up to `t` seconds.
    pub fn expected(&self, t: f64) -> f64 {
        let mut left = t;
        let mut sum = 0.0;
        for stage in &self.stages {
            let within = left.min(stage.seconds);
            sum += stage.area(within);
            left -= within;
            if left <= 0.0 {
                break;
            }
        }
        sum
    }

    /// A search position at the beginning.
    pub fn seeker(&self) -> Seeker {
        Seeker::default()
    }

    /// Reads stages: `RATE:TIME`, `FROM-TO:TIME`, `sine(MEAN,SWING,PERIOD):TIME` and
    /// `stairs(FROM,TO,STEPS):TIME`, separated by commas.
    ///
    /// # Errors
    /// A sentence for the operator, naming the stage that is not understood.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut stages = Vec::new();
        for part in split_outside_parentheses(text) {
            let bad = |why: &str| format!("stage '{part}': {why}");
            let (shape, time) = part.rsplit_once(':').ok_or_else(|| bad("needs ':TIME'"))?;
            let seconds = crate::units::seconds(time).map_err(|why| bad(&why))?;
            if seconds <= 0.0 {
                return Err(bad("must last longer than 0s"));
            }
            parse_shape(shape.trim(), seconds, &mut stages).map_err(|why| bad(&why))?;
        }
        Self::of(stages)
    }

    /// A profile of `stages`, checked.
    ///
    /// # Errors
    /// When there is no stage, none has a positive rate, or one has a negative rate.
    pub fn of(stages: Vec<Stage>) -> Result<Self, String> {
        let negative = |stage: &Stage| match stage.shape {
            Shape::Hold(rate) => rate < 0.0,
            Shape::Ramp(from, to) => from < 0.0 || to < 0.0,
            Shape::Sine { mean, swing, period_s } => {
                mean <= 0.0 || swing < 0.0 || swing > mean || period_s <= 0.0
            }
        };
        if stages.iter().any(negative) {
            return Err("a rate may not be negative, nor a swing larger than its mean".into());
        }
        let profile = Self { stages };
        if profile.stages.iter().all(|stage| stage.total() <= 0.0) {
            return Err("the stages hold no request at all".into());
        }
        Ok(profile)
    }
}

/// Remembers the stage of the last answer: queries come in rising order.
#[derive(Clone, Debug, Default)]
pub struct Seeker {
    stage: usize,
    before_s: f64,
    before: f64,
}

impl Seeker {
    /// The time at which the expected number of arrivals reaches `target`; `None` after the last
    /// stage. `target` must not fall from call to call.
    pub fn time_of(&mut self, profile: &Profile, target: f64) -> Option<Nanos> {
        loop {
            let stage = profile.stages.get(self.stage)?;
            let total = stage.total();
            if target - self.before < total {
                return Some(nanos(self.before_s + stage.inverse(target - self.before)));
            }
            self.before += total;
            self.before_s += stage.seconds;
            self.stage += 1;
        }
    }
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0i32, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

fn parse_shape(text: &str, seconds: f64, stages: &mut Vec<Stage>) -> Result<(), String> {
    let number = |text: &str| crate::units::rate(text);
    if let Some(args) = text.strip_prefix("sine(").and_then(|rest| rest.strip_suffix(')')) {
        let [mean, swing, period] = args.split(',').collect::<Vec<_>>()[..] else {
            return Err("sine takes (MEAN,SWING,PERIOD)".into());
        };
        let period_s = crate::units::seconds(period.trim())?;
        let shape = Shape::Sine { mean: number(mean)?, swing: number(swing)?, period_s };
        stages.push(Stage { shape, seconds });
        return Ok(());
    }
    if let Some(args) = text.strip_prefix("stairs(").and_then(|rest| rest.strip_suffix(')')) {
        let [from, to, steps] = args.split(',').collect::<Vec<_>>()[..] else {
            return Err("stairs takes (FROM,TO,STEPS)".into());
        };
        let (from, to) = (number(from)?, number(to)?);
        let steps: u32 = steps.trim().parse().map_err(|_| "STEPS must be a number".to_owned())?;
        if !(2..=10_000).contains(&steps) {
            return Err("STEPS must be 2 to 10000".into());
        }
        for step in 0..steps {
            let rate = from + (to - from) * f64::from(step) / f64::from(steps - 1);
            let seconds = seconds / f64::from(steps);
            stages.push(Stage { shape: Shape::Hold(rate), seconds });
        }
        return Ok(());
    }
    let shape = match text.split_once('-') {
        Some((from, to)) => Shape::Ramp(number(from)?, number(to)?),
        None => Shape::Hold(number(text)?),
    };
    stages.push(Stage { shape, seconds });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Profile, Shape, Stage};
    use proptest::prelude::*;

    fn check(text: &str, expected: Result<(f64, f64), &str>) {
        let got = Profile::parse(text).map(|p| (p.seconds(), p.expected(p.seconds())));
        match (got, expected) {
            (Ok((time, total)), Ok((want_time, want_total))) => {
                assert!((time - want_time).abs() < 1e-9, "{text}: {time}");
                assert!((total - want_total).abs() < 1e-6, "{text}: {total}");
            }
            (Err(why), Err(want)) => assert!(why.contains(want), "{text}: {why}"),
            (got, _) => panic!("{text}: {got:?}"),
        }
    }

    #[test]
    fn stages_have_the_length_and_the_area_of_their_shape() {
        check("100:10s", Ok((10.0, 1000.0)));
        check("0-100:10s,100:5s", Ok((15.0, 1000.0)));
        check("sine(100,50,2s):10s", Ok((10.0, 1000.0)));
        check("stairs(100,300,3):30s", Ok((30.0, 6000.0)));
        check("1k:500ms", Ok((0.5, 500.0)));
        check("100", Err("needs ':TIME'"));
        check("0:10s", Err("no request"));
        check("sine(10,20,1s):10s", Err("swing"));
        check("fast:10s", Err("stage 'fast:10s'"));
    }

    fn stage() -> impl Strategy<Value = Stage> {
        let shape = prop_oneof![
            (1.0..1e4f64).prop_map(Shape::Hold),
            (0.0..1e4f64, 1.0..1e4f64).prop_map(|(a, b)| Shape::Ramp(a, b)),
            (1.0..1e4f64, 0.0..=1.0f64, 0.1..20.0f64).prop_map(|(mean, part, period_s)| {
                Shape::Sine { mean, swing: mean * part, period_s }
            }),
        ];
        (shape, 0.1..20.0f64).prop_map(|(shape, seconds)| Stage { shape, seconds })
    }

    proptest! {
        /// The inverse undoes the integral, and time never runs backwards.
        #[test]
        fn inverse_of_the_cumulative_rate(stages in prop::collection::vec(stage(), 1..5)) {
            let profile = Profile::of(stages).unwrap();
            let total = profile.expected(profile.seconds());
            let mut seeker = profile.seeker();
            let mut before = 0;
            for step in 0..200u32 {
                let target = total * f64::from(step) / 200.0;
                let time = seeker.time_of(&profile, target).unwrap();
                prop_assert!(time >= before);
                before = time;
                let back = profile.expected(time as f64 / 1e9);
                prop_assert!((back - target).abs() < 1e-3 + 1e-6 * total, "{back} {target}");
            }
            prop_assert!(seeker.time_of(&profile, total * 1.001 + 1.0).is_none());
        }
    }
}
