//! Globs: one path segment or host label with `*`, `?` and plain `{variable}` parts. They are
//! matched without a regular expression, with the captures of greedy groups.

use crate::vars::Vars;
use weir_regex::Required;

/// A glob. `?` matches one character, `*` and a variable any number, including none; the leftmost
/// matches as much as possible.
#[derive(Clone, Debug)]
pub struct Glob {
    items: Box<[Item]>,
}

/// One element of a [`Glob`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// Literal text.
    Text(Box<str>),
    /// Any one character.
    Char,
    /// Any text, captured if named.
    Any(Option<Box<str>>),
}

impl Glob {
    /// A glob of `items` in order.
    pub(super) fn new(items: Vec<Item>) -> Self {
        Self { items: items.into() }
    }

    /// Whether it captures variables.
    pub fn has_variables(&self) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Any(Some(_))))
    }

    /// Plain text in every match; `None` if there is none.
    pub(super) fn required(&self) -> Option<Required> {
        // Runs of adjacent text, separated by wildcards.
        let mut runs = vec![String::new()];
        for item in &self.items {
            match (item, runs.last_mut()) {
                (Item::Text(text), Some(run)) => run.push_str(text),
                _ => runs.push(String::new()),
            }
        }
        let longest = runs.iter().max_by_key(|run| run.len())?;
        let (first, last) = (runs.first()?, runs.last()?);
        (!longest.is_empty()).then(|| Required::of_texts(first, last, longest))
    }

    /// Whether all of `text` matches.
    pub fn matches(&self, text: &str) -> bool {
        self.walk(text, |_, _| {})
    }

    /// Publishes the variables of a `text` that matches.
    pub fn capture(&self, text: &str, vars: &mut Vars) {
        let mut found = Vec::new();
        if self.walk(text, |name, value| found.push((name, value))) {
            for (name, value) in found.into_iter().rev() {
                vars.set(name, value.to_owned());
            }
        }
    }

    /// Places the fixed runs between `Any`s, from the right, each as far right as possible: so
    /// every `Any`, from the left, matches the longest possible text. Visits variables right to
    /// left.
    fn walk<'a, 't>(&'a self, text: &'t str, mut visit: impl FnMut(&'a str, &'t str)) -> bool {
        let mut end = text.len();
        let mut runs = self.items.rsplit(|item| matches!(item, Item::Any(_))).peekable();
        let mut gaps = self.items.iter().rev().filter_map(|item| match item {
            Item::Any(name) => Some(name.as_deref()),
            Item::Text(_) | Item::Char => None,
        });
        let mut behind_gap = None;
        while let Some(run) = runs.next() {
            let first = runs.peek().is_none();
            let region = text.get(..end).unwrap_or_default();
            let anchored = behind_gap.is_none();
            let Some(start) = place(run, region, first, anchored) else { return false };
            let run_end = start + length(run, region.get(start..).unwrap_or_default());
            if let Some(Some(name)) = behind_gap {
                visit(name, text.get(run_end..end).unwrap_or_default());
            }
            end = start;
            behind_gap = gaps.next();
        }
        true
    }
}

/// Position of `run` in `region`: at the start if `first`, at the end if `anchored`, otherwise as
/// far right as possible.
fn place(run: &[Item], region: &str, first: bool, anchored: bool) -> Option<usize> {
    let fits = |at: usize| {
        let rest = region.get(at..)?;
        let taken = prefix(run, rest)?;
        (!anchored || taken == rest.len()).then_some(at)
    };
    if first {
        return fits(0);
    }
    if run.is_empty() {
        return Some(region.len());
    }
    let starts = region.char_indices().map(|(at, _)| at).rev();
    starts.filter_map(fits).next()
}

/// Number of bytes of `text` that the items of `run` match, if they match a prefix of it.
fn prefix(run: &[Item], text: &str) -> Option<usize> {
    let mut rest = text;
    for item in run {
        match item {
            Item::Text(literal) => rest = rest.strip_prefix(&**literal)?,
            Item::Char => {
                let mut chars = rest.chars();
                chars.next()?;
                rest = chars.as_str();
            }
            Item::Any(_) => return None,
        }
    }
    Some(text.len() - rest.len())
}

fn length(run: &[Item], text: &str) -> usize {
    prefix(run, text).unwrap_or_default()
}
