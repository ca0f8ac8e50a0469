//! Load-balancing rules of services: Spring Cloud LoadBalancer's properties
//! (`spring.cloud.loadbalancer.*`), and `weir.upstreams`.

mod own;
mod spring;

use std::sync::Arc;

use weir_balance::{Instance, Rules};

use crate::diagnostic::Diagnostic;
use crate::spring::Layers;
use own::Own;
use spring::Balancing;
use weir_snapshot::Settings;

/// Load-balancing rules by service.
#[derive(Debug, Default)]
pub(crate) struct Upstreams {
    own: Vec<Own>,
    balancing: Balancing,
}

/// Reads the rules of the layers. Problems are reported, and reject the configuration.
pub(crate) fn upstreams(
    layers: &Layers<'_>,
    settings: &Settings,
    problems: &mut Vec<Diagnostic>,
) -> Upstreams {
    let balancing = spring::balancing(layers, settings, problems);
    let own = own::all(layers, &balancing, problems);
    Upstreams { own, balancing }
}

impl Upstreams {
    /// The rules of a service, if there are any.
    pub fn rules(&self, name: &str) -> Option<Rules> {
        match self.find(name) {
            Some(own) => Some(own.rules.clone()),
            None => self.balancing.rules(name),
        }
    }

    /// The instances of a service in `weir.upstreams`, if listed there.
    pub fn targets(&self, name: &str) -> Option<&[Arc<Instance>]> {
        self.find(name).and_then(|own| own.targets.as_deref())
    }

    /// Whether any instance has health checks.
    pub fn has_checks(&self) -> bool {
        self.own.iter().any(|own| own.rules.check.is_some()) || self.balancing.has_checks()
    }

    /// Names in `weir.upstreams`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.own.iter().map(|own| own.name.as_str())
    }

    fn find(&self, name: &str) -> Option<&Own> {
        self.own.iter().find(|own| own.name.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use weir_balance::{Balance, HashOf};

    use super::*;
    use crate::diagnostic::Severity;
    use crate::loaded::Loader;
    use crate::source::{Format, Source};

    /// Findings of a text with these routes, and the rules of each upstream in use.
    fn read(text: &str, uris: &[&str]) -> (Vec<String>, Vec<(String, Rules)>) {
        let routes: String = uris
            .iter()
            .enumerate()
            .map(|(n, uri)| {
                format!("- {{ id: r{n}, uri: '{uri}', predicates: [ 'Path=/{n}' ] }}\n")
            })
            .collect();
        let text = format!("{text}\nspring.cloud.gateway.routes:\n{routes}");
        let directory = Arc::default();
        let mut loader = Loader::new(Vec::new(), &[], Vec::new()).with_directory(&directory);
        loader.add(Source::new("a.yml", text, Format::Yaml));
        let mut loaded = loader.load();
        let _held = loaded.compile();
        let errors = loaded.diagnostics.iter().filter(|one| one.severity == Severity::Error);
        let errors = errors.map(|one| {
            let place = one.at.map(|at| loaded.sources().place(at).to_string());
            format!("{} {}", place.unwrap_or_default(), one.message)
        });
        let rules = directory.clusters();
        let rules = rules.iter().map(|one| (one.name().to_owned(), one.rules().clone()));
        (errors.collect(), rules.collect())
    }

    #[test]
    fn everything_that_is_written_counts() {
        let text = "\
weir.upstreams:
  orders:
    targets:
    - a:1
    - { address: 'b:2', weight: 3, zone: z }
    balance: hash:cookie:Session
    zone: z
    check: { path: /health, interval: 1s, rise: 2, fall: 3, status: 200-399, port: 9 }
    outlier: { consecutive-errors: 7, base-time: 10s, interval: 5s, max-percent: 30% }
    panic-percent: 10
    slow-start: 20s
  users: {}
";
        let (errors, rules) = read(text, &["upstream://orders", "lb://USERS", "lb://others"]);
        assert_eq!(errors, Vec::<String>::new());
        let names: Vec<&str> = rules.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["orders", "users"]);
        let orders = &rules[0].1;
        assert_eq!(orders.balance, Balance::Hash);
        assert_eq!(orders.hash, HashOf::Cookie("Session".into()));
        assert_eq!((orders.weighted, orders.zone.as_deref()), (true, Some("z")));
        let check = orders.check.as_ref().expect("a check");
        assert_eq!((check.path.as_deref(), check.port), (Some("/health"), Some(9)));
        assert_eq!((check.rise, check.fall, check.status), (2, 3, (200, 399)));
        let outlier = orders.outlier.expect("an outlier rule");
        assert_eq!((outlier.errors, outlier.base_ms, outlier.percent_max), (7, 10_000, 30));
        assert_eq!((orders.panic_percent, orders.slow_start_ms), (10, 20_000));
        assert_eq!((rules[1].1.panic_percent, &rules[1].1.check), (50, &None));
    }

    #[test]
    fn an_upstream_is_no_unknown_scheme() {
        let text = "weir.upstreams: { a: { targets: 'h:1' }, b: {} }\nspring.cloud.gateway.routes:\n\
                    - { id: a, uri: 'upstream://a', predicates: [ Path=/a ] }\n\
                    - { id: b, uri: 'upstream://b', predicates: [ Path=/b ] }\n";
        let mut loader = Loader::new(Vec::new(), &[], Vec::new());
        loader.add(Source::new("a.yml", text, Format::Yaml));
        let mut loaded = loader.load();
        loaded.check();
        let warnings = loaded.diagnostics.iter().filter(|one| one.severity == Severity::Warning);
        let messages: Vec<&str> = warnings.map(|one| one.message.as_str()).collect();
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert!(messages[0].contains("`b` has no instance"), "{messages:?}");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let check = |text: &str, uri: &str, expected: &str| {
            let (errors, _) = read(text, &[uri]);
            assert_eq!(errors, [expected], "{text}");
        };
        let of = |rest: &str| format!("weir.upstreams.a:\n  {rest}\n");
        let uri = "upstream://a";
        check(&of("target: h:1"), uri, "a.yml:2:3 upstream 'a': there is no `target`");
        check(&of("targets: [ h ]"), uri, "a.yml:2:14 upstream 'a': `h` is no address");
        check(
            &of("balance: hash:header"),
            uri,
            "a.yml:2:12 upstream 'a': `hash:header` is not what `balance` takes",
        );
        check(
            &of("check: { path: health }"),
            uri,
            "a.yml:2:18 upstream 'a': check: `health` is not what `path` takes",
        );
        check(
            &of("check: { interval: 1ms }"),
            uri,
            "a.yml:2:22 upstream 'a': check: `interval` is too short",
        );
        check(
            &of("outlier: { max-percent: 0 }"),
            uri,
            "a.yml:2:27 upstream 'a': outlier: `0` is not what `max-percent` takes",
        );
        check(
            "spring.cloud.loadbalancer.configurations: zoned",
            "lb://a",
            "a.yml:1:43 spring.cloud.loadbalancer: there is no configuration `zoned`",
        );
        let (errors, _) = read(&of("targets: [ h:1 ]"), &["upstream://b"]);
        assert!(errors[0].ends_with("there is no upstream `b`"), "{errors:?}");
    }

    #[test]
    fn spring_cloud_loadbalancer_is_followed_for_all_and_for_one() {
        let text = "\
eureka.instance.metadata-map.zone: east
spring.cloud.loadbalancer:
  configurations: zone-preference
  hint: { default: blue, a: green }
  sticky-session.instance-id-cookie-name: id
  clients:
    a: { configurations: 'hint-based,request-based-sticky-session' }
    b: { configurations: health-check, health-check: { path: { default: /up }, interval: 3s } }
    c: { configurations: default }
    d: { configurations: 'subset,weighted,same-instance-preference', subset.size: 3 }
    e: { configurations: zone-preference, zone: west }
";
        let uris = ["lb://a", "lb://b", "lb://c", "lb://d", "lb://e", "lb://f"];
        let (errors, rules) = read(text, &uris);
        assert_eq!(errors, Vec::<String>::new());
        let of = |wanted: &str| {
            let found = rules.iter().find(|(name, _)| name == wanted);
            found.map(|(_, rules)| rules.clone())
        };
        let a = of("a").expect("rules");
        let hint = a.hint.expect("a hint");
        assert_eq!(
            (hint.header.as_str(), hint.otherwise.as_deref()),
            ("x-sc-lb-hint", Some("green"))
        );
        let sticky = a.sticky.expect("sticky sessions");
        assert_eq!((sticky.cookie.as_str(), sticky.is_followed), ("id", true));
        assert!(!sticky.is_passed_on && a.zone.is_none());
        let check = of("b").and_then(|rules| rules.check).expect("a check");
        assert_eq!((check.path.as_deref(), check.interval.as_secs()), (Some("/up"), 3));
        assert_eq!(of("c"), None);
        let d = of("d").expect("rules");
        assert!(d.weighted && d.same_instance);
        assert_eq!(d.subset.map(|subset| subset.size), Some(3));
        assert_eq!(of("e").and_then(|rules| rules.zone).as_deref(), Some("west"));
        assert_eq!(of("f").and_then(|rules| rules.zone).as_deref(), Some("east"));
    }
}
