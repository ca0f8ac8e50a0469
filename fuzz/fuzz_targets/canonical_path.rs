//! A path: the canonical form is its own canonical form, has no dot segment however it is spelled,
//! and differs from the path only by whole segments.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_wire::http1::canonical_path;

fuzz_target!(|path: &[u8]| {
    let Ok(changed) = canonical_path(path) else { return };
    let canonical = changed.clone().unwrap_or_else(|| path.to_vec());
    assert_eq!(canonical_path(&canonical), Ok(None));
    if path.is_empty() || path == b"*" {
        return;
    }
    assert_eq!(canonical.first(), Some(&b'/'));
    let written: Vec<_> = path.split(|&byte| byte == b'/').collect();
    for segment in canonical.split(|&byte| byte == b'/') {
        let name = segment.split(|&byte| byte == b';').next().unwrap_or_default();
        let plain = String::from_utf8_lossy(name).to_lowercase().replace("%2e", ".");
        assert!(plain != "." && plain != "..", "{plain}");
        assert!(segment.is_empty() || written.contains(&segment));
    }
    assert_eq!(changed.is_some(), canonical != path);
});
