//! The rule behind a name: `1-10`, `3`, `+1`, `1-100.2`, `1-100.1-3`.

use serde_json::Value;

/// Digits behind the point at most; `f64` has no more.
const DIGITS_MAX: u64 = 15;

/// A rule; both parts are missing where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rule {
    pub step: Option<i64>,
    /// Least and greatest.
    pub range: Option<(i64, i64)>,
    /// Whether the range was written as one number.
    pub is_single: bool,
    /// Least and greatest number of digits behind the point.
    pub digits: Option<(u64, u64)>,
}

impl Rule {
    pub(super) fn read(text: &str) -> Option<Self> {
        if let Some(step) = text.strip_prefix('+')
            && !step.contains(['.', '-'])
        {
            return Some(Self { step: Some(step.parse().ok()?), ..Self::default() });
        }
        let (whole, digits) = match text.split_once('.') {
            Some((whole, digits)) => (whole, Some(range(digits)?)),
            None => (text, None),
        };
        let (range, is_single) = match whole {
            "" => (None, false),
            whole => {
                let (low, high, is_single) = range(whole)?;
                (Some((low, high)), is_single)
            }
        };
        let digits = match digits {
            Some((low, high, _)) => Some((u64::try_from(low).ok()?, u64::try_from(high).ok()?)),
            None => None,
        };
        let is_empty = range.is_none() && digits.is_none();
        (!is_empty).then_some(Self { step: None, range, is_single, digits })
    }

    pub(super) fn is_none(&self) -> bool {
        self.step.is_none() && self.range.is_none() && self.digits.is_none()
    }

    /// Refuses what cannot be made.
    pub(super) fn check(&self, repeat_max: u64, value: &Value) -> Result<(), String> {
        if self.digits.is_some_and(|(_, most)| most > DIGITS_MAX) {
            return Err(format!("more than {DIGITS_MAX} digits behind the point"));
        }
        let repeats = matches!(value, Value::String(_) | Value::Array(_));
        let most = self.range.map_or(0, |(low, high)| low.max(high));
        if repeats && u64::try_from(most).is_ok_and(|most| most > repeat_max) {
            return Err(format!("it asks for {most} repetitions; {repeat_max} are allowed"));
        }
        Ok(())
    }
}

/// `a` or `a-b`, either of which may be negative.
fn range(text: &str) -> Option<(i64, i64, bool)> {
    if let Ok(single) = text.parse::<i64>() {
        return Some((single, single, true));
    }
    let at = text.get(1..)?.find('-')? + 1;
    let (low, high) = (text.get(..at)?, text.get(at + 1..)?);
    let (low, high): (i64, i64) = (low.parse().ok()?, high.parse().ok()?);
    Some((low.min(high), low.max(high), false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read() {
        let check = |text: &str, expected: &str| {
            let found = Rule::read(text).map(|rule| {
                let range = rule.range.map(|(low, high)| format!("{low}..{high}"));
                let digits = rule.digits.map(|(low, high)| format!(".{low}..{high}"));
                let step = rule.step.map(|step| format!("+{step}"));
                [range, digits, step].into_iter().flatten().collect::<String>()
            });
            assert_eq!(found.as_deref().unwrap_or("none"), expected, "{text}");
        };
        check("3", "3..3");
        check("1-10", "1..10");
        check("-5--2", "-5..-2");
        check("10-1", "1..10");
        check("+2", "+2");
        check("1-9.2", "1..9.2..2");
        check("7.1-3", "7..7.1..3");
        check(".2", ".2..2");
        for wrong in ["", "a", "1-", "1.-3", "99999999999999999999", "é-1", "+x"] {
            check(wrong, "none");
        }
    }
}
