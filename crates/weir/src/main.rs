//! The `weir` command.
fn main() {}
