//! Upstreams for tests, demonstrations and experiments.
