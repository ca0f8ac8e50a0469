//! The locations of a configuration's files: those on the command line or, without any, those in
//! `spring.config.location` and `spring.config.name` of the environment or of `--set`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use weir_config::Loader;

use crate::files::applications;

const LOCATION: &str = "spring.config.location";
const NAME: &str = "spring.config.name";
/// The default locations, in increasing priority.
const DEFAULT: &[&str] = &[".", "config"];

/// Names of files without their endings, and where they are looked for.
#[derive(Debug)]
pub struct Places {
    names: Vec<String>,
    /// The locations in `spring.config.location`; `None` without it.
    locations: Option<Vec<Location>>,
}

/// One location.
#[derive(Debug)]
struct Location {
    written: String,
    path: PathBuf,
    is_optional: bool,
}

impl Places {
    /// The locations according to a loader that has read no file yet.
    ///
    /// # Errors
    /// A location that is none.
    pub fn of(loader: &Loader) -> anyhow::Result<Self> {
        let texts = |name: &str| -> Vec<String> {
            let text = loader.text(name, &[]);
            let parts = text.split([',', ';']).map(str::trim).filter(|part| !part.is_empty());
            parts.map(str::to_owned).collect()
        };
        let mut names = texts(NAME);
        if names.is_empty() {
            names.push("application".to_owned());
        }
        if let Some(bad) = names.iter().find(|name| name.contains(['/', '*'])) {
            bail!("{NAME}: `{bad}` is no name; directories belong into {LOCATION}");
        }
        let locations: Vec<Location> = texts(LOCATION)
            .iter()
            .map(|text| Location::read(text))
            .collect::<anyhow::Result<_>>()?;
        Ok(Self { names, locations: Some(locations).filter(|all| !all.is_empty()) })
    }

    /// The files of a directory of the command line.
    ///
    /// # Errors
    /// It has none, unless `may_be_empty`.
    pub fn inside(&self, folder: &Path, may_be_empty: bool) -> anyhow::Result<Vec<PathBuf>> {
        let files: Vec<_> = self.names.iter().flat_map(|name| applications(folder, name)).collect();
        if files.is_empty() && !may_be_empty {
            let name = self.names.first().map_or("application", String::as_str);
            bail!("there is no {name}.yml in {}", folder.display());
        }
        Ok(files)
    }

    /// The files where the command line names none.
    ///
    /// # Errors
    /// A location that has to be there is not.
    pub fn files(&self) -> anyhow::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        let Some(locations) = &self.locations else {
            for folder in DEFAULT {
                files.extend(self.inside(Path::new(folder), true)?);
            }
            return Ok(files);
        };
        for location in locations {
            if location.path.is_dir() {
                files.extend(self.inside(&location.path, true)?);
            } else if location.path.exists() {
                files.push(location.path.clone());
            } else if !location.is_optional {
                bail!(
                    "{LOCATION}: there is no `{}`; write `optional:` before it if it may be missing",
                    location.written
                );
            }
        }
        Ok(files)
    }
}

impl Location {
    fn read(text: &str) -> anyhow::Result<Self> {
        let (is_optional, rest) = match text.strip_prefix("optional:") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        if rest.starts_with("classpath") {
            bail!(
                "{LOCATION}: `{text}` is inside of a Java program; name the file or directory that \
                 holds the same with `file:`, or leave it out"
            );
        }
        let path = rest.strip_prefix("file:").unwrap_or(rest);
        let path = path.strip_prefix("//").filter(|rest| rest.starts_with('/')).unwrap_or(path);
        if path.is_empty() || path.contains('*') {
            bail!("{LOCATION}: `{text}` names no file and no directory");
        }
        Ok(Self { written: text.to_owned(), path: PathBuf::from(path), is_optional })
    }
}

/// The properties of this program's own environment and of `--set`.
///
/// # Errors
/// See [`Places::of`].
pub fn outside(sets: &[String]) -> anyhow::Result<Places> {
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    Places::of(&Loader::new(variables, sets, Vec::new())).context("where the configuration is")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use weir_config::Loader;

    use super::Places;

    fn files(folder: &Path, location: &str, name: &str) -> Result<Vec<String>, String> {
        let at = location.replace('@', &folder.display().to_string());
        let variables = vec![
            ("SPRING_CONFIG_LOCATION".to_owned(), at),
            ("SPRING_CONFIG_NAME".to_owned(), name.to_owned()),
        ];
        let places = Places::of(&Loader::new(variables, &[], Vec::new()));
        let files = places.and_then(|places| places.files()).map_err(|error| error.to_string())?;
        let shown = |file: &Path| file.strip_prefix(folder).expect("inside").display().to_string();
        Ok(files.iter().map(|file| shown(file)).collect())
    }

    #[test]
    fn files_are_where_spring_looks_for_them() {
        let folder = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(folder.path().join("conf")).expect("a directory");
        for name in ["application.yml", "gate.yml", "gate.properties", "conf/gate.yml"] {
            std::fs::write(folder.path().join(name), "a: 1").expect("a file");
        }
        let check = |location: &str, name: &str, expected: &[&str]| {
            let found = files(folder.path(), location, name);
            let expected = expected.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(found, Ok(expected), "{location} {name}");
        };
        check("file:@/", "", &["application.yml"]);
        check("@/", "gate", &["gate.yml", "gate.properties"]);
        check(
            "@/,@/conf/",
            "application,gate",
            &["application.yml", "gate.yml", "gate.properties", "conf/gate.yml"],
        );
        check("file://@/conf/gate.yml", "", &["conf/gate.yml"]);
        check("optional:file:@/none/;@/gate.yml", "", &["gate.yml"]);
        for (location, told) in [
            ("@/none.yml", "write `optional:` before it"),
            ("classpath:/", "name the file or directory"),
            ("file:@/*/", "names no file"),
        ] {
            let error = files(folder.path(), location, "").expect_err(location);
            assert!(error.contains(told), "{error}");
        }
        assert!(files(folder.path(), "@/", "a/b").is_err());
    }
}
