//! The parser of settings: from a definition below `x-weir-mock`, or from the configuration. It
//! reports every error, each with its JSON pointer.

use serde_json::{Map, Value};

use super::delay::{DELAY_MS_MAX, Delay};
use super::envelope::Envelope;
use super::overrides::{InjectedFault, Override, Step};
use super::settings::Settings;
use crate::request::{BodyCondition, Condition, Enforcement};

const SETTINGS: &[&str] =
    &["dynamic", "seed", "errors", "validate", "delay", "envelope", "stateful", "overrides"];
const OVERRIDE: &[&str] = &[
    "operation",
    "when",
    "code",
    "example",
    "headers",
    "body",
    "dynamic",
    "validate",
    "delay",
    "body-time",
    "faults",
    "sequence",
];
const WHEN: &[&str] = &["path", "query", "headers", "cookies", "body", "body-is", "body-text"];
/// Overrides of one definition, faults and steps of one override, at most.
const LIST_MAX: usize = 10_000;

/// An error in settings, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// JSON pointer to it, from where the settings begin.
    pub pointer: String,
    /// The error.
    pub message: String,
    /// The correction to make.
    pub help: String,
}

impl Settings {
    /// The names of what [`Settings::read`] understands.
    pub const NAMES: &'static [&'static str] = SETTINGS;

    /// Reads settings; errors are added to `found`. Strings are accepted for numbers and booleans
    /// too, as properties and environment variables have nothing else.
    pub fn read(value: &Value, found: &mut Vec<Misfit>) -> Self {
        let mut reader = Reader { found };
        let Some(members) = reader.object(value, "", SETTINGS) else { return Self::default() };
        let mut overrides = Vec::new();
        for (at, one) in reader.list(members, "overrides", "").into_iter().enumerate() {
            overrides.push(reader.of_override(one, &format!("/overrides/{at}"), None));
        }
        Self {
            dynamic: reader.truth(members, "dynamic", ""),
            seed: reader.number(members, "seed", "", u64::MAX),
            errors: reader.truth(members, "errors", ""),
            validation: reader.enforcement(members, ""),
            delay: reader.delay(members, ""),
            envelope: members.get("envelope").map(|value| reader.envelope(value, "/envelope")),
            stateful: reader.truth(members, "stateful", ""),
            overrides,
        }
    }
}

impl Override {
    /// Reads the value at `operation` itself: one override or a list of them.
    pub(crate) fn read(value: &Value, operation: &str, found: &mut Vec<Misfit>) -> Vec<Self> {
        let mut reader = Reader { found };
        match value {
            Value::Array(all) => {
                let each = all.iter().take(LIST_MAX).enumerate();
                each.map(|(at, one)| reader.of_override(one, &format!("/{at}"), Some(operation)))
                    .collect()
            }
            one => vec![reader.of_override(one, "", Some(operation))],
        }
    }
}

type Members = Map<String, Value>;

struct Reader<'f> {
    found: &'f mut Vec<Misfit>,
}

impl Reader<'_> {
    fn wrong(&mut self, at: impl Into<String>, message: impl Into<String>, help: &str) {
        let (pointer, message) = (at.into(), message.into());
        self.found.push(Misfit { pointer, message, help: help.to_owned() });
    }

    /// The members of an object, which are all among `known`.
    fn object<'v>(&mut self, value: &'v Value, at: &str, known: &[&str]) -> Option<&'v Members> {
        let Some(members) = value.as_object() else {
            self.wrong(at, "this is no object", &format!("it may have {}", known.join(", ")));
            return None;
        };
        for key in members.keys().filter(|key| !known.contains(&key.as_str())) {
            let help = format!("there are {}", known.join(", "));
            self.wrong(below(at, key), format!("there is no `{key}`"), &help);
        }
        Some(members)
    }

    fn list<'v>(&mut self, members: &'v Members, key: &str, at: &str) -> Vec<&'v Value> {
        match members.get(key) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(all)) if all.len() <= LIST_MAX => all.iter().collect(),
            Some(Value::Array(_)) => {
                let message = format!("there are more than {LIST_MAX}");
                self.wrong(below(at, key), message, "leave some out");
                Vec::new()
            }
            Some(_) => {
                self.wrong(below(at, key), format!("`{key}` is a list"), "begin each with `- `");
                Vec::new()
            }
        }
    }

    fn of_override(&mut self, value: &Value, at: &str, operation: Option<&str>) -> Override {
        let known = OVERRIDE.get(usize::from(operation.is_some())..).unwrap_or_default();
        let Some(members) = self.object(value, at, known) else { return Override::default() };
        let mut faults = Vec::new();
        for (n, one) in self.list(members, "faults", at).into_iter().enumerate() {
            faults.extend(self.fault(one, &format!("{at}/faults/{n}")));
        }
        let mut sequence = Vec::new();
        for (n, one) in self.list(members, "sequence", at).into_iter().enumerate() {
            sequence.extend(self.step(one, &format!("{at}/sequence/{n}")));
        }
        let own = self.text(members, "operation", at);
        Override {
            operation: operation.map(str::to_owned).or(own).unwrap_or_else(|| "*".to_owned()),
            when: self.condition(members, at),
            code: self.code(members, at),
            example: self.text(members, "example", at),
            headers: self.texts(members, "headers", at),
            body: members.get("body").cloned(),
            dynamic: self.truth(members, "dynamic", at),
            validation: self.enforcement(members, at),
            delay: self.delay(members, at),
            body_ms: self.time(members, "body-time", at).unwrap_or(0),
            faults,
            sequence,
        }
    }

    fn condition(&mut self, members: &Members, at: &str) -> Condition {
        let Some(value) = members.get("when") else { return Condition::default() };
        let at = below(at, "when");
        let Some(members) = self.object(value, &at, WHEN) else { return Condition::default() };
        let bodies = ["body", "body-is", "body-text"];
        if bodies.iter().filter(|key| members.contains_key(**key)).count() > 1 {
            self.wrong(at.as_str(), "the body is asked for twice", "keep one of the two");
        }
        let text = self.text(members, "body-text", &at);
        let (part, whole) = (members.get("body").cloned(), members.get("body-is").cloned());
        let body = part.map(BodyCondition::Holds).or(whole.map(BodyCondition::Equal));
        Condition {
            path: self.texts(members, "path", &at),
            query: self.texts(members, "query", &at),
            headers: self.texts(members, "headers", &at),
            cookies: self.texts(members, "cookies", &at),
            body: body.or(text.map(BodyCondition::Text)),
        }
    }

    fn fault(&mut self, value: &Value, at: &str) -> Option<(u32, InjectedFault)> {
        let members = self.object(value, at, &["fault", "share", "after"])?;
        let after = self.number(members, "after", at, u64::from(u32::MAX)).unwrap_or(0);
        let name = self.text(members, "fault", at).unwrap_or_default();
        let status = name.parse().ok().filter(|code| (200..=999).contains(code));
        let fault = match (name.as_str(), status) {
            (_, Some(status)) => InjectedFault::Status(status),
            ("reset", _) => InjectedFault::Reset,
            ("truncated", _) => InjectedFault::Truncated(usize::try_from(after).unwrap_or(0)),
            ("malformed", _) => InjectedFault::Malformed,
            ("timeout", _) => InjectedFault::Timeout,
            _ => {
                let help = "write `reset`, `truncated`, `malformed`, `timeout` or a status";
                self.wrong(below(at, "fault"), format!("there is no fault `{name}`"), help);
                return None;
            }
        };
        Some((self.share(members, at)?, fault))
    }

    /// A share in percent, converted to ten-thousandths; all if absent.
    fn share(&mut self, members: &Members, at: &str) -> Option<u32> {
        let Some(written) = self.text(members, "share", at) else { return Some(10_000) };
        let percent = written.strip_suffix('%').unwrap_or(&written).trim().parse::<f64>();
        let percent = percent.ok().filter(|percent| (0.0..=100.0).contains(percent));
        let Some(percent) = percent else {
            let message = format!("`{written}` is no share");
            self.wrong(below(at, "share"), message, "write a percentage such as `2.5%`");
            return None;
        };
        Some((percent * 100.0).round() as u32)
    }

    fn step(&mut self, value: &Value, at: &str) -> Option<Step> {
        let members = self.object(value, at, &["code", "example", "times"])?;
        let times = self.number(members, "times", at, 1_000_000).unwrap_or(1);
        let (code, example) = (self.code(members, at), self.text(members, "example", at));
        Some(Step { code, example, times: u32::try_from(times).unwrap_or(1) })
    }

    fn envelope(&mut self, value: &Value, at: &str) -> Envelope {
        let known = ["success", "failure", "failure-status"];
        let Some(members) = self.object(value, at, &known) else { return Envelope::default() };
        for part in ["success", "failure"] {
            if let Some(name) = members.get(part).and_then(Envelope::unknown) {
                let message = format!("there is no `{{{{{name}}}}}`");
                let help = format!("there are {}", Envelope::NAMES.join(", "));
                self.wrong(below(at, part), message, &help);
            }
        }
        let status = self.number(members, "failure-status", at, 999);
        if status.is_some_and(|status| status < 200) {
            let message = "this is no status of an answer";
            self.wrong(below(at, "failure-status"), message, "write 200, for example");
        }
        Envelope {
            success: members.get("success").cloned(),
            failure: members.get("failure").cloned(),
            failure_status: status.and_then(|status| u16::try_from(status).ok()),
        }
    }

    fn delay(&mut self, members: &Members, at: &str) -> Option<Delay> {
        let value = members.get("delay")?;
        if !value.is_object() {
            return self.time(members, "delay", at).map(Delay::Fixed);
        }
        let at = below(at, "delay");
        let members = self.object(value, &at, &["from", "to", "median", "sigma"])?;
        if members.contains_key("median") {
            let median_ms = self.time(members, "median", &at)?;
            let sigma = self.text(members, "sigma", &at).unwrap_or_else(|| "0.5".to_owned());
            let known = sigma.parse().ok().filter(|sigma| (0.0..=10.0).contains(sigma));
            let Some(sigma) = known else {
                let message = format!("`{sigma}` is no `sigma`");
                self.wrong(below(&at, "sigma"), message, "write a number from 0 to 10");
                return None;
            };
            return Some(Delay::LogNormal { median_ms, sigma });
        }
        match (self.time(members, "from", &at), self.time(members, "to", &at)) {
            (from, Some(to)) => Some(Delay::Uniform(from.unwrap_or(0), to)),
            _ => {
                let help = "write `{ from: 10ms, to: 50ms }` or `{ median: 20ms, sigma: 0.5 }`";
                self.wrong(at, "this is no delay", help);
                None
            }
        }
    }

    fn enforcement(&mut self, members: &Members, at: &str) -> Option<Enforcement> {
        let written = self.text(members, "validate", at)?;
        match written.to_ascii_lowercase().as_str() {
            "enforce" | "true" => Some(Enforcement::Enforce),
            "report" => Some(Enforcement::Report),
            // YAML reads the word as a boolean.
            "off" | "false" => Some(Enforcement::Off),
            _ => {
                let message = format!("`{written}` is not what `validate` takes");
                self.wrong(below(at, "validate"), message, "write `enforce`, `report` or `off`");
                None
            }
        }
    }

    fn code(&mut self, members: &Members, at: &str) -> Option<u16> {
        let code = self.number(members, "code", at, 999)?;
        if code < 200 {
            self.wrong(below(at, "code"), "this is no status of an answer", "write 404, say");
        }
        u16::try_from(code).ok()
    }

    /// A time in milliseconds: a number, or a text such as `2s`.
    fn time(&mut self, members: &Members, key: &str, at: &str) -> Option<u64> {
        let written = self.text(members, key, at)?;
        let digits = written.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, unit) = written.split_at(digits.unwrap_or(written.len()));
        let factor = match unit.trim() {
            "" | "ms" => Some(1.0),
            "s" => Some(1_000.0),
            "m" => Some(60_000.0),
            _ => None,
        };
        let ms = number.parse::<f64>().ok().zip(factor).map(|(number, factor)| number * factor);
        let ms = ms.filter(|ms| *ms <= DELAY_MS_MAX as f64);
        if ms.is_none() {
            let message = format!("`{written}` is not what `{key}` takes");
            self.wrong(below(at, key), message, "write a time up to 10m, such as `200ms` or `2s`");
        }
        ms.map(|ms| ms as u64)
    }

    fn number(&mut self, members: &Members, key: &str, at: &str, max: u64) -> Option<u64> {
        let written = self.text(members, key, at)?;
        let number = written.parse().ok().filter(|number| *number <= max);
        if number.is_none() {
            let message = format!("`{written}` is not what `{key}` takes");
            self.wrong(below(at, key), message, &format!("write a whole number up to {max}"));
        }
        number
    }

    fn truth(&mut self, members: &Members, key: &str, at: &str) -> Option<bool> {
        let written = self.text(members, key, at)?;
        let truth = written.parse().ok();
        if truth.is_none() {
            let message = format!("`{written}` is not what `{key}` takes");
            self.wrong(below(at, key), message, "write `true` or `false`");
        }
        truth
    }

    /// A text, or what a number or truth value is written as.
    fn text(&mut self, members: &Members, key: &str, at: &str) -> Option<String> {
        match members.get(key)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            value @ (Value::Bool(_) | Value::Number(_)) => Some(value.to_string()),
            Value::Array(_) | Value::Object(_) => {
                let message = format!("`{key}` is one value");
                self.wrong(below(at, key), message, "write one text or number");
                None
            }
        }
    }

    /// Names and texts: `{ X-A: 1 }`.
    fn texts(&mut self, members: &Members, key: &str, at: &str) -> Vec<(String, String)> {
        let Some(value) = members.get(key) else { return Vec::new() };
        let at = below(at, key);
        let Some(pairs) = value.as_object() else {
            self.wrong(at, format!("`{key}` is no object"), "write `{ name: value }`");
            return Vec::new();
        };
        let each = pairs.keys().map(|name| Some((name.clone(), self.text(pairs, name, &at)?)));
        each.collect::<Vec<_>>().into_iter().flatten().collect()
    }
}

/// The JSON pointer of a member.
fn below(at: &str, key: &str) -> String {
    format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: &Value) -> (Settings, Vec<String>) {
        let mut found = Vec::new();
        let settings = Settings::read(value, &mut found);
        (
            settings,
            found.into_iter().map(|one| format!("{}: {}", one.pointer, one.message)).collect(),
        )
    }

    #[test]
    fn all_that_can_be_said_is_read() {
        let (settings, found) = read(&json!({
            "dynamic": "true", "seed": "7", "errors": false, "validate": "report",
            "delay": { "median": "20ms", "sigma": 0.3 },
            "envelope": { "success": { "data": "{{body}}" }, "failure-status": 200 },
            "overrides": [ {
                "operation": "showPet", "code": 404, "body": { "a": "{{query.a}}" },
                "when": { "query": { "n": 1 }, "body": { "a": { "b": 2 } } },
                "headers": { "X-A": "1" }, "body-time": "2s",
                "faults": [ { "fault": 503, "share": "2.5%" }, { "fault": "truncated", "after": 3,
                    "share": 1 } ],
                "sequence": [ { "code": 404, "times": 2 }, { "example": "dog" } ],
            }, { "delay": { "from": 10, "to": "0.5s" } } ],
        }));
        assert_eq!(found, Vec::<String>::new());
        assert_eq!(settings.seed, Some(7));
        assert_eq!(settings.validation, Some(Enforcement::Report));
        assert_eq!(settings.delay, Some(Delay::LogNormal { median_ms: 20, sigma: 0.3 }));
        let own = &settings.overrides[0];
        assert_eq!(own.when.query, [("n".to_owned(), "1".to_owned())]);
        assert_eq!(own.body_ms, 2_000);
        assert_eq!(own.faults[0], (250, InjectedFault::Status(503)));
        assert_eq!(own.faults[1], (100, InjectedFault::Truncated(3)));
        assert_eq!(own.sequence.len(), 2);
        assert_eq!(settings.overrides[1].operation, "*");
        assert_eq!(settings.overrides[1].delay, Some(Delay::Uniform(10, 500)));
    }

    #[test]
    fn all_that_is_wrong_is_told_with_its_place() {
        let (_, found) = read(&json!({
            "sed": 7, "seed": -1, "dynamic": [],
            "envelope": { "failure": { "e": ["{{code}}"] }, "failure-status": 1 },
            "overrides": [ 5, { "code": 99, "delay": "soon", "when": { "query": 1, "body": 1,
                "body-is": 2 } }, { "faults": [ { "fault": "fire" }, { "fault": 500, "share": 200 } ],
                "delay": { "sigma": 1 }, "sequence": 1 } ],
        }));
        let expected = [
            "/sed: there is no `sed`",
            "/seed: `-1` is not what `seed` takes",
            "/dynamic: `dynamic` is one value",
            "/envelope/failure: there is no `{{code}}`",
            "/envelope/failure-status: this is no status of an answer",
            "/overrides/0: this is no object",
            "/overrides/1/code: this is no status of an answer",
            "/overrides/1/delay: `soon` is not what `delay` takes",
            "/overrides/1/when: the body is asked for twice",
            "/overrides/1/when/query: `query` is no object",
            "/overrides/2/faults/0/fault: there is no fault `fire`",
            "/overrides/2/faults/1/share: `200` is no share",
            "/overrides/2/delay: this is no delay",
            "/overrides/2/sequence: `sequence` is a list",
        ];
        for one in expected {
            assert!(found.contains(&one.to_owned()), "{one}: {found:#?}");
        }
        assert_eq!(found.len(), expected.len(), "{found:#?}");
    }
}
