//! Binding of written arguments to declared ones: SCG's `ShortcutType.normalize`, then Spring's
//! binder.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;

use serde_json::Value as Json;

use super::{ArgError, Args, Texts, Value, bean_name, is_same_name};
use crate::definition::Arguments;
use crate::spec::{ArgKind, ArgSpec, Shortcut, Spec};
use smol_str::SmolStr;

/// Prefix of SCG's generated names of shortcut arguments.
const GENERATED: &str = "_genkey_";

/// One written text with its flattened key.
struct Entry<'a> {
    /// Key without a list index.
    key: Cow<'a, str>,
    /// Index in a list, if the key had one.
    index: Option<usize>,
    /// Position among the arguments as written.
    place: usize,
    text: Cow<'a, str>,
}

impl<B> Spec<B> {
    /// Binds written arguments to the declared ones.
    ///
    /// # Errors
    /// A required argument that is missing.
    pub fn bind(&self, written: &Arguments) -> Result<Args, ArgError> {
        Args::bind(self.args, self.shortcut, written)
    }
}

impl Args {
    /// Binds `written` to `declared` (scg.md 1.3, "Normalisation").
    ///
    /// # Errors
    /// A required argument that is missing, or SpEL.
    pub fn bind(
        declared: &[ArgSpec],
        shortcut: Shortcut,
        written: &Arguments,
    ) -> Result<Self, ArgError> {
        let mut entries = Vec::with_capacity(written.len());
        for (place, (key, value)) in written.iter().enumerate() {
            flatten(Cow::Borrowed(key), value, place, &mut entries);
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
            name: Cow::Borrowed(spec.name),
            texts: Texts::None,
            kind: Some(spec.kind),
            written: false,
        };
        let values = declared.iter().map(value).collect();
        Self { values, declared: declared.len(), read: Cell::new(0) }
    }

    /// A generated key refers to the declared argument at its position; other keys are names.
    fn lay_by_position(
        &mut self,
        mut entries: Vec<Entry<'_>>,
        count: usize,
    ) -> Result<(), ArgError> {
        if entries.iter().any(|entry| entry.index.is_some()) {
            let mut places = HashMap::new();
            for entry in entries.iter_mut().filter(|entry| entry.index.is_some()) {
                entry.place = *places.entry(entry.key.clone()).or_insert(entry.place);
            }
            entries.sort_by_key(|entry| (entry.place, entry.index));
        }
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
                    texts.filter(|t| !t.is_empty()).for_each(|text| value.texts.push(text.into()));
                }
                Some(ArgKind::List) => value.texts.push(entry.text.into()),
                _ if value.texts.as_slice().is_empty() => value.texts.push(entry.text.into()),
                _ => {}
            }
        }
        Ok(())
    }

    /// All texts go into the first declared argument, whatever their keys. Exceptions: another
    /// declared argument may be named, and with `tail_flag` a last `true` or `false` is the second
    /// argument.
    fn gather(&mut self, mut entries: Vec<Entry<'_>>, tail_flag: bool) -> Result<(), ArgError> {
        let is_flag = |text: &str| ["true", "false"].iter().any(|f| f.eq_ignore_ascii_case(text));
        if tail_flag
            && entries.last().is_some_and(|entry| is_flag(entry.text.trim()))
            && let (Some(entry), Some(value)) = (entries.pop(), self.values.get_mut(1))
        {
            value.texts.push(entry.text.into());
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
            if at == 0 || value.texts.as_slice().is_empty() {
                value.texts.push(entry.text.into());
            }
        }
        Ok(())
    }

    fn declared_at(&self, key: &str) -> Option<usize> {
        if key.starts_with(GENERATED) {
            return None;
        }
        let declared = self.values.iter().take(self.declared);
        declared.enumerate().find(|(_, value)| is_same_name(&value.name, key)).map(|(at, _)| at)
    }

    fn add_undeclared(&mut self, entry: Entry<'_>) {
        self.values.push(Value {
            name: Cow::Owned(entry.key.into_owned()),
            texts: Texts::One(entry.text.into()),
            kind: None,
            written: true,
        });
    }
}

impl Value {
    /// Sets the default if the argument was not written.
    fn complete(&mut self, spec: &ArgSpec) -> Result<(), ArgError> {
        if self.written {
            return Ok(());
        }
        match spec.default {
            Some(default) if matches!(spec.kind, ArgKind::List) => {
                let texts = default.split(',').map(str::trim).filter(|text| !text.is_empty());
                texts.for_each(|text| self.texts.push(text.into()));
            }
            Some(default) => self.texts.push(SmolStr::new_static(default)),
            None if spec.required => {
                return Err(
                    ArgError::new(spec.name, format!("`{}` is missing", spec.name)).help(spec.doc)
                );
            }
            None => {}
        }
        Ok(())
    }

    /// SpEL is never evaluated: the only accepted form is a bean reference in an argument that
    /// expects one.
    fn check_spel(&self, text: &str) -> Result<(), ArgError> {
        // Most texts contain none, and need no trimming.
        if !text.as_bytes().contains(&b'#') {
            return Ok(());
        }
        let text = text.trim();
        if !(text.starts_with("#{") && text.ends_with('}')) {
            return Ok(());
        }
        let refused = ArgError::new(&self.name, format!("`{text}` is an expression"));
        if !matches!(self.kind, Some(ArgKind::Bean)) {
            return Err(refused.help("weir never evaluates SpEL; write the value itself"));
        }
        let plain = |c: char| c.is_alphanumeric() || "_-$.".contains(c);
        match bean_name(text) {
            Some(name) if !name.is_empty() && name.chars().all(plain) => Ok(()),
            _ => Err(refused.help("weir never evaluates SpEL; only `#{@name}` may stand here")),
        }
    }
}

/// Flattens lists and maps into indexed and dotted keys.
fn flatten<'a>(key: Cow<'a, str>, value: &'a Json, place: usize, entries: &mut Vec<Entry<'a>>) {
    let text = match value {
        Json::Null => Cow::Borrowed(""),
        Json::Bool(flag) => Cow::Owned(flag.to_string()),
        Json::Number(number) => Cow::Owned(number.to_string()),
        Json::String(text) => Cow::Borrowed(text.as_str()),
        Json::Array(list) => {
            for (at, value) in list.iter().enumerate() {
                flatten(format!("{key}[{at}]").into(), value, place, entries);
            }
            return;
        }
        Json::Object(map) => {
            for (name, value) in map {
                flatten(format!("{key}.{name}").into(), value, place, entries);
            }
            return;
        }
    };
    let (key, index) = match split_index(&key) {
        (_, None) => (key, None),
        (base, index) => (Cow::Owned(base.to_owned()), index),
    };
    entries.push(Entry { key, index, place, text });
}

/// `patterns[0]` and `patterns.0` are element 0 of `patterns`.
fn split_index(key: &str) -> (&str, Option<usize>) {
    if !key.bytes().any(|byte| matches!(byte, b'.' | b'[')) {
        return (key, None);
    }
    let bracketed = key.strip_suffix(']').and_then(|key| key.rsplit_once('['));
    let (base, index) = match bracketed.or_else(|| key.rsplit_once('.')) {
        Some((base, index)) => (base, index.parse().ok()),
        None => (key, None),
    };
    if index.is_some() && !base.is_empty() { (base, index) } else { (key, None) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use crate::args::Args;
    use crate::definition::{Arguments, parse_shortcut};
    use crate::spec::{ArgKind, ArgSpec, Shortcut};

    const fn arg(name: &'static str, kind: ArgKind, default: Option<&'static str>) -> ArgSpec {
        ArgSpec { name, kind, default, required: false, doc: "." }
    }

    const PATH: &[ArgSpec] = &[
        arg("patterns", ArgKind::List, None),
        arg("matchTrailingSlash", ArgKind::Bool, Some("true")),
    ];
    const RETRY: &[ArgSpec] = &[
        arg("retries", ArgKind::Int, Some("3")),
        arg("statuses", ArgKind::List, Some("A, B")),
        arg("backoff.firstBackoff", ArgKind::Duration, None),
        arg("keyResolver", ArgKind::Bean, None),
    ];

    fn map(written: Value) -> Arguments {
        match written {
            Value::Object(map) => map.into_iter().collect(),
            Value::String(text) => parse_shortcut(&text, true).expect("a shortcut").args,
            other => panic!("{other}"),
        }
    }

    fn texts(value: &crate::args::Value) -> Vec<&str> {
        value.texts.as_slice().iter().map(|text| text.as_str()).collect()
    }

    fn check(declared: &[ArgSpec], shortcut: Shortcut, written: Value, expected: Value) {
        let args = Args::bind(declared, shortcut, &map(written.clone())).expect("arguments");
        let known = args.values.iter().take(args.declared).filter(|value| value.written);
        let mut got: Map<_, _> =
            known.map(|value| (value.name.to_string(), json!(texts(value)))).collect();
        let unknown: Vec<_> = args.unknown().collect();
        if !unknown.is_empty() {
            got.insert("unknown".to_owned(), json!(unknown));
        }
        assert_eq!(Value::Object(got), expected, "{written}");
    }

    #[test]
    fn gathered_values_go_into_the_list_whatever_their_keys() {
        let check =
            |written, expected| check(PATH, Shortcut::GatherListTailFlag, written, expected);
        check(json!("Path=/a, /b"), json!({"patterns": ["/a", "/b"]}));
        check(json!("Path=/a,FALSE"), json!({"patterns": ["/a"], "matchTrailingSlash": ["FALSE"]}));
        check(json!("Path="), json!({}));
        check(json!({"pattern": "/a"}), json!({"patterns": ["/a"]}));
        check(json!({"foo": "/a", "_genkey_7": "/b"}), json!({"patterns": ["/a", "/b"]}));
        check(json!({"patterns": ["/a", "/b"]}), json!({"patterns": ["/a", "/b"]}));
        check(json!({"patterns.0": "/a", "patterns[1]": "/b"}), json!({"patterns": ["/a", "/b"]}));
        check(json!({"patterns": "/a,/b"}), json!({"patterns": ["/a,/b"]}));
        let flag = json!({"patterns": ["/a"], "matchTrailingSlash": ["false"]});
        check(json!({"pattern": "/a", "matchTrailingSlash": false}), flag.clone());
        check(json!({"matchTrailingSlash": "false", "pattern": "/a"}), flag);
    }

    #[test]
    fn generated_keys_go_by_position_and_others_by_name() {
        let check = |written, expected| check(RETRY, Shortcut::Default, written, expected);
        check(json!("Retry=3,X"), json!({"retries": ["3"], "statuses": ["X"]}));
        check(json!({"Retries": 3, "x": true}), json!({"retries": ["3"], "unknown": ["x"]}));
        check(json!({"statuses": "A, B,"}), json!({"statuses": ["A", "B"]}));
        check(json!({"statuses[1]": "B", "statuses[0]": "A"}), json!({"statuses": ["A", "B"]}));
        check(json!({"statuses": ["A,B", "C"]}), json!({"statuses": ["A,B", "C"]}));
        check(
            json!({"backoff": {"first-backoff": "10ms"}}),
            json!({"backoff.firstBackoff": ["10ms"]}),
        );
        check(json!({"BACKOFF.FIRST_BACKOFF": 5}), json!({"backoff.firstBackoff": ["5"]}));
        check(json!("Retry=1,A,2ms,#{@k},more"), {
            json!({"retries": ["1"], "statuses": ["A"], "backoff.firstBackoff": ["2ms"],
                   "keyResolver": ["#{@k}"], "unknown": ["_genkey_4"]})
        });
        self::check(
            RETRY,
            Shortcut::Positions(1),
            json!("Retry=1,A"),
            json!({"retries": ["1"], "unknown": ["_genkey_1"]}),
        );
    }

    #[test]
    fn defaults_fill_what_is_not_written() {
        let args = Args::bind(RETRY, Shortcut::Default, &map(json!({}))).expect("arguments");
        assert_eq!(args.int("retries"), Ok(Some(3)));
        assert_eq!(args.list("statuses"), ["A", "B"]);
        assert_eq!(args.duration("backoff.firstBackoff"), Ok(None));
        assert!(!args.is_written("retries"));
        assert_eq!(args.unread().collect::<Vec<_>>(), ["keyResolver"]);
    }

    fn check_spel(written: Value, expected: Result<Option<&str>, &str>) {
        let args = Args::bind(RETRY, Shortcut::Default, &map(written));
        let bean = match &args {
            Ok(args) => args.bean("keyResolver").map_err(|error| error.message),
            Err(error) => Err(error.message.clone()),
        };
        assert_eq!(bean.as_ref().map(|b| *b).map_err(String::as_str), expected);
    }

    #[test]
    fn expressions_are_never_evaluated() {
        check_spel(json!({"keyResolver": "#{@ip}"}), Ok(Some("ip")));
        check_spel(json!({"keyResolver": " #{ @ip }"}), Ok(Some("ip")));
        check_spel(
            json!({"keyResolver": "#{T(java.lang.Runtime)}"}),
            Err("`#{T(java.lang.Runtime)}` is an expression"),
        );
        check_spel(json!({"keyResolver": "#{@a.b()}"}), Err("`#{@a.b()}` is an expression"));
        check_spel(json!({"retries": "#{@three}"}), Err("`#{@three}` is an expression"));
        check_spel(json!({"keyResolver": "ip"}), Err("`ip` is not a reference"));
    }
}
