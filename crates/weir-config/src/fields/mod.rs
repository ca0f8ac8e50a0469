//! Fields of a configuration object, each read with its place.

mod shape;

pub(crate) use shape::{Field, Shape};

use std::time::Duration;

use weir_route::parse_duration;

use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;
use crate::spring::{Kind, Layers, Node, child, key};
use crate::value::nearest;

/// The fields of an object over several layers, and their problems.
pub(crate) struct Fields<'a, 'l> {
    pub layers: &'a Layers<'l>,
    /// The highest layer first.
    nodes: Vec<Node<'l>>,
    /// Description of the object, for messages: `pipeline 'front'`.
    what: String,
    /// Problems so far.
    pub problems: &'a mut Vec<Diagnostic>,
}

/// A text with its place.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub text: String,
    pub at: Span,
}

impl<'a, 'l> Fields<'a, 'l> {
    pub fn new(
        layers: &'a Layers<'l>,
        nodes: Vec<Node<'l>>,
        what: String,
        problems: &'a mut Vec<Diagnostic>,
    ) -> Self {
        Self { layers, nodes, what, problems }
    }

    /// The fields of the object in field `name`, if it exists. A value or list of the highest layer
    /// is reported, unless [`Fields::expect`] has done so.
    pub fn below(&mut self, name: &str) -> Option<Fields<'_, 'l>> {
        let mut nodes: Vec<_> = self.nodes.iter().filter_map(|node| child(*node, name)).collect();
        if let Some(misfit) = nodes.first().and_then(|node| Shape::Map.misfit(*node)) {
            let at = Some(misfit.at);
            if self.problems.iter().all(|known| known.at != at) {
                self.wrong(misfit.at, misfit.message(name), "write its fields below it");
            }
        }
        nodes.retain(|node| Shape::Map.misfit(*node).is_none());
        if nodes.is_empty() {
            return None;
        }
        let what = format!("{}: {name}", self.what);
        Some(Fields { layers: self.layers, nodes, what, problems: &mut *self.problems })
    }

    /// The fields of `node`.
    pub fn of(&mut self, node: Node<'l>, what: &str) -> Fields<'_, 'l> {
        let what = format!("{}: {what}", self.what);
        Fields { layers: self.layers, nodes: vec![node], what, problems: &mut *self.problems }
    }

    /// Place of the object itself.
    pub fn at(&self) -> Span {
        self.nodes.first().map(|node| node.key_span()).unwrap_or_default()
    }

    pub fn node(&self, name: &str) -> Option<Node<'l>> {
        self.nodes.iter().find_map(|node| child(*node, name))
    }

    /// All fields, from the highest layer down.
    pub fn entries(&self) -> Vec<Node<'l>> {
        self.nodes.iter().flat_map(|node| node.children()).collect()
    }

    pub fn text_of(&self, node: Node<'_>) -> Written {
        let text = node.text().unwrap_or_default();
        Written { text: self.layers.resolve(&text).0.trim().to_owned(), at: node.span() }
    }

    pub fn text(&self, name: &str) -> Option<Written> {
        self.node(name).map(|node| self.text_of(node)).filter(|written| !written.text.is_empty())
    }

    /// A list, or a comma-separated text.
    pub fn texts(&self, name: &str) -> Vec<Written> {
        let Some(node) = self.node(name) else { return Vec::new() };
        let nodes: Vec<_> = match node.kind() {
            Kind::List => node.children().collect(),
            _ => vec![node],
        };
        let whole = nodes.into_iter().map(|node| self.text_of(node));
        let parts = whole.flat_map(|Written { text, at }| {
            let parts: Vec<_> = text.split(',').map(|part| part.trim().to_owned()).collect();
            parts.into_iter().map(move |text| Written { text, at })
        });
        parts.filter(|written| !written.text.is_empty()).collect()
    }

    /// Reports a problem.
    pub fn wrong(&mut self, at: Span, message: impl std::fmt::Display, help: impl Into<String>) {
        let message = format!("{}: {message}", self.what);
        let found = Diagnostic::new(Code::InvalidValue, message).at(at).help(help);
        if !self.problems.contains(&found) {
            self.problems.push(found);
        }
    }

    /// The value of a field, parsed by `read`; `None` if it is missing or invalid.
    pub fn value<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let written = self.text(name)?;
        let value = read(&written.text);
        if value.is_none() {
            let message = format!("`{}` is not what `{name}` takes", written.text);
            self.wrong(written.at, message, format!("write {expected}"));
        }
        value
    }

    pub fn duration(&mut self, name: &str) -> Option<Duration> {
        self.value(name, "a duration such as `5s`", |text| parse_duration(text).ok())
    }

    /// Reports fields that are not in `known`, and values of another shape than theirs; returns
    /// whether all values have theirs.
    pub fn expect(&mut self, known: &[Field]) -> bool {
        let names: Vec<_> = known.iter().map(|field| field.name).collect();
        self.only(&names);
        let mut fits = true;
        for entry in self.entries() {
            let field = known.iter().find(|field| key::same(field.name, entry.key()));
            let Some((field, misfit)) = field.and_then(|f| Some((f, f.shape.misfit(entry)?)))
            else {
                continue;
            };
            self.wrong(misfit.at, misfit.message(field.name), field.help());
            fits = false;
        }
        fits
    }

    /// Whether a field that is not in `known` was most likely meant to be `name`.
    pub fn misspells(&self, name: &str, known: &[Field]) -> bool {
        let names = || known.iter().map(|field| field.name);
        let unknown = |entry: &Node<'_>| names().all(|known| !key::same(known, entry.key()));
        let mut unknown = self.entries().into_iter().filter(unknown);
        unknown.any(|entry| nearest(entry.key(), names()) == Some(name))
    }

    /// Reports fields that are not in `known`.
    pub fn only(&mut self, known: &[&str]) {
        for entry in self.entries() {
            if known.iter().any(|name| key::same(name, entry.key())) {
                continue;
            }
            let help = match nearest(entry.key(), known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are {}", known.join(", ")),
            };
            self.wrong(entry.key_span(), format!("there is no `{}`", entry.key()), help);
        }
    }
}
