//! `x-weir-mock` in an OpenAPI document: settings of the whole document at its root, and the
//! behaviour of one operation at that operation.

use serde_json::Value;

use super::documents::{Documents, EXTENSION, Place, ReadError};
use crate::behaviour::{Misfit, Override, Settings};

/// The settings at the root.
pub(super) fn of_root(documents: &Documents) -> Result<Settings, ReadError> {
    let Some(value) = documents.root().get(EXTENSION) else { return Ok(Settings::default()) };
    let mut found = Vec::new();
    let settings = Settings::read(value, &mut found);
    told(&found, &Place::root(&documents.first).at(EXTENSION))?;
    Ok(settings)
}

/// The overrides of an operation, written at `place`.
pub(super) fn of_operation(
    value: &Value,
    place: &Place,
    (method, path): (&str, &str),
) -> Result<Vec<Override>, ReadError> {
    let Some(value) = value.get(EXTENSION) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let overrides = Override::read(value, &format!("{method} {path}"), &mut found);
    told(&found, &place.at(EXTENSION))?;
    Ok(overrides)
}

/// Reports the first error, with the number of all.
fn told(found: &[Misfit], place: &Place) -> Result<(), ReadError> {
    let Some(first) = found.first() else { return Ok(()) };
    let at = Place { file: place.file.clone(), pointer: place.pointer.clone() + &first.pointer };
    let more = match found.len() - 1 {
        0 => String::new(),
        n => format!(" ({n} more below `{EXTENSION}`)"),
    };
    Err(at.error(format!("{}; {}{more}", first.message, first.help)))
}
