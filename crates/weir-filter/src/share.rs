//! Random sampling of requests.

use std::fmt;

use weir_route::{ArgError, Args};

/// Denominator of a share.
const WHOLE: u32 = 1_000_000;

/// Share of requests that are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Share(u32);

impl Share {
    /// No requests.
    pub(crate) const NONE: Self = Self(0);

    /// Reads a percentage; all requests if the argument is missing.
    ///
    /// # Errors
    /// The text is not a number from 0 to 100.
    pub(crate) fn of(args: &Args, arg: &str) -> Result<Self, ArgError> {
        let Some(text) = args.text(arg) else { return Ok(Self(WHOLE)) };
        let percent = text.trim().trim_end_matches('%').trim().parse::<f64>().ok();
        let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
        let percent = percent.ok_or_else(|| {
            ArgError::new(arg, format!("`{text}` is no share"))
                .help("write a percentage from 0 to 100, such as `2.5`")
        })?;
        Ok(Self((percent * f64::from(WHOLE) / 100.0).round() as u32))
    }

    /// Whether the sample contains a request with the random number `dice`.
    pub(crate) fn takes(self, dice: u64) -> bool {
        u64::from(self.0) > dice % u64::from(WHOLE)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", f64::from(self.0) * 100.0 / f64::from(WHOLE))
    }
}

#[cfg(test)]
mod tests {
    use super::{Share, WHOLE};

    #[test]
    fn shares() {
        let count = |share| (0..u64::from(WHOLE)).filter(|n| Share(share).takes(*n)).count();
        assert_eq!([count(0), count(1), count(250_000)], [0, 1, 250_000]);
        assert_eq!(count(WHOLE), WHOLE as usize);
        assert_eq!(Share(25_000).to_string(), "2.5");
    }
}
