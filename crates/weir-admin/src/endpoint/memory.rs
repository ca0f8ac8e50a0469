//! The memory use of the process.

use serde_json::{Map, Value, json};
use weir_control::View;

/// The memory of the process, and the share of the route table, in bytes. Looks at every route.
pub(super) fn of(view: &View) -> Value {
    let table = view.snapshot().memory();
    let definitions = view.definitions_bytes();
    json!({
        "process": process(&std::fs::read_to_string("/proc/self/status").unwrap_or_default()),
        "routes": table.routes,
        "targets": table.targets,
        "index": table.index,
        "definitions": definitions,
        "storeCacheMax": weir_store::Options::default().cache_bytes,
    })
}

/// The lines of `/proc/self/status` that count resident memory, in bytes.
fn process(status: &str) -> Value {
    let wanted = [
        ("VmHWM:", "residentMax"),
        ("VmRSS:", "resident"),
        ("RssAnon:", "anonymous"),
        ("RssFile:", "filePages"),
    ];
    let counts = wanted.iter().filter_map(|(line, name)| {
        let rest = status.lines().find_map(|found| found.strip_prefix(line))?;
        let kib: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(((*name).to_owned(), Value::from(kib * 1024)))
    });
    Value::Object(counts.collect::<Map<String, Value>>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::process;

    #[test]
    fn resident_memory_is_read() {
        let status = "Name:\tweir\nVmHWM:\t   300 kB\nVmRSS:\t  200 kB\nRssAnon:\t 1 kB\n";
        let expected = json!({ "residentMax": 307_200, "resident": 204_800, "anonymous": 1_024 });
        assert_eq!(process(status), expected);
        assert_eq!(process(""), json!({}));
    }
}
