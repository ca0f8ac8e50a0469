//! Properties that hold for any input: one function per parser, each asserting more than "no
//! panic".
//!
//! `fuzz/` feeds them without end, `tests/bounded.rs` for a while on a stable compiler, both from
//! the seeds in `fuzz/corpus-seeds`.

mod configuration;
mod framing;
mod heads;
mod mocks;
mod paths;
mod records;
mod routes;
mod streams;

pub use configuration::configuration;
pub use framing::{chunked, framing};
pub use heads::{request_head, response_head};
pub use mocks::{callback_url, mock_definition};
pub use paths::{canonical_path, path_filters};
pub use records::{route_json, store_record};
pub use routes::{route_index, shortcut};
pub use streams::{client_hello, dns_answer, dubbo, frame, proxy_protocol, socks, zookeeper};

/// Panics if the property does not hold of the input.
pub type Property = fn(&[u8]);

/// All properties by the name of their fuzz target.
pub const PROPERTIES: &[(&str, Property)] = &[
    ("callback_url", callback_url),
    ("canonical_path", canonical_path),
    ("chunked", chunked),
    ("client_hello", client_hello),
    ("configuration", configuration),
    ("dns_answer", dns_answer),
    ("dubbo", dubbo),
    ("frame", frame),
    ("framing", framing),
    ("mock_definition", mock_definition),
    ("path_filters", path_filters),
    ("proxy_protocol", proxy_protocol),
    ("request_head", request_head),
    ("response_head", response_head),
    ("route_index", route_index),
    ("route_json", route_json),
    ("shortcut", shortcut),
    ("socks", socks),
    ("store_record", store_record),
    ("zookeeper", zookeeper),
];
