//! Files of a configuration: finding them by name, and reading them.

use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use weir_config::{DESCRIPTOR_BYTES_MAX, FileAccess, Format, SOURCE_BYTES_MAX, Source};

/// Endings of configuration files. Of two files with one name the later ending wins, as in Spring.
const ENDINGS: &[&str] = &["json", "yaml", "yml", "properties"];

/// How files that a configuration names are read.
pub const FILES: FileAccess = FileAccess {
    read: |path| std::fs::read_to_string(path),
    read_bytes: descriptor_bytes,
    list: files_in,
};

/// The bytes of a descriptor set; of a longer file only so many that it is seen to be too long.
fn descriptor_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = DESCRIPTOR_BYTES_MAX as u64 + 1;
    std::fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The files in a folder.
fn files_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)?;
    Ok(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect())
}

/// `application.*` in a directory, or files of another name.
pub fn applications(directory: &Path, name: &str) -> Vec<PathBuf> {
    let named = |ending: &&str| directory.join(format!("{name}.{ending}"));
    ENDINGS.iter().map(named).filter(|file| file.is_file()).collect()
}

/// `application-dev.*` beside `application.yml`.
pub fn with_profile(file: &Path, profile: &str) -> Vec<PathBuf> {
    // A profile is a name, not a way to another directory.
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | '@');
    let Some(stem) = file.file_stem().and_then(|stem| stem.to_str()) else { return Vec::new() };
    if !profile.chars().all(plain) {
        return Vec::new();
    }
    let named = |ending: &&str| file.with_file_name(format!("{stem}-{profile}.{ending}"));
    ENDINGS.iter().map(named).filter(|file| file.is_file()).collect()
}

/// Reads a file; `format` is used if the name has no known extension.
///
/// # Errors It cannot be read, or its format is unknown.
pub fn read(file: &Path, profile: Option<&str>, format: Option<Format>) -> anyhow::Result<Source> {
    let name = file.display().to_string();
    // A link to nothing is there, and cannot be read.
    if let Err(error) = std::fs::symlink_metadata(file)
        && error.kind() == ErrorKind::NotFound
    {
        bail!("there is no file {name}{}", looked_up_in(file));
    }
    let Some(format) = format.or_else(|| Format::of_name(&name)) else {
        bail!("{name}: weir reads .yml, .yaml, .properties, .json and .ini; rename it");
    };
    let bytes = read_bytes(file).with_context(|| format!("cannot read {name}"))?;
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        // Java reads properties as Latin-1; valid UTF-8 is taken as UTF-8.
        Err(error) if format == Format::Properties => {
            error.as_bytes().iter().map(|byte| char::from(*byte)).collect()
        }
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let before = error.as_bytes().get(..at).unwrap_or_default();
            let before = String::from_utf8_lossy(before);
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
            bail!("{name}:{line}:{column}: not UTF-8; save the file as UTF-8");
        }
    };
    let mut source = Source::new(&name, text, format);
    source.profile = profile.map(str::to_owned);
    Ok(source)
}

/// The directory that a relative path starts from.
fn looked_up_in(file: &Path) -> String {
    match std::env::current_dir() {
        Ok(directory) if file.is_relative() => format!(" in {}", directory.display()),
        _ => String::new(),
    }
}

/// The bytes of a regular file: a pipe would hold up the start, and a device may never end.
fn read_bytes(file: &Path) -> anyhow::Result<Vec<u8>> {
    let metadata = std::fs::metadata(file)?;
    if !metadata.is_file() {
        bail!("it is not a regular file");
    }
    let max = u64::try_from(SOURCE_BYTES_MAX).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    // Reserves the reported size, so that reading does not reallocate; a failure is harmless.
    let _ = bytes.try_reserve_exact(usize::try_from(metadata.len().min(max))? + 1);
    // Not by its length: files of the kernel have none, and a file may grow.
    std::fs::File::open(file)?.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() > SOURCE_BYTES_MAX {
        bail!("it is larger than {} MiB", SOURCE_BYTES_MAX >> 20);
    }
    Ok(bytes)
}
