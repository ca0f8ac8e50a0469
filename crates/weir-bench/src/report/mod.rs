//! Results for people and for tools. JSON holds everything; the others are drawn from it.

pub mod csv;
pub mod hlog;
pub mod text;
