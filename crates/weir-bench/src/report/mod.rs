//! Results for people and for tools. JSON holds everything; the others are drawn from it.

pub mod csv;
pub mod hlog;
pub mod text;

use crate::outcome::Outcome;

/// Reads a stored result: JSON.
///
/// # Errors
/// When it is not a result of `weir bench`.
pub fn stored(text: &str) -> anyhow::Result<Outcome> {
    let outcome: Outcome = serde_json::from_str(text)?;
    if outcome.weir_bench != 1 {
        anyhow::bail!("format {} is not known", outcome.weir_bench);
    }
    Ok(outcome)
}
