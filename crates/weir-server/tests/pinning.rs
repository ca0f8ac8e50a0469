//! `weir.server.pinning` keeps each worker on one core, and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use weir_config::{Format, Loader, Source};
use weir_server::{Server, ServerOptions};

fn start(settings: &str) -> Server {
    let text = format!("server: {{ address: 127.0.0.1, port: 0 }}\n{settings}\n");
    let mut loader = Loader::new(Vec::new(), &[], Vec::new());
    loader.add(Source::new("weir.yml", text, Format::Yaml));
    let mut loaded = loader.load();
    assert!(!loaded.is_refused());
    let routes = loaded.compile().routes;
    let snapshot = loaded.compiler.snapshot(routes);
    let snapshot = Arc::new(ArcSwap::from_pointee(snapshot));
    Server::start(
        &snapshot,
        &ServerOptions {
            seed: 1,
            reserved: None,
            admin: None,
            inquiries: None,
            recorder: Arc::default(),
        },
    )
    .expect("a gateway")
}

/// The cores that so many workers and this thread may run on, by name of the thread, which a thread
/// gives itself.
fn cores_with(workers: usize) -> BTreeMap<String, String> {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let found = cores();
        if found.len() == workers + 1 || Instant::now() > until {
            return found;
        }
        std::thread::yield_now();
    }
}

fn cores() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let own = fs::read_to_string("/proc/thread-self/status").expect("this thread");
    let all = |status: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        line.expect("a list of cores").trim().to_owned()
    };
    found.insert("this".to_owned(), all(&own));
    for task in fs::read_dir("/proc/self/task").expect("the threads") {
        let path = task.expect("a thread").path();
        // A thread may end meanwhile.
        let (Ok(name), Ok(status)) =
            (fs::read_to_string(path.join("comm")), fs::read_to_string(path.join("status")))
        else {
            continue;
        };
        if name.starts_with("weir-worker-") {
            found.insert(name.trim().to_owned(), all(&status));
        }
    }
    found
}

/// One test only: another one's workers would be found too.
#[test]
fn only_workers_are_pinned_and_only_if_asked() {
    let before = cores();
    let server = start("weir.server: { workers: 2, pinning: true }");
    let pinned = cores_with(2);
    assert_eq!(server.unpinned(), None);
    server.finish(Duration::from_secs(5), || true);
    assert_eq!(pinned.get("this"), before.get("this"));
    assert_eq!(pinned.len(), 3, "{pinned:?}");
    for (name, cores) in pinned.iter().filter(|(name, _)| *name != "this") {
        assert!(cores.parse::<usize>().is_ok(), "{name} may run on {cores}");
    }
    let server = start("weir.server.workers: 2");
    let free = cores_with(2);
    server.finish(Duration::from_secs(5), || true);
    assert_eq!(free.len(), 3, "{free:?}");
    assert!(free.values().all(|cores| Some(cores) == before.get("this")), "{free:?}");
}
