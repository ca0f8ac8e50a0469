//! Properties of configuration clients, read with the registry's rules before the rest of the
//! configuration is known.

use std::time::Duration;

use crate::diagnostic::{Code, Diagnostic};
use crate::property::{self, Value};
use crate::spring::{self, Layers};
use weir_snapshot::Secret;

/// Default of `weir.discovery.answer-bytes-max`.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Reader of single properties, which reports invalid values.
pub(super) struct Properties<'a> {
    pub layers: &'a Layers<'a>,
    pub profiles: &'a [String],
    pub problems: Vec<Diagnostic>,
}

impl<'a> Properties<'a> {
    pub fn new(layers: &'a Layers<'a>, profiles: &'a [String]) -> Self {
        Self { layers, profiles, problems: Vec::new() }
    }

    fn value(&mut self, name: &str) -> Option<Value> {
        property::one(self.layers, name, &mut self.problems)
    }

    /// A text; `None` if it is empty.
    pub fn text(&mut self, name: &str) -> Option<String> {
        let value = self.value(name)?;
        let text = value.text().trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The first of several properties that has a text.
    pub fn first(&mut self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.text(name))
    }

    /// The first of several secrets.
    pub fn secret(&mut self, names: &[&str]) -> Option<Secret> {
        self.first(names).map(|text| Secret::new(&text))
    }

    /// A truth value, or `default`.
    pub fn flag(&mut self, name: &str, default: bool) -> bool {
        self.value(name).map_or(default, |value| value.bool())
    }

    /// A number, or `default`.
    pub fn number(&mut self, name: &str, default: i64) -> i64 {
        self.value(name).map_or(default, |value| value.int())
    }

    /// A number with a fraction, from 1 on.
    pub fn factor(&mut self, name: &str) -> Option<f64> {
        let text = self.text(name)?;
        let factor = text.parse::<f64>().ok().filter(|factor| (1.0..=100.0).contains(factor));
        if factor.is_none() {
            let message = format!("`{text}` is not a value of `{name}`");
            let help = "write a number from 1 to 100, such as `1.5`";
            let problem = Diagnostic::new(Code::InvalidValue, message).help(help);
            let node = self.layers.find(name);
            self.problems.push(match node {
                Some(node) => problem.at(node.span()),
                None => problem,
            });
        }
        factor
    }

    /// A duration, or `default`.
    pub fn duration(&mut self, name: &str, default: Duration) -> Duration {
        self.value(name).map_or(default, |value| value.duration())
    }

    /// A list; empty if it is missing.
    pub fn list(&self, name: &str) -> Vec<String> {
        spring::list_of(self.layers, name)
    }

    /// Whether a property has a value or children.
    pub fn says(&self, name: &str) -> bool {
        let says = |node: spring::Node<'_>| {
            node.children().next().is_some() || node.text().is_some_and(|text| !text.is_empty())
        };
        self.layers.all(name).any(says)
    }

    /// `spring.application.name`, or Spring's own default for clients of configuration servers.
    pub fn application(&mut self) -> String {
        self.text("spring.application.name").unwrap_or_else(|| "application".to_owned())
    }

    /// Maximum size of a server's answer in bytes.
    pub fn bytes_max(&mut self) -> usize {
        let value = self.value("weir.discovery.answer-bytes-max");
        let size = value.and_then(|value| usize::try_from(value.size()).ok());
        size.filter(|size| *size > 0).unwrap_or(ANSWER_BYTES_MAX)
    }
}
