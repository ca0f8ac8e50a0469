//! A cache on disk of the servers' answers, for a start while a server is away:
//! `configuration.json`.
//!
//! Others may not read it: answers hold passwords.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use weir_config::{Content, Fetched, Format};

use super::state::Answers;

/// A file longer than this was not written by weir.
const BYTES_MAX: u64 = 512 << 20;

/// The file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct File {
    /// The answers by server and request.
    servers: BTreeMap<String, Vec<Part>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Part {
    name: String,
    #[serde(default)]
    specific: bool,
    #[serde(flatten)]
    content: Kind,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Yaml(String),
    Properties(String),
    Json(String),
    Ini(String),
    Pairs(Vec<(String, String)>),
}

/// The answers in the file at `path`; `None` if it is absent or unreadable.
pub(super) fn read(path: &Path) -> Option<Answers> {
    if std::fs::metadata(path).ok()?.len() > BYTES_MAX {
        return None;
    }
    let text = std::fs::read(path).ok()?;
    match serde_json::from_slice::<File>(&text) {
        Ok(file) => {
            Some(file.servers.into_iter().map(|(name, parts)| (name, taken(parts))).collect())
        }
        Err(error) => {
            // The error's own text could show a part of the file.
            let (path, line) = (path.display(), error.line());
            tracing::warn!(%path, line, "the saved answers of configuration servers cannot be read");
            None
        }
    }
}

/// Writes `answers`, readable by its owner alone.
pub(super) fn write(path: &Path, answers: &Answers) -> std::io::Result<()> {
    if answers.is_empty() {
        // Properties that were removed from the servers must not reappear.
        return match std::fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    }
    let servers = answers.iter().map(|(name, parts)| (name.clone(), kept(parts))).collect();
    let text = serde_json::to_vec(&File { servers }).map_err(std::io::Error::other)?;
    // Whole or not at all: a start must not find half of it. The mode counts for a new file only.
    let part = path.with_extension("json.part");
    match std::fs::remove_file(&part) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
    file.write_all(&text)?;
    file.sync_all()?;
    std::fs::rename(&part, path)
}

fn kept(parts: &[Fetched]) -> Vec<Part> {
    let part = |part: &Fetched| Part {
        name: part.name.clone(),
        specific: part.is_specific,
        content: match part.content.clone() {
            Content::Text(text, Format::Yaml) => Kind::Yaml(text),
            Content::Text(text, Format::Properties) => Kind::Properties(text),
            Content::Text(text, Format::Json) => Kind::Json(text),
            Content::Text(text, Format::Ini) => Kind::Ini(text),
            Content::Pairs(pairs) => Kind::Pairs(pairs),
        },
    };
    parts.iter().map(part).collect()
}

fn taken(parts: Vec<Part>) -> Vec<Fetched> {
    let part = |part: Part| Fetched {
        name: part.name,
        is_specific: part.specific,
        content: match part.content {
            Kind::Yaml(text) => Content::Text(text, Format::Yaml),
            Kind::Properties(text) => Content::Text(text, Format::Properties),
            Kind::Json(text) => Content::Text(text, Format::Json),
            Kind::Ini(text) => Content::Text(text, Format::Ini),
            Kind::Pairs(pairs) => Content::Pairs(pairs),
        },
    };
    parts.into_iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_is_written_is_read_by_its_owner_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("configuration.json");
        let part = |name: &str, content: Content| Fetched {
            name: name.to_owned(),
            content,
            is_specific: name == "b",
        };
        let pairs = vec![("db.password".to_owned(), "s".to_owned())];
        let answers = Answers::from([(
            "configserver:http://h/a/b".to_owned(),
            vec![
                part("a", Content::Text("x: 1".to_owned(), Format::Yaml)),
                part("b", Content::Pairs(pairs)),
                part("c", Content::Text("[]".to_owned(), Format::Json)),
            ],
        )]);
        std::fs::write(path.with_extension("json.part"), "").expect("a file of a broken run");
        write(&path, &answers).expect("written");
        assert_eq!(read(&path), Some(answers));
        let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::write(&path, "{").expect("a file");
        assert_eq!(read(&path), None);
        write(&path, &Answers::new()).expect("removed");
        assert!(!path.exists());
        write(&path, &Answers::new()).expect("nothing to remove");
    }
}
