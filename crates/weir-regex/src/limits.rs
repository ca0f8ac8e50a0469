//! Limits of expressions and of matching.

/// Maximum number of steps of a backtracking match.
pub const STEPS_MAX: usize = 100_000;

/// Maximum number of steps of replacing all matches in a text.
pub const REPLACE_STEPS_MAX: usize = 10 * STEPS_MAX;

/// Maximum size of an automaton, in states, as estimated before it is built.
pub const STATES_MAX: usize = 20_000;

/// Maximum length of an expression, in bytes.
pub const SOURCE_BYTES_MAX: usize = 16 * 1024;
