//! Loading of a configuration: [`Loader`] takes texts and makes a checked [`Loaded`].

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::sync::Arc;

use weir_auth::KeyRing;
use weir_balance::Directory;
use weir_cache::Caches;
use weir_filter::Descriptors;
use weir_limit::Valves;
use weir_mock::MockTable;
use weir_route::index::DEFAULT_SEED;
use weir_route::pattern::RegexCache;
use weir_route::{Beside, NamedArgs, RouteDefinition};

use crate::compile::{Compiler, Options};
use crate::cors;
use crate::diagnostic::{Diagnostic, Severity, mask_filled_in};
use crate::imports::{Import, Imports, Outcome, Server};
use crate::mocks::{self, FileAccess};
use crate::options;
use crate::pipelines::pipelines;
use crate::property;
use crate::routes;
use crate::security;
use crate::source::{Source, Sources, Span};
use crate::spring::{Documents, Kind, Layers, Node};
use crate::tenant_tokens::tenant_tokens;
use crate::upstreams;
use weir_snapshot::Settings;

/// Collects the texts of a configuration.
///
/// Add the files first, then answer [`Loader::imports`]. [`Loader::active_profiles`] determines
/// which `application-{profile}` files to add, again with their imports. Then call
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

/// A configuration, read and checked as a whole, except for routes, which are read one at a time.
///
/// It holds the parsed texts: drop it once the routes are compiled.
#[derive(Debug)]
pub struct Loaded {
    /// Settings that apply to all routes.
    pub settings: Arc<Settings>,
    /// Compiler of routes under this configuration; outlives this value.
    pub compiler: Arc<Compiler>,
    /// `default-filters`.
    pub default_filters: Vec<NamedArgs>,
    /// Active profiles.
    pub profiles: Vec<String>,
    /// Findings so far; those about routes are added as routes are read.
    pub diagnostics: Vec<Diagnostic>,
    /// Servers that parts of the configuration come from.
    pub servers: Vec<Server>,
    /// Imports that were not read.
    pub unread: Vec<String>,
    /// Places of the default filters.
    pub(crate) default_places: Vec<Span>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) documents: Documents,
}

impl Loader {
    /// Takes the parts that do not come from files: environment variables, `--set key=value` texts,
    /// and the profiles of the command line.
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

    /// Keys the hash of the route table, so that nobody without `seed` can construct colliding
    /// routes.
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Reads long texts, and builds large tables, with a second thread.
    pub fn with_thread(mut self, beside: Beside) -> Self {
        self.documents.beside = beside;
        self
    }

    /// Shares compiled expressions with an earlier configuration (see [`Compiler::regexes`]).
    pub fn with_regexes(mut self, regexes: RegexCache) -> Self {
        self.regexes = regexes;
        self
    }

    /// Looks up services in `directory`, which holds the instances of registries and outlives the
    /// configuration.
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

    /// Sets the functions that read files named in the configuration.
    pub fn with_files(mut self, files: FileAccess) -> Self {
        self.files = Some(files);
        self
    }

    /// Adds a file. Later files override earlier ones.
    pub fn add(&mut self, source: Source) {
        self.documents.add(source);
    }

    /// Adds a `bootstrap.yml` or similar file, which every other file overrides. It also implies
    /// imports from servers.
    pub fn add_bootstrap(&mut self, source: Source) {
        self.documents.add_bootstrap(source);
    }

    /// Imports that must be read, each once. Before profiles are known: files and directories that
    /// unconditional documents import. With the active profiles: everything else. Call it again
    /// after the answers, because imported documents may contain imports.
    pub fn imports(&mut self, active: Option<&[String]>) -> Vec<Import> {
        self.imports.wanted(&mut self.documents, active)
    }

    /// Takes the result of one of [`Loader::imports`].
    pub fn answer(&mut self, import: &Import, outcome: Outcome) {
        self.imports.answer(import, outcome, &mut self.documents);
    }

    /// The text of a property in the documents so far; empty if it is not set.
    pub fn text(&self, name: &str, active: &[String]) -> String {
        let layers = self.documents.layers(active);
        let text = layers.find(name).and_then(|node| node.text()).unwrap_or_default();
        layers.resolve(&text).0.trim().to_owned()
    }

    /// The active profiles, according to the documents so far.
    pub fn active_profiles(&self) -> Vec<String> {
        self.documents.active_profiles()
    }

    /// Loads everything except the routes. Unanswered imports are reported as not read.
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
        let whole = settings.admin.token.as_ref();
        settings.admin.tenant_tokens = tenant_tokens(&layers, whole, &mut problems);
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
        let sources = &self.documents.sources;
        let mut mocks = mocks::mocks(&layers, sources, self.files, &self.mock_table, &mut problems);
        let quoted = std::mem::take(&mut mocks.quoted);
        let security = security::security(&layers, &settings, &self.keys, read_file, &mut problems);
        let lasting = (&self.valves, &self.caches);
        let mut filters = options::filters(&layers, regexes, lasting, &settings, &mut problems);
        filters.definitions = Some(mocks.sources().clone());
        filters.descriptors = options::descriptors(&layers, sources, self.files);
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
            beside: self.documents.beside,
        });
        let pipelines = pipelines(&layers, &compiler, &self.directory, &mut problems);
        mask_filled_in(&layers, &mut problems);
        self.documents.sources.extend(quoted);
        Loaded {
            settings,
            compiler: Arc::new(compiler.with_pipelines(pipelines)),
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

/// Whether the gateway's own port is opened: not if there are pipelines, but neither routes nor a
/// port.
fn serves_http(layers: &Layers<'_>, settings: &Settings) -> bool {
    layers.find("weir.pipelines").is_none()
        || layers.first_of(&routes::names_of_both("routes")).is_some()
        || layers.find("server.port").is_some()
        || settings.discovery.locator
}

impl Loaded {
    /// The texts that findings refer to.
    pub fn sources(&self) -> &Sources {
        &self.documents.sources
    }

    /// The files that API definitions were read from, and the folders that were searched.
    pub fn definition_files(&self) -> &[PathBuf] {
        self.compiler.definition_files()
    }

    /// The descriptor sets of gRPC services that routes name.
    pub fn descriptors(&self) -> Option<&Descriptors> {
        self.compiler.filter_options().descriptors.as_ref()
    }

    /// Whether a finding rejects the configuration.
    pub fn is_refused(&self) -> bool {
        self.diagnostics.iter().any(|finding| finding.severity == Severity::Error)
    }

    /// Sorts the findings by their place.
    pub fn sort_findings(&mut self) {
        self.diagnostics.sort_by_key(|finding| {
            finding.at.map(|span| (span.source, span.start)).unwrap_or((u32::MAX, 0))
        });
    }

    /// The properties of servers, each with a hash of its value, which does not reveal the value.
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

    /// All route definitions with the place of each, in definition order. Routes with a wrong shape
    /// are reported and omitted; nothing else is checked.
    pub fn definitions(&mut self) -> Vec<(RouteDefinition, Span)> {
        let mut list = Vec::new();
        let mut problems = Vec::new();
        routes::each(&self.layers(), &self.directory, &mut problems, |written, _| {
            list.push((written.definition, written.node.span()));
        });
        self.diagnostics.append(&mut problems);
        list
    }
}

/// Adds all values at and below `node` by path, unless a higher layer has set them.
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
