//! Standard output, for text that may be long or read as it comes.

use std::io::Write as _;

/// Prints to standard output. A closed pipe is no error.
pub fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
