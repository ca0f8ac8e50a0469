//! Descriptor sets of gRPC services, as `protoc --descriptor_set_out` writes them: the files that
//! routes may name, each read once. The binary provides the function that reads files.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use prost_reflect::DescriptorPool;

/// Maximum size of a descriptor set in bytes. It takes about ten times as much memory.
pub const DESCRIPTOR_BYTES_MAX: usize = 4 << 20;
/// Maximum number of descriptor sets of one configuration.
const FILES_MAX: usize = 256;
/// Default prefixes of locations, as in SCG.
const PREFIXES: &[&str] = &["classpath:", "classpath*:"];
/// The property that replaces the default prefixes.
const PREFIXES_PROPERTY: &str =
    "spring.cloud.gateway.server.webflux.json-to-grpc.valid-proto-descriptor-prefixes";

/// Reads a file: all of it, or more than [`DESCRIPTOR_BYTES_MAX`] bytes of it.
pub type ReadBytes = fn(&Path) -> io::Result<Vec<u8>>;

/// The descriptor sets that a configuration may name.
#[derive(Clone, Debug)]
pub struct Descriptors {
    read: ReadBytes,
    /// The folder of `classpath:`.
    folder: PathBuf,
    allowed: Vec<PathBuf>,
    /// Descriptor sets requested so far; `None` for those that could not be read.
    known: Arc<Mutex<BTreeMap<PathBuf, Option<DescriptorSet>>>>,
}

/// A descriptor set.
#[derive(Clone, Debug)]
pub(crate) struct DescriptorSet {
    pub(crate) pool: DescriptorPool,
    /// A hash of its bytes.
    pub(crate) digest: u64,
}

/// A problem and its remedy.
type Wrong = (String, String);

impl Descriptors {
    /// Descriptor sets in `folder`, the folder of `classpath:`, and below `prefixes` (such as
    /// `file:/etc/protos/`) if there are any.
    pub fn new(read: ReadBytes, folder: &Path, prefixes: &[String]) -> Self {
        let folder = plain(folder);
        let allowed = match prefixes {
            [] => PREFIXES.iter().filter_map(|prefix| located(prefix, &folder)).collect(),
            own => own.iter().filter_map(|prefix| located(prefix, &folder)).collect(),
        };
        Self { read, folder, allowed, known: Arc::default() }
    }

    /// The descriptor set at `location`.
    ///
    /// # Errors
    /// The location is not allowed, or the file cannot be read or is invalid.
    pub(crate) fn find(&self, location: &str) -> Result<DescriptorSet, Wrong> {
        let path = self.path(location)?;
        // Locked while the file is read, so that concurrent compilations read it once.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Some(set)) = known.get(&path) {
            return Ok(set.clone());
        }
        if known.len() >= FILES_MAX && !known.contains_key(&path) {
            let message = format!("the routes name more than {FILES_MAX} descriptor sets");
            return Err((message, "put several services into one set".to_owned()));
        }
        let set = self.read(&path);
        known.insert(path, set.as_ref().ok().cloned());
        set
    }

    /// The files that routes have requested so far, including those that could not be read.
    pub fn files(&self) -> Vec<PathBuf> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    fn path(&self, location: &str) -> Result<PathBuf, Wrong> {
        let path = located(location, &self.folder).ok_or_else(|| {
            let message = format!("`{location}` is no place of a descriptor set");
            let help = "write `classpath:hello.pb` for a file beside the configuration; `..` and \
                        other kinds of places are not read";
            (message, help.to_owned())
        })?;
        if self.allowed.iter().any(|allowed| path.starts_with(allowed)) {
            return Ok(path);
        }
        let message = format!("`{location}` is not in a place that descriptors are read from");
        let help = format!(
            "write `classpath:FILE` for a file beside the configuration, or name the place, as \
             Spring Cloud Gateway asks for: `{PREFIXES_PROPERTY}: file:/etc/protos/`"
        );
        Err((message, help))
    }

    fn read(&self, path: &Path) -> Result<DescriptorSet, Wrong> {
        let shown = path.display();
        let bytes = (self.read)(path).map_err(|error| {
            let help = "make it with `protoc --include_imports --descriptor_set_out=FILE \
                        SERVICE.proto`";
            (format!("{shown}: {error}"), help.to_owned())
        })?;
        if bytes.len() > DESCRIPTOR_BYTES_MAX {
            let message = format!("{shown} is longer than {DESCRIPTOR_BYTES_MAX} bytes");
            return Err((message, "leave out what the service does not use".to_owned()));
        }
        let pool = DescriptorPool::decode(bytes.as_slice()).map_err(|error| {
            let help = "write it with `protoc --include_imports --descriptor_set_out=FILE \
                        SERVICE.proto`, so that it holds all that the service imports";
            (format!("{shown} is no complete descriptor set: {error}"), help.to_owned())
        })?;
        let mut digest = DefaultHasher::new();
        bytes.hash(&mut digest);
        Ok(DescriptorSet { pool, digest: digest.finish() })
    }
}

/// The path of a location in Spring's notation. `None` if it leads upwards, or into something other
/// than a file.
fn located(location: &str, folder: &Path) -> Option<PathBuf> {
    let (kind, rest) = match location.trim().split_once(':') {
        Some((kind, rest)) => (kind.to_ascii_lowercase(), rest),
        None => ("classpath".to_owned(), location.trim()),
    };
    let path = match kind.as_str() {
        "classpath" | "classpath*" => folder.join(rest.trim_start_matches('/')),
        "file" => {
            let path = rest.strip_prefix("//").filter(|path| path.starts_with('/'));
            PathBuf::from(path.unwrap_or(rest))
        }
        _ => return None,
    };
    let leads_up = Path::new(rest).components().any(|part| part == Component::ParentDir);
    (!leads_up).then(|| plain(&path))
}

/// A path without `.` segments.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Descriptors, located};

    fn descriptors(prefixes: &[&str]) -> Descriptors {
        let prefixes: Vec<String> = prefixes.iter().map(|text| (*text).to_owned()).collect();
        Descriptors::new(|_| Ok(vec![0xff]), Path::new("./conf"), &prefixes)
    }

    #[test]
    fn locations() {
        let check = |location: &str, expected: Option<&str>| {
            let found = located(location, Path::new("conf"));
            assert_eq!(found.as_deref(), expected.map(Path::new), "{location}");
        };
        check("classpath:/a/b.pb", Some("conf/a/b.pb"));
        check("classpath*:b.pb", Some("conf/b.pb"));
        check("b.pb", Some("conf/b.pb"));
        check("file:///etc/b.pb", Some("/etc/b.pb"));
        check("file:/etc/./b.pb", Some("/etc/b.pb"));
        check("file:b.pb", Some("b.pb"));
        check("classpath:../b.pb", None);
        check("file:/etc/protos/../passwd", None);
        check("https://host/b.pb", None);
    }

    #[test]
    fn only_some_places_are_read() {
        let check = |prefixes: &[&str], location: &str, is_read: bool| {
            let path = descriptors(prefixes).path(location);
            assert_eq!(path.is_ok(), is_read, "{prefixes:?} {location}: {path:?}");
        };
        check(&[], "classpath:b.pb", true);
        check(&[], "file:/etc/b.pb", false);
        check(&[], "file:./conf/b.pb", true);
        check(&["file:/etc/protos/"], "file:/etc/protos/b.pb", true);
        check(&["file:/etc/protos"], "file:/etc/protos-other/b.pb", false);
        check(&["file:/etc/protos"], "classpath:b.pb", false);
        check(&["file:"], "file:/etc/b.pb", true);
        check(&["classpath:protos/"], "classpath:protos/b.pb", true);
        check(&["classpath:protos/"], "classpath:b.pb", false);
    }

    #[test]
    fn what_is_no_descriptor_set_is_refused() {
        let (message, help) = descriptors(&[]).find("classpath:b.pb").expect_err("no set");
        assert!(message.starts_with("conf/b.pb is no complete descriptor set"), "{message}");
        assert!(help.contains("--include_imports"), "{help}");
    }
}
