//! Written arguments onto declared ones: SCG's `ShortcutType.normalize`, then Spring's binder.

use std::cell::Cell;

use serde_json::{Map, Value as Json};

use super::{ArgError, Args, Value};
use crate::spec::{ArgKind, ArgSpec, Shortcut};

/// What SCG calls the nth argument of a shortcut.
const GENERATED: &str = "_genkey_";

/// One written text under its flattened key.
struct Entry {
    /// Key without a list index.
    key: String,
    /// Index in a list, if the key had one.
    index: Option<usize>,
    /// Place among the arguments as written.
    place: usize,
    text: String,
}

impl Args {
    /// Lays `written` onto `declared` (scg.md 1.3, "Normalisation").
    ///
    /// # Errors
    /// A required argument that is missing, or SpEL.
    pub fn bind(
        declared: &[ArgSpec],
        shortcut: Shortcut,
        written: &Map<String, Json>,
    ) -> Result<Self, ArgError> {
        let mut entries = Vec::new();
        for (place, (key, value)) in written.iter().enumerate() {
            flatten(key, value, place, &mut entries);
        }
        let mut args = Self::empty(declared);
        match shortcut {
            Shortcut::Default => args.lay_by_position(entries, declared.len())?,
            Shortcut::Positions(count) => args.lay_by_position(entries, count)?,
            Shortcut::GatherList => args.gather(entries, false)?,
            Shortcut::GatherListTailFlag => args.gather(entries, true)?,
        }
        for (value, spec) in args.values.iter_mut().zip(declared) {
            value.complete(spec)?;
        }
        Ok(args)
    }

    fn empty(declared: &[ArgSpec]) -> Self {
        let value = |spec: &ArgSpec| Value {
            name: spec.name.to_owned(),
            texts: Vec::new(),
            kind: Some(spec.kind),
            written: false,
        };
        let values = declared.iter().map(value).collect();
        Self { values, declared: declared.len(), read: Cell::new(0) }
    }

    /// A generated key stands for the declared argument at its place; others go by name.
    fn lay_by_position(&mut self, mut entries: Vec<Entry>, count: usize) -> Result<(), ArgError> {
        entries.sort_by_key(|entry| (entry.place, entry.index));
        for entry in entries {
            let at = if entry.key.starts_with(GENERATED) {
                Some(entry.place).filter(|place| *place < count)
            } else {
                self.declared_at(&entry.key)
            };
            let Some(value) = at.and_then(|at| self.values.get_mut(at)) else {
                self.add_undeclared(entry);
                continue;
            };
            value.check_spel(&entry.text)?;
            value.written = true;
            match value.kind {
                Some(ArgKind::List) if entry.index.is_none() => {
                    let texts = entry.text.split(',').map(str::trim);
                    value.texts.extend(texts.filter(|t| !t.is_empty()).map(str::to_owned));
                }
                Some(ArgKind::List) => value.texts.push(entry.text),
                _ if value.texts.is_empty() => value.texts.push(entry.text),
                _ => {}
            }
        }
        Ok(())
    }

    /// All texts go into the first declared argument, whatever their keys, except that another
    /// declared one may be named, and that with `tail_flag` a last `true` or `false` is the second.
    fn gather(&mut self, mut entries: Vec<Entry>, tail_flag: bool) -> Result<(), ArgError> {
        let is_flag = |text: &str| ["true", "false"].iter().any(|f| f.eq_ignore_ascii_case(text));
        if tail_flag
            && entries.last().is_some_and(|entry| is_flag(entry.text.trim()))
            && let (Some(entry), Some(value)) = (entries.pop(), self.values.get_mut(1))
        {
            value.texts.push(entry.text);
            value.written = true;
        }
        for entry in entries {
            let at = self.declared_at(&entry.key).unwrap_or(0);
            let Some(value) = self.values.get_mut(at) else {
                self.add_undeclared(entry);
                continue;
            };
            value.check_spel(&entry.text)?;
            value.written = true;
            if at == 0 || value.texts.is_empty() {
                value.texts.push(entry.text);
            }
        }
        Ok(())
    }

    fn declared_at(&self, key: &str) -> Option<usize> {
        let declared = self.values.iter().take(self.declared);
        declared.enumerate().find(|(_, value)| is_same_name(&value.name, key)).map(|(at, _)| at)
    }

    fn add_undeclared(&mut self, entry: Entry) {
        self.values.push(Value {
            name: entry.key,
            texts: vec![entry.text],
            kind: None,
            written: true,
        });
    }
}

impl Value {
    /// Fills in the default.
    fn complete(&mut self, spec: &ArgSpec) -> Result<(), ArgError> {
        if self.written {
            return Ok(());
        }
        match spec.default {
            Some(default) if matches!(spec.kind, ArgKind::List) => {
                let texts = default.split(',').map(str::trim).filter(|text| !text.is_empty());
                self.texts.extend(texts.map(str::to_owned));
            }
            Some(default) => self.texts.push(default.to_owned()),
            None if spec.required => {
                return Err(
                    ArgError::new(spec.name, format!("`{}` is missing", spec.name)).help(spec.doc)
                );
            }
            None => {}
        }
        Ok(())
    }

    /// SpEL is never evaluated: a bean reference may stand where one is expected, nothing else.
    fn check_spel(&self, text: &str) -> Result<(), ArgError> {
        let text = text.trim();
        if !(text.starts_with("#{") && text.ends_with('}')) {
            return Ok(());
        }
        let refused = ArgError::new(&self.name, format!("`{text}` is an expression"));
        if !matches!(self.kind, Some(ArgKind::Bean)) {
            return Err(refused.help("weir never evaluates SpEL; write the value itself"));
        }
        let name = text.strip_prefix("#{@").and_then(|rest| rest.strip_suffix('}'));
        let plain = |c: char| c.is_alphanumeric() || "_-$. ".contains(c);
        match name {
            Some(name) if !name.trim().is_empty() && name.chars().all(plain) => Ok(()),
            _ => Err(refused.help("weir never evaluates SpEL; only `#{@name}` may stand here")),
        }
    }
}

/// Turns lists and maps into indexed and dotted keys.
fn flatten(key: &str, value: &Json, place: usize, entries: &mut Vec<Entry>) {
    let text = match value {
        Json::Null => String::new(),
        Json::Bool(flag) => flag.to_string(),
        Json::Number(number) => number.to_string(),
        Json::String(text) => text.clone(),
        Json::Array(list) => {
            for (at, value) in list.iter().enumerate() {
                flatten(&format!("{key}[{at}]"), value, place, entries);
            }
            return;
        }
        Json::Object(map) => {
            for (name, value) in map {
                flatten(&format!("{key}.{name}"), value, place, entries);
            }
            return;
        }
    };
    let (key, index) = split_index(key);
    entries.push(Entry { key: key.to_owned(), index, place, text });
}

/// `patterns[0]` and `patterns.0` are element 0 of `patterns`.
fn split_index(key: &str) -> (&str, Option<usize>) {
    let bracketed = key.strip_suffix(']').and_then(|key| key.rsplit_once('['));
    let (base, index) = match bracketed.or_else(|| key.rsplit_once('.')) {
        Some((base, index)) => (base, index.parse().ok()),
        None => (key, None),
    };
    if index.is_some() && !base.is_empty() { (base, index) } else { (key, None) }
}

/// Spring's relaxed names: `from-header`, `fromHeader` and `FROM_HEADER` are the same.
pub(super) fn is_same_name(one: &str, other: &str) -> bool {
    let relaxed = |name: &str| -> String {
        let chars = name.chars().filter(|c| !matches!(c, '-' | '_'));
        chars.flat_map(char::to_lowercase).collect()
    };
    one == other || relaxed(one) == relaxed(other)
}
