//! The examples are valid: `weir check` finds nothing wrong with any of them.

use std::path::PathBuf;
use std::process::Command;

#[test]
fn every_example_is_fine() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).expect("the examples") {
        let file = entry.expect("an entry").path();
        let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        // Definitions of APIs end in `yaml`.
        if !["yml", "ini"].contains(&ending) {
            continue;
        }
        let mut weir = Command::new(env!("CARGO_BIN_EXE_weir"));
        let output = weir.arg("check").arg(&file).output().expect("an output");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{}: {text}", file.display());
        assert!(text.contains("fine: ") && text.contains(" 0 warnings"), "{text}");
        count += 1;
    }
    assert!(count >= 5, "{count} examples");
}
