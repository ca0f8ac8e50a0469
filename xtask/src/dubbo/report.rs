//! The results of a run, and their faults.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};
use weir_peers::machine::Machine;
use weir_peers::report::Table;

/// Everything.
#[derive(Debug, Serialize)]
pub struct Report {
    machine: Machine,
    /// Many calls each.
    pub loads: Vec<Load>,
    /// The tested features of Dubbo.
    pub cases: Vec<Case>,
}

/// Many calls over one connection, as the consumer prints it.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Load {
    /// The name.
    pub name: String,
    /// Calls that were to be made.
    pub asked: u64,
    /// Whether a provider is stopped during the run.
    pub stops: bool,
    calls: u64,
    /// Answers that do not belong to their calls.
    wrong: u64,
    /// Calls that ended with an exception.
    failed: u64,
    /// The first exception.
    told: Option<String>,
    seconds: f64,
    /// Calls that each provider answered, by its name.
    providers: BTreeMap<String, u64>,
    /// CPU time of weir in microseconds per call. Calls that arrive close together share system
    /// calls: compare loads of one kind only.
    pub cpu_us: f64,
}

/// A feature of Dubbo, as the consumer prints its result.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Case {
    /// The name.
    pub name: String,
    /// The result at the caller.
    saw: String,
    /// Whether the result is as expected.
    pub fine: bool,
    ms: u64,
}

/// The least part of the calls that each of two providers must get.
const SHARE_MIN: f64 = 0.4;

impl Report {
    /// An empty one.
    pub fn new(machine: Machine) -> Self {
        Self { machine, loads: Vec::new(), cases: Vec::new() }
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut out = format!("{}.\n\n", self.machine.lines().join(";\n"));
        let head = ["load", "wrong", "failed", "by provider", "calls/s", "CPU µs per call"];
        let mut table = Table::new("", &head);
        for load in &self.loads {
            let providers = load.providers.iter().map(|(name, calls)| format!("{name} {calls}"));
            table.row([
                load.name.clone(),
                load.wrong.to_string(),
                load.failed.to_string(),
                providers.collect::<Vec<_>>().join(", "),
                format!("{:.0}", load.calls as f64 / load.seconds.max(f64::EPSILON)),
                format!("{:.1}", load.cpu_us),
            ]);
        }
        out += &table.markdown();
        out.push('\n');
        for case in &self.cases {
            let fine = if case.fine { "fine " } else { "WRONG" };
            let _ = writeln!(out, "{fine} {:>6} ms  {}: {}", case.ms, case.name, case.saw);
        }
        out
    }

    /// The faults.
    pub fn faults(&self) -> Vec<String> {
        let wrong = self.cases.iter().filter(|case| !case.fine);
        let cases = wrong.map(|case| format!("{}: {}", case.name, case.saw));
        self.loads.iter().flat_map(Load::faults).chain(cases).collect()
    }
}

impl Load {
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut fault = |what: String| faults.push(format!("{}: {what}", self.name));
        if self.wrong > 0 {
            fault(format!("{} answers were not what was asked for", self.wrong));
        }
        if self.failed > 0 {
            let told = self.told.as_deref().unwrap_or_default();
            fault(format!("{} calls failed, the first with {told}", self.failed));
        }
        if self.calls != self.asked {
            fault(format!("{} calls were made", self.calls));
        }
        // The stopped provider serves half of the first half.
        let least = self.asked as f64 * if self.stops { SHARE_MIN / 2.0 } else { SHARE_MIN };
        for name in ["one", "two"] {
            let calls = self.providers.get(name).copied().unwrap_or_default();
            if (calls as f64) < least {
                fault(format!("provider {name} got {calls} calls"));
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::{Case, Load, Report};
    use weir_peers::machine::Machine;

    fn load(json: &str) -> Load {
        serde_json::from_str(json).expect("a load")
    }

    #[track_caller]
    fn check(json: &str, expected: &[&str]) {
        let mut report = Report::new(Machine::here());
        report.loads.push(load(json));
        assert_eq!(report.faults(), expected, "{json}");
        assert!(report.text().contains("by provider"));
    }

    #[test]
    fn what_is_wrong_with_a_load() {
        check(r#"{"name":"a","asked":9,"calls":9,"providers":{"one":5,"two":4}}"#, &[]);
        check(
            r#"{"name":"a","asked":9,"calls":9,"providers":{"one":9}}"#,
            &["a: provider two got 0 calls"],
        );
        check(
            r#"{"name":"a","asked":8,"calls":8,"stops":true,"providers":{"one":2,"two":6}}"#,
            &[],
        );
        check(
            r#"{"asked":9,"calls":8,"wrong":1,"failed":2,"told":"E","providers":{"one":5,"two":4}}"#,
            &[
                ": 1 answers were not what was asked for",
                ": 2 calls failed, the first with E",
                ": 8 calls were made",
            ],
        );
    }

    #[test]
    fn a_case_that_is_not_fine_is_a_fault() {
        let mut report = Report::new(Machine::here());
        let case = Case { name: "echo".to_owned(), saw: "y".to_owned(), ..Case::default() };
        report.cases = vec![case, Case { fine: true, ..Case::default() }];
        assert_eq!(report.faults(), ["echo: y"]);
        assert!(report.text().contains("WRONG"));
    }
}
