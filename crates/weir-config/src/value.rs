//! Values of properties as Spring Boot converts them, and suggestions for misspelt words.

use std::time::Duration;

use weir_route::{parse_data_size, parse_duration};

/// `10ms`, `5s`, `PT1S`, bare milliseconds; see [`parse_duration`].
pub(crate) fn duration(text: &str) -> Option<Duration> {
    parse_duration(text).ok()
}

/// `5MB`, bare bytes; see [`parse_data_size`].
pub(crate) fn data_size(text: &str) -> Option<u64> {
    parse_data_size(text.trim()).ok()
}

/// `true`, `on`, `yes`, `1` and their opposites in any case (class `StringToBooleanConverter`).
pub(crate) fn bool(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "on" | "yes" | "1" => Some(true),
        "false" | "off" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// The candidate nearest to `word`, if it is near enough to be intended.
pub(crate) fn nearest<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    let letters = |text: &str| -> Vec<char> { text.chars().flat_map(char::to_lowercase).collect() };
    let word = letters(word);
    let limit = (word.len() / 3).max(1);
    let near = candidates.into_iter().filter_map(|candidate| {
        if candidate.len().abs_diff(word.len()) > limit {
            return None;
        }
        let distance = distance(&word, &letters(candidate));
        (distance <= limit).then_some((distance, candidate))
    });
    near.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// Edit distance of two words; a transposition of two letters counts as one edit.
fn distance(one: &[char], two: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=two.len()).collect();
    let mut row: Vec<usize> = Vec::with_capacity(last.len());
    for (at, letter) in one.iter().enumerate() {
        row.clear();
        row.push(at + 1);
        for (other_at, other) in two.iter().enumerate() {
            let get = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX / 2);
            let same = usize::from(letter != other);
            let mut best = (get(&last, other_at) + same)
                .min(get(&last, other_at + 1) + 1)
                .min(get(&row, other_at) + 1);
            let swapped = at > 0
                && other_at > 0
                && one.get(at - 1) == Some(other)
                && two.get(other_at - 1) == Some(letter);
            if swapped {
                best = best.min(get(&before, other_at - 1) + 1);
            }
            row.push(best);
        }
        std::mem::swap(&mut before, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn near_words() {
        let words = ["server", "store", "access-log"];
        assert_eq!(nearest("sever", words), Some("server"));
        assert_eq!(nearest("acces-log", words), Some("access-log"));
        assert_eq!(nearest("sotre", words), Some("store"));
        assert_eq!(nearest("banana", words), None);
    }
}
