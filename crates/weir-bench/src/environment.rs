//! The environment of a run: needed to compare it with another.

use serde::{Deserialize, Serialize};
use std::fs::read_to_string;

/// The generator's machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// weir's version.
    pub weir: String,
    /// Operating system kernel.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// Cores the process may use.
    pub cores: usize,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Frequency governor of the first core, if there is one.
    pub governor: Option<String>,
    /// CPU quota of the control group, in cores.
    pub quota_cores: Option<f64>,
    /// Load average over a minute, before the run.
    pub load: Option<f64>,
    /// Files the generator may open, if that is limited.
    #[serde(default)]
    pub descriptors: Option<u64>,
}

impl Environment {
    /// Reads it from `/proc` and `/sys`; unreadable values stay empty.
    pub fn read() -> Self {
        let line = |path: &str| read_to_string(path).ok().map(|text| text.trim().to_owned());
        let field = |path: &str, name: &str| {
            let text = read_to_string(path).ok()?;
            let found = text.lines().find(|line| line.starts_with(name))?;
            Some(found.split_once(':')?.1.trim().to_owned())
        };
        let kilobytes = field("/proc/meminfo", "MemTotal");
        let kilobytes = kilobytes.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
        Self {
            weir: env!("CARGO_PKG_VERSION").to_owned(),
            kernel: line("/proc/sys/kernel/osrelease").unwrap_or_default(),
            cpu: field("/proc/cpuinfo", "model name").unwrap_or_default(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: kilobytes.unwrap_or(0) * 1024,
            governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            quota_cores: line("/sys/fs/cgroup/cpu.max").and_then(|text| quota(&text)),
            load: line("/proc/loadavg").and_then(|text| text.split(' ').next()?.parse().ok()),
            descriptors: None,
        }
    }
}

fn quota(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::{Environment, quota};

    #[test]
    fn quotas_are_read() {
        assert_eq!(quota("150000 100000"), Some(1.5));
        assert_eq!(quota("max 100000"), None);
    }

    #[test]
    fn this_machine_has_a_kernel_and_a_core() {
        let here = Environment::read();
        assert!(!here.kernel.is_empty() && here.cores > 0 && here.memory_bytes > 0);
    }
}
