//! A comprehensive configuration with random damage: nothing panics, and every finding can be
//! rendered.

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, proptest};
use weir_config::{Format, Loader, Source, Style, render};

const RICH: &str = r#"
app.secret: &s hunter2
server: {port: "${PORT:8080}", address: 0.0.0.0}
weir:
  server.workers: 2
  access-log: {format: json}
spring:
  cloud:
    discovery.client.simple.instances:
      svc: [{uri: "http://a:1"}, {host: b, port: 2}]
    gateway:
      discovery.locator.enabled: true
      default-filters:
      - AddResponseHeader=X-Gateway, weir
      globalcors.cors-configurations:
        '[/**]': {allowedOrigins: "*", allowedMethods: [GET, POST], maxAge: 30}
      httpclient: {connect-timeout: 2000, response-timeout: 5s, pool.type: fixed}
      routes:
      - id: first
        uri: lb://svc
        order: 3
        predicates:
        - Path=/a/{v},/b/**
        - Method=GET,POST
        - Header=X-Id, \d+
        - name: Query
          args: {param: q, regexp: "[a-z]{1,3}"}
        filters:
        - RewritePath=/a/(?<rest>.*), /$\{rest}
        - SetPath=/{v}
        - name: RequestSize
          args:
            maxSize: 5MB
        metadata: {response-timeout: 100, cors: {allowedOrigins: [x], allowCredentials: false}}
      - second=http://${app.host:h:80}, Host=**.example.org
      routes-map:
        third: {uri: "no://op", predicates: [Path=/**], enabled: false}
---
spring.config.activate.on-profile: "!x & (y | default)"
spring.cloud.gateway.metrics.enabled: no
"#;

/// Texts with a meaning for the parsers.
const TOKENS: &[&str] = &[
    "", "\n", " ", "  ", ":", ": ", "- ", "#", "'", "\"", "{", "}", "[", "]", ",", "&a ", "*a",
    "!t ", "|\n", ">\n", "---\n", "...\n", "\t", "\r", "\\", "${", "}", "$\\{", "[0]", ".",
    "<<: *s", "~", "é", "\u{feff}", "0x", "(", ")", "*", "%", "=", "routes", "name: ", "args: ",
    "#{@x}",
];

fn damage(text: &str, edits: &[(usize, usize, usize)]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for (at, removed, token) in edits {
        let start = at % (chars.len() + 1);
        let end = (start + removed % 20).min(chars.len());
        let token = TOKENS.get(token % TOKENS.len()).copied().unwrap_or_default();
        chars.splice(start..end, token.chars());
    }
    chars.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(200)
    })]

    #[test]
    fn damage_is_survived(
        edits in vec((any::<usize>(), any::<usize>(), any::<usize>()), 0..6),
        properties in any::<bool>(),
    ) {
        let text = damage(RICH, &edits);
        let format = if properties { Format::Properties } else { Format::Yaml };
        let mut loader = Loader::new(Vec::new(), &[], Vec::new());
        loader.add(Source::new("damaged", text, format));
        let mut loaded = loader.load();
        loaded.check();
        for finding in &loaded.diagnostics {
            assert!(finding.at.is_some() && !finding.help.is_empty(), "{finding:?}");
            let text = render(finding, loaded.sources(), Style::Plain);
            assert!(text.contains("--> damaged:"), "{text}");
        }
    }
}

#[test]
fn without_damage_it_is_fine() {
    let mut loader = Loader::new(Vec::new(), &[], Vec::new());
    loader.add(Source::new("rich", RICH, Format::Yaml));
    let mut loaded = loader.load();
    assert_eq!(loaded.compile().routes.len(), 3);
    assert!(!loaded.is_refused(), "{:?}", loaded.diagnostics);
}
