//! From texts to a checked configuration: [`Loader`] takes the texts, [`Loaded`] is what they mean.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;

use weir_auth::KeyRing;
use weir_balance::Directory;
use weir_cache::Caches;
use weir_limit::Valves;
use weir_mock::MockTable;
use weir_route::index::{DEFAULT_SEED, Index};
use weir_route::pattern::RegexCache;
use weir_route::{NamedArgs, Route, RouteDefinition};

use crate::check::Checks;
use crate::compile::{Compiler, Options};
use crate::cors;
use crate::definitions::Definitions;
use crate::diagnostic::{Diagnostic, Severity};
use crate::imports::{Import, Imports, Outcome, Server};
use crate::mocks::{self, FileAccess};
use crate::options;
use crate::pipelines::pipelines;
use crate::property;
use crate::routes::{self, Written};
use crate::security;
use crate::source::{Source, Sources, Span};
use crate::spring::{Documents, Kind, Layers, Node};
use crate::upstreams;
use weir_snapshot::RouteTarget;
use weir_snapshot::Settings;

/// Texts of fewer bytes than this have their routes compiled by the thread that reads them.
const BYTES_FOR_THREAD_MIN: usize = 1 << 20;
/// Routes that are handed to the other thread together.
const CHUNK: usize = 64;
/// Chunks that may wait for it.
const CHUNKS_MAX: usize = 8;

/// Takes the texts of a configuration, one by one.
///
/// Add the files first, then what [`Loader::imports`] asks for; ask [`Loader::active_profiles`]
/// which `application-{profile}` files are wanted, add those and what they import, then
/// [`Loader::load`]. Every text is parsed once.
#[derive(Debug)]
pub struct Loader {
    documents: Documents,
    imports: Imports,
    regexes: RegexCache,
    seed: u64,
    directory: Arc<Directory>,
    valves: Arc<Valves>,
    caches: Arc<Caches>,
    mock_table: Arc<MockTable>,
    keys: Arc<KeyRing>,
    files: Option<FileAccess>,
}

/// A configuration, read and checked as a whole; routes are read from it one at a time.
///
/// It holds the parsed texts: drop it once the routes are compiled.
#[derive(Debug)]
pub struct Loaded {
    /// Settings that apply to all routes.
    pub settings: Arc<Settings>,
    /// Compiles routes as this configuration has them compiled; outlives this value.
    pub compiler: Arc<Compiler>,
    /// `default-filters`.
    pub default_filters: Vec<NamedArgs>,
    /// Active profiles.
    pub profiles: Vec<String>,
    /// Findings so far; those about routes are added as routes are read.
    pub diagnostics: Vec<Diagnostic>,
    /// Servers that parts of it come from.
    pub servers: Vec<Server>,
    /// Imports that were not read.
    pub unread: Vec<String>,
    /// Places of the default filters.
    pub(crate) default_places: Vec<Span>,
    directory: Arc<Directory>,
    documents: Documents,
}

/// What [`Loaded::check`] has looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Routes, those included that are disabled or left out.
    pub routes: usize,
    /// Routes that are tried one after the other, since no key tells them apart.
    pub scanned: usize,
    /// Pipelines without a mistake.
    pub pipelines: usize,
}

/// Compiled routes with their definitions.
#[derive(Debug, Default)]
pub struct Compiled {
    /// Routes in definition order.
    pub routes: Vec<Arc<Route<RouteTarget>>>,
    /// The n-th is that of the route with position n; a route that is disabled or was left out has
    /// one, too.
    pub definitions: Definitions,
}

impl Loader {
    /// Takes what does not come from files: environment variables, `--set key=value` texts, and the
    /// profiles named on the command line.
    pub fn new(environment: Vec<(String, String)>, sets: &[String], profiles: Vec<String>) -> Self {
        let documents = Documents::new(environment, sets, profiles);
        Self {
            documents,
            imports: Imports::default(),
            regexes: RegexCache::default(),
            seed: DEFAULT_SEED,
            directory: Arc::default(),
            valves: Arc::default(),
            caches: Arc::default(),
            mock_table: Arc::default(),
            keys: Arc::default(),
            files: None,
        }
    }

    /// Keys the hash of the route table: nobody who does not know `seed` can write routes that
    /// share a place in it.
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Shares compiled expressions with an earlier configuration (see [`Compiler::regexes`]).
    pub fn with_regexes(mut self, regexes: RegexCache) -> Self {
        self.regexes = regexes;
        self
    }

    /// Takes services from what registries list in `directory`; it outlives the configuration.
    pub fn with_directory(mut self, directory: &Arc<Directory>) -> Self {
        self.directory = Arc::clone(directory);
        self
    }

    /// Keeps limits by name in `valves`, which outlives the configuration.
    pub fn with_limits(mut self, valves: &Arc<Valves>) -> Self {
        self.valves = Arc::clone(valves);
        self
    }

    /// Keeps responses in `caches`, which outlive the configuration.
    pub fn with_caches(mut self, caches: &Arc<Caches>) -> Self {
        self.caches = Arc::clone(caches);
        self
    }

    /// Keeps the keys of issuers in `keys`, which outlives the configuration.
    pub fn with_keys(mut self, keys: &Arc<KeyRing>) -> Self {
        self.keys = Arc::clone(keys);
        self
    }

    /// Answers `mock://store` from `table`, which outlives the configuration.
    pub fn with_mock_table(mut self, table: &Arc<MockTable>) -> Self {
        self.mock_table = Arc::clone(table);
        self
    }

    /// Reads files that the configuration names by this function.
    pub fn with_files(mut self, files: FileAccess) -> Self {
        self.files = Some(files);
        self
    }

    /// Takes a file. Of two the later one wins.
    pub fn add(&mut self, source: Source) {
        self.documents.add(source);
    }

    /// Takes a `bootstrap.yml` or the like, which every other file overrides. With one, servers are
    /// asked that no import names.
    pub fn add_bootstrap(&mut self, source: Source) {
        self.documents.add_bootstrap(source);
    }

    /// What is to be read besides, each once. Before profiles are known: the files and directories
    /// that documents without a condition import. With the active profiles: everything else. Ask
    /// again after the answers, as what was read may import more.
    pub fn imports(&mut self, active: Option<&[String]>) -> Vec<Import> {
        self.imports.wanted(&mut self.documents, active)
    }

    /// Takes what became of one of [`Loader::imports`].
    pub fn answer(&mut self, import: &Import, outcome: Outcome) {
        self.imports.answer(import, outcome, &mut self.documents);
    }

    /// The text of a property as the texts taken so far have it; empty if none has it.
    pub fn text(&self, name: &str, active: &[String]) -> String {
        let layers = self.documents.layers(active);
        let text = layers.find(name).and_then(|node| node.text()).unwrap_or_default();
        layers.resolve(&text).0.trim().to_owned()
    }

    /// The profiles that are active, as far as the texts taken so far tell.
    pub fn active_profiles(&self) -> Vec<String> {
        self.documents.active_profiles()
    }

    /// Reads all but the routes. Imports that nobody has answered are told as not read.
    pub fn load(mut self) -> Loaded {
        let active = self.documents.active_profiles();
        for import in self.imports(Some(&active)) {
            self.answer(&import, Outcome::NotRead);
        }
        let mut problems = self.documents.finish(&active);
        let profiles = self.documents.active_profiles();
        let layers = self.documents.layers(&profiles);
        let mut settings = property::settings(&layers, &mut problems);
        settings.serves_http = serves_http(&layers, &settings);
        property::unknown(&layers, settings.compat.scg, &mut problems);
        let filters = routes::default_filters(&layers, &mut problems);
        let (default_filters, default_places): (Vec<_>, Vec<_>) = filters.into_iter().unzip();
        let upstreams = upstreams::upstreams(&layers, &settings, &mut problems);
        settings.checks_upstreams = upstreams.has_checks();
        let settings = Arc::new(settings);
        let regexes = &self.regexes;
        let forwarding = options::forwarding(&settings, &layers, regexes, &mut problems);
        let predicates = options::predicates(&settings, &layers, regexes, &mut problems);
        let read_file = self.files.map(|files| files.read);
        let mocks = mocks::mocks(
            &layers,
            &self.documents.sources,
            self.files,
            &self.mock_table,
            &mut problems,
        );
        let security = security::security(&layers, &settings, &self.keys, read_file, &mut problems);
        let lasting = (&self.valves, &self.caches);
        let mut filters = options::filters(&layers, regexes, lasting, &settings, &mut problems);
        filters.definitions = Some(mocks.sources().clone());
        filters.nobody_is_known =
            security.is_none() && filters.api_keys.is_empty() && filters.users.is_empty();
        let compiler = Compiler::new(Options {
            cors: cors::global(&layers, &predicates, &mut problems),
            predicates,
            filters,
            security,
            default_filters: default_filters.clone(),
            predicates_off: routes::switched_off(&layers, "predicate"),
            filters_off: routes::switched_off(&layers, "filter"),
            aliases: routes::aliases(&layers, &mut problems),
            services: routes::services(&layers, &mut problems),
            upstreams,
            directory: Arc::clone(&self.directory),
            mocks,
            groups: routes::groups(&layers, &mut problems)
                .into_iter()
                .map(|group| group.definition)
                .collect(),
            settings: Arc::clone(&settings),
            forwarding: Arc::new(forwarding),
            seed: self.seed,
        });
        let pipelines = pipelines(&layers, &compiler, &self.directory, &mut problems);
        let compiler = compiler.with_pipelines(pipelines);
        Loaded {
            settings,
            compiler: Arc::new(compiler),
            default_filters,
            profiles,
            diagnostics: problems,
            servers: self.imports.servers,
            unread: self.imports.unread,
            default_places,
            directory: self.directory,
            documents: self.documents,
        }
    }
}

/// Whether the gateway's own port is opened: not where there are pipelines, and neither routes nor
/// a port are written.
fn serves_http(layers: &Layers<'_>, settings: &Settings) -> bool {
    layers.find("weir.pipelines").is_none()
        || layers.first_of(&routes::names_of_both("routes")).is_some()
        || layers.find("server.port").is_some()
        || settings.discovery.locator
}

impl Loaded {
    /// The texts that the findings point into.
    pub fn sources(&self) -> &Sources {
        &self.documents.sources
    }

    /// The files that API definitions were read from, and the folders they were looked for in.
    pub fn definition_files(&self) -> &[PathBuf] {
        self.compiler.definition_files()
    }

    /// Whether anything refuses the configuration.
    pub fn is_refused(&self) -> bool {
        self.diagnostics.iter().any(|finding| finding.severity == Severity::Error)
    }

    /// Puts the findings in the order of the texts.
    pub fn sort_findings(&mut self) {
        self.diagnostics.sort_by_key(|finding| {
            finding.at.map(|span| (span.source, span.start)).unwrap_or((u32::MAX, 0))
        });
    }

    /// What servers say: each property with a number that another value changes. Values
    /// themselves cannot be read from it.
    pub fn remote_properties(&self) -> BTreeMap<String, u64> {
        let mut found = BTreeMap::new();
        for document in self.documents.remote(&self.profiles) {
            flatten(document.tree.root(), &mut String::new(), &mut found);
        }
        found
    }

    pub(crate) fn layers(&self) -> Layers<'_> {
        self.documents.layers(&self.profiles)
    }

    /// Every route as it is written, with the place where it starts, in definition order. Routes
    /// with a wrong shape are reported and left out; nothing else is checked.
    pub fn definitions(&mut self) -> Vec<(RouteDefinition, Span)> {
        let mut list = Vec::new();
        let mut problems = Vec::new();
        routes::each(&self.layers(), &self.directory, &mut problems, |written, _| {
            list.push((written.definition, written.node.span()));
        });
        self.diagnostics.append(&mut problems);
        list
    }

    /// Compiles every route and reports what is wrong with any: the start of the gateway. The
    /// routes are what serves only if [`Loaded::is_refused`] stays false.
    pub fn compile(&mut self) -> Compiled {
        let mut problems = Vec::new();
        let mut checks = Checks::new(self, &mut problems);
        let is_long = self.documents.sources.bytes() >= BYTES_FOR_THREAD_MIN;
        let beside = is_long.then(|| self.compile_beside(&mut checks, &mut problems)).flatten();
        let mut compiled = beside.unwrap_or_else(|| self.compile_here(&mut checks, &mut problems));
        checks.finish(&mut problems);
        self.diagnostics.append(&mut problems);
        compiled.definitions.shrink_to_fit();
        compiled
    }

    fn compile_here(&self, checks: &mut Checks, problems: &mut Vec<Diagnostic>) -> Compiled {
        let mut compiled = Compiled::default();
        routes::each(&self.layers(), &self.directory, problems, |written, problems| {
            compiled.routes.extend(checks.route(&written, problems));
            compiled.definitions.push(&written.definition);
        });
        compiled
    }

    /// The same, with one thread that reads routes and keeps their definitions, and one that
    /// compiles them; `None`, and nothing is done, where the system refuses a thread.
    fn compile_beside(
        &self,
        checks: &mut Checks,
        problems: &mut Vec<Diagnostic>,
    ) -> Option<Compiled> {
        let layers = self.layers();
        let mut definitions = Definitions::default();
        let mut found = Vec::new();
        let routes = thread::scope(|scope| {
            let (sender, receiver) = sync_channel::<Vec<Written<'_>>>(CHUNKS_MAX);
            // Memory is given back where it was taken, which costs both threads less.
            let (done, used) = channel::<Vec<Written<'_>>>();
            let found = &mut found;
            let compiling = thread::Builder::new().spawn_scoped(scope, move || {
                let mut routes = Vec::new();
                for chunk in receiver {
                    routes.extend(chunk.iter().filter_map(|written| checks.route(written, found)));
                    // Refused only if the other thread has panicked.
                    let _ = done.send(chunk);
                }
                routes
            });
            let compiling = compiling.ok()?;
            let mut chunk = Vec::with_capacity(CHUNK);
            routes::each(&layers, &self.directory, problems, |written, _| {
                definitions.push(&written.definition);
                chunk.push(written);
                if chunk.len() == CHUNK {
                    // Refused only if the other thread has panicked, which joining tells.
                    let _ = sender.send(std::mem::replace(&mut chunk, Vec::with_capacity(CHUNK)));
                    used.try_iter().for_each(drop);
                }
            });
            let _ = sender.send(chunk);
            drop(sender);
            Some(compiling.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause)))
        })?;
        problems.append(&mut found);
        Some(Compiled { routes, definitions })
    }

    /// What [`Loaded::compile`] finds, and what takes longer to find: routes that never match, and
    /// routes that are tried one after the other.
    pub fn check(&mut self) -> Checked {
        let mut problems = Vec::new();
        let mut count = 0;
        let mut checks = Checks::new(self, &mut problems);
        let mut compiled = Vec::new();
        routes::each(&self.layers(), &self.directory, &mut problems, |written, problems| {
            compiled.extend(checks.route(&written, problems));
            count += 1;
        });
        let index = Index::build(compiled);
        checks.shadows(&index, &self.documents.sources, &mut problems);
        checks.forwards(&index, &mut problems);
        let scanned = checks.scanned(&index, &mut problems);
        checks.finish(&mut problems);
        self.diagnostics.append(&mut problems);
        Checked { routes: count, scanned, pipelines: self.compiler.pipelines().len() }
    }
}

/// Every value at and below `node` under its path, unless one of higher priority is there.
fn flatten(node: Node<'_>, path: &mut String, found: &mut BTreeMap<String, u64>) {
    if let Some(text) = node.text() {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        found.entry(path.clone()).or_insert(hasher.finish());
        return;
    }
    let length = path.len();
    for (n, child) in node.children().enumerate() {
        // Writing to a `String` cannot fail.
        let _ = match (node.kind(), child.bracketed(), length) {
            (Kind::List, ..) => write!(path, "[{n}]"),
            (_, true, _) => write!(path, "[{}]", child.key()),
            (_, false, 0) => write!(path, "{}", child.key()),
            (_, false, _) => write!(path, ".{}", child.key()),
        };
        flatten(child, path, found);
        path.truncate(length);
    }
}

#[cfg(test)]
mod tests {
    use super::{Compiled, Diagnostic, Loaded, Loader};
    use crate::check::Checks;
    use crate::source::{Format, Source};

    type Compile = fn(&Loaded, &mut Checks, &mut Vec<Diagnostic>) -> Compiled;

    /// Routes with their positions, definitions, and findings in the order of the text.
    fn outcome(text: &str, compile: Compile) -> (Vec<(String, u64)>, usize, Vec<String>) {
        let mut loader = Loader::new(Vec::new(), &[], Vec::new());
        loader.add(Source::new("application.yml", text, Format::Yaml));
        let mut loaded = loader.load();
        let mut problems = Vec::new();
        let mut checks = Checks::new(&loaded, &mut problems);
        let compiled = compile(&loaded, &mut checks, &mut problems);
        checks.finish(&mut problems);
        loaded.diagnostics.append(&mut problems);
        loaded.sort_findings();
        let routes = compiled.routes.iter().map(|route| (route.id.to_string(), route.position));
        let findings = loaded.diagnostics.iter().map(|finding| finding.message.clone());
        (routes.collect(), compiled.definitions.len(), findings.collect())
    }

    #[test]
    fn two_threads_compile_what_one_does() {
        let mut text = "spring.cloud.gateway.server.webflux:\n  routes:\n".to_owned();
        for n in 0..2_000 {
            let predicate = match n % 97 {
                0 => "Paht=/x",
                1 => "Path=/{a",
                _ => "Path=/x",
            };
            let id = n - n % 50 / 49;
            text += &format!(
                "  - {{ id: r{id}, uri: \"http://h\", predicates: [ \"{predicate}\" ] }}\n"
            );
        }
        let here = outcome(&text, Loaded::compile_here);
        assert!(
            here == outcome(&text, |loaded, checks, problems| {
                loaded.compile_beside(checks, problems).unwrap()
            })
        );
        assert_eq!((here.0.len(), here.1), (2_000 - 42, 2_000));
        assert!(here.2.iter().any(|message| message.contains("duplicate id")), "{:?}", here.2);
    }
}
