//! The result of the health checks of one upstream.

/// Counts looks in a row.
#[derive(Debug, Default)]
pub struct Verdict {
    good: u32,
    bad: u32,
}

impl Verdict {
    /// The new state, once enough consecutive checks agree: `rise` successes or `fall` failures.
    pub fn add(&mut self, is_good: bool, rise: u32, fall: u32) -> Option<bool> {
        match is_good {
            true => (self.good, self.bad) = (self.good.saturating_add(1), 0),
            false => (self.good, self.bad) = (0, self.bad.saturating_add(1)),
        }
        match is_good {
            true => (self.good >= rise).then_some(true),
            false => (self.bad >= fall).then_some(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict;

    #[test]
    fn so_many_looks_in_a_row_decide() {
        let mut verdict = Verdict::default();
        let looks = [true, true, false, false, true, false, false, false, true, true];
        let found: Vec<_> = looks.iter().map(|good| verdict.add(*good, 2, 3)).collect();
        let (up, down) = (Some(true), Some(false));
        assert_eq!(found, [None, up, None, None, None, None, None, down, None, up]);
    }
}
