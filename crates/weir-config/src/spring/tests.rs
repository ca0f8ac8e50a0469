//! Layering: priorities, profiles, documents, relaxed names.

use proptest::prelude::{ProptestConfig, any, proptest};

use super::{Documents, Kind};
use crate::source::{Format, Source};

/// `files` are `name: text`; `rest` are profiles (`+a`), variables (`A=b`) and sets (`--a=b`).
fn documents(files: &[(&str, &str)], rest: &[&str]) -> Documents {
    let mut variables = Vec::new();
    let mut sets = Vec::new();
    let mut profiles = Vec::new();
    for text in rest {
        match (text.strip_prefix('+'), text.strip_prefix("--"), text.split_once('=')) {
            (Some(profile), _, _) => profiles.push(profile.to_owned()),
            (None, Some(set), _) => sets.push(set.to_owned()),
            (None, None, Some((name, value))) => {
                variables.push((name.to_owned(), value.to_owned()));
            }
            (None, None, None) => {}
        }
    }
    let mut documents = Documents::new(variables, &sets, profiles);
    for (name, text) in files {
        let format = Format::of_name(name).expect("a known ending");
        let mut source = Source::new(name, *text, format);
        source.profile = name
            .strip_prefix("application-")
            .and_then(|rest| rest.split('.').next())
            .map(str::to_owned);
        documents.add(source);
    }
    documents
}

fn look(documents: &Documents, path: &str) -> String {
    let layers = documents.layers(&documents.active_profiles());
    let Some(node) = layers.find(path) else { return "-".to_owned() };
    match node.kind() {
        Kind::Scalar | Kind::Null => {
            layers.resolve(&node.text().unwrap_or_default()).0.into_owned()
        }
        Kind::List | Kind::Map => format!("{node:?}"),
    }
}

fn check(files: &[(&str, &str)], rest: &[&str], path: &str, expected: &str) {
    let documents = documents(files, rest);
    assert!(documents.problems.is_empty(), "{:?}", documents.problems);
    assert_eq!(look(&documents, path), expected);
}

fn check_yaml(text: &str, path: &str, expected: &str) {
    check(&[("a.yml", text)], &[], path, expected);
}

#[test]
fn higher_layers_win() {
    let files = [("a.yml", "x: {p: 1, q: 1}"), ("application-dev.yml", "x.p: 2")];
    check(&files, &[], "x.p", "1");
    check(&files, &["+dev"], "x.p", "2");
    check(&files, &["+dev"], "x.q", "1");
    check(&files, &["+dev", "--x.p=4"], "x.p", "4");
    check(&[("a.yml", "server.port: 1")], &["SERVER_PORT=3"], "server.port", "3");
    check(
        &[("a.yml", "server.port: 1")],
        &["SERVER_PORT=3", "--server.port=4"],
        "server.port",
        "4",
    );
    check(&[("a.yml", "x: 1"), ("b.yml", "x: 2")], &[], "x", "2");
    check(
        &[("a.yml", "server.port: 1")],
        &["SERVER_PORT=3", r#"SPRING_APPLICATION_JSON={"server":{"port":5}}"#],
        "server.port",
        "5",
    );
}

#[test]
fn a_list_comes_whole_from_one_layer() {
    let files = [("a.yml", "x: [1, 2, 3]"), ("application-dev.yml", "x: [4]")];
    check(&files, &["+dev"], "x", r#"["4"]"#);
    let env = "SPRING_CLOUD_GATEWAY_ROUTES_0_ID=e";
    let yaml = "spring.cloud.gateway.routes:\n- id: a\n- id: b\n";
    check(&[("a.yml", yaml)], &[env], "spring.cloud.gateway.routes", r#"[{"id": "e"}]"#);
}

#[test]
fn documents_count_by_profile() {
    let yaml = "x: 1\n---\nspring.config.activate.on-profile: dev & !eu\nx: 2\n---\nspring:\n  \
         profiles: old\nx: 3\n";
    check_yaml(yaml, "x", "1");
    check(&[("a.yml", yaml)], &["+dev"], "x", "2");
    check(&[("a.yml", yaml)], &["+dev", "+eu"], "x", "1");
    check(&[("a.yml", yaml)], &["+old"], "x", "3");
    check(&[("a.yml", yaml)], &["SPRING_PROFILES_ACTIVE=old"], "x", "3");
    check(&[("a.yml", yaml)], &["--spring.profiles.active=dev,old"], "x", "3");
    let active = "spring.profiles.active: dev #x#\n---\nspring.profiles: dev\nx: 2";
    check_yaml(active, "x", "2");
    check_yaml("x: 0\n---\nspring.profiles: default\nx: 1", "x", "1");
    check_yaml("spring.profiles.active: #x#\nx: 0", "x", "0");
    let group = "spring.profiles.group.prod: [a, b]\n---\nspring.profiles: b\nx: 2";
    check(&[("a.yml", group)], &["+prod"], "x", "2");
}

#[test]
fn the_last_active_profile_wins() {
    let files = [("application-a.yml", "x: 1"), ("application-b.yml", "x: 2")];
    check(&files, &["+a", "+b"], "x", "2");
    let yaml = "spring.profiles: a\nx: 1\n---\nspring.profiles: b\nx: 2\n";
    check(&[("a.yml", yaml)], &["+b", "+a"], "x", "2");
}

#[test]
fn names_are_relaxed() {
    check_yaml("a:\n  connectTimeout: 1", "a.connect-timeout", "1");
    check_yaml("a:\n  CONNECT_TIMEOUT: 1", "a.connect-timeout", "1");
    let env = ["SPRING_HTTPCLIENT_CONNECT_TIMEOUT=1"];
    check(&[], &env, "spring.httpclient.connect-timeout", "1");
    let env = ["SPRING_HTTPCLIENT_CONNECTTIMEOUT=1"];
    check(&[], &env, "spring.httpclient.connect-timeout", "1");
}

#[test]
fn dotted_keys_mix_with_trees() {
    check_yaml("a.b.c: 1\na:\n  b:\n    d: 2\n", "a", r#"{"b": {"c": "1", "d": "2"}}"#);
    check_yaml("a:\n  b.c: 1\n  b:\n    d: 2\n", "a.b", r#"{"c": "1", "d": "2"}"#);
    check_yaml("a:\n  'p[0]': x\n  'p[1]': y\n", "a.p", r#"["x", "y"]"#);
    check_yaml("a:\n  '[0]': x\n  '[1]':\n    z: y\n", "a", r#"["x", {"z": "y"}]"#);
    check_yaml("a:\n  '[/**]':\n    m: '*'\n", "a.[/**].m", "*");
    check_yaml("a: [{x: 1}, {x: 2}]\na[1].y: 3\n", "a", r#"[{"x": "1"}, {"x": "2", "y": "3"}]"#);
    check_yaml("a.b: 1\na: {b: 2}\n", "a.b", "2");
}

#[test]
fn placeholders_see_every_layer() {
    let files = [("a.yml", "x: ${h:none}:${server.port}\nserver.port: 1\n")];
    check(&files, &[], "x", "none:1");
    check(&files, &["H=h"], "x", "h:1");
    check(&files, &["h=h", "SERVER_PORT=9"], "x", "h:9");
    check(&[("a.yml", "x: ${redis.host-name:no}")], &["REDIS_HOST_NAME=r"], "x", "r");
    check(&[("a.yml", "x: ${list[1].a}\nlist: [{a: 1}, {a: 2}]")], &[], "x", "2");
}

#[test]
fn anchors_and_merges() {
    check_yaml("b: &b {p: 1, q: 2}\na:\n  <<: *b\n  q: 3\n", "a", r#"{"q": "3", "p": "1"}"#);
    check_yaml("b: &b [1]\na: *b\n", "a", r#"["1"]"#);
    check_yaml("a: &x 1\nb: *x\n", "b", "1");
}

fn check_refused(name: &str, text: &str, code: &str) {
    let documents = documents(&[(name, text)], &[]);
    let found: Vec<_> = documents.problems.iter().map(|p| p.code.as_str()).collect();
    assert_eq!(found, [code], "for {text}");
    let problem = documents.problems.first().expect("a problem");
    assert!(problem.at.is_some() && !problem.help.is_empty());
}

#[test]
fn bad_texts_are_refused_with_a_place() {
    check_refused("a.yml", "a:\n  b: 1\n c: 2\n", "yaml-syntax");
    check_refused("a.yml", "a: 1\na: 2\n", "duplicate-key");
    check_refused("a.yml", "? [a]\n: 1\n", "yaml-syntax");
    check_refused("a.yml", "a: !foo 1\n", "yaml-tag");
    check_refused("a.yml", "a: &x [*x]\n", "alias-too-large");
    check_refused("a.yml", &format!("a: {}", "[".repeat(80)), "too-deep");
    check_refused("a.properties", "a[0]=1\na[2]=1\n", "list-gap");
    check_refused("a.json", "{", "json-syntax");
    let bomb: String = (0..30).fold("a0: &a0 [1, 1]\n".to_owned(), |text, n| {
        format!("{text}a{}: &a{} [*a{n}, *a{n}]\n", n + 1, n + 1)
    });
    check_refused("a.yml", &bomb, "alias-too-large");
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(256)
    })]

    #[test]
    fn no_text_makes_a_reader_panic(bytes in any::<Vec<u8>>(), which in 0_usize..3) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let name = ["a.yml", "a.properties", "a.json"].get(which).copied().unwrap_or("a.yml");
        let documents = documents(&[(name, &text)], &[]);
        let _ = look(&documents, "a.b");
    }

    #[test]
    fn no_yaml_like_text_makes_the_reader_panic(
        text in r#"([ \t\r\n:,{}\[\]&*!|>'"%@`#?.\\-]|a|b\.c|\[0\]|: |- |<<|---|0x1|é){0,60}"#,
        which in 0_usize..3,
    ) {
        let name = ["a.yml", "a.properties", "a.json"].get(which).copied().unwrap_or("a.yml");
        let documents = documents(&[(name, &text)], &[]);
        let _ = look(&documents, "a.b");
        for problem in &documents.problems {
            let style = crate::diagnostic::Style::Plain;
            let _ = crate::diagnostic::render(problem, &documents.sources, style);
        }
    }
}
