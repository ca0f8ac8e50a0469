//! The output of `weir check` for a small configuration.

use weir_config::{Checked, Format, Loader, Source, Style};

use super::{as_json, as_text};

fn loaded(text: &str) -> (weir_config::Loaded, Checked) {
    let mut loader = Loader::new(Vec::new(), &[], Vec::new());
    loader.add(Source::new("application.yml", text, Format::Yaml));
    let mut loaded = loader.load();
    let routes = loaded.check();
    loaded.sort_findings();
    (loaded, routes)
}

const WRONG: &str = "\
weir:
  sever:
    workers: 2
spring.cloud.gateway.routes:
- id: a
  uri: localhost:8080
  predicates:
  - Pth=/x
";

#[test]
fn findings_come_with_excerpts_and_a_summary() {
    let (loaded, routes) = loaded(WRONG);
    let text = as_text(&loaded, routes, Style::Plain, false);
    for expected in [
        "warning[unknown-property]: unknown property `weir.sever`",
        " --> application.yml:2:3",
        "did you mean `weir.server`?",
        "error[invalid-uri]: the uri has no scheme",
        " --> application.yml:6:8",
        "error[unknown-predicate]: there is no predicate `Pth`",
        "did you mean `Path`?",
        "Differs from Spring Cloud Gateway, here:\n  - application.yml:4:22: the old prefix",
        "refused: 1 route, 2 errors, 1 warning, 1 note (profiles: default)\n",
    ] {
        assert!(text.contains(expected), "no {expected:?} in:\n{text}");
    }
}

#[test]
fn what_is_said_once_is_counted_and_errors_come_first() {
    let routes: String = (0..3)
        .map(|n| {
            format!(
                "- id: r{n}\n  uri: http://h/ignored{n}\n  predicates: [Path=/{n}]\n  filters:\n  \
                 - name: JwtFilter\n    args:\n      secretKey: abc\n"
            )
        })
        .collect();
    let (loaded, routes) = loaded(&format!("spring.cloud.gateway.routes:\n{routes}"));
    let text = as_text(&loaded, routes, Style::Plain, false);
    let error = text.find("error[unknown-filter]: there is no filter `JwtFilter`");
    let warning = text.find("warning[suspicious]: `/ignored0` of the uri has no effect");
    assert!(error.is_some() && error < warning, "{text}");
    for expected in [
        "6 |   - name: JwtFilter\n",
        "   and 2 more: 13:11, 20:11\n",
        "   and 2 more of the kind:\n     10:8 `/ignored1` of the uri has no effect\n",
        "complete:\n\n  weir.filters.JwtFilter: ['Authorize=authenticated']\n\n",
    ] {
        assert!(text.contains(expected), "no {expected:?} in:\n{text}");
    }
    assert_eq!(text.matches("error[").count(), 1, "{text}");
    assert!(!text.contains("abc"), "{text}");
}

#[test]
fn all_that_is_to_be_set_is_one_block() {
    let (loaded, routes) = loaded(
        "spring.cloud.gateway.routes:\n\
         - {id: a, uri: '${a.target}', predicates: [Path=/a]}\n\
         - {id: b, uri: 'http://${b.host}', predicates: [Path=/b]}\n\
         - {id: c, uri: 'lb://orders', predicates: [Path=/c], filters: [{name: RequestRateLimiter, \
         args: {key-resolver: '#{@ownIp}', redis-rate-limiter.replenishRate: 1, \
         redis-rate-limiter.burstCapacity: 1}}]}\n",
    );
    let text = as_text(&loaded, routes, Style::Plain, false);
    for expected in [
        "\n  a.target: http://host:8080\n",
        "\n  b.host: host\n",
        "\n  weir.key-resolvers.ownIp: ip\n",
        "\n  spring.cloud.discovery.client.simple.instances.orders[0].uri: http://host:8080\n",
    ] {
        assert!(text.contains(expected), "no {expected:?} in:\n{text}");
    }
    let (_, block) = text.split_once("To paste").expect("a block");
    let pasted = block.lines().skip(2).take_while(|line| !line.is_empty());
    let pasted: Vec<&str> = pasted.map(str::trim).collect();
    let text = format!(
        "{}\nspring.cloud.gateway.routes:\n\
         - {{id: a, uri: '${{a.target}}', predicates: [Path=/a]}}\n\
         - {{id: b, uri: 'http://${{b.host}}', predicates: [Path=/b]}}\n\
         - {{id: c, uri: 'lb://orders', predicates: [Path=/c]}}\n",
        pasted.join("\n")
    );
    let (loaded, _) = self::loaded(&text);
    assert!(loaded.diagnostics.iter().all(|finding| finding.paste.is_empty()), "{text}");
}

#[test]
fn a_configuration_without_routes_is_not_fine() {
    let verdict = |text: &str| {
        let (loaded, checked) = loaded(text);
        super::verdict(&loaded, checked)
    };
    assert!(verdict("spring.cloud.gateway.discovery.locator.enabled: true\n").starts_with("no "));
    assert!(verdict("spring.config.activate.on-profile: prod\nserver.port: 1\n").starts_with("no"));
    let registry = "spring.cloud.consul.host: consul\n\
                    spring.cloud.gateway.discovery.locator.enabled: true\n";
    assert!(verdict(registry).starts_with("fine, with routes for the services"));
}

#[test]
fn the_admin_api_leaves_its_port_to_the_gateway() {
    let port = |text: &str| {
        let (loaded, _) = loaded(text);
        loaded.settings.management.listen().map(|address| address.port())
    };
    assert_eq!(port("server.port: 9090\n"), Some(9091));
    assert_eq!(port("server.port: 8080\n"), Some(9090));
    assert_eq!(port("server.port: 9090\nweir.admin.port: 9090\n"), Some(9090));
}

#[test]
fn json_has_the_same() {
    let (loaded, routes) = loaded(WRONG);
    let json = as_json(&loaded, routes);
    assert_eq!(json["refused"], true);
    assert_eq!(json["errors"], 2);
    assert_eq!(json["routes"], 1);
    assert_eq!(json["findings"][0]["code"], "unknown-property");
    assert_eq!(json["findings"][2]["line"], 6);
}

#[test]
fn a_sound_configuration_is_fine() {
    let (loaded, routes) = loaded("server.port: 1\n");
    let text = as_text(&loaded, routes, Style::Plain, false);
    let end = "make routes with `weir routes add`): 0 routes, 0 errors, 0 warnings, 0 notes \
               (profiles: default)\n";
    assert!(text.ends_with(end), "{text}");
    let (loaded, routes) = self::loaded(
        "spring.cloud.gateway.server.webflux.routes:\n- {id: a, uri: 'http://h', predicates: \
         [Path=/a]}\n",
    );
    let text = as_text(&loaded, routes, Style::Plain, true);
    let end = "fine: 1 route, 0 errors, 0 warnings, 1 note (profiles: default)\n";
    assert!(text.ends_with(end), "{text}");
    assert!(text.contains("Differs from Spring Cloud Gateway, everywhere:"));
}
