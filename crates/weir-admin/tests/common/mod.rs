//! Gateways to test with, made from real configurations.

#![allow(dead_code, unused_imports)]

pub mod http;
#[path = "../../../weir-control/tests/common/mod.rs"]
mod table;

pub use table::{control, ids, loaded, read, route, store, yaml};
