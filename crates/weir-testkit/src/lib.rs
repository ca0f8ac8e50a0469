//! Test parts: recording origin, raw client, a gateway under test.
