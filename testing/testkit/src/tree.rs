//! The files of the repository.

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("."))
}

/// Cargo's target directory.
pub fn target() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    root().join(target)
}

/// Every file below `directory` whose name ends in `.ending`, sorted; build output left out.
pub fn files(directory: &str, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&root().join(directory), ending, &mut found);
    found.sort();
    found
}

fn collect(directory: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && name != "vendor" && !name.starts_with('.') {
                collect(&path, ending, found);
            }
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
}

/// `path` as seen from the root.
pub fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}
