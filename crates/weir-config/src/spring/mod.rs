//! The Spring layer: texts to layered properties, as Spring Boot would see them.
//!
//! [`Documents`] parses every source once, decides which documents count for the active profiles
//! and lays them over each other: `--set`, then `SPRING_APPLICATION_JSON`, the environment, profile
//! files, files; within a kind the later one wins. It knows nothing of gateways.

mod builder;
mod environment;
mod expand;
mod halves;
mod ini;
mod json;
pub(crate) mod key;
mod layers;
mod placeholder;
mod profile;
mod properties;
pub(crate) mod scalar;
mod tree;
mod yaml;

use std::collections::HashMap;

pub(crate) use layers::{Layers, below, child};
pub(crate) use placeholder::Trouble;
pub(crate) use scalar::Scalar;
pub(crate) use tree::{Kind, Node, Tree};

use crate::diagnostic::{Code, Diagnostic};
use crate::source::{Format, SOURCE_BYTES_MAX, Source, Sources, Span};

/// Most profiles that groups and includes may add up to.
const PROFILES_MAX: usize = 64;

/// Every parsed text of a configuration.
#[derive(Debug)]
pub(crate) struct Documents {
    pub sources: Sources,
    pub problems: Vec<Diagnostic>,
    list: Vec<Document>,
    sets: Tree,
    environment: Tree,
    application_json: Option<Tree>,
    variables: HashMap<String, String>,
    /// Profiles from the command line; empty if it names none.
    asked: Vec<String>,
}

#[derive(Debug)]
struct Document {
    tree: Tree,
    /// Profile of the file it is in.
    profile: Option<String>,
}

impl Documents {
    /// Takes what does not come from files.
    pub fn new(environment: Vec<(String, String)>, sets: &[String], profiles: Vec<String>) -> Self {
        let mut sources = Sources::default();
        let mut problems = Vec::new();
        let variables = environment::variables(&environment, &mut sources);
        let sets = environment::sets(sets, &mut sources, &mut problems);
        let environment_map: HashMap<String, String> = environment.into_iter().collect();
        let mut documents = Self {
            sources,
            problems,
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
        let trees = self.parse(&source);
        let profile = source.profile;
        self.list.extend(trees.into_iter().map(|tree| Document { tree, profile: profile.clone() }));
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
            Format::Yaml => yaml::parse(number, &source.text, problems),
            Format::Json => json::parse(number, &source.text, problems).map(|tree| vec![tree]),
            Format::Ini => Ok(vec![ini::parse(number, &source.text, problems)]),
            Format::Properties => Ok(properties::parse(number, &source.text, problems)),
        };
        parsed.unwrap_or_else(|problem| {
            self.problems.push(problem);
            Vec::new()
        })
    }

    /// The profiles that are active: named on the command line, else by `spring.profiles.active`,
    /// else `spring.profiles.default`, else `default`; with their groups.
    pub fn active_profiles(&self) -> Vec<String> {
        let layers = self.layers_of(|document| {
            document.profile.is_none() && conditions(document.tree.root()).is_empty()
        });
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

    /// The layers that count while `active` are the profiles.
    pub fn layers<'a>(&'a self, active: &[String]) -> Layers<'a> {
        self.layers_of(|document| self.is_active(document, active).unwrap_or(false))
    }

    /// Profile expressions that are none.
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

    /// Highest priority first.
    fn layers_of(&self, counts: impl Fn(&Document) -> bool) -> Layers<'_> {
        let mut trees = vec![&self.sets];
        trees.extend(&self.application_json);
        trees.push(&self.environment);
        let active = |with_profile: bool| {
            self.list
                .iter()
                .rev()
                .filter(move |document| document.profile.is_some() == with_profile)
                .filter(|document| counts(document))
                .map(|document| &document.tree)
        };
        trees.extend(active(true));
        trees.extend(active(false));
        Layers::new(trees, &self.variables)
    }
}

/// The nodes that tell when a document counts: on-profile, and `spring.profiles` as it was up to
/// Spring Boot 2.3.
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

/// The texts of a list property, however it is written.
pub(crate) fn list_of(layers: &Layers<'_>, path: &str) -> Vec<String> {
    let Some(node) = layers.find(path) else { return Vec::new() };
    texts(layers, node)
}

/// The texts of a list, or of one text with commas; placeholders filled in, blanks trimmed.
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
