//! Bounds of expressions and of matching them.

/// Steps a backtracking match may take before it fails.
pub const STEPS_MAX: usize = 100_000;

/// Steps that replacing every match of a text may take altogether.
pub const REPLACE_STEPS_MAX: usize = 10 * STEPS_MAX;

/// Largest automaton accepted, in states, as estimated before it is built.
pub const STATES_MAX: usize = 20_000;

/// Longest expression accepted, in bytes.
pub const SOURCE_BYTES_MAX: usize = 16 * 1024;
