//! The files of a configuration, and their loading: shared by the commands that take CONFIG.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use weir_auth::KeyRing;
use weir_balance::Directory;
use weir_cache::Caches;
use weir_config::{Descriptors, Format, Loaded, Loader};
use weir_control::beside;
use weir_limit::Valves;
use weir_mock::MockTable;

use crate::files::{FILES, applications, read, with_profile};
use crate::imports::{Imported, Reach, Reader};
use crate::places::{self, Places};

/// The configuration of a command.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ConfigArgs {
    /// Files, or directories with an `application.yml`; of two files the later one wins. Without
    /// any, `spring.config.location` counts, else `application.yml` is looked for here and in
    /// `config/`.
    #[arg(value_name = "CONFIG")]
    pub configs: Vec<PathBuf>,
    /// Active profiles, instead of `spring.profiles.active`; the last one wins.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub profile: Vec<String>,
    /// Sets a property over all files and the environment.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Changes of files go unnoticed.
    #[arg(skip)]
    pub is_unwatched: bool,
    /// Files that were read besides, as the configuration names them.
    #[arg(skip)]
    pub imported: Imported,
    /// Files of API definitions that were read the last time.
    #[arg(skip)]
    pub definitions: Arc<Mutex<Vec<PathBuf>>>,
    /// Files of gRPC descriptors, as routes name them.
    #[arg(skip)]
    pub descriptors: Arc<Mutex<Option<Descriptors>>>,
}

/// State by name that outlives configurations.
#[derive(Debug, Default)]
pub struct Lasting {
    /// Services that registries list, and upstreams of pipelines.
    pub directory: Arc<Directory>,
    /// Limits and breakers.
    pub valves: Arc<Valves>,
    /// API definitions of the store.
    pub mock_table: Arc<MockTable>,
    /// Responses that are kept.
    pub caches: Arc<Caches>,
    /// Keys of token issuers.
    pub keys: Arc<KeyRing>,
}

impl ConfigArgs {
    /// The files there are, profiles aside.
    ///
    /// # Errors
    /// A file or directory that is not there.
    pub fn files(&self) -> anyhow::Result<Vec<PathBuf>> {
        self.files_at(&places::outside(&self.set)?)
    }

    fn files_at(&self, places: &Places) -> anyhow::Result<Vec<PathBuf>> {
        if self.configs.is_empty() {
            return places.files();
        }
        let mut files = Vec::new();
        for config in &self.configs {
            if config.is_dir() {
                let is_bootstrapped = !applications(config, "bootstrap").is_empty();
                files.extend(places.inside(config, is_bootstrapped)?);
            } else {
                files.push(config.clone());
            }
        }
        Ok(files)
    }

    /// `bootstrap.yml` and the like, in the directories and beside each `application.yml`.
    pub fn bootstraps(&self) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = Vec::new();
        for config in &self.configs {
            let is_application = config.file_stem().is_some_and(|stem| stem == "application");
            match config.parent() {
                _ if config.is_dir() => folders.push(config.clone()),
                Some(parent) if is_application && parent.as_os_str().is_empty() => {
                    folders.push(PathBuf::from("."));
                }
                Some(parent) if is_application => folders.push(parent.to_owned()),
                _ => {}
            }
        }
        if self.configs.is_empty() {
            folders.extend([PathBuf::from("."), PathBuf::from("config")]);
        }
        folders.iter().flat_map(|folder| applications(folder, "bootstrap")).collect()
    }

    /// The files to watch for changes: the existing ones, and those of any profile beside them.
    pub fn watched(&self) -> Vec<PathBuf> {
        if self.is_unwatched {
            return Vec::new();
        }
        let mut watched = self.files().unwrap_or_default();
        watched.extend(self.bootstraps());
        for file in watched.clone() {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned() + "-";
            let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
            let entries = std::fs::read_dir(directory.unwrap_or(Path::new(".")));
            let beside = entries.into_iter().flatten().flatten().map(|entry| entry.path());
            let of_profile = |path: &PathBuf| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with(&stem) && Format::of_name(&name).is_some()
            };
            watched.extend(beside.filter(of_profile));
        }
        watched.sort();
        watched
    }

    /// The files of API definitions and gRPC descriptors to look at for changes, broken ones too.
    pub fn watched_definitions(&self) -> Vec<PathBuf> {
        if self.is_unwatched {
            return Vec::new();
        }
        let mut files = self.definitions.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let descriptors = self.descriptors.lock().unwrap_or_else(PoisonError::into_inner);
        files.extend(descriptors.iter().flat_map(Descriptors::files));
        files
    }

    /// Reads everything but the routes, from local files alone.
    ///
    /// # Errors
    /// A file that cannot be read, or that no format fits. What is wrong inside of a file is in the
    /// findings.
    pub fn load(&self) -> anyhow::Result<Loaded> {
        self.load_from(&Lasting::default(), Reach::Files)
    }

    /// Loads it with the state that outlives configurations; may wait for servers.
    ///
    /// # Errors
    /// See [`ConfigArgs::load`].
    pub fn load_from(&self, lasting: &Lasting, reach: Reach<'_>) -> anyhow::Result<Loaded> {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        self.load_with(variables, lasting, reach)
    }

    fn load_with(
        &self,
        variables: Vec<(String, String)>,
        lasting: &Lasting,
        reach: Reach<'_>,
    ) -> anyhow::Result<Loaded> {
        let loader = Loader::new(variables, &self.set, self.profile.clone())
            .with_directory(&lasting.directory)
            .with_limits(&lasting.valves)
            .with_caches(&lasting.caches)
            .with_keys(&lasting.keys)
            .with_mock_table(&lasting.mock_table)
            .with_files(FILES)
            .with_thread(beside);
        let mut loader = loader.with_seed(RandomState::new().build_hasher().finish());
        let (files, bootstraps) = (self.files_at(&Places::of(&loader)?)?, self.bootstraps());
        for file in &bootstraps {
            loader.add_bootstrap(read(file, None, None)?);
        }
        for file in &files {
            loader.add(read(file, None, None)?);
        }
        let mut imports = Reader::new(reach, &self.imported);
        imports.read(&mut loader, None);
        let active = loader.active_profiles();
        for profile in &active {
            for file in bootstraps.iter().flat_map(|file| with_profile(file, profile)) {
                loader.add_bootstrap(read(&file, Some(profile), None)?);
            }
            for file in files.iter().flat_map(|file| with_profile(file, profile)) {
                loader.add(read(&file, Some(profile), None)?);
            }
        }
        imports.read(&mut loader, Some(&active));
        let loaded = loader.load();
        let mut definitions = self.definitions.lock().unwrap_or_else(PoisonError::into_inner);
        *definitions = loaded.definition_files().to_vec();
        let mut descriptors = self.descriptors.lock().unwrap_or_else(PoisonError::into_inner);
        *descriptors = loaded.descriptors().cloned();
        Ok(loaded)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::ConfigArgs;
    use crate::imports::Reach;

    fn write(directory: &Path, name: &str, text: &[u8]) {
        std::fs::write(directory.join(name), text).expect("a file");
    }

    #[test]
    fn a_directory_with_profiles() {
        let directory = tempfile::tempdir().expect("a directory");
        write(directory.path(), "application.yml", b"server.port: 1\nspring.profiles.active: dev");
        write(directory.path(), "application-dev.yaml", b"server.port: 2");
        write(directory.path(), "application-prod.yml", b"server.port: 3");
        let args = |profile: &[&str], set: &[&str]| ConfigArgs {
            configs: vec![directory.path().to_owned()],
            profile: profile.iter().map(|text| (*text).to_owned()).collect(),
            set: set.iter().map(|text| (*text).to_owned()).collect(),
            ..ConfigArgs::default()
        };
        let port = |args: ConfigArgs, variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
            let loaded = args.load_with(variables.collect(), &Default::default(), Reach::Files);
            let loaded = loaded.expect("a configuration");
            loaded.settings.listen.port()
        };
        assert_eq!(port(args(&[], &[]), &[]), 2);
        assert_eq!(port(args(&["prod"], &[]), &[]), 3);
        assert_eq!(port(args(&["../prod"], &[]), &[]), 1);
        assert_eq!(port(args(&[], &[]), &[("SERVER_PORT", "4")]), 4);
        assert_eq!(port(args(&[], &["server.port=5"]), &[("SERVER_PORT", "4")]), 5);
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        let directory = tempfile::tempdir().expect("a directory");
        write(directory.path(), "latin.yml", b"a: 1\nb: \xe9\n");
        write(directory.path(), "latin.properties", b"server.port=7\nb=\xe9\n");
        let load = |name: &str| {
            let configs = vec![directory.path().join(name)];
            ConfigArgs { configs, ..ConfigArgs::default() }.load_with(
                Vec::new(),
                &Default::default(),
                Reach::Files,
            )
        };
        let error = load("latin.yml").expect_err("not UTF-8").to_string();
        assert!(error.ends_with("latin.yml:2:4: not UTF-8; save the file as UTF-8"), "{error}");
        assert!(load("latin.properties").is_ok());
        for missing in ["nothing.yml", "nothing.txt"] {
            let error = load(missing).expect_err("no file").to_string();
            assert!(error.starts_with("there is no file ") && error.ends_with(missing), "{error}");
        }
        write(directory.path(), "some.conf", b"a: 1\n");
        let error = load("some.conf").expect_err("no format").to_string();
        assert!(error.ends_with(".properties, .json and .ini; rename it"), "{error}");
        let empty = ConfigArgs { configs: vec![directory.path().to_owned()], ..Default::default() };
        assert!(empty.load_with(Vec::new(), &Default::default(), Reach::Files).is_err());
    }
}
