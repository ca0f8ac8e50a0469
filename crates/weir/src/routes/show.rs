//! Routes as text: a table, YAML.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Widest column of a table; longer texts are cut.
const WIDTH_MAX: usize = 60;

/// Rows under headings, columns as wide as they need to be.
pub(crate) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| shown_width(cell));
        let heading = headings.get(column).map_or(0, |heading| heading.len());
        cells.max().unwrap_or(0).max(heading).min(WIDTH_MAX)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let mut text = String::new();
    line(&mut text, headings.iter().copied(), &widths);
    for row in rows {
        line(&mut text, row.iter().map(String::as_str), &widths);
    }
    text
}

fn line<'c>(text: &mut String, cells: impl Iterator<Item = &'c str>, widths: &[usize]) {
    let mut line = String::new();
    for (cell, width) in cells.zip(widths) {
        let cell = cut(cell, *width);
        let pad = width.saturating_sub(shown_width(&cell));
        line.push_str(&cell);
        line.extend(std::iter::repeat_n(' ', pad + 2));
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

fn shown_width(text: &str) -> usize {
    text.chars().count()
}

fn cut(text: &str, width: usize) -> String {
    // Control characters in an id must not reach the terminal.
    let plain = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    if shown_width(text) <= width {
        return plain.collect();
    }
    let mut out: String = plain.take(width.saturating_sub(1)).collect();
    out.push('…');
    out
}

/// A predicate or filter in its short form, if it has one.
pub(super) fn shortcut(named: &Value) -> String {
    let name = named.get("name").and_then(Value::as_str).unwrap_or_default();
    let args = named.get("args").and_then(Value::as_object);
    let texts: Vec<String> = args
        .into_iter()
        .flatten()
        .map(|(key, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            if key.starts_with("_genkey_") { value } else { format!("{key}:{value}") }
        })
        .collect();
    match texts.is_empty() {
        true => name.to_owned(),
        false => format!("{name}={}", texts.join(",")),
    }
}

/// A list of definitions below `spring.cloud.gateway.server.webflux.routes`, element by element.
pub(super) const YAML_HEAD: &str = "\
spring:
  cloud:
    gateway:
      server:
        webflux:
          routes:
";
/// The indentation of elements.
const INDENT: usize = 10;

/// One definition as an element of the list under [`YAML_HEAD`].
pub(super) fn yaml_element(definition: &Map<String, Value>) -> String {
    let mut text = String::new();
    let indent = " ".repeat(INDENT);
    let order = ["id", "group", "uri", "order", "enabled", "predicates", "filters", "metadata"];
    let mut first = true;
    for key in order {
        let Some(value) = definition.get(key).filter(|value| !is_default(key, value)) else {
            continue;
        };
        let lead = if std::mem::take(&mut first) { "- " } else { "  " };
        let _ = write!(text, "{indent}{lead}{key}:");
        match (key, value) {
            ("predicates" | "filters", Value::Array(list)) => {
                for named in list {
                    let _ = write!(text, "\n{indent}    - {}", yaml_flow(named));
                }
                text.push('\n');
            }
            (_, value) => {
                let _ = writeln!(text, " {}", yaml_flow(value));
            }
        }
    }
    text
}

fn is_default(key: &str, value: &Value) -> bool {
    match (key, value) {
        ("order", Value::Number(order)) => order.as_i64() == Some(0),
        ("enabled", Value::Bool(enabled)) => *enabled,
        (_, Value::Array(list)) => list.is_empty(),
        (_, Value::Object(fields)) => fields.is_empty(),
        _ => false,
    }
}

/// JSON is YAML; only `${` would be taken for a placeholder when it is read as configuration, and
/// that is what the writer of the route has to see.
fn yaml_flow(value: &Value) -> String {
    value.to_string()
}

/// A row for each element of the list under `key`.
pub fn rows(value: &Value, key: &str, row: impl Fn(&Value) -> Vec<String>) -> Vec<Vec<String>> {
    value[key].as_array().into_iter().flatten().map(row).collect()
}

/// The value at `key`, as a cell.
pub fn text(value: &Value, key: &str) -> String {
    match &value[key] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{shortcut, table, yaml_element};

    #[test]
    fn tables_line_up_and_long_or_odd_cells_are_tamed() {
        let rows = [
            vec!["a".to_owned(), "http://x".to_owned()],
            vec!["b\u{1b}[2J".to_owned(), "y".repeat(80)],
        ];
        let expected = format!("ID     URI\na      http://x\nb\u{fffd}[2J  {}…\n", "y".repeat(59));
        assert_eq!(table(&["ID", "URI"], &rows), expected);
        assert_eq!(table(&["ID"], &[]), "ID\n");
    }

    #[test]
    fn shortcuts_are_what_one_would_write() {
        let check = |json, expected| assert_eq!(shortcut(&json), expected);
        check(
            json!({ "name": "Path", "args": { "_genkey_0": "/a", "_genkey_1": "/b" } }),
            "Path=/a,/b",
        );
        check(json!({ "name": "Query", "args": { "param": "q" } }), "Query=param:q");
        check(json!({ "name": "SaveSession", "args": {} }), "SaveSession");
    }

    #[test]
    fn yaml_is_read_back_as_the_same_route() {
        let definition = json!({
            "id": "a: b", "uri": "http://x", "order": 3, "enabled": true,
            "predicates": [{ "name": "Path", "args": { "_genkey_0": "/a/{x}" } }],
            "filters": [], "metadata": { "tag": "yes", "n": 1 },
        });
        let definition = definition.as_object().expect("an object");
        let text = format!("{}{}", super::YAML_HEAD, yaml_element(definition));
        let mut loader = weir_config::Loader::new(Vec::new(), &[], Vec::new());
        loader.add(weir_config::Source::new("a.yml", text, weir_config::Format::Yaml));
        let mut loaded = loader.load();
        let read = loaded.definitions();
        assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
        let [(route, _)] = read.as_slice() else { panic!("{read:?}") };
        assert_eq!((route.id.as_str(), route.order), ("a: b", 3));
        assert_eq!(route.metadata.get("tag"), Some(&json!("yes")));
        assert_eq!(
            serde_json::to_value(&route.predicates).ok().as_ref(),
            definition.get("predicates")
        );
    }
}
