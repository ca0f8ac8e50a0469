//! Edits of content, shared by EditRequestBody and EditResponseBody.

use serde_json::Value;
use weir_route::{ArgError, ArgKind, Args};

use crate::content::is_any_json;
use crate::context::FilterError;

/// Edits of content, applied in the order remove, rename, set, replace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BodyEdit {
    remove: Vec<String>,
    rename: Vec<(String, String)>,
    /// JSON pointer and the new value as JSON.
    set: Vec<(String, String)>,
    replace: Vec<(String, String)>,
}

/// Its arguments: name, kind, documentation.
pub(crate) const ARGS: [(&str, ArgKind, &str); 4] = [
    ("remove", ArgKind::List, "JSON pointers of what is taken out, such as `/user/password`."),
    ("rename", ArgKind::Text, "`rename./pointer: name` gives an attribute another name."),
    (
        "set",
        ArgKind::Text,
        "`set./pointer: value` puts a value there: JSON, or else a text; the last part may be new.",
    ),
    ("replace", ArgKind::Text, "`replace.text: other` replaces a text wherever it stands."),
];

impl BodyEdit {
    /// Reads the arguments.
    ///
    /// # Errors
    /// No edit is given, or a pointer is invalid.
    pub(crate) fn of(args: &Args) -> Result<Self, ArgError> {
        // Marks them as read, so that they are not reported as unknown arguments.
        let _ = (args.text("rename"), args.text("set"), args.text("replace"));
        let pointer = |arg: &str, text: &str| -> Result<String, ArgError> {
            let text = text.trim();
            if text.starts_with('/') {
                return Ok(text.to_owned());
            }
            Err(ArgError::new(arg, format!("`{text}` is no JSON pointer"))
                .help("begin it with `/`, such as `/user/password`"))
        };
        let pairs = |arg: &'static str| {
            args.nested(arg).map(move |(name, value)| {
                Ok::<_, ArgError>((pointer(arg, name)?, value.to_owned()))
            })
        };
        let remove = args.list("remove").iter().map(|text| pointer("remove", text));
        let edit = Self {
            remove: remove.collect::<Result<_, _>>()?,
            rename: pairs("rename").collect::<Result<_, _>>()?,
            set: pairs("set").collect::<Result<_, _>>()?,
            replace: args
                .nested("replace")
                .map(|(text, other)| (text.to_owned(), other.to_owned()))
                .collect(),
        };
        if edit.is_json_free() && edit.replace.is_empty() {
            return Err(ArgError::new("remove", "there is nothing to change")
                .help("write `remove`, `rename./pointer`, `set./pointer` or `replace.text`"));
        }
        Ok(edit)
    }

    fn is_json_free(&self) -> bool {
        self.remove.is_empty() && self.rename.is_empty() && self.set.is_empty()
    }

    /// Whether content of this type is edited: text replacements apply to any type, others to JSON.
    pub(crate) fn takes(&self, content_type: &[u8]) -> bool {
        !self.replace.is_empty() || is_any_json(content_type)
    }

    /// Returns the edited content.
    pub(crate) fn apply(&self, content: Vec<u8>) -> Result<Vec<u8>, FilterError> {
        let mut content = content;
        if !self.is_json_free() && !content.trim_ascii().is_empty() {
            let mut value: Value = serde_json::from_slice(&content)
                .map_err(|error| FilterError(format!("the body is no JSON: {error}")))?;
            self.edit(&mut value);
            content = value.to_string().into_bytes();
        }
        for (text, other) in &self.replace {
            content = replaced(&content, text.as_bytes(), other.as_bytes());
        }
        Ok(content)
    }

    fn edit(&self, value: &mut Value) {
        for pointer in &self.remove {
            remove(value, pointer);
        }
        for (pointer, name) in &self.rename {
            let parent = pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
            if let Some(taken) = remove(value, pointer) {
                put(value, &format!("{parent}/{}", escaped(name)), taken);
            }
        }
        for (pointer, text) in &self.set {
            let new = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()));
            put(value, pointer, new);
        }
    }

    /// Description as the rest of a sentence.
    pub(crate) fn explain(&self) -> String {
        let mut does = Vec::new();
        if !self.remove.is_empty() {
            does.push(format!("removes {}", self.remove.join(", ")));
        }
        for (pointer, name) in &self.rename {
            does.push(format!("renames {pointer} to {name}"));
        }
        for (pointer, _) in &self.set {
            does.push(format!("sets {pointer}"));
        }
        for (text, _) in &self.replace {
            does.push(format!("replaces `{text}`"));
        }
        does.join(", ")
    }
}

/// A name escaped for a JSON pointer (RFC 6901).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Removes the value at a pointer.
fn remove(value: &mut Value, pointer: &str) -> Option<Value> {
    let (parent, last) = pointer.rsplit_once('/')?;
    let last = last.replace("~1", "/").replace("~0", "~");
    match value.pointer_mut(parent)? {
        Value::Object(map) => map.shift_remove(&last),
        Value::Array(list) => {
            let at = last.parse::<usize>().ok().filter(|at| *at < list.len())?;
            Some(list.remove(at))
        }
        _ => None,
    }
}

/// Sets the value at a pointer to `new`, if its parent exists and is a container.
fn put(value: &mut Value, pointer: &str, new: Value) {
    let Some((parent, last)) = pointer.rsplit_once('/') else { return };
    let last = last.replace("~1", "/").replace("~0", "~");
    match value.pointer_mut(parent) {
        Some(Value::Object(map)) => {
            map.insert(last, new);
        }
        Some(Value::Array(list)) if last == "-" => list.push(new),
        Some(Value::Array(list)) => {
            if let Some(place) = last.parse::<usize>().ok().and_then(|at| list.get_mut(at)) {
                *place = new;
            }
        }
        _ => {}
    }
}

fn replaced(content: &[u8], text: &[u8], other: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len());
    let mut at = 0;
    if !text.is_empty() {
        for found in memchr::memmem::find_iter(content, text) {
            out.extend_from_slice(content.get(at..found).unwrap_or_default());
            out.extend_from_slice(other);
            at = found + text.len();
        }
    }
    out.extend_from_slice(content.get(at..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::BodyEdit;

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    }

    #[test]
    fn json_is_edited_by_pointer() {
        let edit = BodyEdit {
            remove: vec!["/a/b".to_owned(), "/list/0".to_owned(), "/none/x".to_owned()],
            rename: pairs(&[("/old~1name", "new/name"), ("/none", "x")]),
            set: pairs(&[("/n", "1"), ("/t", "word"), ("/list/-", "{\"k\":true}"), ("/x/y", "0")]),
            replace: pairs(&[("secret", "***"), ("", "x")]),
        };
        let body = br#"{ "a": {"b": 1, "c": "secret"}, "list": [1, 2], "old/name": 12345678901234567890 }"#;
        let out = edit.apply(body.to_vec()).expect("JSON");
        assert_eq!(
            String::from_utf8_lossy(&out),
            r#"{"a":{"c":"***"},"list":[2,{"k":true}],"new/name":12345678901234567890,"n":1,"t":"word"}"#
        );
        assert!(edit.apply(b"{".to_vec()).is_err());
        assert_eq!(edit.apply(Vec::new()).as_deref(), Ok(b"".as_slice()));
    }
}
