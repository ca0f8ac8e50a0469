//! The argument languages of other tools: their arguments in, a plan out; their report from an
//! outcome, with weir's verdict below.
//!
//! Arguments that change what is measured are honoured or refused, never ignored. Successes are
//! counted as the tool counts them; latency is always weir's (from the intended start).

pub mod ab;
pub mod hey;
pub mod wrk;

use crate::outcome::Distribution;
use crate::plan::{Expect, Plan};
use crate::target::{Shape, Target};
use anyhow::Context;

/// Where a dialect's result goes besides standard output.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct KeepArgs {
    /// Write weir's result as JSON ('-' for standard output)
    #[arg(long, value_name = "FILE", value_parser = crate::cli::result_file)]
    pub json: Option<std::path::PathBuf>,
    /// Write weir's report as one HTML page ('-' for standard output)
    #[arg(long, value_name = "FILE", value_parser = crate::cli::result_file)]
    pub html: Option<std::path::PathBuf>,
}

/// A closed-loop plan on `url` that counts any answer as a success.
fn plan(url: &str, shape: &Shape<'_>, connections: usize) -> anyhow::Result<(Plan, Target)> {
    let target = Target::parse(url).map_err(anyhow::Error::msg)?;
    shape.check()?;
    let mut request = target.request(shape);
    request.expect = Expect::Any;
    let addresses = target.resolve().map_err(anyhow::Error::msg)?;
    if connections == 0 {
        anyhow::bail!("at least one connection is needed");
    }
    let mut plan = Plan::closed(addresses, request, connections);
    plan.keep_alive = shape.keep_alive;
    Ok((plan, target))
}

/// The field that carries `user:password` (RFC 7617).
fn basic(user: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::from("Authorization: Basic ");
    for bytes in user.as_bytes().chunks(3) {
        let padded: [u8; 3] = std::array::from_fn(|at| bytes.get(at).copied().unwrap_or(0));
        let all = u32::from_be_bytes([0, padded[0], padded[1], padded[2]]);
        for at in 0..4 {
            let digit = DIGITS[(all >> (18 - 6 * at)) as usize % 64];
            out.push(if at > bytes.len() { '=' } else { char::from(digit) });
        }
    }
    out
}

/// The content of a file named on the command line.
fn file(path: &str) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| path.to_owned())
}

/// Share of the values within one standard deviation of the mean.
fn within_stdev(values: &Distribution) -> f64 {
    let (low, high) = (values.mean_ns - values.stdev_ns, values.mean_ns + values.stdev_ns);
    let inside = values.buckets.iter().filter(|(v, _)| (low..=high).contains(&(*v as f64)));
    inside.map(|(_, count)| count).sum::<u64>() as f64 / values.count.max(1) as f64
}

#[cfg(test)]
mod tests {
    /// The examples of RFC 4648 section 10.
    #[test]
    fn passwords_are_encoded() {
        for (user, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(super::basic(user), format!("Authorization: Basic {expected}"));
        }
    }
}
