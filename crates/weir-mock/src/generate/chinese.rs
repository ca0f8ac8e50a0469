//! Numbers that Chinese systems check: resident IDs, credit codes, cards, phones.

use crate::chance::Chance;

/// A resident ID (GB 11643) that belongs to no person: the date of birth lies in the future.
pub(crate) fn resident_id(chance: Chance, place: &str, n: u64) -> String {
    const REGIONS: &[&str] = &["110101", "310104", "440106", "510107", "330106"];
    let region = chance.pick(place, n, REGIONS).unwrap_or("110101");
    let year = 2080 + chance.below(place, n + 1, 19);
    let (month, day) = (1 + chance.below(place, n + 2, 12), 1 + chance.below(place, n + 3, 28));
    let serial = chance.below(place, n + 4, 1000);
    let body = format!("{region}{year}{month:02}{day:02}{serial:03}");
    const WEIGHTS: [u32; 17] = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    let digits = body.chars().filter_map(|c| c.to_digit(10));
    let sum: u32 = digits.zip(WEIGHTS).map(|(digit, weight)| digit * weight).sum();
    let check = "10X98765432".chars().nth(sum as usize % 11).unwrap_or('X');
    format!("{body}{check}")
}

/// A unified social credit code (GB 32100).
pub(super) fn credit_code(chance: Chance, place: &str, n: u64) -> String {
    const LETTERS: &str = "0123456789ABCDEFGHJKLMNPQRTUWXY";
    let mut code = String::from("91");
    for at in 0..6 {
        code.push_str(&chance.below(place, n + at, 10).to_string());
    }
    for at in 0..9 {
        let index = usize::try_from(chance.below(place, n + 10 + at, 31)).unwrap_or(0);
        code.extend(LETTERS.chars().nth(index));
    }
    let mut weight = 1;
    let mut sum = 0;
    for letter in code.chars() {
        sum += LETTERS.find(letter).unwrap_or(0) * weight;
        weight = weight * 3 % 31;
    }
    code.extend(LETTERS.chars().nth((31 - sum % 31) % 31));
    code
}

/// A card number with the check digit of Luhn.
pub(super) fn card(chance: Chance, place: &str, n: u64) -> String {
    let mut digits = vec![6, 2, 2, 8];
    digits.extend((0..11).map(|at| chance.below(place, n + at, 10)));
    let doubled = digits.iter().rev().enumerate().map(|(at, digit)| {
        let twice = if at % 2 == 0 { digit * 2 } else { *digit };
        if twice > 9 { twice - 9 } else { twice }
    });
    let check = (10 - doubled.sum::<u64>() % 10) % 10;
    digits.push(check);
    digits.iter().map(u64::to_string).collect()
}

/// A mobile number.
pub(crate) fn mobile(chance: Chance, place: &str, n: u64) -> String {
    const PREFIXES: &[&str] = &["130", "135", "138", "150", "159", "177", "186", "189", "198"];
    let prefix = chance.pick(place, n, PREFIXES).unwrap_or("138");
    format!("{prefix}{:08}", chance.below(place, n + 1, 100_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_digits_are_right() {
        for n in 0..200 {
            let id = resident_id(Chance::new(n), "/id", 0);
            assert_eq!(id.len(), 18, "{id}");
            assert_eq!(credit_code(Chance::new(n), "/code", 0).len(), 18);
            let card = card(Chance::new(n), "/card", 0);
            let sum: u32 = card
                .chars()
                .rev()
                .filter_map(|c| c.to_digit(10))
                .enumerate()
                .map(|(at, digit)| match (at % 2, digit * 2) {
                    (0, _) => digit,
                    (_, twice) if twice > 9 => twice - 9,
                    (_, twice) => twice,
                })
                .sum();
            assert_eq!(sum % 10, 0, "{card}");
        }
        // Worked by hand from the standard's own example of weights.
        let body = "11010519491231002";
        let weights = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
        let digits = body.chars().filter_map(|c| c.to_digit(10));
        let sum: u32 = digits.zip(weights).map(|(digit, weight)| digit * weight).sum();
        assert_eq!("10X98765432".chars().nth(sum as usize % 11), Some('X'));
    }
}
