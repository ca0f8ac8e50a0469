//! A definition in the store: the document, and the settings it is served with.

use std::borrow::Cow;

use serde_json::{Map, Value};
use weir_config::CommonMocks;
use weir_mock::{Api, Mount, ReadErrors, Settings, check_tenant as check};

use super::key::ApiKey;
use crate::table::Problem;

/// Bytes of a name at most.
const NAME_BYTES_MAX: usize = 200;
const KEYS: &[&str] = &["name", "tenant", "definition", "base-path", "host", "settings"];

/// A definition as it came.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name, and its tenant.
    pub key: ApiKey,
    /// `definition`, `base-path`, `host`, `settings`.
    pub members: Map<String, Value>,
}

impl Entry {
    /// Reads `{ "definition": …, "base-path": …, "host": …, "settings": … }`; the definition is a
    /// document or its text. Without `name`, that of the entry itself counts; likewise `tenant`.
    ///
    /// # Errors
    /// All that is wrong with its form.
    pub fn read(
        tenant: Option<&str>,
        name: Option<&str>,
        value: Value,
    ) -> Result<Self, Vec<Problem>> {
        let Value::Object(mut members) = value else {
            return Err(vec![Problem::new("", "this is no object with a `definition`")]);
        };
        let mut problems = Vec::new();
        for key in members.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            let help = format!("there are {}", KEYS.join(", "));
            problems.push(Problem::new(format!("/{key}"), "this is not known").help(help));
        }
        let own = members.shift_remove("name").and_then(|own| own.as_str().map(str::to_owned));
        let name = name.map(str::to_owned).or(own).unwrap_or_default();
        if let Err(problem) = check_name(&name) {
            problems.push(problem);
        }
        let tenant = match tenant_in(&mut members, tenant) {
            Ok(tenant) => tenant,
            Err(problem) => {
                problems.push(problem);
                String::new()
            }
        };
        if !matches!(
            members.get("definition"),
            Some(Value::String(_) | Value::Object(_) | Value::Array(_))
        ) {
            let problem = Problem::new("/definition", "there is no definition");
            problems.push(problem.help("put the document there, or its text"));
        }
        for key in ["base-path", "host"] {
            if members.get(key).is_some_and(|value| !value.is_string() && !value.is_array()) {
                problems.push(Problem::new(format!("/{key}"), "this is no text"));
            }
        }
        match problems.is_empty() {
            true => Ok(Self { key: ApiKey { tenant, name }, members }),
            false => Err(problems),
        }
    }

    /// The entry of a document alone.
    pub fn of_document(
        key: &ApiKey,
        text: String,
        base_path: Option<String>,
        host: Option<String>,
    ) -> Result<Self, Vec<Problem>> {
        let mut members = Map::new();
        members.insert("definition".to_owned(), Value::String(text));
        for (key, value) in [("base-path", base_path), ("host", host)] {
            if let Some(value) = value {
                members.insert(key.to_owned(), Value::String(value));
            }
        }
        Self::read(Some(&key.tenant), Some(&key.name), Value::Object(members))
    }

    /// The stored form.
    pub fn bytes(&self) -> Vec<u8> {
        // Writing a map of JSON cannot fail: its keys are text.
        serde_json::to_vec(&self.members).unwrap_or_default()
    }

    /// The mount that serves it.
    ///
    /// # Errors
    /// All that is wrong with it, with places.
    pub fn mount(&self) -> Result<Mount, Vec<Problem>> {
        let alone = |other: &str| {
            Err(format!("`{other}` is another file, and one alone is stored: bundle them"))
        };
        let name = &self.key.name;
        let api = match self.members.get("definition") {
            Some(Value::String(text)) => Api::read(name, name, text, &alone),
            document => Api::of_value(name, name, document.cloned().unwrap_or_default(), &alone),
        };
        self.mount_of(api.map_err(|errors| told(&errors, name, self.members.get("definition"))))
    }

    /// The mount of an entry of the store, which was valid when it was written.
    ///
    /// # Errors
    /// What is wrong with it, as another version of weir may find.
    pub(crate) fn mount_known(mut self) -> Result<Mount, Vec<Problem>> {
        match self.members.get_mut("definition").map(Value::take) {
            Some(document @ (Value::Object(_) | Value::Array(_))) => {
                let api = Api::of_known(&self.key.name, &self.key.name, document);
                self.mount_of(api.map_err(|errors| told(&errors, &self.key.name, None)))
            }
            Some(text) => {
                self.members.insert("definition".to_owned(), text);
                self.mount()
            }
            None => self.mount(),
        }
    }

    fn mount_of(&self, api: Result<Api, Vec<Problem>>) -> Result<Mount, Vec<Problem>> {
        let (api, mut problems) = match api {
            Ok(api) => (Some(api), Vec::new()),
            Err(problems) => (None, problems),
        };
        let mut found = Vec::new();
        let none = Value::Object(Map::new());
        let settings = self.members.get("settings").unwrap_or(&none);
        let settings = Settings::read(settings, &mut found);
        problems.extend(found.into_iter().map(|misfit| {
            Problem::new(format!("/settings{}", misfit.pointer), misfit.message).help(misfit.help)
        }));
        match api {
            Some(api) if problems.is_empty() => Ok(Mount {
                api: api.into(),
                base_path: self.texts("base-path").into_iter().next(),
                hosts: self.texts("host"),
                settings,
            }),
            _ => Err(problems),
        }
    }

    fn texts(&self, key: &str) -> Vec<String> {
        match self.members.get(key) {
            Some(Value::String(text)) if !text.is_empty() => vec![text.clone()],
            Some(Value::Array(all)) => {
                all.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// `mount`, with the common settings applied.
pub fn with_common(mount: &Mount, common: &CommonMocks) -> Mount {
    let mut mount = mount.clone();
    let all = common.settings.overrides.iter();
    let meant = all.filter(|own| own.means_any_of(&mount.api)).cloned().collect::<Vec<_>>();
    mount.settings.overrides.extend(meant);
    mount
}

/// The errors of a definition, with line numbers for text, or for its form as JSON.
fn told(errors: &ReadErrors, name: &str, definition: Option<&Value>) -> Vec<Problem> {
    let text = match definition {
        Some(Value::String(text)) => Cow::Borrowed(text.as_str()),
        Some(document) => serde_json::to_string_pretty(document).unwrap_or_default().into(),
        None => Cow::Borrowed(""),
    };
    let each =
        errors.located(&|file| (file == name).then(|| text.clone().into_owned())).into_iter();
    each.map(|one| Problem::new(one.place(), one.message)).collect()
}

/// The tenant of an entry, whose own `tenant` must be the one that is meant, if there is one.
fn tenant_in(members: &mut Map<String, Value>, meant: Option<&str>) -> Result<String, Problem> {
    let own = match members.shift_remove("tenant") {
        None | Some(Value::Null) => None,
        Some(Value::String(own)) => Some(own),
        Some(_) => return Err(Problem::new("/tenant", "this is no text")),
    };
    if let (Some(own), Some(meant)) = (&own, meant)
        && own != meant
    {
        let to = if meant.is_empty() { "no tenant" } else { meant };
        let why = format!("this is a definition of `{own}`, and it is written to {to}");
        let help = "leave `tenant` out, or write it to that tenant";
        return Err(Problem::new("/tenant", why).help(help.to_owned()));
    }
    let tenant = meant.map(str::to_owned).or(own).unwrap_or_default();
    if !tenant.is_empty() {
        check_tenant(&tenant)?;
    }
    Ok(tenant)
}

/// Whether a tenant may have this name.
///
/// # Errors
/// It may not, and what it may have.
pub fn check_tenant(name: &str) -> Result<(), Problem> {
    check(name).map_err(|(why, help)| Problem::new("/tenant", why).help(help))
}

/// Whether a definition may have this name: one segment of a path, one value of a header.
///
/// # Errors
/// It may not, and what it may have.
pub fn check_name(name: &str) -> Result<(), Problem> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let is_path = name == "." || name == "..";
    if !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.bytes().all(is_plain) && !is_path {
        return Ok(());
    }
    let help = format!("take up to {NAME_BYTES_MAX} letters, digits, `-`, `.`, `_` and `~`");
    Err(Problem::new("/name", format!("`{name}` is no name of a definition")).help(help))
}
