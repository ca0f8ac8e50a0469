//! Findings about pipelines and limits: the place of each, and what it says.

use weir_config::{Category, Format, Loader, Severity, Source};

/// Each error of a file as `line:column message; help`, in the order of the text.
fn errors(name: &str, text: &str, format: Format) -> Vec<String> {
    let mut loader = Loader::new(Vec::new(), &[], Vec::new());
    loader.add(Source::new(name, text, format));
    let mut loaded = loader.load();
    loaded.check();
    loaded.sort_findings();
    let told = |one: &&weir_config::Diagnostic| {
        one.severity > Severity::Note && one.code.category() != Category::Deviation
    };
    let shown = |one: &weir_config::Diagnostic| {
        let place = one.at.map(|at| loaded.sources().place(at));
        let (line, column) = place.map_or((0, 0), |place| (place.line, place.column));
        format!("{line}:{column} {}; {}", one.message, one.help)
    };
    loaded.diagnostics.iter().filter(told).map(shown).collect()
}

/// Checks that a YAML file has exactly one error; `expected` is its place and a part of its text.
fn yaml(text: &str, expected: &str) {
    check(&errors("application.yml", text, Format::Yaml), text, expected);
}

fn check(found: &[String], text: &str, expected: &str) {
    let is_it = |found: &String| {
        let (place, part) = expected.split_once(' ').unwrap_or_default();
        found.starts_with(&format!("{place} ")) && found.contains(part)
    };
    assert!(found.len() == 1 && found.iter().all(is_it), "{text}: {found:#?}, not {expected}");
}

/// Checks the errors of a pipeline with the further line `line`, which is the fourth.
fn with(line: &str, expected: &str) {
    let text =
        format!("weir.pipelines.a:\n  listen: 127.0.0.1:0\n  upstream: 10.0.0.1:80\n  {line}\n");
    yaml(&text, &format!("4:{expected}"));
}

#[test]
fn settings_of_a_wrong_shape_are_errors() {
    with("limit: {rate: 1/s}", "10 `limit` takes one value, and this is a map");
    with("limit: [5/s]", "10 `limit` takes one value, and this is a list");
    with("timeouts: 30s", "13 `timeouts` is a map, and this is one value");
    with("timeouts: [30s]", "13 `timeouts` is a map, and this is a list");
    with("timeouts: { idle: [ 30s ] }", "21 `idle` takes one value, and this is a list");
    with("proxy-protocol: v2", "19 `proxy-protocol` is a map, and this is one value");
    with(
        "proxy-protocol: { receive: true, from: { a: 10.0.0.0/8 } }",
        "42 `from` takes one value, or a list of values, and this is a map",
    );
    with("check: 2s", "10 `check` is a map, and this is one value");
    with("check: { send: { a: b } }", "18 `send` takes one value, and this is a map");
    with("balance: {}", "12 `balance` takes one value, and this is a map");
    with("routes: foo", "11 `routes` is a list of maps, and this is one value");
    with("routes: [ foo ]", "13 `routes` is a list of maps, and this is one value");
    with(
        "routes: { sni: a, upstream: 10.0.0.1:80 }",
        "11 `routes` is a list of maps, and this is a map",
    );
    with(
        "routes: [ { sni: { a: b }, upstream: 10.0.0.1:80 } ]",
        "20 `sni` takes one value, or a list of values, and this is a map",
    );
    with(
        "routes: [ { sni: a, upstream: { address: [ 10.0.0.1:80 ] } } ]",
        "44 `address` takes one value, and this is a list",
    );
    with("protocol: [ tcp ]", "13 `protocol` takes one value, and this is a list");
    with(
        "frame: { kind: [ fixed ] }\n  protocol: frame",
        "18 `kind` takes one value, and this is a list",
    );
}

#[test]
fn an_error_of_a_shape_says_what_to_write() {
    let text = "weir.pipelines.a: { listen: 127.0.0.1:0, upstream: 10.0.0.1:80, timeouts: 30s }";
    let expected = "1:75 pipeline 'a': `timeouts` is a map, and this is one value; write \
                    `timeouts: { connect: 5s }`";
    yaml(text, expected);
}

#[test]
fn objects_of_a_wrong_shape_are_errors() {
    yaml(
        "weir.pipelines: foo",
        "1:17 `weir.pipelines` is a list of pipelines, or a map of them by `id`",
    );
    yaml("weir.pipelines: [ foo ]", "1:19 `pipeline-1` is a map, and this is one value");
    yaml("weir.pipelines: { a: foo }", "1:22 `a` is a map, and this is one value");
    yaml(
        "weir.pipelines.a: { listen: { b: c }, upstream: 10.0.0.1:80 }",
        "1:29 `listen` takes one value, or a list of values, and this is a map",
    );
    yaml(
        "weir.pipelines.a: { listen: 127.0.0.1:0, upstream: [ [ 10.0.0.1:80 ] ] }",
        "1:54 `upstream` takes values or maps, one or a list of them, and this is a list",
    );
    let own = |protocol: &str, written: &str| {
        let upstream = if protocol == "socks" { "" } else { ", upstream: 10.0.0.1:80" };
        format!(
            "weir.pipelines.a: {{ listen: 127.0.0.1:0, protocol: {protocol}{upstream}, \
             {protocol}: {written} }}"
        )
    };
    yaml(&own("frame", "fixed"), "1:89 `frame` is a map, and this is one value");
    yaml(&own("dubbo", "shared"), "1:89 `dubbo` is a map, and this is one value");
    yaml(&own("socks", "alice"), "1:66 `socks` is a map, and this is one value");
    yaml(&own("socks", "{ users: alice }"), "1:75 `users` is a map, and this is one value");
    yaml(&own("socks", "{ users: [ alice, bob ] }"), "1:75 `users` is a map, and this is a list");
    yaml(
        &own("socks", "{ allow: { a: 10.0.0.1 } }"),
        "1:75 `allow` takes one value, or a list of values, and this is a map",
    );
}

#[test]
fn limits_of_a_wrong_shape_are_errors() {
    yaml("weir.limits: foo", "1:14 `weir.limits` is a map, and this is one value");
    yaml("weir.limits: [ foo ]", "1:14 `weir.limits` is a map, and this is a list");
    yaml("weir.limits.a: 5/s", "1:16 `a` is a map, and this is one value");
    yaml("weir.limits.a: [ 5/s ]", "1:16 `a` is a map, and this is a list");
    yaml(
        "weir.limits.a: { rate: 5/s, weights: 4 }",
        "1:38 `weights` is a map, and this is one value",
    );
    yaml("weir.limits.a: { rate: [ 5/s ] }", "1:24 `rate` takes one value, and this is a list");
    yaml(
        "weir.limits.a: { rate: { rate: 5/s } }",
        "1:24 `rate` takes one value, and this is a map",
    );
    yaml("weir.upstreams.a: { targets: 'h:1', outlier: on }", "1:46 `outlier` is a map");
    yaml("weir.key-resolvers: ip", "1:21 `weir.key-resolvers` is a map, and this is one value");
    yaml("weir.admin: 9090", "1:13 `weir.admin` is a map, and this is one value");
}

#[test]
fn one_mistake_is_reported_once() {
    let text = "weir.pipelines.a: { listen: 127.0.0.1:0, \
                upstream: [ { address: 10.0.0.1:80, weight: 0 } ] }";
    yaml(text, "1:86 `0` is no weight");
    yaml("weir.pipelines.a: { listen: 127.0.0.1:0, upstream: [] }", "1:52 it names no upstream");
    yaml("weir.pipelines.a: { listen: 127.0.0.1:0, routes: [] }", "1:16 it has no upstream");
    yaml(
        "weir.pipelines.a: { listen: 127.0.0.1:0, protocol: http, upstream: 10.0.0.1:80, \
         limit: z }",
        "1:88 Throttle: there is no limit `z`",
    );
    yaml("weir.pipelines.a: { listen: 127.0.0.1:0 }", "1:16 it has no upstream");
}

#[test]
fn a_configuration_without_pipelines_says_so() {
    yaml("weir.pipelines:\n", "1:6 `weir.pipelines` has no pipeline; write `front: {");
    yaml("server.port: 0\nweir:\n  pipelines: []\n", "3:3 `weir.pipelines` has no pipeline");
    for text in ["", "# nothing yet\n\n"] {
        ini(text, "1:1 this file has no pipeline; write `[pipeline.NAME]` with `listen");
    }
    ini(PROXY, "1:1 this module is part of no pipeline");
}

#[test]
fn a_misspelt_field_is_not_missing_too() {
    yaml("weir.pipelines.a: { listn: 127.0.0.1:0, upstream: 10.0.0.1:80 }", "1:21 no `listn`");
    yaml("weir.pipelines.a: { listen: 127.0.0.1:0, upstrem: 10.0.0.1:80 }", "1:42 no `upstrem`");
    ini(&format!("{OPEN}{PROXY}").replace("listen", "listne"), "2:10 there is no `listne`");
}

#[test]
fn settings_without_a_value_are_as_if_missing() {
    for line in
        ["limit:", "limit: \"\"", "timeouts:", "proxy-protocol: \"\"", "routes: []", "balance: ~"]
    {
        let text = format!(
            "weir.pipelines.a:\n  listen: 127.0.0.1:0\n  upstream: 10.0.0.1:80\n  {line}\n"
        );
        assert_eq!(errors("application.yml", &text, Format::Yaml), [""; 0], "{line}");
    }
}

#[test]
fn fields_that_do_not_fit_the_kind_of_messages_are_errors() {
    let frame = |frame: &str, expected: &str| {
        with(&format!("frame: {{ {frame} }}\n  protocol: frame"), expected);
    };
    frame("kind: fixed, size: 5, len-size: 4", "34 `len-size` is for messages of kind `length`");
    frame(
        "size: 5, trailer: x",
        "21 `trailer` is for messages of kind `length`; these are `fixed`",
    );
    frame("kind: length, size: 5", "26 `size` is for messages of kind `fixed`");
    frame("reply-size: 5", "12 `reply-size` is for messages of kind `fixed`");
    frame("corr-offset: 5", "12 `corr-offset` is without `corr-size`");
    frame("len-adjust: -9223372036854775808", "24 is not what `len-adjust` takes");
    frame("len-adjust: 16777217", "24 is not what `len-adjust` takes");
}

#[test]
fn wrong_escapes_are_errors() {
    let valid = "write `\\r`, `\\n`, `\\t`, `\\\\` for a backslash, or `\\x` with two hexadecimal \
                 digits, such as `\\x03`";
    with(r"check: { send: 'PING\xZZ' }", &format!(r"18 `\xZZ` in `send` is no escape; {valid}"));
    with(r"check: { expect: '\q' }", r"20 `\q` in `expect` is no escape");
    let frame = |frame: &str, expected: &str| {
        with(&format!("frame: {{ {frame} }}\n  protocol: frame"), expected);
    };
    frame(r"trailer: 'a\'", r"21 `\` in `trailer` is no escape");
    frame(r"refusal: '\x0'", r"21 `\x0` in `refusal` is no escape");
    frame(
        r"corr-size: 4, corr-offset: 2, refusal: '\r{key}\z'",
        r"51 `\z` in `refusal` is no escape",
    );
    let check =
        |line: &str| format!("{OPEN}{PROXY}").replace("[module", &format!("{line}\n[module"));
    ini(&check(r"check.send = \q"), r"3:14 `\q` in `send` is no escape");
    ini(&check(r"check.expect = OK\"), r"3:16 `\` in `expect` is no escape");
    let messages = "[module.f]\nname = frame-decoder\n";
    let trailer =
        format!("{OPEN}{messages}trailer = \\x3\n[module.e]\nname = frame-encoder\n{PROXY}");
    ini(&trailer, r"5:11 `\x3` in `trailer` is no escape");
    ini(&trailer.replace("trailer", "refusal"), r"5:11 `\x3` in `refusal` is no escape");
}

#[test]
fn rules_of_a_proxy_that_were_not_understood_are_no_open_proxy() {
    let socks = |rules: &str, expected: &str| {
        let head = "weir.pipelines.a: { listen: 0.0.0.0:1080, protocol: socks, socks: ";
        yaml(&format!("{head}{rules} }}"), expected);
    };
    socks(
        "{ users: { a: '${SOCKS_PASSWORD}' } }",
        "1:81 `${SOCKS_PASSWORD}` in `socks.users.a` has neither a value nor a default; set",
    );
    let unset = "weir.pipelines.a: { listen: 0.0.0.0:1080, protocol: socks, \
                 socks: { users: { a: b, c: '${SOCKS_PASSWORD}' } } }";
    let mut loader = Loader::new(Vec::new(), &[], Vec::new());
    loader.add(Source::new("application.yml", unset, Format::Yaml));
    assert!(loader.load().is_refused());
    socks("{ users: { a: '' } }", "1:81 `a` has no password that SOCKS can carry");
    socks("{ users: {} }", "1:69 it names nobody");
    socks("{ allow: [ nowhere ] }", "1:78 `nowhere` is no address rule");
    socks("{ deny: [ nowhere ] }", "1:77 `nowhere` is no address rule");
    socks("alice", "1:67 `socks` is a map, and this is one value");
    let users = "[module.s]\nname = socks\nusers.a = ${SOCKS_PASSWORD}\n";
    let open = OPEN.replace("127.0.0.1", "0.0.0.0");
    ini(&format!("{open}{users}"), "5:11 `${SOCKS_PASSWORD}` in `socks.users.a`");
}

#[test]
fn networks_of_proxies_need_receive() {
    with(
        "proxy-protocol: { from: [ 10.0.0.0/8 ], send: v2 }",
        "21 `from` is without `receive: true`; write `receive: true` to accept",
    );
    with(
        "proxy-protocol: { from: [ 10.0.0.0/8 ], receive: yes please }",
        "52 `yes please` is not what `receive` takes",
    );
    with("proxy-protocol: { receive: true, from: '::ffff:10.0.0.0/129' }", "42 is no network");
    let off = "weir.pipelines.a: { listen: 127.0.0.1:0, upstream: 10.0.0.1:80, \
               proxy-protocol: { receive: false, from: 10.0.0.0/8 } }";
    assert_eq!(errors("application.yml", off, Format::Yaml), [""; 0]);
}

/// Checks that an ini file has exactly one error.
fn ini(text: &str, expected: &str) {
    check(&errors("proxy.ini", text, Format::Ini), text, expected);
}

const OPEN: &str = "[pipeline.a]\nlisten = 127.0.0.1:0\n";
const PROXY: &str = "[module.u]\nname = proxy\nupstream = 10.0.0.1:80\n";
const TAP: &str = "[module.t]\nname = tap\nlimit = 5\n";
const DECODER: &str = "[module.d]\nname = http-request-decoder\n";
const ENCODER: &str = "[module.e]\nname = http-request-encoder\n";

#[test]
fn ini_files_whose_lines_agree_have_no_errors() {
    let other = OPEN.replace(".a]", ".b]");
    for text in [
        format!("{OPEN}{PROXY}"),
        format!("{OPEN}{TAP}{PROXY}{other}{TAP}{PROXY}"),
        format!("{OPEN}protocol = http\n{DECODER}{TAP}{ENCODER}{PROXY}"),
        format!("{OPEN}[module.s]\nname = socks\nusers.a = b\nusers.c = d\n"),
    ] {
        assert_eq!(errors("proxy.ini", &text, Format::Ini), [""; 0], "{text}");
    }
}

#[test]
fn ini_lines_that_would_replace_others_are_errors() {
    let again = "[module.w]\nname = tap\nlimit = 9\n";
    ini(&format!("{OPEN}{PROXY}{OPEN}{PROXY}"), "6:1 there are two pipelines `a`");
    ini(&format!("{OPEN}listen = 127.0.0.1:0\n{PROXY}"), "3:1 has a `listen` already");
    ini(&format!("{OPEN}Listen = 127.0.0.1:0\n{PROXY}"), "3:1 has a `Listen` already");
    ini(&format!("{OPEN}{PROXY}upstream = 10.0.0.2:80\n"), "6:1 has a `upstream` already");
    ini(&format!("{OPEN}upstream = 10.0.0.2:80\n{PROXY}"), "6:1 has a `upstream` already");
    ini(&format!("{OPEN}limit = 1/s\n{TAP}{PROXY}"), "6:1 has a `limit` already");
    ini(&format!("{OPEN}{TAP}{again}{PROXY}"), "7:8 has a `tap` already");
    ini(&format!("{OPEN}{TAP}name = tap\n{PROXY}"), "6:1 has a `name` already");
    ini(&format!("{OPEN}{TAP}{}", PROXY.replace(".u]", ".t]")), "6:1 has a module `t` already");
    let text = format!("{OPEN}protocol = tcp\n{DECODER}{ENCODER}{PROXY}");
    let found = errors("proxy.ini", &text, Format::Ini);
    assert_eq!(found.len(), 2, "{found:#?}");
    let expected = "5:8 `http-request-decoder` is not for `tcp`, which this is; write a pipeline \
                    for each protocol";
    assert!(found.iter().any(|one| one == expected), "{found:#?}");
}

#[test]
fn ini_modules_that_do_nothing_are_errors() {
    let empty = TAP.replace("limit = 5\n", "");
    ini(&format!("{OPEN}{empty}{PROXY}"), "3:1 this `tap` has no `limit`");
    ini(&format!("{OPEN}{empty}limit =\n{PROXY}"), "5:1 `limit` has no value");
    ini(&format!("{OPEN}{DECODER}{ENCODER}{TAP}{PROXY}"), "8:8 `tap` stands behind");
    ini(&format!("{OPEN}{TAP}{DECODER}{ENCODER}{PROXY}"), "4:8 `tap` stands in front of");
    ini(&format!("{OPEN}{PROXY}{TAP}"), "7:8 nothing comes behind `proxy`");
}

/// A pipeline in one line.
fn from_to(id: &str, listen: &str, upstream: &str) -> String {
    format!("weir.pipelines.{id}: {{ upstream: '{upstream}', listen: '{listen}' }}\n")
}

#[test]
fn pipelines_that_lead_back_to_themselves_are_errors() {
    for (listen, upstream) in [
        ("127.0.0.1:7001", "127.0.0.1:7001"),
        ("0.0.0.0:7001", "127.0.0.1:7001"),
        ("7001", "localhost:7001"),
        ("0.0.0.0:7001", "127.0.0.9:7001"),
        ("127.0.0.1:7001", "0.0.0.0:7001"),
        ("10.0.0.1:7001", "10.0.0.1:7001"),
        ("[::1]:7001", "[::1]:7001"),
        ("[::]:7001", "127.0.0.1:7001"),
        ("127.0.0.1:7001", "[::ffff:127.0.0.1]:7001"),
    ] {
        let expected = format!("1:31 pipeline 'a': `{upstream}` is where it listens itself");
        yaml(&from_to("a", listen, upstream), &expected);
    }
    let two = "weir.pipelines.a: { listen: 127.0.0.1:7001, upstream: [ 10.0.0.1:80, \
               127.0.0.1:7001 ] }";
    yaml(two, "1:70 is where it listens itself");
    let routed = "weir.pipelines.a: { listen: 127.0.0.1:7001, upstream: 10.0.0.1:80, \
                  routes: [ { sni: a, upstream: 127.0.0.1:7001 } ] }";
    yaml(routed, "1:98 is where it listens itself");
    let http = "weir.pipelines.a: { listen: 127.0.0.1:7001, protocol: http, \
                upstream: 127.0.0.1:7001 }";
    yaml(http, "1:71 is where it listens itself");
    let circle = [
        from_to("a", "127.0.0.1:7001", "127.0.0.1:7002"),
        from_to("b", "0.0.0.0:7002", "127.0.0.1:7003"),
        from_to("c", "0.0.0.0:7003", "127.0.0.1:7001"),
    ];
    let expected = "3:31 pipeline 'c': `127.0.0.1:7001` leads back to it, by way of 'a', 'b'; one \
                    connection would open others without end";
    yaml(&circle.concat(), expected);
}

#[test]
fn pipelines_that_lead_to_others_are_no_errors() {
    for (a, b) in [
        (("127.0.0.1:7001", "127.0.0.1:7002"), ("127.0.0.1:7002", "10.0.0.1:7001")),
        (("127.0.0.1:7001", "127.0.0.2:7001"), ("127.0.0.1:7002", "127.0.0.1:7001")),
        (("127.0.0.1:0", "127.0.0.1:7002"), ("127.0.0.1:7003", "example.org:7003")),
        (("0.0.0.0:7001", "192.0.2.1:7001"), ("127.0.0.1:7002", "[::1]:7002")),
    ] {
        let text = from_to("a", a.0, a.1) + &from_to("b", b.0, b.1);
        assert_eq!(errors("application.yml", &text, Format::Yaml), [""; 0], "{text}");
    }
}
