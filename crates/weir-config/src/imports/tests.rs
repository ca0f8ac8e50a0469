//! Complete imports against simulated files and servers.

use super::{Content, Fetched, Import, Location, Outcome, Server};
use crate::diagnostic::Severity;
use crate::source::{Format, Source};
use crate::{Loaded, Loader};

/// Files by name, answers of servers by display name, and variables.
struct World<'a> {
    files: &'a [(&'a str, &'a str)],
    servers: &'a [(&'a str, Answers<'a>)],
    variables: &'a [(&'a str, &'a str)],
}

/// Parts of an answer: name, text, and whether it belongs to one profile.
type Answers<'a> = &'a [(&'a str, &'a str, bool)];

impl World<'_> {
    fn read(&self, name: &str) -> Option<Source> {
        let (name, text) = self.files.iter().find(|(known, _)| *known == name)?;
        Some(Source::new(name, *text, Format::of_name(name).unwrap_or(Format::Yaml)))
    }

    fn outcome(&self, import: &Import) -> Outcome {
        match &import.location {
            Location::File(paths, _) => {
                let mut found = paths.iter().filter_map(|path| self.read(path.to_str()?));
                Outcome::Files(found.next().into_iter().collect())
            }
            Location::Folder(paths) => {
                let names = paths.iter().filter_map(|path| path.to_str());
                let mut found =
                    names.filter_map(|path| self.read(&format!("{path}/application.yml")));
                Outcome::Files(found.next().into_iter().collect())
            }
            Location::Tree(_) => Outcome::Failed("it cannot be read".to_owned()),
            Location::Server(server) => self.ask(server),
        }
    }

    fn ask(&self, server: &Server) -> Outcome {
        let name = server.to_string();
        match self.servers.iter().find(|(known, _)| *known == name) {
            Some((_, parts)) => Outcome::Parts(
                parts
                    .iter()
                    .map(|(name, text, is_specific)| Fetched {
                        name: (*name).to_owned(),
                        content: Content::Text((*text).to_owned(), Format::Yaml),
                        is_specific: *is_specific,
                    })
                    .collect(),
            ),
            None => Outcome::Failed(format!("nobody is at {name}")),
        }
    }

    fn load(&self, base: &[&str]) -> Loaded {
        let variables =
            self.variables.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let mut loader = Loader::new(variables, &[], Vec::new());
        for name in base {
            let source = self.read(name).expect("a base file");
            match name.starts_with("bootstrap") {
                true => loader.add_bootstrap(source),
                false => loader.add(source),
            }
        }
        self.rounds(&mut loader, None);
        let active = loader.active_profiles();
        for profile in &active {
            if let Some(mut source) = self.read(&format!("application-{profile}.yml")) {
                source.profile = Some(profile.clone());
                loader.add(source);
            }
        }
        self.rounds(&mut loader, Some(&active));
        loader.load()
    }

    fn rounds(&self, loader: &mut Loader, active: Option<&[String]>) {
        loop {
            let wanted = loader.imports(active);
            if wanted.is_empty() {
                return;
            }
            for import in wanted {
                let outcome = self.outcome(&import);
                loader.answer(&import, outcome);
            }
        }
    }
}

fn value(loaded: &Loaded, name: &str) -> String {
    let layers = loaded.layers();
    let text = layers.find(name).and_then(|node| node.text()).unwrap_or_default();
    layers.resolve(&text).0.into_owned()
}

/// Checks the value of `x` with these files and no servers.
fn check(files: &[(&str, &str)], base: &[&str], expected: &str) {
    let loaded = World { files, servers: &[], variables: &[] }.load(base);
    assert_eq!(value(&loaded, "x"), expected, "{:?}", loaded.diagnostics);
}

/// Messages of warnings and errors, as `severity message`.
fn findings(loaded: &Loaded) -> Vec<String> {
    let worse = loaded.diagnostics.iter().filter(|found| found.severity > Severity::Note);
    worse.map(|found| format!("{} {}", found.severity.as_str(), found.message)).collect()
}

#[test]
fn an_imported_file_wins_over_the_one_that_imports_it() {
    let base = ["application.yml"];
    let import = "spring.config.import: a.yml\nx: base\n";
    check(&[("application.yml", import), ("a.yml", "x: a")], &base, "a");
    let two = "spring.config.import: [a.yml, b.yml]\nx: base\n";
    check(&[("application.yml", two), ("a.yml", "x: a"), ("b.yml", "x: b")], &base, "b");
    let deep = "spring.config.import: conf/a.yml\n";
    let a = "spring.config.import: b.yml\nx: a\n";
    check(&[("application.yml", deep), ("conf/a.yml", a), ("conf/b.yml", "x: b")], &base, "b");
    // A later document overrides the imports of an earlier one.
    let later = "spring.config.import: a.yml\n---\nx: later\n";
    check(&[("application.yml", later), ("a.yml", "x: a")], &base, "later");
}

#[test]
fn imports_have_variants_for_profiles() {
    let base = ["application.yml"];
    let import = "spring:\n  config.import: a.yml\n  profiles.active: dev\nx: base\n";
    let files = [("application.yml", import), ("a.yml", "x: a"), ("a-dev.yml", "x: a-dev")];
    check(&files, &base, "a-dev");
    let files = [files[0], files[1], files[2], ("application-dev.yml", "x: app-dev")];
    check(&files, &base, "app-dev");
    // An imported file may set the active profiles.
    let files = [
        ("application.yml", "spring.config.import: a.yml"),
        ("a.yml", "spring.profiles.active: dev"),
        ("a-dev.yml", "x: dev"),
    ];
    check(&files, &base, "dev");
    let folder = [
        ("application.yml", "spring.config.import: 'file:conf/'\nspring.profiles.active: dev"),
        ("conf/application.yml", "x: 1"),
        ("conf/application-dev.yml", "x: 2"),
    ];
    check(&folder, &base, "2");
}

#[test]
fn circles_end() {
    let files = [
        ("application.yml", "spring.config.import: a.yml\nx: base"),
        ("a.yml", "spring.config.import: application.yml\nx: a"),
    ];
    check(&files, &["application.yml"], "base");
    let chain: Vec<(String, String)> = (0..300)
        .map(|n| (format!("f{n}.yml"), format!("spring.config.import: f{}.yml", n + 1)))
        .collect();
    let mut files: Vec<(&str, &str)> =
        chain.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    files.push(("application.yml", "spring.config.import: f0.yml"));
    let loaded = World { files: &files, servers: &[], variables: &[] }.load(&["application.yml"]);
    assert!(loaded.is_refused());
    assert!(findings(&loaded)[0].contains("import each other"), "{:?}", findings(&loaded));
}

#[test]
fn what_is_not_there_is_told_at_its_place() {
    let text = "spring.config.import:\n- optional:a.yml\n- b.yml\n- classpath:c.yml\n\
                - optional:classpath:d.yml\n- vault://e\n";
    let files = [("application.yml", text)];
    let loaded = World { files: &files, servers: &[], variables: &[] }.load(&["application.yml"]);
    assert_eq!(
        findings(&loaded),
        [
            "error b.yml is not there",
            "error `classpath:c.yml` cannot be read by weir",
            "warning `optional:classpath:d.yml` cannot be read by weir",
            "error `vault://e` cannot be read by weir",
        ]
    );
    let span = loaded.diagnostics.iter().find_map(|found| found.at).expect("a place");
    assert_eq!(loaded.sources().place(span).to_string(), "application.yml:2:3");
}

#[test]
fn a_config_server_wins_over_files_and_what_it_has_for_a_profile_over_all_of_them() {
    let files = [
        (
            "application.yml",
            "spring:\n  application.name: gate\n  profiles.active: dev\n  config.import: \
             'configserver:http://u:secret@h:1'\nx: base\ny: base\nz: ${from.server}\n",
        ),
        ("application-dev.yml", "x: file\ny: file"),
    ];
    let servers = [(
        "configserver:http://h:1/gate/dev",
        &[("plain", "x: plain\nw: plain\nfrom.server: 7\n", false), ("dev", "x: dev", true)]
            as Answers<'_>,
    )];
    let world = World { files: &files, servers: &servers, variables: &[("W", "1")] };
    let loaded = world.load(&["application.yml"]);
    let all = ["x", "y", "z", "w"].map(|name| value(&loaded, name));
    assert_eq!(all, ["dev", "file", "7", "plain"], "{:?}", loaded.diagnostics);
    assert_eq!(loaded.servers.len(), 1);
    let names: Vec<String> = loaded.remote_properties().into_keys().collect();
    assert_eq!(names, ["from.server", "w", "x"]);
    let away = World { files: &files, servers: &[], variables: &[] }.load(&["application.yml"]);
    let told = findings(&away).join("\n");
    assert!(told.starts_with("error configserver:http://h:1/gate/dev: nobody is"), "{told}");
    assert!(!told.contains("secret"), "{told}");
}

#[test]
fn override_properties_say_who_wins() {
    let check = |rest: &str, expected: [&str; 2]| {
        let text = format!(
            "spring.config.import: 'configserver:'\nx: file\nserver.port: 1\n\
             spring.cloud.config:\n  uri: http://h\n  name: a\n{rest}"
        );
        let files = [("application.yml", text.as_str())];
        let servers = [(
            "configserver:http://h/a/default",
            &[("s", "x: server\nserver.port: 3", false)] as Answers<'_>,
        )];
        let variables = [("SERVER_PORT", "2")];
        let world = World { files: &files, servers: &servers, variables: &variables };
        let loaded = world.load(&["application.yml"]);
        assert_eq!(["x", "server.port"].map(|name| value(&loaded, name)), expected, "{rest}");
    };
    check("", ["server", "2"]);
    check("  override-none: true\n", ["file", "2"]);
    check("  allow-override: false\n", ["server", "3"]);
}

#[test]
fn a_bootstrap_file_names_servers() {
    let files = [
        (
            "bootstrap.yml",
            "spring:\n  application.name: gate\n  cloud:\n    config: { uri: 'http://c:1', label: main }\n    \
             nacos.config:\n      server-addr: n:8848\n      file-extension: yaml\n      \
             shared-configs:\n      - data-id: common.yaml\n        refresh: true\n    \
             consul: { host: k, config.format: YAML }\nx: bootstrap\ny: bootstrap\n",
        ),
        ("application.yml", "x: file\nspring.application.name: other\n"),
    ];
    let servers = [
        ("configserver:http://c:1/gate/default/main", &[("c", "x: server", false)] as Answers<'_>),
        (
            "nacos:n:8848/common.yaml@DEFAULT_GROUP,gate@DEFAULT_GROUP,\
             gate.yaml@DEFAULT_GROUP,gate-default.yaml@DEFAULT_GROUP",
            &[],
        ),
        (
            "consul:http://k:8500/config/application;config/application,default;config/gate;\
             config/gate,default",
            &[],
        ),
    ];
    let world = World { files: &files, servers: &servers, variables: &[] };
    let loaded = world.load(&["bootstrap.yml", "application.yml"]);
    assert_eq!(findings(&loaded), Vec::<String>::new());
    assert_eq!(["x", "y"].map(|name| value(&loaded, name)), ["server", "bootstrap"]);
    assert_eq!(loaded.servers.len(), 3);
    let Some(Server::Nacos(nacos)) = loaded.servers.get(1) else { panic!("{:?}", loaded.servers) };
    let refresh: Vec<bool> = nacos.items.iter().map(|item| item.refresh).collect();
    assert_eq!(refresh, [true, true, true, true]);
    // The config server and Nacos are optional, as in Spring; Consul is required.
    let away = World { files: &files, servers: &[], variables: &[] };
    let away = findings(&away.load(&["bootstrap.yml", "application.yml"]));
    let severities: Vec<&str> = away.iter().filter_map(|text| text.split(' ').next()).collect();
    assert_eq!(severities, ["error", "warning", "warning"], "{away:?}");
}

#[test]
fn imports_of_nacos_and_consul_say_what_they_read() {
    let text = "spring:\n  application.name: gate\n  config.import:\n  \
                - nacos:gate.yaml?group=G&refreshEnabled=false\n  - nacos:plain\n  - 'nacos:'\n  \
                - optional:consul:k:9500/one;/two\n  - 'consul:'\n  - configserver:\n\
                weir.config.nacos.routes: { data-id: routes }\n";
    let files = [("application.yml", text)];
    let loaded = World { files: &files, servers: &[], variables: &[] }.load(&["application.yml"]);
    let names: Vec<String> = loaded.servers.iter().map(ToString::to_string).collect();
    assert_eq!(
        names,
        [
            "nacos:127.0.0.1:8848/gate.yaml@G",
            "nacos:127.0.0.1:8848/plain@DEFAULT_GROUP",
            "consul:http://k:9500/one;two",
            "consul:http://localhost:8500/config/application;config/application,default;\
             config/gate;config/gate,default",
            "nacos:127.0.0.1:8848/routes@DEFAULT_GROUP",
        ]
    );
    let told = findings(&loaded);
    assert!(told.contains(&"error `nacos:` is not a location".to_owned()), "{told:?}");
    assert!(told.contains(&"error an import is a text, not a map".to_owned()), "{told:?}");
}

#[test]
fn the_environment_imports_over_all_files() {
    let files = [("application.yml", "x: file"), ("a.yml", "x: a")];
    let variables = [("SPRING_CONFIG_IMPORT", "optional:a.yml")];
    let world = World { files: &files, servers: &[], variables: &variables };
    assert_eq!(value(&world.load(&["application.yml"]), "x"), "a");
}
