//! Huge pages for a large table of routes (`docs/decisions/0015-huge-pages.md`).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::sys::{collapse, range, smaps};

/// Bytes of a page; with others, huge pages are so large that no stretch of a heap is full.
const PAGE: usize = 4 << 10;
/// Bytes of a huge page.
const HUGE_PAGE: usize = 2 << 20;
/// Pages of a stretch that must be in use before: an eighth more memory is taken at most.
const USED_MIN: usize = HUGE_PAGE / PAGE * 7 / 8;

/// Moves stretches of the heap that are nearly full to huge pages. A route table is read at random,
/// so with 4 KiB pages most reads also miss the TLB. Takes about 3 ms per stretch of 2 MiB, which
/// cannot be read meanwhile. Returns the bytes that are on huge pages then; 0 if the system has
/// none or cannot collapse pages (Linux before 6.1).
pub fn use_huge_pages() -> usize {
    if rustix::param::page_size() != PAGE {
        return 0;
    }
    let stretches = full_stretches(smaps()).unwrap_or_default();
    // A stretch may be refused for a moment, such as while one of its pages is being read or
    // written.
    let moved = stretches.into_iter().filter(|from| collapse(*from, HUGE_PAGE));
    moved.count() * HUGE_PAGE
}

/// Addresses at which anonymous memory is aligned like a huge page, as large, and nearly full.
fn full_stretches(smaps: impl Iterator<Item = impl AsRef<str>>) -> io::Result<Vec<usize>> {
    /// Size of a page's entry, see proc_pid_pagemap(5).
    const ENTRY: usize = 8;
    /// Flag of a page that is in memory.
    const PRESENT: u64 = 1 << 63;
    let pages = File::open("/proc/self/pagemap")?;
    let mut entries = vec![0; HUGE_PAGE / PAGE * ENTRY];
    let mut found = Vec::new();
    for (from, to) in anonymous_maps(smaps) {
        let mut at = from.next_multiple_of(HUGE_PAGE);
        while at + HUGE_PAGE <= to {
            pages.read_exact_at(&mut entries, (at / PAGE * ENTRY) as u64)?;
            let (entries, _) = entries.as_chunks();
            let used = entries.iter().filter(|entry| u64::from_ne_bytes(**entry) & PRESENT != 0);
            if used.count() >= USED_MIN {
                found.push(at);
            }
            at += HUGE_PAGE;
        }
    }
    Ok(found)
}

/// The mappings in `smaps` that are of no file and can be written to.
fn anonymous_maps(smaps: impl Iterator<Item = impl AsRef<str>>) -> Vec<(usize, usize)> {
    let of_line = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let map = range(words.next()?)?;
        let writable = words.next()?.starts_with("rw-p");
        let is_file = words.nth(3).is_some_and(|path| path.starts_with('/'));
        (writable && !is_file).then_some(map)
    };
    smaps.filter_map(|line| of_line(line.as_ref())).collect()
}

#[cfg(test)]
mod tests {
    use super::{HUGE_PAGE, anonymous_maps, full_stretches, use_huge_pages};
    use crate::sys::smaps;

    #[test]
    fn only_memory_of_its_own_is_moved() {
        let smaps = "\
1000-2000 rw-p 00000000 fe:00 7  /bin/weir
Rss:                   4 kB
2000-3000 r--p 00000000 00:00 0
3000-4000 rw-s 00000000 00:00 0
4000-5000 rw-p 00000000 00:00 0
VmFlags: rd mr mw me
5000-6000 rw-p 00000000 00:00 0  [heap]
";
        assert_eq!(anonymous_maps(smaps.lines()), [(0x4000, 0x5000), (0x5000, 0x6000)]);
    }

    /// With or without huge pages, the content of memory does not change.
    #[test]
    fn what_is_full_is_found_and_moved_unchanged() {
        let full: Vec<u64> = (0..HUGE_PAGE as u64).collect();
        let hollow: Vec<u64> = vec![0; HUGE_PAGE];
        let within = |values: &[u64]| {
            let range = values.as_ptr_range();
            let (from, to) = (range.start as usize, range.end as usize);
            let stretches = full_stretches(smaps()).unwrap();
            stretches.iter().filter(|at| from <= **at && **at + HUGE_PAGE <= to).count()
        };
        assert!(within(&full) >= 7, "of 16 MiB, all but what is cut at the ends");
        assert_eq!(within(&hollow), 0, "zeroed memory is not in use before it is touched");
        use_huge_pages();
        assert!(within(&full) >= 7, "it is in memory as before");
        assert_eq!(within(&hollow), 0, "what is not in use is left alone");
        assert!(full.iter().copied().eq(0..HUGE_PAGE as u64));
    }
}
