//! Change points of a history: E-Divisive with means (Matteson, James 2014; as MongoDB and Apache
//! Otava use it), with a seeded permutation test.

use crate::dice::Dice;

/// Values needed on either side of a change.
const SIDE_MIN: usize = 5;
/// Permutations of a test.
const PERMUTATIONS: u32 = 199;
/// Significance level.
const LEVEL: f64 = 0.05;

/// A change in a history.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Index of the first value after it.
    pub at: usize,
    /// Mean of the stretch before.
    pub before: f64,
    /// Mean of the stretch after.
    pub after: f64,
}

/// The changes in `values`, in order. Histories of fewer than ten values have none.
pub fn change_points(values: &[f64], seed: u64) -> Vec<Change> {
    let mut dice = Dice::new(seed);
    let mut cuts = vec![0, values.len()];
    loop {
        let mut best: Option<(f64, usize, usize)> = None;
        for (part, ends) in cuts.windows(2).enumerate() {
            let found = strongest(&values[ends[0]..ends[1]]);
            if let Some((score, at)) = found
                && best.is_none_or(|(top, _, _)| score > top)
            {
                best = Some((score, ends[0] + at, part));
            }
        }
        let Some((score, at, part)) = best else { break };
        let mut stretch = values[cuts[part]..cuts[part + 1]].to_vec();
        let mut stronger = 0;
        for _ in 0..PERMUTATIONS {
            dice.shuffle(&mut stretch);
            stronger += u32::from(strongest(&stretch).is_some_and(|(other, _)| other >= score));
        }
        if f64::from(stronger + 1) / f64::from(PERMUTATIONS + 1) > LEVEL {
            break;
        }
        cuts.insert(part + 1, at);
    }
    let mean = |from: usize, to: usize| super::mean(&values[from..to]);
    cuts.windows(3)
        .map(|c| Change { at: c[1], before: mean(c[0], c[1]), after: mean(c[1], c[2]) })
        .collect()
}

/// The split with the greatest energy distance between its sides.
fn strongest(values: &[f64]) -> Option<(f64, usize)> {
    let n = values.len();
    let last = n.checked_sub(SIDE_MIN)?;
    (SIDE_MIN..=last)
        .map(|at| (energy(&values[..at], &values[at..]), at))
        .max_by(|one, other| one.0.total_cmp(&other.0))
}

fn energy(left: &[f64], right: &[f64]) -> f64 {
    let (n, m) = (left.len() as f64, right.len() as f64);
    let between: f64 = left.iter().flat_map(|a| right.iter().map(move |b| (a - b).abs())).sum();
    let within = |side: &[f64]| -> f64 {
        let size = side.len() as f64;
        let sum: f64 = side.iter().flat_map(|a| side.iter().map(move |b| (a - b).abs())).sum();
        sum / (size * size)
    };
    n * m / (n + m) * (2.0 * between / (n * m) - within(left) - within(right))
}

#[cfg(test)]
mod tests {
    use super::change_points;
    use crate::dice::Dice;

    fn check(levels: &[(f64, usize)], expected: &[usize]) {
        let mut dice = Dice::new(9);
        let values: Vec<f64> = levels
            .iter()
            .flat_map(|(level, count)| std::iter::repeat_n(*level, *count))
            .map(|level| level + dice.unit())
            .collect();
        let got: Vec<usize> = change_points(&values, 1).iter().map(|change| change.at).collect();
        assert_eq!(got, expected, "{values:?}");
    }

    #[test]
    fn changes_are_found_where_they_are() {
        check(&[(100.0, 30)], &[]);
        check(&[(100.0, 15), (110.0, 15)], &[15]);
        check(&[(100.0, 12), (90.0, 12), (105.0, 12)], &[12, 24]);
        check(&[(100.0, 4), (200.0, 4)], &[]);
    }
}
