//! The folder of a profile-guided build, `released` in the target directory; and the stamp that
//! identifies the trained program and its training.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

/// Paths in the folder.
#[derive(Debug)]
pub struct Layout {
    /// The folder.
    pub folder: PathBuf,
    /// Target directory of the build with counters.
    pub counting: PathBuf,
    /// The folder of the program's counters, a file for each run.
    pub counters: PathBuf,
    /// The counters of all runs, merged.
    pub profile: PathBuf,
    /// In which order the functions lie in the program.
    pub order: PathBuf,
    /// Target directory of the build by the profile.
    pub optimised: PathBuf,
    /// The program.
    pub weir: PathBuf,
    /// The stamp of the training that the profile belongs to; written when the profile is complete.
    stamp: PathBuf,
}

impl Layout {
    /// In `folder`, which is made.
    ///
    /// # Errors
    /// The disk does not allow it.
    pub fn new(folder: PathBuf) -> anyhow::Result<Self> {
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        Ok(Self {
            counting: folder.join("counting"),
            counters: folder.join("profiles"),
            profile: folder.join("weir.profdata"),
            order: folder.join("weir.order"),
            optimised: folder.join("optimised"),
            weir: folder.join("weir"),
            stamp: folder.join("trained"),
            folder,
        })
    }

    /// Locks the folder for this process until the returned file is dropped.
    ///
    /// # Errors
    /// Another process has it.
    pub fn lock(&self) -> anyhow::Result<File> {
        let file = File::create(self.folder.join("lock"))?;
        let folder = self.folder.display();
        ensure!(file.try_lock().is_ok(), "another release is built in {folder}: let it end first");
        Ok(file)
    }

    /// Whether the profile comes from a training with `stamp`.
    pub fn is_trained(&self, stamp: &str) -> bool {
        let whole = self.profile.is_file() && self.order.is_file();
        whole && fs::read_to_string(&self.stamp).is_ok_and(|kept| kept == stamp)
    }

    /// Removes what an earlier training has left, and what was built by it: cargo compares flags,
    /// not the profile they name, and would keep the dependencies as they are.
    ///
    /// # Errors
    /// The disk does not allow it.
    pub fn forget(&self) -> anyhow::Result<()> {
        for path in [&self.stamp, &self.profile, &self.order, &self.counters, &self.optimised] {
            let removed = match path.is_dir() {
                true => fs::remove_dir_all(path),
                false => fs::remove_file(path),
            };
            match removed {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error).with_context(|| path.display().to_string());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Sets aside the counters of the runs since the last part.
    ///
    /// # Errors
    /// There are none, or the disk does not allow it.
    pub fn keep_apart(&self, part: Part) -> anyhow::Result<()> {
        let none = || {
            let folder = self.counters.display();
            format!("weir has written no counters into {folder}: is it writable?")
        };
        let files = files(&self.counters).with_context(none)?;
        ensure!(!files.is_empty(), none());
        let apart = self.counters.join(part.name());
        fs::create_dir_all(&apart)?;
        for file in files {
            fs::rename(&file, apart.join(file.file_name().unwrap_or_default()))?;
        }
        Ok(())
    }

    /// The files of counters of a part, by path.
    ///
    /// # Errors
    /// There are none.
    pub fn counted(&self, part: Part) -> anyhow::Result<Vec<PathBuf>> {
        let folder = self.counters.join(part.name());
        let mut found = files(&folder).with_context(|| folder.display().to_string())?;
        found.sort();
        Ok(found)
    }

    /// The profile is complete.
    ///
    /// # Errors
    /// The disk does not allow it.
    pub fn keep(&self, stamp: &str) -> anyhow::Result<()> {
        fs::write(&self.stamp, stamp).with_context(|| self.stamp.display().to_string())
    }

    /// Installs `built` at its published path; a process that runs the previous program is not
    /// affected.
    ///
    /// # Errors
    /// The disk does not allow it.
    pub fn publish(&self, built: &Path) -> anyhow::Result<()> {
        let next = self.folder.join("weir.next");
        fs::copy(built, &next).with_context(|| built.display().to_string())?;
        fs::rename(&next, &self.weir).with_context(|| self.weir.display().to_string())
    }
}

/// A part of a training, of which the counters are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A gateway that starts and ends.
    Idle,
    /// A gateway that starts, serves and ends.
    Serving,
    /// Other proxying.
    Proxying,
    /// Large tables, and changes of them.
    Starting,
}

impl Part {
    /// All of them, in their order.
    pub const ALL: [Self; 4] = [Self::Idle, Self::Serving, Self::Proxying, Self::Starting];

    /// The folder of its counters.
    fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Serving => "serving",
            Self::Proxying => "proxying",
            Self::Starting => "starting",
        }
    }

    /// The weight of the counts. Starts with large tables are long loops: without weights, they
    /// would be all that is called hot, and a gateway starts once to serve for days.
    pub fn weight(self) -> u64 {
        match self {
            Self::Serving | Self::Proxying => 20,
            Self::Idle | Self::Starting => 1,
        }
    }
}

/// The files in `folder`, without those in folders below it.
fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let files = fs::read_dir(folder)?.map(|file| Ok(file?.path()));
    let files: std::io::Result<Vec<PathBuf>> = files.collect();
    Ok(files?.into_iter().filter(|file| file.is_file()).collect())
}

/// The stamp of a training: a digest of the program's bytes and of the training's definition.
pub fn stamp(program: &[u8], definition: &[&str]) -> String {
    let mut hasher = DefaultHasher::new();
    program.hash(&mut hasher);
    definition.hash(&mut hasher);
    format!("{:016x}-{}\n", hasher.finish(), program.len())
}

#[cfg(test)]
mod tests {
    use super::{Layout, Part, stamp};

    #[test]
    fn a_stamp_changes_with_program_and_training() {
        let first = stamp(b"program", &["a", "b"]);
        assert_eq!(first, stamp(b"program", &["a", "b"]));
        for other in [stamp(b"Program", &["a", "b"]), stamp(b"program", &["ab"])] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn a_profile_is_kept_as_long_as_its_stamp_holds() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().join("re leased")).unwrap();
        layout.forget().unwrap();
        layout.keep("one").unwrap();
        assert!(!layout.is_trained("one"), "there is no profile");
        std::fs::write(&layout.profile, "p").unwrap();
        assert!(!layout.is_trained("one"), "there is no order");
        std::fs::write(&layout.order, "o").unwrap();
        assert!(layout.is_trained("one") && !layout.is_trained("two"));
        for built in [&layout.counters, &layout.optimised, &layout.counting] {
            std::fs::create_dir(built).unwrap();
            std::fs::write(built.join("file"), "f").unwrap();
        }
        layout.forget().unwrap();
        assert!(!layout.is_trained("one") && !layout.profile.exists() && !layout.order.exists());
        assert!(!layout.counters.exists() && !layout.optimised.exists());
        assert!(layout.counting.join("file").exists(), "cargo knows whether that is fresh");
    }

    #[test]
    fn counters_of_each_part_are_kept_apart() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().to_owned()).unwrap();
        let told = layout.keep_apart(Part::Idle).unwrap_err().to_string();
        assert!(told.contains("no counters"), "{told}");
        std::fs::create_dir(&layout.counters).unwrap();
        for part in [Part::Serving, Part::Idle] {
            std::fs::write(layout.counters.join("default_0.profraw"), part.name()).unwrap();
            layout.keep_apart(part).unwrap();
        }
        assert!(layout.keep_apart(Part::Starting).is_err(), "there is nothing new");
        for part in [Part::Serving, Part::Idle] {
            let files = layout.counted(part).unwrap();
            assert_eq!(files, [layout.counters.join(part.name()).join("default_0.profraw")]);
            assert_eq!(std::fs::read_to_string(&files[0]).unwrap(), part.name());
        }
        assert!(layout.counted(Part::Starting).is_err());
    }

    #[test]
    fn one_builds_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().to_owned()).unwrap();
        let held = layout.lock().unwrap();
        assert!(layout.lock().unwrap_err().to_string().contains("let it end first"));
        drop(held);
        layout.lock().unwrap();
    }

    #[test]
    fn the_program_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().to_owned()).unwrap();
        let built = folder.path().join("built");
        for text in ["first", "second"] {
            std::fs::write(&built, text).unwrap();
            layout.publish(&built).unwrap();
            assert_eq!(std::fs::read_to_string(&layout.weir).unwrap(), text);
        }
    }
}
