//! Definitions as they are read: OpenAPI 3.0, 3.1 and 3.2, Swagger 2.0.

mod documents;
mod model;
mod openapi;
mod schema;
mod swagger;

pub use documents::{Load, ReadError};
pub use model::{Api, Operation};

pub(crate) use documents::{Place, ROOT};
pub(crate) use model::{
    Challenge, Code, Media, Parameter, ParameterPlace, RequestBody, Response, Style,
};
pub(crate) use schema::Schema;
