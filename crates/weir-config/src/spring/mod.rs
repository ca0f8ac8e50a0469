//! Spring's property model: layered properties from texts, as in Spring Boot.
//!
//! [`Documents`] parses every source once, selects the documents for the active profiles and layers
//! them: `--set`, then `SPRING_APPLICATION_JSON`, the environment, profile files, files. Within a
//! kind, later ones override earlier ones. Imports of a document rank directly above it ([`Rank`]).
//! Nothing here depends on the gateway.

mod builder;
mod cipher;
mod environment;
mod events;
mod expand;
mod ini;
mod json;
pub(crate) mod key;
mod layers;
mod pairs;
mod parallel;
mod placeholder;
mod profile;
mod properties;
mod rank;
pub(crate) mod scalar;
mod tree;
mod yaml;

#[cfg(test)]
pub(crate) use parallel::tests::on_a_thread;

use std::collections::HashMap;

use weir_route::{Beside, alone};

pub(crate) use layers::{Layers, below, child, texts_below};
pub(crate) use placeholder::Trouble;
pub(crate) use rank::{Level, Rank};
pub(crate) use scalar::Scalar;
pub(crate) use tree::{Kind, Node, Tree};

use crate::diagnostic::{Code, Diagnostic};
use crate::source::{Format, SOURCE_BYTES_MAX, Source, Sources, Span};

/// Maximum number of profiles, including those of groups and includes.
const PROFILES_MAX: usize = 64;

/// Every parsed text of a configuration.
#[derive(Debug)]
pub(crate) struct Documents {
    pub sources: Sources,
    pub problems: Vec<Diagnostic>,
    /// A second thread for long texts.
    pub beside: Beside,
    list: Vec<Document>,
    sets: Tree,
    environment: Tree,
    application_json: Option<Tree>,
    variables: HashMap<String, String>,
    /// Profiles of the command line; empty if there are none.
    asked: Vec<String>,
}

/// A document of a text, with its rank.
#[derive(Debug)]
pub(crate) struct Document {
    pub tree: Tree,
    /// Number of its text.
    pub source: u32,
    /// Profile of the file it is in.
    profile: Option<String>,
    pub rank: Rank,
    /// Whether it is from a server: then it can neither import nor activate profiles.
    pub is_remote: bool,
}

impl Documents {
    /// Takes the parts that do not come from files.
    pub fn new(environment: Vec<(String, String)>, sets: &[String], profiles: Vec<String>) -> Self {
        let mut sources = Sources::default();
        let mut problems = Vec::new();
        let variables = environment::variables(&environment, &mut sources);
        let sets = environment::sets(sets, &mut sources, &mut problems);
        let environment_map: HashMap<String, String> = environment.into_iter().collect();
        let mut documents = Self {
            sources,
            problems,
            beside: alone,
            list: Vec::new(),
            sets,
            environment: variables,
            application_json: None,
            variables: environment_map,
            asked: profiles,
        };
        documents.take_application_json();
        documents
    }

    fn take_application_json(&mut self) {
        let Some(text) = self.variables.get("SPRING_APPLICATION_JSON") else { return };
        let name = "SPRING_APPLICATION_JSON";
        let source = Source::new(name, text.as_str(), Format::Json);
        self.application_json = self.parse(&source).pop();
    }

    /// Parses one file.
    pub fn add(&mut self, source: Source) {
        let level = if source.profile.is_some() { Level::Profile } else { Level::Plain };
        let place = self.next_place();
        self.add_at(source, &Rank::new(level, &[place]), false);
    }

    /// Parses a `bootstrap.yml` or similar file.
    pub fn add_bootstrap(&mut self, source: Source) {
        let level = match source.profile {
            Some(_) => Level::BootstrapProfile,
            None => Level::Bootstrap,
        };
        let place = self.next_place();
        self.add_at(source, &Rank::new(level, &[place]), false);
    }

    fn next_place(&self) -> u32 {
        u32::try_from(self.list.len()).unwrap_or(u32::MAX)
    }

    /// Parses a text whose documents have the rank `rank`, in order.
    pub fn add_at(&mut self, source: Source, rank: &Rank, is_remote: bool) {
        let trees = self.parse(&source);
        let profile = source.profile;
        let number = u32::try_from(self.sources.len().saturating_sub(1)).unwrap_or(u32::MAX);
        for (n, tree) in (0..).zip(trees) {
            let (profile, rank) = (profile.clone(), rank.below(n));
            self.list.push(Document { tree, source: number, profile, rank, is_remote });
        }
    }

    /// Adds keys with values, as from servers and directories of keys.
    pub fn add_pairs(
        &mut self,
        name: &str,
        pairs: &[(String, String)],
        rank: &Rank,
        is_remote: bool,
    ) {
        let tree = pairs::parse(name, pairs, &mut self.sources, &mut self.problems);
        let source = u32::try_from(self.sources.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let rank = rank.clone();
        self.list.push(Document { tree, source, profile: None, rank, is_remote });
    }

    /// The documents that apply to the profiles `active`; without profiles, the unconditional ones.
    pub fn counting(&self, active: Option<&[String]>) -> Vec<&Document> {
        let counts = |document: &&Document| match active {
            Some(active) => self.is_active(document, active).unwrap_or(false),
            None => document.is_unconditional(),
        };
        self.list.iter().filter(counts).collect()
    }

    /// The layers of the unconditional documents.
    pub fn unconditional_layers(&self) -> Layers<'_> {
        self.layers_of(|document| !document.is_remote && document.is_unconditional())
    }

    /// The layers of a bootstrap context: as [`Documents::layers`], with bootstrap files above the
    /// others.
    pub fn bootstrap_layers(&self, active: &[String]) -> Layers<'_> {
        let is_active = |document: &Document| self.is_active(document, active).unwrap_or(false);
        let (mut first, mut rest) = (Vec::new(), Vec::new());
        for document in self.ranked(is_active) {
            let list = if document.rank.level.is_bootstrap() { &mut first } else { &mut rest };
            list.push(&document.tree);
        }
        let outside = self.outside();
        Layers::new(outside.into_iter().chain(first).chain(rest).collect(), &self.variables)
    }

    /// Trees that do not come from files: command line and environment.
    pub fn outside(&self) -> Vec<&Tree> {
        let mut trees = vec![&self.sets];
        trees.extend(&self.application_json);
        trees.push(&self.environment);
        trees
    }

    /// Whether there is a bootstrap file.
    pub fn has_bootstrap(&self) -> bool {
        self.list.iter().any(|document| document.rank.level.is_bootstrap())
    }

    /// Reports a problem, unless it was reported before.
    pub fn report(&mut self, problem: Diagnostic) {
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Documents of servers that apply, from the highest priority down.
    pub fn remote(&self, active: &[String]) -> Vec<&Document> {
        self.ranked(|document| {
            document.is_remote && self.is_active(document, active).unwrap_or(false)
        })
    }

    fn parse(&mut self, source: &Source) -> Vec<Tree> {
        if source.text.len() > SOURCE_BYTES_MAX {
            let number = self.sources.add(source.name.clone(), "".into());
            let at = Span { source: number, start: 0, end: 0 };
            let message = format!("`{}` is larger than {SOURCE_BYTES_MAX} bytes", source.name);
            let help = "split the routes over several files, or import them into the store";
            self.problems.push(Diagnostic::new(Code::TooLarge, message).at(at).help(help));
            return Vec::new();
        }
        let number = self.sources.add(source.name.clone(), source.text.clone());
        let problems = &mut self.problems;
        let parsed = match source.format {
            Format::Yaml => yaml::parse(number, &source.text, self.beside, problems),
            Format::Json => json::parse(number, &source.text, problems).map(|tree| vec![tree]),
            Format::Ini => Ok(vec![ini::parse(number, &source.text, problems)]),
            Format::Properties => Ok(properties::parse(number, &source.text, problems)),
        };
        parsed.unwrap_or_else(|problem| {
            self.problems.push(problem);
            Vec::new()
        })
    }

    /// The active profiles: of the command line, else of `spring.profiles.active`, else of
    /// `spring.profiles.default`, else `default`; with their groups.
    pub fn active_profiles(&self) -> Vec<String> {
        let layers = self.unconditional_layers();
        let mut active = match self.asked.is_empty() {
            true => list_of(&layers, "spring.profiles.active"),
            false => self.asked.clone(),
        };
        active.extend(list_of(&layers, "spring.profiles.include"));
        if active.is_empty() {
            active = list_of(&layers, "spring.profiles.default");
        }
        if active.is_empty() {
            active.push("default".to_owned());
        }
        let mut at = 0;
        while let Some(profile) = active.get(at) {
            let group = format!("spring.profiles.group.{profile}");
            let members = list_of(&layers, &group);
            let new: Vec<String> = members.into_iter().filter(|m| !active.contains(m)).collect();
            active.splice(at + 1..at + 1, new);
            active.truncate(PROFILES_MAX);
            at += 1;
        }
        let mut seen = Vec::new();
        active.retain(|profile| {
            let new = !seen.contains(profile);
            seen.push(profile.clone());
            new
        });
        active
    }

    /// The layers that apply to the profiles `active`.
    pub fn layers<'a>(&'a self, active: &[String]) -> Layers<'a> {
        self.layers_of(|document| self.is_active(document, active).unwrap_or(false))
    }

    /// Problems of invalid profile expressions.
    pub fn condition_problems(&self) -> Vec<Diagnostic> {
        let checks = self.list.iter().filter_map(|document| self.is_active(document, &[]).err());
        checks.collect()
    }

    fn is_active(&self, document: &Document, active: &[String]) -> Result<bool, Diagnostic> {
        let file = document.profile.as_ref();
        let mut value = file.is_none_or(|profile| active.contains(profile));
        let platform = "spring.config.activate.on-cloud-platform";
        let platform = below(document.tree.root(), platform).and_then(Node::text);
        value &= platform.is_none_or(|name| name.eq_ignore_ascii_case("none"));
        for condition in conditions(document.tree.root()) {
            value &= any_holds(condition, active)?;
        }
        Ok(value)
    }

    /// From the highest priority down.
    fn layers_of(&self, counts: impl Fn(&Document) -> bool) -> Layers<'_> {
        let mut trees = vec![&self.sets];
        let ranked = self.ranked(counts);
        let over = |document: &&&Document| document.rank.level == Level::OverEnvironment;
        trees.extend(ranked.iter().filter(over).map(|document| &document.tree));
        trees.extend(&self.application_json);
        trees.push(&self.environment);
        trees.extend(ranked.iter().filter(|one| !over(one)).map(|document| &document.tree));
        Layers::new(trees, &self.variables)
    }

    /// Documents, highest rank first.
    fn ranked(&self, counts: impl Fn(&Document) -> bool) -> Vec<&Document> {
        let mut list: Vec<&Document> = self.list.iter().filter(|one| counts(one)).collect();
        list.sort_by(|one, other| other.rank.cmp(&one.rank));
        list
    }
}

impl Document {
    fn is_unconditional(&self) -> bool {
        self.profile.is_none() && conditions(self.tree.root()).is_empty()
    }
}

/// The nodes with a document's condition: on-profile, and `spring.profiles` of Spring Boot up to
/// 2.3.
fn conditions(root: Node<'_>) -> Vec<Node<'_>> {
    let legacy = below(root, "spring.profiles")
        .filter(|node| matches!(node.kind(), Kind::Scalar | Kind::List));
    let current = below(root, "spring.config.activate.on-profile");
    current.into_iter().chain(legacy).collect()
}

/// Whether one of several expressions holds.
fn any_holds(node: Node<'_>, active: &[String]) -> Result<bool, Diagnostic> {
    let mut holds = false;
    let texts = match node.kind() {
        Kind::List => node.children().filter_map(Node::text).collect(),
        _ => vec![node.text().unwrap_or_default()],
    };
    for text in texts.iter().flat_map(|text| text.split(',')) {
        holds |= profile::holds(text, active).map_err(|reason| {
            let message = format!("`{}` is no profile expression: {reason}", text.trim());
            Diagnostic::new(Code::ProfileExpression, message)
                .at(node.span())
                .help("write names with `!`, `&` and `|`, such as `prod & !eu`")
        })?;
    }
    Ok(holds)
}

/// The texts of a list property, in any notation.
pub(crate) fn list_of(layers: &Layers<'_>, path: &str) -> Vec<String> {
    let Some(node) = layers.find(path) else { return Vec::new() };
    texts(layers, node)
}

/// The texts of a list or of a comma-separated text, with placeholders resolved and blanks trimmed.
pub(crate) fn texts(layers: &Layers<'_>, node: Node<'_>) -> Vec<String> {
    let parts: Vec<String> = match node.kind() {
        Kind::List | Kind::Map => node
            .children()
            .filter_map(|child| Some(layers.resolve(&child.text()?).0.into_owned()))
            .collect(),
        Kind::Null | Kind::Scalar => {
            let text = node.text().unwrap_or_default();
            layers.resolve(&text).0.split(',').map(str::to_owned).collect()
        }
    };
    parts.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests;
