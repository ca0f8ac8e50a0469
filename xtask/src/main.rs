//! Work around the code: checks, generated documents, comparisons with peers.
fn main() {}
