//! The generated reference in `docs/` is what the code says.

use std::path::Path;
use std::process::Command;

#[test]
fn docs_reference_is_what_the_code_says() {
    let directory = tempfile::tempdir().expect("a directory");
    let status = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["reference", "--write"])
        .arg(directory.path())
        .status()
        .expect("weir runs");
    assert!(status.success());
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let mut names = 0;
    for entry in std::fs::read_dir(directory.path()).expect("it was written") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name");
        let fresh = std::fs::read_to_string(&path).expect("text");
        let kept = std::fs::read_to_string(committed.join(name)).unwrap_or_default();
        assert!(
            fresh == kept,
            "docs/reference/{} is stale: run `cargo xtask docs`",
            name.to_string_lossy()
        );
        names += 1;
    }
    assert_eq!(names, 6);
}
