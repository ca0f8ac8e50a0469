//! `weir.mock`: API definitions for routes with `mock://NAME`.

mod misread;
mod tenants;
mod written;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use weir_mock::{
    Api, ApiSources, CallbackTargets, MockSet, MockSource, MockTable, Mount, Options, ReadErrors,
    Settings,
};

use crate::diagnostic::{Code, Diagnostic};
use crate::fields::{Fields, Written};
use crate::source::Sources;
use crate::spring::{Kind, Layers, Node, child};
use misread::{Misread, Quoted};
pub use tenants::TenantRules;
use weir_filter::ReadBytes;
use weir_snapshot::Pattern;

const NAME: &str = "weir.mock";
/// File extensions of definitions in a folder.
const ENDINGS: &[&str] = &["yaml", "yml", "json", "har"];
/// Name of the union of all definitions.
const ALL: &str = "all";

/// Functions that read files named in the configuration.
#[derive(Clone, Copy, Debug)]
pub struct FileAccess {
    /// Reads a file.
    pub read: fn(&Path) -> io::Result<String>,
    /// Reads a file as bytes, or enough of it to see that it is too long for a descriptor set.
    pub read_bytes: ReadBytes,
    /// Lists the files in a folder.
    pub list: fn(&Path) -> io::Result<Vec<PathBuf>>,
}

impl FileAccess {
    /// The definitions in a folder, sorted.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn definitions(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let mut found = (self.list)(here)?;
        found.retain(|path| {
            let ending = path.extension().and_then(|ending| ending.to_str());
            ending.is_some_and(|ending| ENDINGS.contains(&ending))
        });
        found.sort();
        Ok(found)
    }

    /// The definition in a file, which may reference files in its folder or below.
    ///
    /// # Errors
    /// All errors, with the texts that they are in.
    fn definition(&self, path: &Path, name: &str) -> Result<Api, Vec<Misread>> {
        let text = (self.read)(path).map_err(|error| {
            vec![Misread {
                file: path.to_owned(),
                error: None,
                text: None,
                why: unreadable(&error),
            }]
        })?;
        let file = file_name(path);
        let read = Api::read(name, &file, &text, &|other: &str| self.beside(path, other));
        read.map_err(|errors| self.misread(&errors, path, &text))
    }

    fn misread(&self, errors: &ReadErrors, path: &Path, text: &str) -> Vec<Misread> {
        let first = file_name(path);
        let folder = path.parent().unwrap_or(Path::new(""));
        let text_of = |file: &str| match file == first {
            true => Some(text.to_owned()),
            false => self.beside(path, file).ok(),
        };
        let mut texts: BTreeMap<String, Option<Arc<str>>> = BTreeMap::new();
        let each = errors.located(&text_of).into_iter().map(|error| {
            let text = texts.entry(error.file.clone());
            let text = text.or_insert_with(|| text_of(&error.file).map(Arc::from)).clone();
            let file = if error.file == first { path.to_owned() } else { folder.join(&error.file) };
            Misread { file, why: error.message.clone(), error: Some(error), text }
        });
        each.collect()
    }

    /// The definition `text` of a file, merged with the files that it references, in its folder or
    /// below, into one document; `None` if it references none.
    ///
    /// # Errors
    /// The file that cannot be read, with the place of the reference.
    pub fn bundled(&self, path: &Path, text: &str) -> Result<Option<Value>, String> {
        let file = file_name(path);
        let bundled = Api::bundled(&file, text, &|other: &str| self.beside(path, other));
        bundled.map_err(|errors| {
            let each = self.misread(&errors, path, text);
            each.iter().map(Misread::line).collect::<Vec<_>>().join("\n")
        })
    }

    /// The text of a file that the file at `path` references.
    fn beside(&self, path: &Path, other: &str) -> Result<String, String> {
        let folder = path.parent().unwrap_or(Path::new(""));
        (self.read)(&folder.join(other)).map_err(|error| error.to_string())
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Why a definition is none.
fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::InvalidData => "it is not UTF-8; save the file as UTF-8".to_owned(),
        _ => error.to_string(),
    }
}

/// Definitions by their names in uris.
#[derive(Debug, Default)]
pub(crate) struct MocksByName {
    sources: ApiSources,
    /// Settings of the definitions in the store.
    common: CommonMocks,
    files: Vec<PathBuf>,
    /// Definitions with errors, in the order of the numbers that follow those of the sources.
    pub quoted: Vec<(Arc<str>, Arc<str>)>,
}

/// Settings of all definitions, including those of the store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommonMocks {
    /// Options of serving.
    pub options: Options,
    /// Overrides, for definitions that have such operations.
    pub settings: Settings,
    /// Those of tenants.
    pub tenants: TenantRules,
}

impl MocksByName {
    /// The files that were read, including invalid ones, and the folders that were searched.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The definitions of the store.
    pub fn table(&self) -> &Arc<MockTable> {
        self.sources.table()
    }

    pub fn sources(&self) -> &ApiSources {
        &self.sources
    }

    pub fn common(&self) -> &CommonMocks {
        &self.common
    }

    /// The definitions of a uri: `mock://NAME` and so on, see [`ApiSources::source`]; `mock:` for
    /// all of the configuration. `None` if there is no such name and no definition is configured.
    pub fn find(&self, uri: &str) -> Result<Option<MockSource>, (Code, String, String)> {
        let rest = uri.strip_prefix("mock:").unwrap_or_default().trim_start_matches('/');
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let first = rest.split('/').next().unwrap_or_default();
        if self.sources.is_empty() && first != ApiSources::STORE {
            return Ok(None);
        }
        let found = self.sources.source(if rest.is_empty() { ALL } else { rest });
        found.map(Some).map_err(|(message, help)| (Code::InvalidUri, message, help))
    }
}

/// Reads the definitions of the layers.
pub(crate) fn mocks(
    layers: &Layers<'_>,
    sources: &Sources,
    files: Option<FileAccess>,
    table: &Arc<MockTable>,
    problems: &mut Vec<Diagnostic>,
) -> MocksByName {
    let nothing = || ApiSources::new(HashMap::new(), Arc::clone(table));
    let nodes: Vec<_> = layers.all(NAME).collect();
    let Some(files) = files.filter(|_| !nodes.is_empty()) else {
        return MocksByName { sources: nothing(), ..MocksByName::default() };
    };
    let mut fields = Fields::new(layers, nodes, "`weir.mock`".to_owned(), problems);
    fields.only(&[&["apis", "select-header", "callbacks", "tenant"], Settings::NAMES].concat());
    let select_header = fields.text("select-header").map(|written| written.text);
    let common = written::settings(&mut fields);
    let tenants = tenants::rules(&mut fields);
    let callbacks = callback_targets(&mut fields);
    let options = common.over(&Options { select_header, callbacks, ..Options::default() });
    let mut reading = Reading {
        files,
        sources,
        apis: Vec::new(),
        read: Vec::new(),
        quoted: Quoted::new(sources.len()),
    };
    let Some(node) = fields.node("apis") else {
        let common = CommonMocks { options, settings: common, tenants };
        return MocksByName { sources: nothing(), common, ..MocksByName::default() };
    };
    for entry in node.children() {
        reading.entry(&mut fields, node, entry);
    }
    let Reading { mut apis, read: files, quoted, .. } = reading;
    common_overrides(&mut fields, &common, &mut apis);
    let mut by_name = HashMap::new();
    for (name, set) in sets(&apis, &options, &tenants) {
        match set {
            Ok(set) => {
                by_name.insert(name, Arc::new(set));
            }
            Err(why) => fields.wrong(node.span(), why, "correct the definition or its settings"),
        }
    }
    let sources = ApiSources::new(by_name, Arc::clone(table));
    let common = CommonMocks { options, settings: common, tenants };
    MocksByName { sources, common, files, quoted: quoted.texts }
}

/// Each set of definitions that a uri can name: one definition, those of one tenant, and all.
fn sets(
    apis: &[Owned],
    options: &Options,
    tenants: &TenantRules,
) -> Vec<(String, Result<MockSet, String>)> {
    let mut named: Vec<(String, &str, Vec<Mount>)> = Vec::new();
    for one in apis {
        named.push((one.key(), &one.tenant, vec![one.mount.clone()]));
    }
    let owners: BTreeSet<&str> = apis.iter().map(|one| one.tenant.as_str()).collect();
    for tenant in owners.into_iter().filter(|tenant| !tenant.is_empty()) {
        let own = apis.iter().filter(|one| one.tenant == tenant).map(|one| one.mount.clone());
        named.push((format!("{tenant}/{}", ApiSources::ANY), tenant, own.collect()));
    }
    let each = named
        .into_iter()
        .map(|(name, tenant, mounts)| (name, MockSet::of_one(tenant, mounts, options.clone())));
    let all = apis.iter().map(|one| (one.tenant.clone(), one.mount.clone())).collect();
    let all = MockSet::mount(all, options, tenants.form.clone());
    each.chain([(ALL.to_owned(), all)]).collect()
}

/// `callbacks.allow`: targets to which mocks may send requests of their own.
fn callback_targets(fields: &mut Fields<'_, '_>) -> CallbackTargets {
    let Some(mut below) = fields.below("callbacks") else { return CallbackTargets::default() };
    below.only(&["allow"]);
    let written = below.texts("allow");
    let texts = written.iter().map(|one| one.text.as_str());
    let (targets, wrong) = CallbackTargets::read(texts);
    for (at, why) in wrong {
        let span = written.get(at).map(|one| one.at).unwrap_or_default();
        let help = "write `http://HOST:PORT` or `https://*.example.org`; `:*` is any port";
        below.wrong(span, why, help);
    }
    targets
}

/// Applies each common override to the definitions that have its operation.
fn common_overrides(fields: &mut Fields<'_, '_>, common: &Settings, apis: &mut [Owned]) {
    let nodes: Vec<_> = fields.node("overrides").into_iter().flat_map(Node::children).collect();
    for (at, own) in common.overrides.iter().enumerate() {
        let mut means_any = false;
        for one in apis.iter_mut().filter(|one| own.means_any_of(&one.mount.api)) {
            one.mount.settings.overrides.push(own.clone());
            means_any = true;
        }
        if !means_any && !apis.is_empty() {
            let node = nodes.get(at).map(|node| child(*node, "operation").unwrap_or(*node));
            let span = node.map(Node::span).unwrap_or_default();
            let message = format!("no definition has an operation `{}`", own.operation);
            let help = "write an `operationId`, `GET /path` as in the definition, or `*`";
            fields.wrong(span, message, help);
        }
    }
}

/// A definition of a tenant; without a name of one, it belongs to none.
struct Owned {
    tenant: String,
    mount: Mount,
}

impl Owned {
    /// What a uri calls it.
    fn key(&self) -> String {
        key_of(&self.tenant, &self.mount.api.name)
    }
}

fn key_of(tenant: &str, name: &str) -> String {
    match tenant.is_empty() {
        true => name.to_owned(),
        false => format!("{tenant}/{name}"),
    }
}

struct Reading<'a> {
    files: FileAccess,
    sources: &'a Sources,
    apis: Vec<Owned>,
    /// Files and folders that were read.
    read: Vec<PathBuf>,
    quoted: Quoted,
}

impl Reading<'_> {
    /// Reads an entry: of a list, with a `name` if it differs from its file's, or of a map by name.
    fn entry<'l>(&mut self, fields: &mut Fields<'_, 'l>, apis: Node<'l>, entry: Node<'l>) {
        let mut below = fields.of(entry, "apis");
        let is_text = entry.kind() != Kind::Map;
        if !is_text {
            below.only(
                &[&["file", "name", "base-path", "host", "tenant"], Settings::NAMES].concat(),
            );
        }
        let named = match apis.kind() {
            Kind::Map => Some(entry.key().to_owned()),
            _ if is_text => None,
            _ => below.text("name").map(|written| written.text),
        };
        let written = match (is_text, child(entry, "file")) {
            (true, _) => below.text_of(entry),
            (false, Some(node)) => below.text_of(node),
            (false, None) => {
                below.wrong(entry.span(), "this definition has no `file`", "add `file: FILE`");
                return;
            }
        };
        let base = if is_text { None } else { below.text("base-path") };
        let tenant = if is_text { String::new() } else { tenants::tenant_of(&mut below) };
        let hosts = if is_text { Vec::new() } else { below.texts("host") };
        let hosts: Vec<String> = hosts.into_iter().map(|written| written.text).collect();
        let settings = if is_text { Settings::default() } else { written::settings(&mut below) };
        let paths = match self.paths(&written) {
            Ok(paths) => paths,
            Err(why) => {
                let help = "name a definition, a folder of them, or `apis/*.yaml`";
                below.wrong(written.at, why, help);
                return;
            }
        };
        if named.is_some() && paths.len() > 1 {
            let message = format!("`{}` are {} files, and one name", written.text, paths.len());
            below.wrong(written.at, message, "leave the name out: each is called as its file");
            return;
        }
        for path in paths {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let name = named.clone().unwrap_or(stem);
            let is_reserved = name == ALL || name == ApiSources::STORE;
            let key = key_of(&tenant, &name);
            if is_reserved || self.apis.iter().any(|known| known.key() == key) {
                let message = match is_reserved {
                    true => format!("`{name}` stands for many definitions, so none is called so"),
                    false => format!("there are two definitions called `{key}`"),
                };
                below.wrong(written.at, message, "give one of them another `name`");
                continue;
            }
            match self.files.definition(&path, &name) {
                Ok(api) => {
                    let folder = path.parent().unwrap_or(Path::new(""));
                    self.read.extend(api.files().map(|file| folder.join(file)));
                    let base_path =
                        base.as_ref().map(|base| format!("/{}", base.text.trim_matches('/')));
                    let (hosts, settings) = (hosts.clone(), settings.clone());
                    let mount = Mount { api: Arc::new(api), base_path, hosts, settings };
                    self.apis.push(Owned { tenant: tenant.clone(), mount });
                }
                Err(wrong) => {
                    self.read.push(path.clone());
                    let found = wrong.iter().map(|one| self.quoted.diagnostic(one, written.at));
                    below.problems.extend(found);
                }
            }
        }
    }

    /// The files of a path, which is relative to the file that contains it unless it is absolute.
    fn paths(&mut self, written: &Written) -> Result<Vec<PathBuf>, String> {
        let text = written.text.strip_prefix("file:").unwrap_or(&written.text);
        let beside = Path::new(self.sources.name(written.at.source)).parent();
        let path = beside.unwrap_or(Path::new("")).join(text);
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let (folder, pattern) = match name.filter(|name| name.contains('*')) {
            Some(name) => (path.parent().unwrap_or(Path::new("")).to_owned(), name),
            None if (self.files.list)(&path).is_err() => return Ok(vec![path]),
            None => (path, "*".to_owned()),
        };
        self.read.push(folder.clone());
        let found = self.files.definitions(&folder);
        let mut found = found.map_err(|error| format!("{}: {error}", folder.display()))?;
        let pattern = Pattern::new(&pattern);
        found.retain(|path| pattern.fits(&path.file_name().unwrap_or_default().to_string_lossy()));
        match found.is_empty() {
            true => Err(format!("there is no definition in {}", folder.display())),
            false => Ok(found),
        }
    }
}
