//! JMeter plans: a strict subset. One thread group with HTTP samplers, headers, timers, assertions,
//! a JSON extractor and CSV data; every element and every property must be known, and a property
//! that is read but not taken must have the value that changes nothing. All else is an error with
//! its line.
//!
//! A thread is a user, its samplers are a journey. A timer is a pause before its sampler; the one
//! before the very first request of a user is left out. Redirects are not followed.

mod element;

use super::found::{Found, Head, quote};
use super::openapi::encode;
use anyhow::{Context, bail, ensure};
use element::Element;

/// Elements that only show results.
const LISTENERS: [&str; 2] = ["ResultCollector", "Summariser"];

/// A pause in milliseconds: a constant part, and a random part up to a range.
#[derive(Clone, Copy, Default)]
struct Pause {
    constant: f64,
    range: f64,
}

/// Settings that apply to the samplers at and below an element of the tree.
#[derive(Clone, Default)]
struct Scope {
    headers: Vec<(String, String)>,
    pause: Pause,
    /// Lines under `checks`, and codes under `expect`.
    checks: Vec<String>,
    expect: Vec<String>,
    extract: Vec<String>,
    defaults: Defaults,
}

/// HTTP Request Defaults.
#[derive(Clone, Default)]
struct Defaults {
    domain: String,
    port: String,
    path: String,
    timeout: String,
}

/// The plan while it is read.
#[derive(Default)]
struct Reading {
    head: Head,
    feeders: Vec<String>,
    variables: Vec<String>,
    found: Vec<(Found, Pause)>,
    keep_alive: Option<bool>,
    timeout: Option<u64>,
}

/// The requests of a plan, and the lines before them.
///
/// # Errors With the line of an unknown part.
pub(super) fn plan(text: &str) -> anyhow::Result<(Head, Vec<Found>)> {
    let document = roxmltree::Document::parse(text).context("it is not XML, as a plan is")?;
    let root = Element::of(document.root_element());
    ensure!(root.name() == "jmeterTestPlan", "it is not a JMeter plan");
    let mut reading = Reading::default();
    for (element, below) in root.trees()?.into_iter().flat_map(|tree| tree.pairs()) {
        element.is("TestPlan")?;
        reading.test_plan(&element)?;
        reading.top(below)?;
    }
    reading.finish()
}

impl Reading {
    fn test_plan(&mut self, element: &Element<'_>) -> anyhow::Result<()> {
        let properties = element.properties(&[
            ("TestPlan.comments", None),
            ("TestPlan.functional_mode", Some("false")),
            ("TestPlan.tearDown_on_shutdown", None),
            ("TestPlan.serialize_threadgroups", None),
            ("TestPlan.user_define_classpath", Some("")),
            ("TestPlan.user_defined_variables", None),
        ])?;
        for argument in properties.arguments("TestPlan.user_defined_variables")? {
            self.variables.push(format!("  {}: {}", quote(&argument.name), quote(&argument.value)));
        }
        Ok(())
    }

    /// Below the test plan: defaults, and one thread group.
    fn top(&mut self, below: Option<Element<'_>>) -> anyhow::Result<()> {
        let mut scope = Scope::default();
        let mut groups = Vec::new();
        for (element, below) in pairs(below) {
            match element.name() {
                "ThreadGroup" => groups.push((element, below)),
                "Arguments" => {
                    for argument in element.properties(&[])?.arguments("Arguments.arguments")? {
                        let (name, value) = (quote(&argument.name), quote(&argument.value));
                        self.variables.push(format!("  {name}: {value}"));
                    }
                }
                _ => self.config(&mut scope, &element)?,
            }
        }
        let mut groups = groups.into_iter();
        let (group, below) = groups.next().context("there is no thread group")?;
        if let Some((second, _)) = groups.next() {
            bail!("{}: a second thread group is not taken", second.place());
        }
        self.thread_group(&group)?;
        self.samplers(scope, below)
    }

    fn thread_group(&mut self, element: &Element<'_>) -> anyhow::Result<()> {
        let properties = element.properties(&[
            ("ThreadGroup.num_threads", None),
            ("ThreadGroup.ramp_time", None),
            ("ThreadGroup.on_sample_error", Some("continue")),
            ("ThreadGroup.same_user_on_next_iteration", Some("true")),
            ("ThreadGroup.delayedStart", None),
            ("ThreadGroup.start_time", None),
            ("ThreadGroup.end_time", None),
            ("ThreadGroup.scheduler", None),
            ("ThreadGroup.duration", None),
            ("ThreadGroup.delay", Some("")),
            ("ThreadGroup.main_controller", None),
            ("TestPlan.comments", None),
        ])?;
        let users: u64 = properties.number("ThreadGroup.num_threads")?.unwrap_or(1);
        self.head.push("journey: true".to_owned());
        self.head.push("load:".to_owned());
        self.head.push(format!("  users: {users}"));
        if let Some(seconds) = properties.number("ThreadGroup.ramp_time")? {
            self.head.push(format!("  ramp: {seconds}s"));
        }
        let controller = properties.element("ThreadGroup.main_controller");
        let controller = controller.with_context(|| format!("{}: no loops", element.place()))?;
        let loops = controller.properties(&[
            ("LoopController.continue_forever", None),
            ("LoopController.loops", None),
        ])?;
        let scheduled = properties.text("ThreadGroup.scheduler") == "true";
        match loops.text("LoopController.loops").as_str() {
            "-1" if scheduled => {}
            "-1" => bail!("{}: loops without end need a duration", element.place()),
            _ => {
                let count = loops.number("LoopController.loops")?.unwrap_or(1);
                self.head.push(format!("  loops: {count}"));
            }
        }
        if scheduled {
            let seconds = properties.number("ThreadGroup.duration")?;
            let seconds = seconds.with_context(|| format!("{}: no duration", element.place()))?;
            self.head.push(format!("  duration: {seconds}s"));
        }
        Ok(())
    }

    /// Below the thread group: the settings of all samplers first, then each sampler with its own.
    fn samplers(&mut self, mut scope: Scope, below: Option<Element<'_>>) -> anyhow::Result<()> {
        let is_sampler = |element: &Element<'_>| element.name() == "HTTPSamplerProxy";
        let pairs = pairs(below);
        for (element, _) in pairs.iter().filter(|(element, _)| !is_sampler(element)) {
            self.config(&mut scope, element)?;
        }
        for (element, below) in pairs.iter().filter(|(element, _)| is_sampler(element)) {
            let mut own = scope.clone();
            for (element, _) in self::pairs(*below) {
                self.config(&mut own, &element)?;
            }
            self.sampler(&own, element)?;
        }
        Ok(())
    }

    /// An element that configures samplers.
    fn config(&mut self, scope: &mut Scope, element: &Element<'_>) -> anyhow::Result<()> {
        match element.name() {
            name if LISTENERS.contains(&name) => {}
            "HeaderManager" => {
                let headers = element.properties(&[("HeaderManager.headers", None)])?;
                for header in headers.items("HeaderManager.headers") {
                    let field =
                        header.properties(&[("Header.name", None), ("Header.value", None)])?;
                    scope.headers.push((field.text("Header.name"), field.text("Header.value")));
                }
            }
            "ConstantTimer" => {
                let timer = element.properties(&[("ConstantTimer.delay", None)])?;
                scope.pause.constant += timer.milliseconds("ConstantTimer.delay")?;
            }
            "UniformRandomTimer" => {
                let (delay, range) = ("ConstantTimer.delay", "RandomTimer.range");
                let timer = element.properties(&[(delay, None), (range, None)])?;
                scope.pause.constant += timer.milliseconds(delay)?;
                scope.pause.range += timer.milliseconds(range)?;
            }
            "ConfigTestElement" => scope.defaults = defaults(element)?,
            "ResponseAssertion" => assertion(scope, element)?,
            "JSONPostProcessor" => extractor(scope, element)?,
            "CSVDataSet" => self.feeder(element)?,
            _ => bail!("{}: it is not understood", element.place()),
        }
        Ok(())
    }

    fn feeder(&mut self, element: &Element<'_>) -> anyhow::Result<()> {
        let properties = element.properties(&[
            ("filename", None),
            ("variableNames", None),
            ("delimiter", Some(",")),
            ("fileEncoding", None),
            ("ignoreFirstLine", Some("false")),
            ("quotedData", None),
            ("recycle", Some("true")),
            ("shareMode", Some("shareMode.all")),
            ("stopThread", Some("false")),
        ])?;
        let names = properties.text("variableNames");
        let names: Vec<String> =
            names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(quote).collect();
        let file = quote(&properties.text("filename"));
        self.feeders.push(format!("  - {{ file: {file}, names: [{}] }}", names.join(", ")));
        Ok(())
    }

    fn sampler(&mut self, scope: &Scope, element: &Element<'_>) -> anyhow::Result<()> {
        let properties = element.properties(SAMPLER)?;
        let of = |name: &str, default: &str| match properties.text(name) {
            text if text.is_empty() => default.to_owned(),
            text => text,
        };
        let defaults = &scope.defaults;
        let port = of("HTTPSampler.port", &defaults.port);
        let port = if port.is_empty() { port } else { format!(":{port}") };
        let domain = of("HTTPSampler.domain", &defaults.domain);
        ensure!(!domain.is_empty(), "{}: no server", element.place());
        let path = of("HTTPSampler.path", &defaults.path);
        let slash = if path.starts_with('/') { "" } else { "/" };
        let mut found = Found {
            method: of("HTTPSampler.method", "GET"),
            url: format!("http://{domain}{port}{slash}{path}"),
            headers: scope.headers.clone(),
            ..Found::default()
        };
        self.arguments(&mut found, &properties, element)?;
        let keep_alive = properties.text("HTTPSampler.use_keepalive") != "false";
        let known = *self.keep_alive.get_or_insert(keep_alive);
        ensure!(known == keep_alive, "{}: keep-alive differs between samplers", element.place());
        let timeout = of("HTTPSampler.response_timeout", &defaults.timeout);
        if !timeout.is_empty() {
            let ms =
                timeout.parse().ok().with_context(|| format!("{}: timeout", element.place()))?;
            let known = *self.timeout.get_or_insert(ms);
            ensure!(known == ms, "{}: timeouts differ between samplers", element.place());
        }
        found.more.push(format!("name: {}", quote(element.label())));
        for (name, lines) in
            [("expect", &scope.expect), ("checks", &scope.checks), ("extract", &scope.extract)]
        {
            let (open, close) = if name == "extract" { ('{', '}') } else { ('[', ']') };
            if !lines.is_empty() {
                found.more.push(format!("{name}: {open}{}{close}", lines.join(", ")));
            }
        }
        self.found.push((found, scope.pause));
        Ok(())
    }

    /// Parameters: a query, a form, or the body itself.
    fn arguments(
        &self,
        found: &mut Found,
        properties: &element::Properties<'_>,
        element: &Element<'_>,
    ) -> anyhow::Result<()> {
        let arguments = properties.arguments("HTTPsampler.Arguments")?;
        if properties.text("HTTPSampler.postBodyRaw") == "true" {
            found.body = Some(arguments.into_iter().map(|argument| argument.value).collect());
            return Ok(());
        }
        if arguments.is_empty() {
            return Ok(());
        }
        // A variable must remain one; its value is never encoded.
        let encoded = |text: &str| if text.contains("${") { text.to_owned() } else { encode(text) };
        let pairs = arguments.iter().map(|a| format!("{}={}", encoded(&a.name), encoded(&a.value)));
        let pairs = pairs.collect::<Vec<_>>().join("&");
        match found.method.as_str() {
            "GET" | "HEAD" | "DELETE" | "OPTIONS" => {
                let joint = if found.url.contains('?') { '&' } else { '?' };
                found.url = format!("{}{joint}{pairs}", found.url);
            }
            "POST" | "PUT" | "PATCH" => {
                let form = "application/x-www-form-urlencoded".to_owned();
                found.headers.push(("Content-Type".into(), form));
                found.body = Some(pairs);
            }
            other => bail!("{}: parameters of {other} are not taken", element.place()),
        }
        Ok(())
    }

    /// A pause precedes a sampler in JMeter and follows a request in a plan: pauses move by one.
    fn finish(mut self) -> anyhow::Result<(Head, Vec<Found>)> {
        if self.keep_alive == Some(false) {
            self.head.push("  keep_alive: false".to_owned());
        }
        if let Some(ms) = self.timeout.filter(|ms| *ms > 0) {
            self.head.push(format!("  timeout: {ms}ms"));
        }
        let pauses: Vec<Pause> = self.found.iter().map(|(_, pause)| *pause).collect();
        if let Some(think) = pauses.first().and_then(|pause| think(*pause)) {
            self.head.push(format!("  think: {think}"));
        }
        for (name, lines) in [("feeders", self.feeders), ("variables", self.variables)] {
            if !lines.is_empty() {
                self.head.push(format!("{name}:"));
                self.head.extend(lines);
            }
        }
        let next = pauses.into_iter().skip(1).map(Some).chain([None]);
        let with_think = |((mut found, _), next): ((Found, Pause), Option<Pause>)| {
            if let Some(think) = next.and_then(think) {
                found.more.push(format!("think: {think}"));
            }
            found
        };
        Ok((self.head, self.found.into_iter().zip(next).map(with_think).collect()))
    }
}

fn pairs<'a>(tree: Option<Element<'a>>) -> Vec<(Element<'a>, Option<Element<'a>>)> {
    tree.map_or(Vec::new(), |tree| tree.pairs())
}

fn think(pause: Pause) -> Option<String> {
    match (pause.constant, pause.range) {
        (constant, range) if constant + range <= 0.0 => None,
        (constant, range) if range > 0.0 => Some(format!("{constant}ms..{}ms", constant + range)),
        (constant, _) => Some(format!("{constant}ms")),
    }
}

/// Properties of a sampler, and the value each must have if it is not taken.
const SAMPLER: &[(&str, Option<&str>)] = &[
    ("HTTPsampler.Arguments", None),
    ("HTTPSampler.domain", None),
    ("HTTPSampler.port", None),
    ("HTTPSampler.protocol", Some("http")),
    ("HTTPSampler.contentEncoding", None),
    ("HTTPSampler.path", None),
    ("HTTPSampler.method", None),
    ("HTTPSampler.follow_redirects", None),
    ("HTTPSampler.auto_redirects", None),
    ("HTTPSampler.use_keepalive", None),
    ("HTTPSampler.DO_MULTIPART_POST", Some("false")),
    ("HTTPSampler.BROWSER_COMPATIBLE_MULTIPART", None),
    ("HTTPSampler.embedded_url_re", Some("")),
    ("HTTPSampler.image_parser", Some("false")),
    ("HTTPSampler.concurrentDwn", Some("false")),
    ("HTTPSampler.implementation", None),
    ("HTTPSampler.connect_timeout", Some("")),
    ("HTTPSampler.response_timeout", None),
    ("HTTPSampler.postBodyRaw", None),
    ("TestPlan.comments", None),
];

fn defaults(element: &Element<'_>) -> anyhow::Result<Defaults> {
    let properties = element.properties(&[
        ("HTTPsampler.Arguments", None),
        ("HTTPSampler.domain", None),
        ("HTTPSampler.port", None),
        ("HTTPSampler.protocol", Some("http")),
        ("HTTPSampler.contentEncoding", None),
        ("HTTPSampler.path", None),
        ("HTTPSampler.concurrentPool", None),
        ("HTTPSampler.implementation", None),
        ("HTTPSampler.connect_timeout", Some("")),
        ("HTTPSampler.response_timeout", None),
    ])?;
    ensure!(
        properties.arguments("HTTPsampler.Arguments")?.is_empty(),
        "{}: parameters among the defaults are not taken",
        element.place()
    );
    Ok(Defaults {
        domain: properties.text("HTTPSampler.domain"),
        port: properties.text("HTTPSampler.port"),
        path: properties.text("HTTPSampler.path"),
        timeout: properties.text("HTTPSampler.response_timeout"),
    })
}

fn assertion(scope: &mut Scope, element: &Element<'_>) -> anyhow::Result<()> {
    // The first name is JMeter's own spelling.
    let strings = ["Asserion.test_strings", "Assertion.test_strings"];
    let properties = element.properties(&[
        (strings[0], None),
        (strings[1], None),
        ("Assertion.custom_message", None),
        ("Assertion.test_field", None),
        ("Assertion.assume_success", Some("false")),
        ("Assertion.test_type", None),
    ])?;
    let place = element.place();
    let kind: u64 = properties.number("Assertion.test_type")?.unwrap_or(16);
    for text in strings.iter().flat_map(|name| properties.strings(name)) {
        match (properties.text("Assertion.test_field").as_str(), kind) {
            ("Assertion.response_code", 8 | 1) if text.parse::<u16>().is_ok() => {
                scope.expect.push(text);
            }
            ("Assertion.response_data", 16) => {
                scope.checks.push(format!("{{ contains: {} }}", quote(&text)));
            }
            ("Assertion.response_data", 8) => {
                scope.checks.push(format!("{{ equals: {} }}", quote(&text)));
            }
            ("Assertion.response_data", 2) => {
                scope.checks.push(format!("{{ regex: {} }}", quote(&text)));
            }
            (field, kind) => bail!("{place}: a test of kind {kind} of {field} is not taken"),
        }
    }
    Ok(())
}

fn extractor(scope: &mut Scope, element: &Element<'_>) -> anyhow::Result<()> {
    let properties = element.properties(&[
        ("JSONPostProcessor.referenceNames", None),
        ("JSONPostProcessor.jsonPathExprs", None),
        ("JSONPostProcessor.match_numbers", None),
        ("JSONPostProcessor.defaultValues", Some("")),
        ("JSONPostProcessor.compute_concat", Some("false")),
    ])?;
    let place = element.place();
    let number = properties.text("JSONPostProcessor.match_numbers");
    ensure!(matches!(number.as_str(), "" | "1"), "{place}: only the first match is taken");
    let list = |name: &str| properties.text(name).split(';').map(str::to_owned).collect::<Vec<_>>();
    let names = list("JSONPostProcessor.referenceNames");
    let paths = list("JSONPostProcessor.jsonPathExprs");
    ensure!(names.len() == paths.len(), "{place}: as many names as paths are needed");
    for (name, path) in names.iter().zip(&paths) {
        let pointer = pointer(path).with_context(|| format!("{place}: '{path}' is not taken"))?;
        scope.extract.push(format!("{}: {{ json: {} }}", quote(name), quote(&pointer)));
    }
    Ok(())
}

/// `$.a.b[0]` as a JSON pointer; `None` for what leads to several places.
fn pointer(path: &str) -> Option<String> {
    let mut pointer = String::new();
    for part in path.trim().strip_prefix('$')?.split('.').skip(1) {
        let mut pieces = part.split('[');
        let name = pieces.next()?;
        if name.is_empty() || name.contains(['*', '?', '(', ']', '\'']) {
            return None;
        }
        pointer = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
        for piece in pieces {
            let index: usize = piece.strip_suffix(']')?.parse().ok()?;
            pointer = format!("{pointer}/{index}");
        }
    }
    (!pointer.is_empty()).then_some(pointer)
}

#[cfg(test)]
mod tests;
