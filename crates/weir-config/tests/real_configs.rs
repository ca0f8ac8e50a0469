//! Real configurations: no panic, and no vague finding.
//!
//! These files belong to others and are not part of the repository; without them the test is
//! skipped.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use weir_config::{Format, Loader, Source, Style, render, to_json};

/// `shared/configs` beside the repository, or further up.
fn directory() -> Option<PathBuf> {
    let ancestors = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    ancestors.map(|dir| dir.join("shared/configs")).find(|dir| dir.is_dir())
}

#[test]
fn every_finding_has_a_place_and_a_remedy() {
    let Some(directory) = directory() else {
        // Written to the terminal itself: the test harness captures the output of a passing test.
        let said = "real_configs: skipped, there is no shared/configs beside the repository\n";
        std::io::stderr().write_all(said.as_bytes()).expect("standard error");
        return;
    };
    let mut files = 0;
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let Some(format) = Format::of_name(name) else { continue };
        let text = std::fs::read_to_string(&path).expect("text");
        for profiles in [vec![], vec!["docker".to_owned()], vec!["prod".to_owned()]] {
            let mut loader = Loader::new(Vec::new(), &[], profiles);
            loader.add(Source::new(name, text.as_str(), format));
            let mut loaded = loader.load();
            loaded.check();
            for finding in &loaded.diagnostics {
                assert!(finding.at.is_some(), "{name}: {finding:?}");
                assert!(!finding.help.is_empty(), "{name}: {finding:?}");
                let text = render(finding, loaded.sources(), Style::Plain);
                assert!(text.contains(&format!("--> {name}:")), "{text}");
                assert!(to_json(finding, loaded.sources())["line"].is_u64());
            }
        }
        files += 1;
    }
    assert!(files > 40, "only {files} files");
}
