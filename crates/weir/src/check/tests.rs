//! What `weir check` prints for a small configuration.

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
fn what_is_not_supported_is_summed_up() {
    let route = |id: &str| {
        format!(
            "- id: {id}\n  uri: http://h\n  predicates: [Path=/{id}]\n  filters: \
             [JsonToGrpc=]\n"
        )
    };
    let text = format!("spring.cloud.gateway.routes:\n{}{}", route("a"), route("b"));
    let (loaded, routes) = loaded(&text);
    let text = as_text(&loaded, routes, Style::Plain, false);
    let expected = "Not supported:\n  - weir does not have the filter `JsonToGrpc`: ";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains(" (2 times)\n"), "{text}");
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
