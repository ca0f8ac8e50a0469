//! The letters that texts are made of.

/// Characters where no others are asked for.
pub(super) const ANY: &str =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!@#$%^&*()[]";
pub(super) const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";

/// The characters that a name or text stands for.
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
