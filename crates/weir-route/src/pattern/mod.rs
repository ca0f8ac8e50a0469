//! Patterns over paths, hosts and text. One file per kind.
