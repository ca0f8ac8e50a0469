//! Calls to the operating system and the allocator; the only file with `unsafe`.

use std::ffi::{c_int, c_long};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::time::Duration;

// Links the allocator's library, for `return_memory_soon` and `give_back_memory`.
use libmimalloc_sys as _;
use rustix::mm::{Advice, madvise};
use rustix::process::{Resource, Rlimit, getrlimit, setpriority_process, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use weir_route::index::Fetch;

/// Limits as found and as raised, for the report at start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open files before.
    pub files_before: u64,
    /// Open files now.
    pub files: u64,
    /// Listen backlog the system grants (`net.core.somaxconn`).
    pub backlog_max: u32,
    /// Why the limit on open files could not be raised further.
    pub refused: Option<String>,
}

/// Raises the soft limit on open files to the hard one.
pub fn raise_limits() -> Limits {
    let found = getrlimit(Resource::Nofile);
    let files_before = found.current.unwrap_or(u64::MAX);
    let wanted = Rlimit { current: found.maximum, maximum: found.maximum };
    let refused = setrlimit(Resource::Nofile, wanted).err().map(|error| error.to_string());
    Limits { files_before, files: files_max(), backlog_max: backlog_max(), refused }
}

/// Open files the process may have, as limited now.
pub fn files_max() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Open files a gateway started from here may have: it raises its limit as far as it can.
pub fn files_max_raised() -> u64 {
    getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX)
}

/// Lowers the priority of the calling thread, and of those it starts, below that of serving
/// threads: changes of the table and the admin API must not delay requests. They still get a tenth
/// of a busy core.
pub fn yield_to_traffic() {
    const NICE: i32 = 10;
    // Linux counts priorities by thread. Where it is refused, everything works as before.
    let _ = setpriority_process(None, NICE);
}

/// Makes the allocator return free memory to the system after 10 ms instead of a second. If it were
/// sooner, requests that need memory briefly would pay for it again and again
/// (`docs/decisions/0010-allocator.md`). No effect with an allocator other than mimalloc.
pub fn return_memory_soon() {
    /// Number of mimalloc's option `purge_delay`, in milliseconds.
    const PURGE_DELAY: c_int = 15;
    #[expect(unsafe_code, reason = "mimalloc's options have no safe binding")]
    // SAFETY: this is mimalloc's own declaration of `mi_option_set`, which takes any number of an
    // option and any value for it, from any thread at any time: it stores the value and no more.
    unsafe {
        unsafe extern "C" {
            fn mi_option_set(option: c_int, value: c_long);
        }
        mi_option_set(PURGE_DELAY, 10);
    }
}

/// Makes the allocator return unused memory of the calling thread: it keeps a page of each size for
/// later allocations and frees them only during calls, which an idle thread does not make. Takes
/// some microseconds. No effect with an allocator other than mimalloc.
pub fn give_back_memory() {
    #[expect(unsafe_code, reason = "mimalloc's functions have no safe binding")]
    // SAFETY: this is mimalloc's own declaration of `mi_collect`, which may be called from any
    // thread at any time, and gives back only what is not allocated.
    unsafe {
        unsafe extern "C" {
            fn mi_collect(force: bool);
        }
        mi_collect(true);
    }
}

/// Mapped pages of the program and its libraries that cannot be written.
#[derive(Debug)]
pub struct ProgramPages(Vec<(usize, usize)>);

impl ProgramPages {
    /// Finds the current mappings. To be called before any library is loaded at run time, as a host
    /// name lookup does: only what is mapped from the start stays mapped for the life of the
    /// process, and only such pages may be dropped.
    pub fn find() -> Self {
        Self(unwritten_maps(smaps()))
    }

    /// Drops the pages from this process's memory: code that only start-up or a reload has run
    /// (parsers, the command line, the compiler of expressions) no longer counts. Pages that run
    /// again come back from the page cache, 64 KiB at a time. Returns the bytes of address space
    /// affected.
    pub fn forget(&self) -> usize {
        let mut bytes = 0;
        // A mapping that a debugger has written to since is kept.
        for (from, to) in unwritten_maps(smaps()).into_iter().filter(|map| self.0.contains(map)) {
            #[expect(unsafe_code, reason = "advice about memory has no safe binding")]
            // SAFETY: the range is one mapping of a file that cannot be written to and that holds
            // no page of its own (`unwritten_maps`), so that each page that is dropped comes back
            // with the same bytes when it is touched. It has been mapped since the start (`find`),
            // so nothing is being loaded there, and nothing unmaps it.
            let forgotten = unsafe {
                let start = std::ptr::with_exposed_provenance_mut(from);
                madvise(start, to - from, Advice::LinuxDontNeed)
            };
            bytes += if forgotten.is_ok() { to - from } else { 0 };
        }
        bytes
    }
}

/// Makes the kernel defer new connections of a listening socket until their clients send bytes or
/// `time` is over, rounded up to seconds, which the kernel counts in repetitions of its SYN-ACK. No
/// effect for a time of zero.
///
/// # Errors
/// The system refuses.
pub(crate) fn defer_accept(socket: &impl AsRawFd, time: Duration) -> io::Result<()> {
    let whole = time.as_secs() + u64::from(time.subsec_nanos() > 0);
    let seconds = c_int::try_from(whole).unwrap_or(c_int::MAX);
    if seconds == 0 {
        return Ok(());
    }
    #[expect(unsafe_code, reason = "the option has no safe binding")]
    // SAFETY: the option takes an int; the address and the length are those of one that lives until
    // the call returns. The descriptor is open as long as `socket` is borrowed, and of whatever
    // kind it is, setting an option of it touches no memory of this process.
    let refused = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_DEFER_ACCEPT,
            (&raw const seconds).cast(),
            size_of::<c_int>() as libc::socklen_t,
        )
    };
    if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The processor's caches.
pub(crate) struct Caches;

impl Fetch for Caches {
    fn fetch<V>(&self, values: &[V]) {
        fetch(values);
    }
}

/// Prefetches the first cache lines of `values`, which are needed soon.
pub(crate) fn fetch<T>(values: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        /// Bytes of a line of the cache.
        const LINE: usize = 64;
        /// Bytes that are fetched at most.
        const LINES: usize = 5 * LINE;
        let start = values.as_ptr().cast::<i8>();
        for at in (0..size_of_val(values).min(LINES)).step_by(LINE) {
            #[expect(unsafe_code, reason = "fetching has no safe binding")]
            // SAFETY: `at` is inside of `values`; fetching reads nothing that the program sees.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(start.add(at));
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}

/// The process's memory mappings, see proc_pid_smaps(5), line by line: as one string they would
/// take most of the memory of a small gateway.
pub(crate) fn smaps() -> impl Iterator<Item = String> {
    let file = File::open("/proc/self/smaps").ok();
    file.into_iter().flat_map(|file| BufReader::new(file).lines().map_while(Result::ok))
}

/// The file mappings in `smaps` that are not writable and never were written: relocated data come
/// from the same files but were changed in memory.
fn unwritten_maps(smaps: impl Iterator<Item = impl AsRef<str>>) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut current = None;
    for line in smaps {
        let mut words = line.as_ref().split_ascii_whitespace();
        match words.next() {
            Some("Anonymous:") if words.next() == Some("0") => found.extend(current.take()),
            Some(word) if !word.ends_with(':') => {
                let unwritable = words.next().is_some_and(|mode| mode.starts_with("r-"));
                let is_file = words.nth(3).is_some_and(|path| path.starts_with('/'));
                current = range(word).filter(|_| unwritable && is_file);
            }
            _ => {}
        }
    }
    found
}

/// The addresses of `55d0a000-55d0f000`.
pub(crate) fn range(text: &str) -> Option<(usize, usize)> {
    let (from, to) = text.split_once('-')?;
    let from = usize::from_str_radix(from, 16).ok()?;
    let to = usize::from_str_radix(to, 16).ok()?;
    (from < to).then_some((from, to))
}

/// Calls `start` while this thread, and so every thread that is started meanwhile, is kept to the
/// `n`-th of the cores the process may use, counted round. With the result: why that was refused.
pub(crate) fn on_core<T>(n: usize, start: impl FnOnce() -> T) -> (T, Option<String>) {
    let narrowed = sched_getaffinity(None).and_then(|allowed| {
        let cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
        let mut one = CpuSet::new();
        let count = usize::try_from(allowed.count()).unwrap_or_default().max(1);
        cores.skip(n % count).take(1).for_each(|core| one.set(core));
        sched_setaffinity(None, &one).map(|()| allowed)
    });
    let started = start();
    let restored = narrowed.and_then(|allowed| sched_setaffinity(None, &allowed));
    (started, restored.err().map(|error| error.to_string()))
}

fn backlog_max() -> u32 {
    let text = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap_or_default();
    text.trim().parse().unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::{ProgramPages, unwritten_maps};

    #[test]
    fn only_what_is_in_the_file_is_forgotten() {
        let smaps = "\
1000-2000 r--p 00000000 fe:00 7  /bin/weir
Rss:                   4 kB
Anonymous:             0 kB
VmFlags: rd mr mw me
2000-3000 r-xp 00001000 fe:00 7  /bin/weir
Anonymous:             0 kB
3000-4000 r--p 00002000 fe:00 7  /bin/weir
Anonymous:             4 kB
4000-5000 rw-p 00003000 fe:00 7  /bin/weir
Anonymous:             0 kB
6000-7000 r--p 00000000 00:00 0
Anonymous:             0 kB
7000-8000 r-xp 00000000 00:00 0  [vdso]
Anonymous:             0 kB
8000-9000 r-xp 00000000 fe:00 8  /lib/libc.so.6
Anonymous:             0 kB
";
        let expected = [(0x1000, 0x2000), (0x2000, 0x3000), (0x8000, 0x9000)];
        assert_eq!(unwritten_maps(smaps.lines()), expected);
    }

    #[test]
    fn the_program_goes_on_without_its_pages() {
        assert!(ProgramPages::find().forget() > 0);
        assert_eq!(ProgramPages(Vec::new()).forget(), 0);
        // The code for this was in the dropped pages.
        assert_eq!(format!("{:?}", unwritten_maps("".lines())), "[]");
    }
}
