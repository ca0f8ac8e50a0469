//! The letters that texts are made of.

/// The default characters.
pub(super) const ANY: &str =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!@#$%^&*()[]";
pub(super) const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";

/// The characters for the name of a pool, or those of the text itself.
pub(super) fn pool(name: &str) -> &str {
    match name {
        "lower" => LOWER,
        "upper" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "number" => "0123456789",
        "symbol" => "!@#$%^&*()[]",
        "alpha" => "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
        other => other,
    }
}
