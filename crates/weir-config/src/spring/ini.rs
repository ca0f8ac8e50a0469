//! Converts pipelines in piped's ini format to a tree below `weir.pipelines`.
//!
//! A section `[pipeline.NAME]` opens a pipeline, and the following sections `[module.NAME]` are its
//! modules. Each key of a module becomes the equivalent property, with its place. A line that would
//! replace an earlier one is an error, as is a module where it does nothing.

use std::sync::Arc;

use super::expand::{Expansion, bound_depth};
use super::key;
use super::tree::Tree;
use crate::diagnostic::{Code, Diagnostic};
use crate::fields::Field;
use crate::pipelines::{DUBBO_FIELDS, FRAME_FIELDS};
use crate::source::{Span, offset};
use crate::value::nearest;

struct Module {
    name: &'static str,
    /// The pipeline's protocol that the module implies.
    protocol: Option<&'static str>,
    /// Path of its keys below the pipeline.
    below: &'static str,
    /// Keys; one that ends with `.` is a prefix of keys.
    keys: &'static [&'static str],
    /// Further keys.
    fields: &'static [Field],
}

const MODULES: &[Module] = &[
    Module {
        name: "proxy",
        protocol: None,
        below: "",
        keys: &["upstream", "balance"],
        fields: &[],
    },
    Module { name: "tap", protocol: None, below: "", keys: &["limit"], fields: &[] },
    Module {
        name: "http-request-decoder",
        protocol: Some("http"),
        below: "",
        keys: &[],
        fields: &[],
    },
    Module {
        name: "http-request-encoder",
        protocol: Some("http"),
        below: "",
        keys: &[],
        fields: &[],
    },
    Module {
        name: "socks",
        protocol: Some("socks"),
        below: "socks.",
        keys: &["users.", "allow", "deny"],
        fields: &[],
    },
    Module {
        name: "dubbo-decoder",
        protocol: Some("dubbo"),
        below: "dubbo.",
        keys: &[],
        fields: DUBBO_FIELDS,
    },
    Module {
        name: "dubbo-encoder",
        protocol: Some("dubbo"),
        below: "dubbo.",
        keys: &[],
        fields: &[],
    },
    Module {
        name: "frame-decoder",
        protocol: Some("frame"),
        below: "frame.",
        keys: &[],
        fields: FRAME_FIELDS,
    },
    Module {
        name: "frame-encoder",
        protocol: Some("frame"),
        below: "frame.",
        keys: &[],
        fields: &[],
    },
];

/// Modules that come in pairs: modules between them see messages.
const PAIRS: &[(&str, &str)] = &[
    ("http-request-decoder", "http-request-encoder"),
    ("dubbo-decoder", "dubbo-encoder"),
    ("frame-decoder", "frame-encoder"),
];

/// Parses an ini file.
pub(super) fn parse(source: u32, text: &Arc<str>, problems: &mut Vec<Diagnostic>) -> Tree {
    let mut tree = Tree::new(source, Arc::clone(text));
    tree.adopt(tree.root, &[], false);
    let before = problems.len();
    let mut reading = Reading {
        source,
        expansion: Expansion::default(),
        pipelines: Vec::new(),
        pipeline: None,
        section: None,
        modules: Vec::new(),
        set: Vec::new(),
        problems,
    };
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        reading.line(&mut tree, line, start);
        start += line.len();
    }
    reading.end_section(&mut tree);
    reading.end_pipeline();
    let Reading { expansion, problems, pipelines, .. } = reading;
    if pipelines.is_empty() && problems.len() == before {
        let found = Diagnostic::new(Code::Suspicious, "this file has no pipeline");
        let at = Span { source, start: 0, end: 0 };
        problems.push(found.at(at).help(
            "write `[pipeline.NAME]` with `listen = 0.0.0.0:8080`, and below it `[module.NAME]` \
             with `name = proxy` and `upstream = host:port`",
        ));
    }
    expansion.seal(&mut tree, problems);
    bound_depth(&mut tree, problems);
    tree
}

/// A key with its value and their places.
struct Entry {
    key: String,
    value: String,
    key_at: Span,
    at: Span,
}

struct Section {
    at: Span,
    /// Name of a module; `None` if the section opens a pipeline.
    module: Option<String>,
    entries: Vec<Entry>,
}

/// A module of a pipeline.
struct Named {
    /// Of its section.
    section: String,
    module: &'static str,
    at: Span,
}

struct Reading<'p> {
    source: u32,
    expansion: Expansion,
    /// Names of all pipelines so far.
    pipelines: Vec<String>,
    pipeline: Option<String>,
    section: Option<Section>,
    /// Modules of the current pipeline.
    modules: Vec<Named>,
    /// Keys of the current pipeline that have been set, with their values.
    set: Vec<(String, String)>,
    problems: &'p mut Vec<Diagnostic>,
}

impl Reading<'_> {
    fn span(&self, from: usize, len: usize) -> Span {
        Span { source: self.source, start: offset(from), end: offset(from + len) }
    }

    fn wrong(&mut self, at: Span, message: String, help: String) {
        self.problems.push(Diagnostic::new(Code::IniSyntax, message).at(at).help(help));
    }

    fn line(&mut self, tree: &mut Tree, line: &str, start: usize) {
        let line = line.trim_start_matches('\u{feff}');
        let blanks = line.len() - line.trim_start().len();
        let (text, from) = (line.trim(), start + blanks);
        if text.is_empty() || text.starts_with(['#', ';']) {
            return;
        }
        let at = self.span(from, text.len());
        if let Some(name) = text.strip_prefix('[') {
            self.end_section(tree);
            return self.open(name.strip_suffix(']'), at);
        }
        let Some((key, value)) = text.split_once('=') else {
            let help = "write `key = value`, or a section such as `[pipeline.name]`".to_owned();
            return self.wrong(at, format!("`{text}` is neither a key nor a section"), help);
        };
        let value_from = from + text.len() - value.trim_start().len();
        let entry = Entry {
            key: key.trim().to_owned(),
            value: value.trim().to_owned(),
            key_at: self.span(from, key.trim_end().len()),
            at: self.span(value_from, value.trim().len()),
        };
        match &mut self.section {
            Some(section) => section.entries.push(entry),
            None => {
                let help = "open a pipeline first: `[pipeline.name]`".to_owned();
                self.wrong(at, format!("`{}` stands in no section", entry.key), help);
            }
        }
    }

    fn open(&mut self, name: Option<&str>, at: Span) {
        let parts = name.and_then(|name| name.split_once('.'));
        match parts.map(|(kind, name)| (kind.trim(), name.trim())) {
            Some(("pipeline", name)) if !name.is_empty() && !name.contains([']', '[']) => {
                self.end_pipeline();
                if self.pipelines.iter().any(|known| known == name) {
                    let help = "give each a name of its own".to_owned();
                    self.wrong(at, format!("there are two pipelines `{name}`"), help);
                }
                self.pipelines.push(name.to_owned());
                self.pipeline = Some(name.to_owned());
                self.section = Some(Section { at, module: None, entries: Vec::new() });
            }
            Some(("module", name)) if !name.is_empty() => {
                if self.pipeline.is_none() {
                    let help = "put `[pipeline.name]` with its `listen` in front".to_owned();
                    self.wrong(at, "this module is part of no pipeline".to_owned(), help);
                }
                let module = Some(name.to_owned());
                self.section = Some(Section { at, module, entries: Vec::new() });
            }
            _ => {
                let help = "write `[pipeline.name]` or `[module.name]`".to_owned();
                self.wrong(at, "this is no section of a pipeline".to_owned(), help);
            }
        }
    }

    fn end_section(&mut self, tree: &mut Tree) {
        let Some(section) = self.section.take() else { return };
        let Some(pipeline) = self.pipeline.clone() else { return };
        if let Some(name) = &section.module {
            return self.module(tree, &pipeline, name, &section);
        }
        // Makes the pipeline exist even without other properties.
        self.put(tree, &pipeline, "id", &pipeline, section.at);
        for entry in &section.entries {
            self.set(tree, &pipeline, &entry.key, entry);
        }
    }

    fn module(&mut self, tree: &mut Tree, pipeline: &str, name: &str, section: &Section) {
        let Some(named) = section.entries.iter().find(|entry| entry.key == "name") else {
            let help = format!("write `name = ` and one of {}", names().join(", "));
            return self.wrong(section.at, "this module has no `name`".to_owned(), help);
        };
        let Some(module) = MODULES.iter().find(|module| module.name == named.value) else {
            let help = match nearest(&named.value, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are {}", names().join(", ")),
            };
            return self.wrong(named.at, format!("there is no module `{}`", named.value), help);
        };
        if self.modules.iter().any(|known| known.module == module.name) {
            let message = format!("this pipeline has a `{}` already", module.name);
            return self.wrong(named.at, message, "remove one of the two".to_owned());
        }
        if self.modules.iter().any(|known| known.section == name) {
            let help = "give each module of a pipeline a name of its own".to_owned();
            self.wrong(section.at, format!("this pipeline has a module `{name}` already"), help);
        }
        if module.protocol.is_some_and(|protocol| !self.speaks(tree, pipeline, protocol, named)) {
            return;
        }
        self.modules.push(Named { section: name.to_owned(), module: module.name, at: named.at });
        if module.name == "tap" && section.entries.iter().all(|entry| entry.key != "limit") {
            let help = "write how many it admits per second: `limit = 500`".to_owned();
            self.wrong(section.at, "this `tap` has no `limit`".to_owned(), help);
        }
        let mut names = section.entries.iter().filter(|entry| entry.key == "name").skip(1);
        if let Some(second) = names.next() {
            let help = "a module has one name; open a section for each".to_owned();
            self.wrong(second.key_at, "this module has a `name` already".to_owned(), help);
        }
        for entry in section.entries.iter().filter(|entry| entry.key != "name") {
            self.module_key(tree, pipeline, module, entry);
        }
    }

    /// Sets the protocol that a module implies; whether the pipeline has no other.
    fn speaks(&mut self, tree: &mut Tree, pipeline: &str, protocol: &str, named: &Entry) -> bool {
        let known = self.set.iter().find(|(key, _)| key::same(key, "protocol"));
        match known.map(|(_, known)| known.clone()) {
            Some(known) if known == protocol => true,
            Some(known) => {
                let message = format!("`{}` is not for `{known}`, which this is", named.value);
                let help = "write a pipeline for each protocol".to_owned();
                self.wrong(named.at, message, help);
                false
            }
            None => {
                self.set.push(("protocol".to_owned(), protocol.to_owned()));
                self.put(tree, pipeline, "protocol", protocol, named.at);
                true
            }
        }
    }

    fn module_key(&mut self, tree: &mut Tree, pipeline: &str, module: &Module, entry: &Entry) {
        let is_known = |known: &&str| match known.ends_with('.') {
            true => entry.key.starts_with(known),
            false => entry.key == **known,
        };
        let mut keys = module.keys.iter().copied().chain(module.fields.iter().map(|f| f.name));
        if keys.any(|known| is_known(&known)) {
            let key = format!("{}{}", module.below, entry.key);
            return self.set(tree, pipeline, &key, entry);
        }
        let message = format!("the module `{}` has no `{}`", module.name, entry.key);
        let keys = module.keys.iter().copied().chain(module.fields.iter().map(|f| f.name));
        let keys: Vec<_> = keys.map(|key| key.replace("users.", "users.NAME")).collect();
        let help = match keys.as_slice() {
            [] => "remove this line: it has no keys but `name`".to_owned(),
            keys => format!("it has {}", keys.join(", ")),
        };
        self.wrong(entry.key_at, message, help);
    }

    /// Sets a property of a pipeline, which may not have been set before.
    fn set(&mut self, tree: &mut Tree, pipeline: &str, key: &str, entry: &Entry) {
        if entry.value.is_empty() {
            let help = "write one behind `=`, or remove the line".to_owned();
            return self.wrong(entry.key_at, format!("`{}` has no value", entry.key), help);
        }
        if self.set.iter().any(|(known, _)| key::same(known, key)) {
            let help = match entry.key.as_str() {
                "listen" | "upstream" => "write all addresses in one line, with commas between",
                _ => "remove one of the two",
            };
            let message = format!("this pipeline has a `{}` already", entry.key);
            return self.wrong(entry.key_at, message, help.to_owned());
        }
        self.set.push((key.to_owned(), entry.value.clone()));
        self.put(tree, pipeline, key, &entry.value, entry.at);
    }

    fn put(&mut self, tree: &mut Tree, pipeline: &str, key: &str, value: &str, at: Span) {
        let path = tree.keep(&format!("weir.pipelines[{pipeline}].{key}"));
        self.expansion.set(tree, path, value, at);
    }

    /// A decoder requires the matching encoder after it, and per-message limits stand between them.
    fn end_pipeline(&mut self) {
        self.pipeline = None;
        self.set.clear();
        let modules = std::mem::take(&mut self.modules);
        for pair in PAIRS {
            self.pair(&modules, *pair);
        }
        let end = modules.iter().position(|named| ["proxy", "socks"].contains(&named.module));
        let behind = end.and_then(|end| Some((modules.get(end)?.module, modules.get(end + 1)?.at)));
        if let Some((end, at)) = behind {
            let message = format!("nothing comes behind `{end}`");
            self.wrong(at, message, "move this module in front of it".to_owned());
        }
    }

    fn pair(&mut self, modules: &[Named], (decoder, encoder): (&str, &str)) {
        let place = |wanted: &str| modules.iter().position(|named| named.module == wanted);
        let (from, to, tap) = (place(decoder), place(encoder), place("tap"));
        let at = |n: usize| modules.get(n).map(|named| named.at).unwrap_or_default();
        match (from, to) {
            (None, None) => {}
            (Some(from), Some(to)) if from < to => {
                let misplaced = tap.and_then(|tap| match tap {
                    tap if tap < from => Some((tap, "in front of", decoder)),
                    tap if tap > to => Some((tap, "behind", encoder)),
                    _ => None,
                });
                if let Some((tap, side, module)) = misplaced {
                    let message = format!("`tap` stands {side} `{module}`: it sees no messages");
                    let help = format!("move it between `{decoder}` and `{encoder}`");
                    self.wrong(at(tap), message, help);
                }
            }
            (Some(from), _) => {
                let message = format!("`{decoder}` has no `{encoder}` behind it");
                let help = format!("add a module with `name = {encoder}` in front of `proxy`");
                self.wrong(at(from), message, help);
            }
            (None, Some(to)) => {
                let message = format!("`{encoder}` has no `{decoder}` in front of it");
                let help = format!("add a module with `name = {decoder}` in front of it");
                self.wrong(at(to), message, help);
            }
        }
    }
}

fn names() -> Vec<&'static str> {
    MODULES.iter().map(|module| module.name).collect()
}
