//! Data sizes: Spring's `DataSize`.

use super::ValueError;

/// Reads `5MB` (1 MB is 1,048,576 bytes), or a bare number of bytes.
///
/// # Errors
/// Not a size, a negative one, or more than 2^64 bytes.
pub fn parse_data_size(text: &str) -> Result<u64, ValueError> {
    let refuse = |what: &str| ValueError {
        message: format!("`{text}` {what}"),
        help: "write a whole number and a unit (B, KB, MB, GB, TB), such as `5MB`; a bare number \
               means bytes",
    };
    let trimmed = text.trim();
    if trimmed.starts_with('-') {
        return Err(refuse("is negative"));
    }
    let trimmed = trimmed.strip_prefix('+').unwrap_or(trimmed);
    let unit_at = trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at_checked(unit_at).unwrap_or_default();
    let shift = match unit.trim_start().to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "KB" => 10,
        "MB" => 20,
        "GB" => 30,
        "TB" => 40,
        _ => return Err(refuse("is not a size")),
    };
    if number.is_empty() {
        return Err(refuse("is not a size"));
    }
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    bytes.ok_or_else(|| refuse("is too large"))
}

#[cfg(test)]
mod tests {
    use super::parse_data_size;

    fn check(text: &str, expected: Option<u64>) {
        assert_eq!(parse_data_size(text).ok(), expected, "{text}");
    }

    #[test]
    fn sizes_are_read_as_spring_reads_them() {
        check("5MB", Some(5 << 20));
        check("5mb", Some(5 << 20));
        check("1KB", Some(1024));
        check("46B", Some(46));
        check("16000", Some(16_000));
        check(" 2 GB", Some(2 << 30));
        check("1TB", Some(1 << 40));
    }

    #[test]
    fn what_is_not_a_size_is_refused() {
        for text in ["", "MB", "5M", "1.5MB", "-1", "5 M B", "99999999999TB"] {
            check(text, None);
        }
    }
}
