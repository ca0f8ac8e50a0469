//! Readers of definitions: every format is read into one model.

mod access_log;
mod apifox;
mod bundle;
mod collect;
mod documents;
mod extension;
mod har;
mod lenient;
mod lines;
mod model;
mod openapi;
mod postman;
mod read;
mod schema;
mod source;
mod swagger;
mod yapi;

pub use access_log::is_access_log;
pub use bundle::PlacedError;
pub use documents::{Load, ReadError, ReadErrors};
pub use model::{Api, Kind, Operation, Outgoing, Warning};

pub(crate) use documents::{Documents, PATH, Place, ROOT};
pub(crate) use har::is_field_kept;
pub(crate) use model::{
    Challenge, Code, Example, Media, Parameter, ParameterPlace, Recording, RequestBody, Response,
    Style,
};
pub(crate) use schema::{Schema, Types, whole_numbers};
