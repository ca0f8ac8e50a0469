//! Route definitions at rest.
