//! A generator from its start to its end: CPU, peak memory, output.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::kind::{Generator, Load};
use crate::interrupt::Interrupt;
use crate::usage::{self, Stat};

/// The time that a generator may take beyond the requested duration.
const GRACE: Duration = Duration::from_secs(30);
/// The polling interval.
const LOOK: Duration = Duration::from_millis(10);

/// One measurement.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Sample {
    /// User and system time over the answers it counted, in microseconds.
    pub cpu_us: f64,
    /// The user time of these.
    pub user_us: f64,
    /// Answers per second.
    pub rate: f64,
    /// The most memory it had resident, in bytes.
    pub peak_bytes: u64,
}

/// Runs a generator to its end. Its CPU is read when it has ended and before it is reaped: then all
/// its threads are in it.
///
/// # Errors
/// It cannot be started, counts no answer, takes too long, or Ctrl-C.
pub fn measure(
    generator: Generator,
    program: &Path,
    load: Load,
    url: &str,
    interrupt: &Interrupt,
) -> anyhow::Result<Sample> {
    let arguments = generator.arguments(load, url);
    let shown = || format!("{} {arguments}", generator.name());
    let mut output = tempfile::tempfile()?;
    let child = Command::new(program)
        .args(arguments.split_whitespace())
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?)
        // Ctrl-C is ours alone.
        .process_group(0)
        .spawn()
        .with_context(shown)?;
    let mut running = Running(child);
    let (began, mut peak_bytes) = (Instant::now(), 0);
    let limit = Duration::from_secs(load.seconds()) + GRACE;
    let stat = loop {
        let pid = running.0.id();
        let stat = Stat::of(pid).with_context(shown)?;
        if stat.ended {
            break stat;
        }
        peak_bytes = peak_bytes.max(usage::peak(pid).unwrap_or(0));
        if began.elapsed() > limit {
            bail!("not at its end after {limit:?}");
        }
        interrupt.sleep(LOOK)?;
    };
    let (status, wall_s) = (running.0.wait()?, began.elapsed().as_secs_f64());
    let mut bytes = Vec::new();
    std::io::Seek::rewind(&mut output)?;
    std::io::Read::read_to_end(&mut output, &mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let Some(answers) = generator.answers(&text).filter(|answers| *answers > 0) else {
        let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no output");
        bail!("no answers ({status}): {last}");
    };
    let answers = answers as f64;
    let us = |ticks| ticks as f64 / rustix::param::clock_ticks_per_second() as f64 * 1e6;
    Ok(Sample {
        cpu_us: us(stat.ticks) / answers,
        user_us: us(stat.user_ticks) / answers,
        rate: answers / wall_s,
        peak_bytes,
    })
}

/// Ends with what holds it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Both do nothing once it has been waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::{Generator, Load, measure};
    use crate::interrupt::Interrupt;
    use std::path::Path;

    #[test]
    fn a_generator_that_says_nothing_of_use_is_told_with_its_last_line() {
        let (load, url) = (Load::Connections(1, 1), "http://127.0.0.1:1/");
        let interrupt = Interrupt::default();
        let echo = measure(Generator::Hey, Path::new("/bin/echo"), load, url, &interrupt);
        let told = echo.unwrap_err().to_string();
        assert!(told.contains("no answers") && told.contains("-z 1s -c 1"), "{told}");
        let none = measure(Generator::Hey, Path::new("/nowhere/hey"), load, url, &interrupt);
        assert!(none.unwrap_err().to_string().contains("hey -z 1s"));
    }
}
