//! The folder of a profile-guided build, `released` in the target directory; and the stamp that
//! says which program was trained how.

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
    /// Where that program writes its counters, a file for each run.
    pub counters: PathBuf,
    /// The counters of all runs, merged.
    pub profile: PathBuf,
    /// Target directory of the build by the profile.
    pub optimised: PathBuf,
    /// The program.
    pub weir: PathBuf,
    /// What the profile is of; written when it is complete.
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
            optimised: folder.join("optimised"),
            weir: folder.join("weir"),
            stamp: folder.join("trained"),
            folder,
        })
    }

    /// The folder is this process's own as long as what is returned is kept.
    ///
    /// # Errors
    /// Another process has it.
    pub fn lock(&self) -> anyhow::Result<File> {
        let file = File::create(self.folder.join("lock"))?;
        let folder = self.folder.display();
        ensure!(file.try_lock().is_ok(), "another release is built in {folder}: let it end first");
        Ok(file)
    }

    /// Whether the profile is of a training with `stamp`.
    pub fn is_trained(&self, stamp: &str) -> bool {
        self.profile.is_file() && fs::read_to_string(&self.stamp).is_ok_and(|kept| kept == stamp)
    }

    /// Removes what an earlier training has left, and what was built by it: cargo compares flags,
    /// not the profile they name, and would keep the dependencies as they are.
    ///
    /// # Errors
    /// The disk does not allow it.
    pub fn forget(&self) -> anyhow::Result<()> {
        for path in [&self.stamp, &self.profile, &self.counters, &self.optimised] {
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

    /// Sets aside the counters of the runs so far, which count `weight` times.
    ///
    /// # Errors
    /// There are none, or the disk does not allow it.
    pub fn weigh(&self, weight: u64) -> anyhow::Result<()> {
        let none = || {
            let folder = self.counters.display();
            format!("weir has written no counters into {folder}: is it writable?")
        };
        let files = self.counted().with_context(none)?;
        ensure!(!files.is_empty(), none());
        let apart = self.counters.join(weight.to_string());
        fs::create_dir_all(&apart)?;
        for file in files {
            fs::rename(&file, apart.join(file.file_name().unwrap_or_default()))?;
        }
        Ok(())
    }

    /// Counters that have not been weighed.
    fn counted(&self) -> std::io::Result<Vec<PathBuf>> {
        let files = fs::read_dir(&self.counters)?.map(|file| Ok(file?.path()));
        let files: std::io::Result<Vec<PathBuf>> = files.collect();
        Ok(files?.into_iter().filter(|file| file.is_file()).collect())
    }

    /// Files of counters with their weights, by path.
    ///
    /// # Errors
    /// The disk does not allow it.
    pub fn weighed(&self) -> anyhow::Result<Vec<(u64, PathBuf)>> {
        let mut found = Vec::new();
        for folder in fs::read_dir(&self.counters)? {
            let folder = folder?;
            let name = folder.file_name();
            let Some(weight) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
            for file in fs::read_dir(folder.path())? {
                found.push((weight, file?.path()));
            }
        }
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

    /// Puts `built` where the program is looked for; one that runs there goes on as it was.
    ///
    /// # Errors
    /// The disk does not allow it.
    pub fn publish(&self, built: &Path) -> anyhow::Result<()> {
        let next = self.folder.join("weir.next");
        fs::copy(built, &next).with_context(|| built.display().to_string())?;
        fs::rename(&next, &self.weir).with_context(|| self.weir.display().to_string())
    }
}

/// What tells a training apart: the program, to the byte, and what it was made to do.
pub fn stamp(program: &[u8], definition: &[&str]) -> String {
    let mut hasher = DefaultHasher::new();
    program.hash(&mut hasher);
    definition.hash(&mut hasher);
    format!("{:016x}-{}\n", hasher.finish(), program.len())
}

#[cfg(test)]
mod tests {
    use super::{Layout, stamp};

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
        assert!(layout.is_trained("one") && !layout.is_trained("two"));
        for built in [&layout.counters, &layout.optimised, &layout.counting] {
            std::fs::create_dir(built).unwrap();
            std::fs::write(built.join("file"), "f").unwrap();
        }
        layout.forget().unwrap();
        assert!(!layout.is_trained("one") && !layout.profile.exists());
        assert!(!layout.counters.exists() && !layout.optimised.exists());
        assert!(layout.counting.join("file").exists(), "cargo knows whether that is fresh");
    }

    #[test]
    fn counters_of_each_part_have_its_weight() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().to_owned()).unwrap();
        let told = layout.weigh(20).unwrap_err().to_string();
        assert!(told.contains("no counters"), "{told}");
        std::fs::create_dir(&layout.counters).unwrap();
        for weight in [20, 1] {
            std::fs::write(layout.counters.join("default_0.profraw"), "c").unwrap();
            layout.weigh(weight).unwrap();
        }
        assert!(layout.weigh(1).is_err(), "there is nothing new");
        let file = |weight: &str| layout.counters.join(weight).join("default_0.profraw");
        assert_eq!(layout.weighed().unwrap(), [(1, file("1")), (20, file("20"))]);
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
