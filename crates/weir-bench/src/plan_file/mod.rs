//! Plans in YAML: requests with weights or as a journey, variables, CSV feeders, checks,
//! extraction, load and thresholds. The schema is `schema/plan.schema.json`.

mod load;
mod variables;

pub use load::Load;
pub(crate) use variables::render_variables;

use crate::arrival::Think;
use crate::journey::{BodyRule, Feeder, Find, Template, Then};
use crate::plan::{Expect, Mix, Plan, Request};
use crate::target::{Shape, Target};
use crate::trace::Trace;
use crate::verdict::Threshold;
use anyhow::{Context, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use variables::{Names, message, pieces};

/// The JSON Schema of plan files.
pub const SCHEMA: &str = include_str!("../../schema/plan.schema.json");

/// A plan file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanFile {
    /// Base URL; paths are appended to it.
    pub target: String,
    /// The load.
    #[serde(default)]
    pub load: Load,
    /// Requests follow each other as a journey instead of being drawn by weight.
    #[serde(default)]
    pub journey: bool,
    /// Constant variables.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// CSV files whose columns are variables.
    #[serde(default)]
    pub feeders: Vec<FeederFile>,
    /// The requests; absent in a plan that replays a log.
    #[serde(default)]
    pub requests: Vec<RequestFile>,
    /// Conditions on the result.
    #[serde(default)]
    pub thresholds: Vec<String>,
}

/// A CSV file; its first line names the variables.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeederFile {
    file: String,
    #[serde(default)]
    random: bool,
    /// Names of the columns; then the file has no line of names.
    #[serde(default)]
    names: Vec<String>,
}

/// One request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestFile {
    name: Option<String>,
    method: Option<String>,
    path: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<String>,
    weight: Option<u64>,
    think: Option<String>,
    #[serde(default)]
    expect: Vec<u16>,
    #[serde(default)]
    checks: Vec<CheckFile>,
    #[serde(default)]
    extract: BTreeMap<String, CheckFile>,
}

/// The location of a value, and its expected content.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CheckFile {
    json: Option<String>,
    header: Option<String>,
    regex: Option<String>,
    equals: Option<String>,
    contains: Option<String>,
}

impl PlanFile {
    /// Reads a plan.
    ///
    /// # Errors
    /// With the place in the file.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        Ok(serde_saphyr::from_str(text)?)
    }

    /// Reads the plan of a file.
    ///
    /// # Errors
    /// With the place in it.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).with_context(|| name.clone())?;
        // The parser's message shows the place in a file without a name.
        Self::parse(&text).map_err(|why| match why.to_string() {
            shown if shown.contains("<input>") => {
                anyhow::Error::msg(shown.replace("<input>", &name))
            }
            shown => anyhow::anyhow!("{name}: {shown}"),
        })
    }

    /// Compiles it; files are looked up from `folder`.
    ///
    /// # Errors
    /// With the request or the setting that is wrong.
    pub fn compile(&self, folder: &Path) -> anyhow::Result<(Plan, Vec<Threshold>)> {
        let target = Target::parse(&self.target).map_err(anyhow::Error::msg)?;
        let mut names = Names::default();
        let mut feeders = Vec::new();
        for feeder in &self.feeders {
            feeders.push(feeder.load(folder, &mut names).with_context(|| feeder.file.clone())?);
        }
        // A name is known if a feeder, an extraction or a constant gives it.
        for request in &self.requests {
            for name in request.extract.keys() {
                names.slot(name);
            }
        }
        let mut requests = match &self.load.replay {
            Some(_) => vec![target.request(&self.shape("GET", &[]))],
            None => Vec::new(),
        };
        anyhow::ensure!(
            requests.is_empty() || self.requests.is_empty(),
            "a replayed log holds the requests: leave them out"
        );
        for (number, request) in self.requests.iter().enumerate() {
            let place = || format!("request {} ({})", number + 1, request.path);
            let compiled = self.request(request, &target, &mut names).with_context(place)?;
            requests.push(Request { group: number, ..compiled });
        }
        let Some(first) = requests.first().cloned() else { bail!("no requests") };
        let addresses = target.resolve().map_err(anyhow::Error::msg)?;
        let mut plan = Plan::closed(addresses, first, 1);
        plan.requests = requests;
        plan.mix = match self.journey {
            true => Mix::Journey,
            false => Mix::weighted(self.requests.iter().map(|r| r.weight.unwrap_or(1))),
        };
        if let Mix::Weighted(sums) = &plan.mix
            && self.load.replay.is_none()
            && sums.last() == Some(&0)
        {
            bail!("all weights are 0");
        }
        plan.feeders = feeders;
        plan.slots = names.0.len();
        self.load.apply(&mut plan)?;
        if let Some(file) = &self.load.replay {
            let place = || format!("replay {file}");
            let text = std::fs::read_to_string(folder.join(file)).with_context(place)?;
            let speed = self.load.speed.unwrap_or(1.0);
            anyhow::ensure!(speed > 0.0, "speed must be above 0");
            let trace = Trace::read(&text).with_context(place)?;
            trace.apply(&mut plan, &target, &self.shape("GET", &[]), speed);
        }
        let thresholds = self.thresholds.iter().map(|text| Threshold::parse(text));
        let thresholds = thresholds.collect::<Result<_, _>>().map_err(anyhow::Error::msg)?;
        Ok((plan, thresholds))
    }

    fn shape<'a>(&self, method: &'a str, headers: &'a [String]) -> Shape<'a> {
        Shape {
            method,
            headers,
            body: None,
            http10: self.load.http10,
            keep_alive: self.load.keep_alive.unwrap_or(true),
            defaults: &[("User-Agent", "weir-bench"), ("Accept", "*/*")],
        }
    }

    fn request(
        &self,
        file: &RequestFile,
        base: &Target,
        names: &mut Names,
    ) -> anyhow::Result<Request> {
        let mut target = base.clone();
        let prefix = base.path.trim_end_matches('/');
        target.path = format!("{prefix}/{}", file.path.trim_start_matches('/'));
        let default = if file.body.is_some() { "POST" } else { "GET" };
        let headers: Vec<String> =
            file.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let shape = self.shape(file.method.as_deref().unwrap_or(default), &headers);
        shape.check()?;
        let head = String::from_utf8(target.head(&shape))?;
        let mut known = |text: &str| pieces(text, &self.variables, names);
        let template = Template {
            head: known(&head)?,
            body: file.body.as_deref().map(&mut known).transpose()?,
        };
        let mut body_rules = Vec::new();
        for check in &file.checks {
            body_rules.push(BodyRule { find: check.find()?, then: check.then()? });
        }
        for (name, check) in &file.extract {
            body_rules.push(BodyRule { find: check.find()?, then: Then::Keep(names.slot(name)) });
        }
        let think = file.think.as_deref().map(Think::parse).transpose();
        Ok(Request {
            group: 0,
            name: file.name.clone().unwrap_or_else(|| format!("{} {}", shape.method, file.path)),
            method: shape.method.as_bytes().to_vec(),
            message: message(template),
            expect: match file.expect.is_empty() {
                true => Expect::default(),
                false => Expect::OneOf(file.expect.clone()),
            },
            body_rules,
            think: think.map_err(anyhow::Error::msg)?.unwrap_or_default(),
        })
    }
}

impl CheckFile {
    fn find(&self) -> anyhow::Result<Find> {
        match (&self.json, &self.header, &self.regex) {
            (Some(pointer), None, None) => {
                anyhow::ensure!(
                    pointer.is_empty() || pointer.starts_with('/'),
                    "'{pointer}' is not a JSON pointer: write /{}",
                    pointer.trim_start_matches("$.").replace('.', "/")
                );
                Ok(Find::Json(pointer.clone()))
            }
            (None, Some(name), None) => Ok(Find::Header(name.clone())),
            (None, None, Some(regex)) => Ok(Find::Regex(regex::Regex::new(regex)?)),
            (None, None, None) => Ok(Find::Body),
            _ => bail!("give one of json, header and regex"),
        }
    }

    fn then(&self) -> anyhow::Result<Then> {
        match (&self.equals, &self.contains) {
            (Some(text), None) => Ok(Then::Equals(text.clone())),
            (None, Some(text)) => Ok(Then::Contains(text.clone())),
            (None, None) => Ok(Then::Exists),
            (Some(_), Some(_)) => bail!("give one of equals and contains"),
        }
    }
}

impl FeederFile {
    fn load(&self, folder: &Path, names: &mut Names) -> anyhow::Result<Feeder> {
        let text = std::fs::read_to_string(folder.join(&self.file))?;
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let mut lines = lines.map(|(number, line)| (number, fields(line)));
        let head = match self.names.is_empty() {
            true => {
                lines.next().context("the file is empty: its first line names the variables")?.1
            }
            false => self.names.clone(),
        };
        let mut rows: Vec<Vec<String>> = Vec::new();
        for (number, row) in lines {
            if row.len() != head.len() {
                let (has, all) = (row.len(), head.join(", "));
                bail!("line {number} has {has} fields, not {}: {all}", head.len());
            }
            rows.push(row);
        }
        if rows.is_empty() {
            let all = head.join(", ");
            bail!("no row of values for {all} (with 'names' the file needs no line of names)");
        }
        Ok(Feeder {
            slots: head.iter().map(|name| names.slot(name)).collect(),
            rows: Arc::new(rows),
            sequential: !self.random,
            next: Arc::default(),
        })
    }
}

/// Fields of a CSV line (RFC 4180; a field may not hold a line end).
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                field.push('"');
                letters.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    fields.push(field);
    fields
}

#[cfg(test)]
mod tests {
    use super::{PlanFile, SCHEMA, fields};
    use crate::plan::Message;

    const JOURNEY: &str = "
target: http://127.0.0.1:9/base
journey: true
variables: {lang: en}
load: {users: 5, ramp: 1s, loops: 2, think: 1s..2s}
requests:
  - path: /login
    body: '{\"user\":\"${random(7,7)}\"}'
    extract: {token: {json: /token}}
  - path: /items?lang=${lang}
    headers: {Authorization: 'Bearer ${token}'}
    checks: [{json: /count, equals: '3'}]
thresholds: ['p99<50ms']
";

    fn check(text: &str, expected: &str) {
        let got = PlanFile::parse(text)
            .and_then(|file| file.compile(std::path::Path::new(".")))
            .map(|(plan, _)| format!("{} {}", plan.requests.len(), plan.slots));
        let got = got.unwrap_or_else(|error| format!("{error:#}"));
        assert!(got.contains(expected), "{got}");
    }

    #[test]
    fn plans_are_compiled_or_refused_with_their_place() {
        check(JOURNEY, "2 1");
        check(&JOURNEY.replace("${token}", "${tokn}"), "request 2 (/items?lang=${lang}): nothing");
        check(&JOURNEY.replace("think:", "thinks:"), "thinks");
        check(&JOURNEY.replace("p99<50ms", "p99"), "threshold 'p99'");
        check(&JOURNEY.replace("users: 5", "users: 5, rate: 3"), "one of rate");
        check("target: http://127.0.0.1:9\nrequests: []", "no requests");
    }

    #[test]
    fn a_request_without_variables_is_written_once() {
        let text = "target: http://127.0.0.1:9\nvariables: {a: x}\nrequests: [{path: '/${a}'}]";
        let (plan, _) = PlanFile::parse(text).unwrap().compile(".".as_ref()).unwrap();
        let Message::Fixed(bytes) = &plan.requests[0].message else { panic!("rendered") };
        assert!(bytes.starts_with(b"GET /x HTTP/1.1\r\nHost: 127.0.0.1:9\r\n"));
        assert!(bytes.ends_with(b"\r\n\r\n"));
    }

    #[test]
    fn csv_lines_are_split() {
        assert_eq!(fields("a,\"b,c\",\"d\"\"e\","), ["a", "b,c", "d\"e", ""]);
    }

    #[test]
    fn loads_that_contradict_themselves_are_refused() {
        let check = |load: &str, expected: &str| {
            check(
                &format!("target: http://127.0.0.1:9\nload: {load}\nrequests: [{{path: /}}]"),
                expected,
            );
        };
        check("{users: 2, loops: 3, think: 1s}", "1 0");
        check("{loops: 3}", "loops is for users");
        check("{rate: 5, think: 1s}", "think is for users");
        check("{requests: 0}", "requests and duration must be above 0");
        check("{users: 2, duration: 0s}", "requests and duration must be above 0");
    }

    #[test]
    fn feeders_are_refused_with_their_line() {
        let check = |text: &str, names: &str, expected: &str| {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("u.csv"), text).unwrap();
            let plan = format!(
                "target: http://127.0.0.1:9\nfeeders: [{{file: u.csv, names: [{names}]}}]\n\
                 requests: [{{path: '/${{a}}'}}]"
            );
            let got = PlanFile::parse(&plan).unwrap().compile(folder.path());
            let got = got.map_or_else(|why| format!("{why:#}"), |_| "compiled".into());
            assert!(got.contains(expected), "{got}");
        };
        check("a,b\n1,2\n", "", "compiled");
        check("1\n", "a", "compiled");
        check("", "", "u.csv: the file is empty: its first line names the variables");
        check("a,b\n", "", "u.csv: no row of values for a, b");
        check("", "a", "no row of values for a");
        check("a,b\n1,2\n\n3\n", "", "u.csv: line 4 has 1 fields, not 2: a, b");
    }

    #[test]
    fn a_plan_that_is_no_plan_is_told_with_its_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let name = file.path().display().to_string();
        for text in ["", "%%%", "target: http://127.0.0.1:9\nrequests:\n  - path: /\n   name: x\n"]
        {
            std::fs::write(file.path(), text).unwrap();
            let why = format!("{:#}", PlanFile::read(file.path()).unwrap_err());
            assert!(why.contains(&name) && !why.contains("<input>"), "{why}");
        }
    }

    /// The schema and the reader agree: every property is accepted by the reader, which refuses
    /// unknown ones.
    #[test]
    fn the_schema_names_what_the_reader_knows() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let names = |at: &str| -> Vec<String> {
            schema.pointer(at).unwrap().as_object().unwrap().keys().cloned().collect()
        };
        let refused = |text: String| match PlanFile::parse(&text) {
            Ok(_) => false,
            Err(error) => format!("{error:#}").contains("unknown field"),
        };
        for name in names("/properties") {
            assert!(!refused(format!("{name}: 1")), "{name}");
        }
        for name in names("/properties/load/properties") {
            assert!(!refused(format!("target: x\nrequests: []\nload: {{{name}: '1'}}")), "{name}");
        }
        for name in names("/$defs/request/properties") {
            let text = format!("target: x\nrequests: [{{path: /, {name}: 1}}]");
            assert!(name == "path" || !refused(text), "{name}");
        }
        assert!(refused("target: x\nrequests: []\nload: {velocity: 1}".into()));
    }
}
