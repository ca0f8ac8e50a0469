//! Imports that the documents read so far request.

use std::path::{Path, PathBuf};

use super::consul::ConsulServer;
use super::location::{self, Kind, Written};
use super::nacos::NacosServer;
use super::properties::Properties;
use super::spring_config::ConfigServer;
use super::{DEPTH_MAX, IMPORTS_MAX, Import, Imports, Location, Server};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::source::Span;
use crate::spring::{self, Documents, Layers, Level, Node, Rank, below};

/// The property.
const IMPORT: &str = "spring.config.import";
/// Added to the rank of imports that need profiles, which override those that do not.
const LATE: u32 = 1 << 16;
/// Rank of imports that no file requests: they override all files.
const OUTSIDE: u32 = 1 << 30;

/// An import, its place, and the rank of the imported documents.
struct Asked {
    text: String,
    at: Span,
    rank: Rank,
    /// Name of the importing text, if it may be a file.
    importer: Option<String>,
}

impl Imports {
    /// New imports that `documents` request. Without profiles: only files imported by unconditional
    /// documents. With profiles: everything.
    pub(crate) fn wanted(
        &mut self,
        documents: &mut Documents,
        active: Option<&[String]>,
    ) -> Vec<Import> {
        if let Some(active) = active {
            documents.decrypt(active, false);
        }
        let mut wanted = Vec::new();
        for asked in asked(documents, active) {
            if asked.text.is_empty() {
                let message = "an import is a text, not a map";
                let help = "put it in quotes: `\"optional:configserver:\"`";
                let problem = Diagnostic::new(Code::ImportFailed, message).at(asked.at).help(help);
                documents.report(problem);
                continue;
            }
            let written = location::parse(&asked.text);
            let import = match written.kind {
                Kind::Bare | Kind::File | Kind::Tree => self.local(&asked, written, documents),
                _ if active.is_none() => None,
                Kind::ClassPath | Kind::Unknown => self.foreign(&asked, written, documents),
                Kind::ConfigServer | Kind::Nacos | Kind::Consul => {
                    self.server(&asked, written, documents, active.unwrap_or_default())
                }
            };
            wanted.extend(import);
        }
        if let Some(active) = active {
            wanted.extend(self.variants(active));
            wanted.extend(self.implied(documents, active));
        }
        wanted.retain(|import| self.has_room(import, documents));
        wanted
    }

    /// Whether `place` is requested for the first time.
    fn is_new(&mut self, place: String) -> bool {
        self.seen.insert(place)
    }

    fn has_room(&mut self, import: &Import, documents: &mut Documents) -> bool {
        let is_deep = import.rank.depth() > DEPTH_MAX;
        if self.seen.len() <= IMPORTS_MAX && !is_deep {
            return true;
        }
        if !std::mem::replace(&mut self.is_full, true) {
            let message = match is_deep {
                true => format!("files import each other more than {} deep", DEPTH_MAX / 2),
                false => format!("more than {IMPORTS_MAX} imports"),
            };
            let problem = Diagnostic::new(Code::ImportFailed, message)
                .help("put what is imported into fewer files");
            documents.report(match import.at {
                Some(at) => problem.at(at),
                None => problem,
            });
        }
        false
    }

    fn local(
        &mut self,
        asked: &Asked,
        written: Written<'_>,
        documents: &mut Documents,
    ) -> Option<Import> {
        let importer = asked.importer.as_deref().map(Path::new);
        match location::local(written, importer) {
            Ok(location) => self.is_new(location.to_string()).then(|| Import {
                location,
                optional: written.optional,
                is_variant: false,
                at: Some(asked.at),
                rank: asked.rank.clone(),
                specific: asked.rank.level,
            }),
            Err(help) => {
                refuse(asked, written, "is not a location", &help, documents);
                None
            }
        }
    }

    /// Imports that only Java can read.
    fn foreign(
        &mut self,
        asked: &Asked,
        written: Written<'_>,
        documents: &mut Documents,
    ) -> Option<Import> {
        if !self.is_new(asked.text.clone()) {
            return None;
        }
        let help = match written.kind {
            Kind::ClassPath => {
                "weir has no class path: put the file beside this one and write `file:` and its \
                 name"
            }
            _ => {
                "weir reads files, `configtree:`, `configserver:`, `nacos:` and `consul:`; export \
                 what this one has to a file"
            }
        };
        refuse(asked, written, "cannot be read by weir", help, documents);
        None
    }

    fn server(
        &mut self,
        asked: &Asked,
        written: Written<'_>,
        documents: &mut Documents,
        active: &[String],
    ) -> Option<Import> {
        let layers = documents.layers(active);
        let mut properties = Properties::new(&layers, active);
        let mut needed = !written.optional;
        let mut level = None;
        let server = match written.kind {
            Kind::ConfigServer => {
                let found = ConfigServer::read(written.rest, &mut properties);
                level = ConfigServer::level(&mut properties, false);
                needed |= found.as_ref().is_some_and(|(_, fail_fast)| *fail_fast);
                Ok(found.map(|(server, _)| Server::Spring(server)))
            }
            Kind::Nacos => {
                let found = NacosServer::read(written.rest, &mut properties);
                found.map(|found| found.map(Server::Nacos))
            }
            _ => {
                let found = ConsulServer::read(written.rest, &mut properties);
                found.map(|found| found.map(|(server, _)| Server::Consul(server)))
            }
        };
        let problems = std::mem::take(&mut properties.problems);
        problems.into_iter().for_each(|problem| documents.report(problem));
        let server = server.unwrap_or_else(|help| {
            refuse(asked, written, "is not a location", &help, documents);
            None
        })?;
        let rank = asked.rank.at(level.unwrap_or(asked.rank.level));
        let specific = level.unwrap_or(Level::Remote);
        self.ask(server, !needed, Some(asked.at), rank, specific)
    }

    fn ask(
        &mut self,
        server: Server,
        optional: bool,
        at: Option<Span>,
        rank: Rank,
        specific: Level,
    ) -> Option<Import> {
        if !self.is_new(server.to_string()) {
            return None;
        }
        self.servers.push(server.clone());
        let location = Location::Server(Box::new(server));
        Some(Import { location, optional, is_variant: false, at, rank, specific })
    }

    /// Variants for profiles: `a-dev.yml` beside an imported `a.yml`.
    fn variants(&mut self, active: &[String]) -> Vec<Import> {
        let mut wanted = Vec::new();
        let files: Vec<(PathBuf, Rank, Option<Span>)> =
            self.files.iter().map(|f| (f.path.clone(), f.rank.clone(), f.at)).collect();
        for (path, rank, at) in files {
            for (n, profile) in (0..).zip(active) {
                let Some(path) = with_profile(&path, profile) else { continue };
                let location = Location::File(vec![path], None);
                if self.is_new(location.to_string()) {
                    let (rank, specific) = (rank.below(LATE + n), rank.level);
                    let optional = true;
                    wanted.push(Import {
                        location,
                        optional,
                        is_variant: true,
                        at,
                        rank,
                        specific,
                    });
                }
            }
        }
        wanted
    }

    /// Imports without `spring.config.import`: of a bootstrap file, and routes in one data id.
    fn implied(&mut self, documents: &mut Documents, active: &[String]) -> Vec<Import> {
        if std::mem::replace(&mut self.has_bootstrapped, true) {
            return Vec::new();
        }
        let mut found = Vec::new();
        let mut problems = Vec::new();
        if documents.has_bootstrap() {
            let layers = documents.bootstrap_layers(active);
            let mut properties = Properties::new(&layers, active);
            if properties.flag("spring.cloud.bootstrap.enabled", true) {
                found = bootstrap(&mut properties, &mut problems);
            }
            problems.append(&mut properties.problems);
        }
        let layers = documents.layers(active);
        let mut properties = Properties::new(&layers, active);
        let routes = NacosServer::routes(&mut properties);
        found.extend(routes.map(|server| (Server::Nacos(server), false, Level::Remote)));
        problems.append(&mut properties.problems);
        problems.into_iter().for_each(|problem| documents.report(problem));
        let asked = (0..).zip(found).filter_map(|(n, (server, optional, level))| {
            let rank = Rank::new(level, &[OUTSIDE + n]);
            self.ask(server, optional, None, rank, level)
        });
        asked.collect()
    }
}

/// The servers of the bootstrap properties; each with whether it is optional, and the level of its
/// answer.
fn bootstrap(
    properties: &mut Properties<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Vec<(Server, bool, Level)> {
    let mut found = Vec::new();
    // Above the environment, unless the properties say otherwise; for all servers alike.
    let level = ConfigServer::level(properties, true).unwrap_or(Level::Remote);
    if properties.says("spring.cloud.consul.config") {
        match ConsulServer::read("", properties) {
            Ok(server) => found.extend(
                server.map(|(server, fail_fast)| (Server::Consul(server), !fail_fast, level)),
            ),
            Err(help) => problems.push(
                Diagnostic::new(Code::ImportFailed, "Consul cannot be asked".to_owned()).help(help),
            ),
        }
    }
    if properties.says("spring.cloud.nacos.config") {
        let server = NacosServer::bootstrap(properties);
        found.extend(server.map(|server| (Server::Nacos(server), true, level)));
    }
    let asks = ["uri", "name", "profile", "label", "fail-fast", "username", "token"];
    if asks.iter().any(|name| properties.says(&format!("spring.cloud.config.{name}"))) {
        let server = ConfigServer::read("", properties);
        found.extend(server.map(|(server, fail_fast)| (Server::Spring(server), !fail_fast, level)));
    }
    found
}

/// All imports, in the order of the documents that contain them.
fn asked(documents: &Documents, active: Option<&[String]>) -> Vec<Asked> {
    let layers = match active {
        Some(active) => documents.layers(active),
        None => documents.unconditional_layers(),
    };
    let mut all = Vec::new();
    for (n, tree) in (0..).zip(documents.outside()) {
        let rank = Rank::new(Level::Profile, &[OUTSIDE + LATE - n]);
        for name in ["spring.config.additional-location", IMPORT] {
            all.extend(texts(&layers, below(tree.root(), name), &rank, None));
        }
    }
    for document in documents.counting(active) {
        if document.is_remote {
            continue;
        }
        let importer = documents.sources.name(document.source).to_owned();
        let node = below(document.tree.root(), IMPORT);
        all.extend(texts(&layers, node, &document.rank, Some(importer)));
    }
    all
}

fn texts(
    layers: &Layers<'_>,
    node: Option<Node<'_>>,
    rank: &Rank,
    importer: Option<String>,
) -> Vec<Asked> {
    let Some(node) = node else { return Vec::new() };
    let mut found: Vec<(Span, String)> = Vec::new();
    match node.kind() {
        // A trailing `:` makes it a map; it is reported later as an empty text.
        spring::Kind::List => found.extend(node.children().filter_map(|child| {
            let Some(text) = child.text() else { return Some((child.span(), String::new())) };
            let text = layers.resolve(&text).0.trim().to_owned();
            (!text.is_empty()).then(|| (child.span(), text))
        })),
        spring::Kind::Map => found.push((node.span(), String::new())),
        spring::Kind::Null | spring::Kind::Scalar => {
            let texts = spring::texts(layers, node).into_iter();
            found.extend(texts.map(|text| (node.span(), text)));
        }
    }
    let texts = found.into_iter().enumerate();
    let asked = texts.map(|(n, (at, text))| {
        let is_remote =
            matches!(location::parse(&text).kind, Kind::ConfigServer | Kind::Nacos | Kind::Consul);
        let place = u32::try_from(n).unwrap_or(LATE - 1).min(LATE - 1);
        Asked {
            at,
            // A server is queried once profiles are known, and so overrides imported files.
            rank: rank.below(if is_remote { place + LATE } else { place }),
            importer: importer.clone(),
            text,
        }
    });
    asked.collect()
}

/// `a-dev.yml` for `a.yml`.
fn with_profile(file: &Path, profile: &str) -> Option<PathBuf> {
    // A profile is a name: it must not lead to another directory.
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | '@');
    if !profile.chars().all(plain) {
        return None;
    }
    let stem = file.file_stem()?.to_str()?;
    let ending = file.extension().and_then(|ending| ending.to_str());
    Some(file.with_file_name(match ending {
        Some(ending) => format!("{stem}-{profile}.{ending}"),
        None => format!("{stem}-{profile}"),
    }))
}

fn refuse(asked: &Asked, written: Written<'_>, what: &str, help: &str, documents: &mut Documents) {
    let severity = if written.optional { Severity::Warning } else { Severity::Error };
    let shown = crate::diagnostic::mask_url(&asked.text);
    documents.report(
        Diagnostic::new(Code::ImportFailed, format!("`{shown}` {what}"))
            .severity(severity)
            .at(asked.at)
            .help(help),
    );
}
