//! Settings of circuit breakers: `resilience4j.circuitbreaker.*`, `resilience4j.timelimiter.*`.

use weir_filter::filter::FilterOptions;
use weir_limit::{BreakerSettings, Window};
use weir_route::parse_duration;

use crate::diagnostic::{Code, Diagnostic};
use crate::spring::{Layers, Node, child, key};

const BREAKERS: &str = "resilience4j.circuitbreaker";
const LIMITERS: &str = "resilience4j.timelimiter";
const NO_LIMITER: &str = "spring.cloud.circuitbreaker.resilience4j.disable-time-limiter";

/// Keys without an effect in weir.
const WITHOUT_EFFECT: &[&str] = &[
    "baseConfig",
    "registerHealthIndicator",
    "allowHealthIndicatorToFail",
    "eventConsumerBufferSize",
    "writableStackTraceEnabled",
    "cancelRunningFuture",
];

/// A key: its name, the expected value, and its setter, which returns `None` for an invalid text.
type Field = (&'static str, &'static str, fn(&mut BreakerSettings, &str) -> Option<()>);

const COUNT: &str = "a whole number of at least 1";
const PERCENT: &str = "a percentage above 0, such as `50`";
const DURATION: &str = "a duration such as `10s`";

const LIMITER_FIELDS: &[Field] = &[("timeoutDuration", DURATION, |s, text| {
    s.time_limit_ns = Some(duration_ns(text).filter(|ns| *ns > 0)?);
    Some(())
})];

const BREAKER_FIELDS: &[Field] = &[
    ("slidingWindowSize", COUNT, set_window_size),
    ("ringBufferSizeInClosedState", COUNT, set_window_size),
    ("slidingWindowType", "`COUNT_BASED` or `TIME_BASED`", |s, text| {
        let (Window::Calls(size) | Window::Seconds(size)) = s.window;
        s.window = match text.replace('-', "_").to_ascii_uppercase().as_str() {
            "COUNT_BASED" => Window::Calls(size),
            "TIME_BASED" => Window::Seconds(size),
            _ => return None,
        };
        Some(())
    }),
    ("minimumNumberOfCalls", COUNT, |s, text| count(text).map(|calls| s.calls_min = calls)),
    ("permittedNumberOfCallsInHalfOpenState", COUNT, set_half_open_calls),
    ("ringBufferSizeInHalfOpenState", COUNT, set_half_open_calls),
    ("failureRateThreshold", PERCENT, |s, text| percent(text).map(|rate| s.failure_rate = rate)),
    ("slowCallRateThreshold", PERCENT, |s, text| percent(text).map(|rate| s.slow_rate = rate)),
    ("slowCallDurationThreshold", DURATION, |s, text| duration_ns(text).map(|ns| s.slow_ns = ns)),
    ("waitDurationInOpenState", DURATION, |s, text| {
        duration_ns(text).filter(|ns| *ns > 0).map(|ns| s.open_ns = ns)
    }),
    ("maxWaitDurationInHalfOpenState", DURATION, |s, text| {
        duration_ns(text).map(|ns| s.half_open_ns = ns)
    }),
    ("automaticTransitionFromOpenToHalfOpenEnabled", "`true` or `false`", |s, text| {
        text.parse().ok().map(|is_on| s.automatic = is_on)
    }),
];

fn set_window_size(settings: &mut BreakerSettings, text: &str) -> Option<()> {
    let size = count(text)?;
    settings.window = match settings.window {
        Window::Calls(_) => Window::Calls(size),
        Window::Seconds(_) => Window::Seconds(size),
    };
    Some(())
}

fn set_half_open_calls(settings: &mut BreakerSettings, text: &str) -> Option<()> {
    count(text).map(|calls| settings.half_open_calls = calls)
}

fn count(text: &str) -> Option<u32> {
    text.parse().ok().filter(|count| *count > 0)
}

fn percent(text: &str) -> Option<f64> {
    text.parse().ok().filter(|rate| *rate > 0.0 && *rate <= 100.0)
}

fn duration_ns(text: &str) -> Option<u64> {
    u64::try_from(parse_duration(text).ok()?.as_nanos()).ok()
}

/// Reads the settings of all breakers.
pub(crate) fn breakers(
    layers: &Layers<'_>,
    problems: &mut Vec<Diagnostic>,
    options: &mut FilterOptions,
) {
    let mut read = Reading { layers, problems };
    let off = layers.find(NO_LIMITER).and_then(Node::text);
    let is_off = off.is_some_and(|text| layers.resolve(&text).0.trim() == "true");
    let mut default = BreakerSettings::default();
    if is_off {
        default.time_limit_ns = None;
    }
    read.config(BREAKERS, "default", &mut default);
    read.config(LIMITERS, "default", &mut default);
    let mut names: Vec<String> = Vec::new();
    for (area, below) in [(BREAKERS, "instances"), (BREAKERS, "backends"), (LIMITERS, "instances")]
    {
        for node in layers.all(&format!("{area}.{below}")).flat_map(Node::children) {
            if !names.iter().any(|known| known == node.key()) {
                names.push(node.key().to_owned());
            }
        }
    }
    for name in names {
        let mut settings = default.clone();
        for (area, below) in
            [(BREAKERS, "backends"), (BREAKERS, "instances"), (LIMITERS, "instances")]
        {
            read.instance(area, below, &name, &mut settings);
        }
        if is_off {
            settings.time_limit_ns = None;
        }
        options.breakers.push((name, settings));
    }
    options.breaker_default = default;
}

struct Reading<'a, 'l> {
    layers: &'a Layers<'l>,
    problems: &'a mut Vec<Diagnostic>,
}

impl Reading<'_, '_> {
    /// Applies `configs.<name>`, its base configuration first.
    fn config(&mut self, area: &str, name: &str, settings: &mut BreakerSettings) {
        self.apply(area, "configs", name, settings, 0);
    }

    fn instance(&mut self, area: &str, below: &str, name: &str, settings: &mut BreakerSettings) {
        self.apply(area, below, name, settings, 0);
    }

    fn apply(
        &mut self,
        area: &str,
        below: &str,
        name: &str,
        settings: &mut BreakerSettings,
        depth: usize,
    ) {
        const BASES_MAX: usize = 16;
        let of_name = |node: &Node<'_>| node.key() == name;
        let path = format!("{area}.{below}");
        // Lowest layer first, so that a higher layer overrides each key.
        let mut nodes: Vec<Node<'_>> =
            self.layers.all(&path).filter_map(|all| all.children().find(of_name)).collect();
        nodes.reverse();
        let base = nodes.iter().rev().find_map(|node| child(*node, "base-config"));
        if let Some(node) = base
            && let Some(text) = node.text()
        {
            let base = self.layers.resolve(&text).0.into_owned();
            let configs = format!("{area}.configs");
            let is_known =
                self.layers.all(&configs).flat_map(Node::children).any(|one| one.key() == base);
            if !is_known || depth == BASES_MAX {
                self.wrong(node, format!("there is no configuration `{base}`"), &|| {
                    format!("define `{area}.configs.{base}`")
                });
            } else {
                self.apply(area, "configs", &base, settings, depth + 1);
            }
        }
        for field in nodes.iter().flat_map(|node| node.children()) {
            self.field(area, field, settings);
        }
    }

    fn field(&mut self, area: &str, field: Node<'_>, settings: &mut BreakerSettings) {
        let text = field.text().unwrap_or_default();
        let text = self.layers.resolve(&text).0.trim().to_owned();
        let all = if area == LIMITERS { LIMITER_FIELDS } else { BREAKER_FIELDS };
        let known = all.iter().find(|(name, _, _)| key::same(name, field.key()));
        match known {
            Some((_, expected, set)) => {
                if set(settings, &text).is_none() {
                    self.wrong_value(field, &text, expected);
                }
            }
            None if WITHOUT_EFFECT.iter().any(|own| key::same(own, field.key())) => {}
            None => self.ignored(field),
        }
    }

    fn wrong_value(&mut self, field: Node<'_>, text: &str, expected: &str) {
        let message = format!("`{text}` is not what `{}` takes", field.key());
        self.wrong(field, message, &|| format!("write {expected}"));
    }

    fn wrong(&mut self, field: Node<'_>, message: String, help: &dyn Fn() -> String) {
        let found = Diagnostic::new(Code::InvalidValue, message).at(field.span()).help(help());
        if !self.problems.contains(&found) {
            self.problems.push(found);
        }
    }

    /// Reports a key that weir does not support, mostly exceptions by Java class.
    fn ignored(&mut self, field: Node<'_>) {
        let message = format!("`{}` is not followed", field.key());
        let help = "weir counts as failed what was not reached, broke or took too long, and \
                    the filter's `statusCodes`";
        let found = Diagnostic::new(Code::PropertyUnsupported, message);
        let found = found.at(field.key_span()).help(help);
        if !self.problems.contains(&found) {
            self.problems.push(found);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_limit::{BreakerSettings, Valves, Window};

    use crate::{Format, Loader, Severity, Source};

    const YAML: &str = "
spring.cloud.gateway.server.webflux.routes:
- { id: r, uri: 'no://op', predicates: [ Path=/ ], filters: [ CircuitBreaker=a ] }
- { id: s, uri: 'no://op', predicates: [ Path=/ ], filters: [ CircuitBreaker ] }
resilience4j:
  circuitbreaker:
    configs:
      default: { slidingWindowSize: 20, minimumNumberOfCalls: 5 }
      strict: { base-config: default, failure-rate-threshold: 10 }
    instances:
      a: { baseConfig: strict, waitDurationInOpenState: 5s, slidingWindowType: TIME_BASED }
  timelimiter:
    instances:
      a: { timeoutDuration: 3s }
";

    /// Settings of breakers by name, and the codes of the findings.
    fn read(yaml: &str) -> (Vec<(String, BreakerSettings)>, Vec<&'static str>) {
        let valves = Arc::new(Valves::default());
        let mut loader = Loader::new(Vec::new(), &[], Vec::new()).with_limits(&valves);
        loader.add(Source::new("application.yml", yaml, Format::Yaml));
        let mut loaded = loader.load();
        let compiled = loaded.compile();
        let found = valves.breakers();
        drop(compiled);
        let settings = found.iter().map(|breaker| (breaker.name().to_owned(), breaker.settings()));
        let wrong = loaded.diagnostics.iter().filter(|one| one.severity > Severity::Note);
        (settings.collect(), wrong.map(|finding| finding.code.as_str()).collect())
    }

    #[test]
    fn instances_build_on_configurations() {
        const SECOND_NS: u64 = 1_000_000_000;
        let (breakers, problems) = read(YAML);
        assert!(problems.is_empty(), "{problems:?}");
        let [(a, own), (s, default)] = breakers.as_slice() else { panic!("{breakers:?}") };
        assert_eq!((a.as_str(), s.as_str()), ("a", "s"));
        assert_eq!((own.window, own.calls_min), (Window::Seconds(20), 5));
        assert_eq!((own.failure_rate, own.open_ns), (10.0, 5 * SECOND_NS));
        assert_eq!(own.time_limit_ns, Some(3 * SECOND_NS));
        assert_eq!((default.window, default.failure_rate), (Window::Calls(20), 50.0));
        assert_eq!(default.time_limit_ns, Some(SECOND_NS));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let check = |line: &str, expected: &[&str]| {
            let yaml = format!("resilience4j.circuitbreaker.instances.a.{line}\n");
            assert_eq!(read(&yaml).1, expected, "{line}");
        };
        check("slidingWindowSize: 0", &["invalid-value"]);
        check("failureRateThreshold: 101", &["invalid-value"]);
        check("baseConfig: nowhere", &["invalid-value"]);
        check("recordExceptions: [ java.io.IOException ]", &["property-unsupported"]);
        check("registerHealthIndicator: true", &[]);
    }
}
