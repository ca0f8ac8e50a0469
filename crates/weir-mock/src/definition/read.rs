//! Detection of the format of a definition by its content.

use serde_json::Value;

use super::access_log::is_access_log;
use super::documents::{Load, Place, ReadErrors, parse};
use super::model::{Api, Kind};
use super::openapi::{self, Trust};
use super::{access_log, apifox, har, postman, yapi};

impl Api {
    /// Reads the definition in `text`, the content of `file`; `load` supplies the files that it
    /// refers to. The format is detected from the content.
    ///
    /// # Errors
    /// What is wrong with it, with its place.
    pub fn read(name: &str, file: &str, text: &str, load: Load<'_>) -> Result<Self, ReadErrors> {
        let root = match is_access_log(text) {
            true => access_log::document(file, text)?,
            false => parse(file, text)?,
        };
        Self::of_value(name, file, root, load)
    }

    /// Reads a definition that is already parsed from JSON or YAML.
    ///
    /// # Errors
    /// What is wrong with it, with its place.
    pub fn of_value(
        name: &str,
        file: &str,
        root: Value,
        load: Load<'_>,
    ) -> Result<Self, ReadErrors> {
        match kind(&root) {
            Some(Kind::OpenApi) => openapi::read(name, file, root, load, Trust::None),
            Some(Kind::YApi) => yapi::read(name, file, root),
            Some(Kind::Postman) => postman::read(name, file, &root),
            Some(Kind::Har) => har::read(name, file, &root),
            Some(Kind::Apifox) => apifox::read(name, file, root),
            None => Err(Place::root(file).error(
                "this is no API definition: there is neither `openapi: 3.x` nor `swagger: 2.0`, \
                 and it is no export of YApi, Apifox or Postman, no HAR and no access log of weir",
            ).into()),
        }
    }

    /// Reads a definition of one file that was read without an error before. Unused references are
    /// not followed again, which would take most of the time.
    ///
    /// # Errors
    /// What is wrong with it, with its place.
    pub fn of_known(name: &str, file: &str, root: Value) -> Result<Self, ReadErrors> {
        let alone = |other: &str| Err(format!("`{other}` is another file"));
        match kind(&root) {
            Some(Kind::OpenApi) => openapi::read(name, file, root, &alone, Trust::Known),
            _ => Self::of_value(name, file, root, &alone),
        }
    }
}

pub(super) fn kind(root: &Value) -> Option<Kind> {
    let has = |key: &str| root.get(key).is_some();
    let is_list = |value: Option<&Value>| value.is_some_and(Value::is_array);
    if has("openapi") || has("swagger") {
        return Some(Kind::OpenApi);
    }
    if has("apifoxProject") {
        return Some(Kind::Apifox);
    }
    if is_list(root.pointer("/log/entries")) {
        return Some(Kind::Har);
    }
    if is_list(root.get("item")) && has("info") {
        return Some(Kind::Postman);
    }
    let categories = root.as_array().filter(|all| !all.is_empty())?;
    categories.iter().any(|one| is_list(one.get("list"))).then_some(Kind::YApi)
}
