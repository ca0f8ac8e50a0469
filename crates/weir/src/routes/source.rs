//! Routes from a text: YAML as SCG has it, JSON arrays, JSON lines, MongoDB's extended JSON.

use std::path::Path;

use anyhow::{Context, bail};
use clap::ValueEnum;
use serde::de::{DeserializeSeed, Error, SeqAccess, Visitor};
use serde_json::Value;
use weir_config::{Loader, Severity, Source, Style, render};

/// Forms of a file of routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// `spring.cloud.gateway…routes` of an application.yml, or a list of routes.
    Yaml,
    /// A JSON array.
    Json,
    /// One JSON object a line.
    Jsonl,
}

/// The format of a file, by its name or its first characters.
pub(super) fn guess(path: &Path, text: &str) -> Format {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending.to_ascii_lowercase().as_str() {
        "yml" | "yaml" => return Format::Yaml,
        "jsonl" | "ndjson" => return Format::Jsonl,
        _ => {}
    }
    match text.trim_start().as_bytes().first() {
        Some(b'[') => Format::Json,
        // A single object counts as JSON lines, even if it spans several lines.
        Some(b'{') => Format::Jsonl,
        _ => Format::Yaml,
    }
}

/// Passes every route of `text` to `visit`. `name` is for messages.
///
/// # Errors
/// The text is not of that form, or the first error of `visit`.
pub(super) fn each(
    text: &str,
    format: Format,
    name: &str,
    visit: impl FnMut(Value) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    match format {
        Format::Yaml => each_of_yaml(text, name, visit),
        Format::Json => each_of_array(text, name, visit),
        Format::Jsonl => each_of_lines(text, name, visit),
    }
}

fn each_of_yaml(
    text: &str,
    name: &str,
    mut visit: impl FnMut(Value) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    // A bare list is a list of routes; a bare route is a list with one element.
    let start = text.lines().find(|line| {
        let line = line.trim_end();
        !line.is_empty() && !line.starts_with('#') && line != "---"
    });
    let start = start.unwrap_or_default();
    let prefix = "spring.cloud.gateway.server.webflux.routes:\n";
    let indented = |by: &str| text.lines().map(|line| format!("{by}{line}\n")).collect::<String>();
    let whole = if start.starts_with('-') {
        format!("{prefix}{}", indented(""))
    } else if ["id:", "uri:", "predicates:"].iter().any(|key| start.starts_with(key)) {
        format!("{prefix}-\n{}", indented("  "))
    } else {
        text.to_owned()
    };
    let mut loader = Loader::new(Vec::new(), &[], Vec::new());
    loader.add(Source::new(name, whole, weir_config::Format::Yaml));
    let mut loaded = loader.load();
    let routes = loaded.definitions();
    let errors = loaded.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    let told: Vec<String> =
        errors.map(|found| render(found, loaded.sources(), Style::Plain)).collect();
    if !told.is_empty() {
        bail!("{name} is refused\n{}", told.join("\n"));
    }
    if routes.is_empty() {
        bail!("{name} has no routes\n  they are looked for under spring.cloud.gateway…routes");
    }
    for (definition, _) in routes {
        visit(serde_json::to_value(definition)?)?;
    }
    Ok(())
}

fn each_of_lines(
    text: &str,
    name: &str,
    mut visit: impl FnMut(Value) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    // Objects one after the other: line breaks between them, or inside them, make no difference.
    for (n, route) in serde_json::Deserializer::from_str(text).into_iter().enumerate() {
        visit(route.with_context(|| format!("{name}: route {} is not JSON", n + 1))?)?;
    }
    Ok(())
}

fn each_of_array(
    text: &str,
    name: &str,
    mut visit: impl FnMut(Value) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut failed = None;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = Elements { visit: &mut visit, failed: &mut failed }
        .deserialize(&mut deserializer)
        .and_then(|()| deserializer.end());
    match failed {
        Some(error) => Err(error),
        None => read.with_context(|| format!("{name} is not a JSON array of routes")),
    }
}

/// Passes the elements of an array on one by one, so that a large file is not in memory twice.
struct Elements<'v, V> {
    visit: &'v mut V,
    failed: &'v mut Option<anyhow::Error>,
}

impl<'de, V: FnMut(Value) -> anyhow::Result<()>> DeserializeSeed<'de> for Elements<'_, V> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, V: FnMut(Value) -> anyhow::Result<()>> Visitor<'de> for Elements<'_, V> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of routes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while let Some(route) = elements.next_element()? {
            if let Err(error) = (self.visit)(route) {
                *self.failed = Some(error);
                return Err(A::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::Value;

    use super::{Format, each, guess};

    fn ids(name: &str, text: &str) -> anyhow::Result<Vec<String>> {
        let mut found = Vec::new();
        each(text, guess(Path::new(name), text), name, |route| {
            let id = route.get("id").or_else(|| route.get("_id")).map(Value::to_string);
            found.push(id.unwrap_or_default().replace('"', ""));
            Ok(())
        })?;
        Ok(found)
    }

    fn check(name: &str, text: &str, expected: &[&str]) {
        assert_eq!(ids(name, text).expect("routes"), expected, "{text}");
    }

    fn check_refused(name: &str, text: &str, expected: &str) {
        let error = format!("{:#}", ids(name, text).expect_err("must be refused"));
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn every_form_is_told_apart_and_read() {
        let list = "- { id: a, uri: 'http://x', predicates: [ Path=/a ] }\n\
                    - id: b\n  uri: http://x\n  predicates: [ Path=/b ]\n";
        check("routes.yml", list, &["a", "b"]);
        let inside: String = list.lines().map(|line| format!("      {line}\n")).collect();
        check(
            "a.yml",
            &format!("spring:\n  cloud:\n    gateway:\n      routes:\n{inside}"),
            &["a", "b"],
        );
        check("-", "id: a\nuri: http://x\npredicates:\n- Path=/a\n", &["a"]);
        check("-", r#"[{"id":"a"},{"id":"b"}]"#, &["a", "b"]);
        check("-", "{\"id\":\"a\"}\n\n{\"id\":\"b\"}\n", &["a", "b"]);
        check("a.json", "{\n  \"id\": \"a\"\n}\n", &["a"]);
        check("a.json", r#"{"_id":{"$oid":"60c4"},"_class":"x"}"#, &["{$oid:60c4}"]);
        check("-", "[]", &[]);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        check_refused("a.json", "[{]", "a.json is not a JSON array of routes");
        check_refused("a.jsonl", "{\"id\":\"a\"}\n{\n", "a.jsonl: route 2 is not JSON");
        check_refused("a.yml", "server.port: 1\n", "a.yml has no routes");
        check_refused("a.yml", "- {\n", "a.yml is refused");
        assert_eq!(guess(Path::new("x.ndjson"), ""), Format::Jsonl);
    }
}
