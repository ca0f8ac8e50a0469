//! The report page in a real browser: the charts must be drawn. Needs Chromium; where there is none
//! the test says so and checks nothing.

use std::process::Command;
use weir_bench::outcome::{Distribution, Outcome};
use weir_bench::process::{Sample, ServerUse};
use weir_bench::record::Slice;
use weir_bench::report::{Stored, html};

fn outcome() -> Outcome {
    let mut histogram = weir_bench::record::histogram();
    for at in 1..5_000u64 {
        histogram.record(200_000 + at * at).unwrap();
    }
    let slice = |second: u64| Slice {
        second,
        ok: 1_000 + second * 13,
        failed: second % 3,
        responses: vec![(300_000 + second * 1_000, 900), (2_000_000, 100), (30_000_000, 3)],
        ..Slice::default()
    };
    let sample = |second: u64| Sample {
        at_s: second as f64,
        cpu_s: second as f64 * 0.4,
        rss_bytes: 4_000_000 + second * 10_000,
        threads: 2,
        descriptors: 70,
    };
    let samples = (0..20).map(sample).collect();
    let server = ServerUse { pids: vec![1], name: "origin".into(), cpu_s: 8.0, samples };
    Outcome {
        weir_bench: 1,
        measured_s: 20.0,
        ok: 20_000,
        rate: 1_000.0,
        slices: (0..20).map(slice).collect(),
        response: Distribution::of(&histogram),
        service: Distribution::of(&histogram),
        server: Some(server),
        ..Outcome::default()
    }
}

fn check(name: &str, stored: &Stored, charts: usize) {
    let browser = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok());
    let Some(browser) = browser else {
        eprintln!("no Chromium here: the page is not looked at");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, html::render(stored).unwrap()).unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"])
        .args(["--virtual-time-budget=3000", "--window-size=1200,2400", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("file://{}", path.display()))
        .output()
        .unwrap();
    let page = String::from_utf8_lossy(&output.stdout);
    assert!(page.contains(&format!("data-charts=\"{charts}\"")), "{name}: charts are missing");
    assert_eq!(page.matches("class=\"uplot").count(), charts, "{name}");
}

#[test]
fn charts_are_drawn() {
    let one = Stored { outcomes: vec![outcome()], ..Stored::default() };
    check("run.html", &one, 3);
    let points = vec![(100.0, 1_000_000, 2_000_000), (200.0, 1_100_000, 4_000_000)];
    let outcomes = vec![outcome(), outcome()];
    check("sweep.html", &Stored { outcomes, points, ..Stored::default() }, 1);
}
