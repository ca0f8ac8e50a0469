//! Reads the imports of a configuration: files, directories, and servers where a command permits
//! it. `weir-config` decides which imports are read, and how an answer is interpreted.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use weir_config::{Content, Fetched, Import, Loader, Location, Outcome, Server};
use weir_control::Configuration;
use weir_snapshot::Settings;

use crate::files::{applications, read};

/// The maximum number of files in a directory of keys.
const TREE_FILES_MAX: usize = 10_000;
/// Longest value in it, in bytes.
const TREE_VALUE_BYTES_MAX: u64 = 1 << 20;
/// Deepest directory in it.
const TREE_DEPTH_MAX: usize = 16;

/// The sources that a command may read.
#[derive(Clone, Copy)]
pub enum Reach<'a> {
    /// Local files only.
    Files,
    /// Servers, too; this returns their client.
    Servers(&'a dyn Fn() -> anyhow::Result<Arc<Configuration>>),
}

/// Path, modification time and size of a file.
pub type Trace = (PathBuf, Option<SystemTime>, u64);

/// The files that imports name, as they were just before they were read.
#[derive(Clone, Debug, Default)]
pub struct Imported(Arc<Mutex<Vec<Trace>>>);

impl Imported {
    /// All of them.
    pub fn traces(&self) -> Vec<Trace> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn note(&self, path: &Path) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(trace(path.to_owned()));
    }
}

/// The trace of the file at `path`.
pub fn trace(path: PathBuf) -> Trace {
    let found = std::fs::metadata(&path).ok();
    let size = found.as_ref().map_or(0, std::fs::Metadata::len);
    (path, found.and_then(|found| found.modified().ok()), size)
}

/// Reads the imports of one configuration.
pub struct Reader<'a> {
    reach: Reach<'a>,
    imported: &'a Imported,
    /// The client of configuration servers, created on first use.
    asking: Option<Arc<Configuration>>,
}

impl<'a> Reader<'a> {
    pub fn new(reach: Reach<'a>, imported: &'a Imported) -> Self {
        imported.clear();
        Self { reach, imported, asking: None }
    }

    /// Supplies the sources that `loader` wants until it wants nothing more; the loader bounds
    /// their number.
    pub fn read(&mut self, loader: &mut Loader, active: Option<&[String]>) {
        loop {
            let wanted = loader.imports(active);
            if wanted.is_empty() {
                return;
            }
            for import in wanted {
                let outcome = self.outcome(&import, loader, active.unwrap_or_default());
                loader.answer(&import, outcome);
            }
        }
    }

    fn outcome(&mut self, import: &Import, loader: &Loader, active: &[String]) -> Outcome {
        let (found, format) = match &import.location {
            Location::File(paths, format) => {
                paths.iter().for_each(|path| self.imported.note(path));
                (paths.iter().find(|path| path.exists()).cloned().into_iter().collect(), *format)
            }
            Location::Folder(paths) => {
                let mut folders = paths.iter().filter(|path| path.is_dir());
                let files = folders.next().map(|folder| applications(folder, "application"));
                let files = files.unwrap_or_default();
                files.iter().for_each(|path| self.imported.note(path));
                (files, None)
            }
            Location::Tree(paths) => return self.tree(paths),
            Location::Server(server) => return self.ask(server, loader, active),
        };
        let sources: anyhow::Result<Vec<_>> =
            found.iter().map(|file| read(file, None, format)).collect();
        match sources {
            Ok(sources) => Outcome::Files(sources),
            Err(error) => Outcome::Failed(format!("{error:#}")),
        }
    }

    fn ask(&mut self, server: &Server, loader: &Loader, active: &[String]) -> Outcome {
        let Reach::Servers(start) = self.reach else { return Outcome::NotRead };
        let asking = match &self.asking {
            Some(asking) => asking,
            None => match start() {
                Ok(asking) => {
                    let data = match loader.text("weir.store.path", active) {
                        text if text.is_empty() => Settings::default().store_path,
                        text => PathBuf::from(text),
                    };
                    asking.begin(Some(&data));
                    self.asking.insert(asking)
                }
                Err(error) => return Outcome::Failed(format!("{error:#}")),
            },
        };
        asking.fetch(server)
    }

    /// A directory in which each file is a value.
    fn tree(&self, paths: &[PathBuf]) -> Outcome {
        let mut folders = Vec::new();
        for path in paths {
            match path.file_name().is_some_and(|name| name == "*") {
                true => folders.extend(path.parent().map(folders_in).unwrap_or_default()),
                false if path.is_dir() => folders.push(path.clone()),
                false => {}
            }
            if !folders.is_empty() {
                break;
            }
        }
        if folders.is_empty() {
            return Outcome::Files(Vec::new());
        }
        let mut parts = Vec::new();
        for folder in folders {
            let mut pairs = Vec::new();
            if let Err(error) = self.values(&folder, "", 0, &mut pairs) {
                return Outcome::Failed(format!("{error:#}"));
            }
            let name = format!("configtree:{}", folder.display());
            parts.push(Fetched { name, content: Content::Pairs(pairs), is_specific: false });
        }
        Outcome::Parts(parts)
    }

    fn values(
        &self,
        folder: &Path,
        prefix: &str,
        depth: usize,
        pairs: &mut Vec<(String, String)>,
    ) -> anyhow::Result<()> {
        anyhow::ensure!(depth <= TREE_DEPTH_MAX, "more than {TREE_DEPTH_MAX} directories deep");
        self.imported.note(folder);
        let mut entries: Vec<PathBuf> =
            std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
        entries.sort();
        for path in entries {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            // Kubernetes keeps the files themselves in directories that start so.
            if name.starts_with("..") {
                continue;
            }
            let key = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
            if path.is_dir() {
                self.values(&path, &key, depth + 1, pairs)?;
                continue;
            }
            let metadata = std::fs::metadata(&path)?;
            if !metadata.is_file() {
                continue;
            }
            anyhow::ensure!(pairs.len() < TREE_FILES_MAX, "more than {TREE_FILES_MAX} files");
            let is_short = metadata.len() <= TREE_VALUE_BYTES_MAX;
            anyhow::ensure!(is_short, "{} is larger than 1 MiB", path.display());
            self.imported.note(&path);
            let text = std::fs::read(&path)?;
            let mut text = String::from_utf8(text)
                .map_err(|_| anyhow::anyhow!("{} is not UTF-8", path.display()))?;
            if text.ends_with('\n') {
                text.pop();
                if text.ends_with('\r') {
                    text.pop();
                }
            }
            pairs.push((key, text));
        }
        Ok(())
    }
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_shown = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path.is_dir() && !name.starts_with("..")
    };
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_shown).collect();
    folders.sort();
    folders
}

/// One line on what a command that reads files alone has left out.
pub fn tell_unread(unread: &[String]) {
    if !unread.is_empty() {
        eprintln!("not read, as only local files are: {}", unread.join(", "));
    }
}
