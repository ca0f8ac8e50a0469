//! A gateway under test: the binary itself, in a directory of its own.

use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::PATIENCE;

/// A running gateway. Killed when dropped, with its directory removed.
pub struct Gateway {
    child: Child,
    directory: TempDir,
    config: PathBuf,
    output: Arc<Output>,
}

/// The output of the process so far.
#[derive(Default)]
struct Output {
    said: Mutex<Said>,
    more: Condvar,
}

#[derive(Default)]
struct Said {
    /// Standard output and standard error, line by line as they came.
    text: String,
    http: Vec<SocketAddr>,
    admin: Option<SocketAddr>,
    /// Streams that have not ended.
    open: usize,
}

/// Starts `binary` with `args` in a fresh directory, with `config` in a file there whose path
/// replaces `{config}` in `args`; returns once the gateway listens.
///
/// # Panics
/// If it cannot be started, ends, or does not listen within [`crate::PATIENCE`].
pub fn spawn_weir(binary: &str, args: &[&str], config: &str) -> Gateway {
    let gateway = Gateway::start(binary, args, config);
    gateway.address();
    gateway
}

impl Gateway {
    /// As [`spawn_weir`], but without waiting: for a gateway that is meant to refuse to start.
    ///
    /// # Panics
    /// If the binary cannot be started.
    pub fn start(binary: &str, args: &[&str], config: &str) -> Self {
        Self::launch(Command::new(binary), args, &[("weir.yaml", config.as_bytes())])
    }

    /// As [`Gateway::start`], with a command that may have its own environment and with several
    /// files; `{config}` is replaced by the first.
    ///
    /// # Panics
    /// If the binary cannot be started, or there is no file.
    pub fn launch(mut command: Command, args: &[&str], files: &[(&str, &[u8])]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for (name, bytes) in files {
            let path = directory.path().join(name);
            let folder = path.parent().expect("a folder");
            std::fs::create_dir_all(folder).expect("a folder for the configuration");
            std::fs::write(path, bytes).expect("write the configuration");
        }
        let (name, _) = files.first().expect("a configuration file");
        let path = directory.path().join(name);
        let place = path.to_str().expect("a path in UTF-8").to_owned();
        let mut child = command
            .args(args.iter().map(|arg| arg.replace("{config}", &place)))
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let output = Arc::new(Output::default());
        output.said().open = 2;
        Output::follow(&output, child.stdout.take().expect("a pipe"));
        Output::follow(&output, child.stderr.take().expect("a pipe"));
        Self { child, directory, config: path, output }
    }

    /// The address of the first HTTP listener.
    ///
    /// # Panics
    /// If it is not told within [`crate::PATIENCE`], or the process ends.
    pub fn address(&self) -> SocketAddr {
        self.wait("the gateway to listen", |said| said.http.first().copied())
    }

    /// The address of the admin listener.
    ///
    /// # Panics
    /// If it is not told within [`crate::PATIENCE`], or the process ends.
    pub fn admin(&self) -> SocketAddr {
        self.wait("the admin listener", |said| said.admin)
    }

    /// The address of the pipeline `id`.
    ///
    /// # Panics
    /// If it is not told within [`crate::PATIENCE`], or the process ends.
    pub fn pipeline(&self, id: &str) -> SocketAddr {
        self.wait("a pipeline to listen", |said| {
            said.text.lines().find_map(|line| pipeline(line, id))
        })
    }

    /// The addresses of all HTTP listeners reported so far.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.output.said().http.clone()
    }

    /// Waits until the process has printed a line with `text` in it, on either stream.
    ///
    /// # Panics
    /// If it does not within [`crate::PATIENCE`], or the process ends.
    pub fn wait_for_output(&self, text: &str) {
        let what = format!("{text:?} in the output");
        self.wait(&what, |said| said.text.contains(text).then_some(()));
    }

    /// Standard output and standard error so far.
    pub fn output(&self) -> String {
        self.output.said().text.clone()
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The directory it runs in.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The configuration file; write to it to change the configuration.
    pub fn config(&self) -> &Path {
        &self.config
    }

    /// Tells the process to end (SIGTERM).
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Tells the process to reload its configuration (SIGHUP).
    pub fn hang_up(&self) {
        self.signal(Signal::HUP);
    }

    /// Waits until it listens or has ended: whether it started.
    ///
    /// # Panics
    /// If neither happens within [`crate::PATIENCE`].
    pub fn starts(&self) -> bool {
        let settled = |said: &Said| match (said.http.is_empty(), said.open) {
            (false, _) => Some(true),
            (true, 0) => Some(false),
            (true, _) => None,
        };
        self.output.wait(settled).unwrap_or_else(|| panic!("neither started nor ended: {self:?}"))
    }

    /// Waits for the process to end on its own.
    ///
    /// # Panics
    /// If it does not within [`crate::PATIENCE`].
    pub fn wait_for_exit(&mut self) -> ExitStatus {
        let ended = self.output.wait(|said| (said.open == 0).then_some(()));
        assert!(ended.is_some(), "still running: {self:?}");
        // Both of its output streams have ended: it is as good as gone.
        self.child.wait().expect("a child's status")
    }

    /// Ends the process at once (SIGKILL), as in a crash.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a process id"), signal).expect("send a signal");
    }

    fn wait<T>(&self, what: &str, found: impl Fn(&Said) -> Option<T>) -> T {
        let ended = |said: &Said| (said.open == 0).then_some(None);
        let done = self.output.wait(|said| found(said).map(Some).or_else(|| ended(said)));
        done.flatten().unwrap_or_else(|| panic!("waited in vain for {what}: {self:?}"))
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gateway {} which has said:\n{}", self.child.id(), self.output())
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Output {
    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the output on `stream`, in a thread of its own.
    fn follow(output: &Arc<Self>, stream: impl Read + Send + 'static) {
        let output = Arc::clone(output);
        std::thread::spawn(move || {
            let mut lines = BufReader::new(stream);
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                output.note(&String::from_utf8_lossy(&line));
                line.clear();
            }
            output.said().open -= 1;
            output.more.notify_all();
        });
    }

    fn note(&self, line: &str) {
        let mut said = self.said();
        said.text.push_str(line);
        match listening(line) {
            Some((Listener::Http, address)) => said.http.push(address),
            Some((Listener::Admin, address)) => said.admin = Some(address),
            None => {}
        }
        self.more.notify_all();
    }

    /// Waits until `found` returns a value for the output so far; `None` after [`PATIENCE`].
    fn wait<T>(&self, found: impl Fn(&Said) -> Option<T>) -> Option<T> {
        let said = self.said();
        let waiting = self.more.wait_timeout_while(said, PATIENCE, |said| found(said).is_none());
        let (said, _) = waiting.unwrap_or_else(PoisonError::into_inner);
        found(&said)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listener {
    Http,
    Admin,
}

/// Reads lines such as `listening tcp ADDRESS (id)`.
fn pipeline(line: &str, id: &str) -> Option<SocketAddr> {
    let words: Vec<_> = line.split_whitespace().collect();
    match words.as_slice() {
        ["listening", _, address, name] if *name == format!("({id})") => address.parse().ok(),
        _ => None,
    }
}

/// Reads the lines `listening http ADDRESS` and `admin http ADDRESS`, with any blanks between.
fn listening(line: &str) -> Option<(Listener, SocketAddr)> {
    let words: Vec<_> = line.split_whitespace().collect();
    let (listener, address) = match words.as_slice() {
        ["listening", "http", address] => (Listener::Http, address),
        ["admin", "http", address] => (Listener::Admin, address),
        _ => return None,
    };
    Some((listener, address.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{Gateway, Listener, listening, pipeline, spawn_weir};

    fn check(line: &str, expected: Option<(Listener, &str)>) {
        let expected = expected.map(|(listener, address)| (listener, address.parse().unwrap()));
        assert_eq!(listening(line), expected, "{line:?}");
    }

    #[test]
    fn lines_that_tell_of_listeners() {
        check("listening http 127.0.0.1:80\n", Some((Listener::Http, "127.0.0.1:80")));
        check("listening http [::1]:80", Some((Listener::Http, "[::1]:80")));
        check("admin     http 127.0.0.1:9\n", Some((Listener::Admin, "127.0.0.1:9")));
        check("http 127.0.0.1:80", None);
        check("listening tcp 127.0.0.1:80", None);
        check("listening http localhost", None);
        check("listening", None);
        let line = "listening tcp 127.0.0.1:80 (front)";
        assert_eq!(pipeline(line, "front"), Some("127.0.0.1:80".parse().unwrap()));
        assert_eq!(pipeline(line, "back"), None);
    }

    const SCRIPT: &str = "echo admin http 127.0.0.1:8; echo to-stderr >&2; \
        echo listening http 127.0.0.1:7; cat \"$0\"; exec sleep 600";

    #[test]
    fn a_process_is_followed_until_it_ends() {
        let args = ["-c", SCRIPT, "{config}"];
        let mut gateway = spawn_weir("/bin/sh", &args, "the configuration\n");
        assert_eq!(gateway.address(), "127.0.0.1:7".parse().unwrap());
        assert_eq!(gateway.admin(), "127.0.0.1:8".parse().unwrap());
        gateway.wait_for_output("the configuration");
        gateway.wait_for_output("to-stderr");
        assert!(gateway.starts());
        gateway.terminate();
        assert!(!gateway.wait_for_exit().success());
    }

    #[test]
    fn a_process_that_refuses_to_start_has_a_status() {
        let mut gateway = Gateway::start("/bin/sh", &["-c", "echo no >&2; exit 3"], "");
        assert_eq!(gateway.wait_for_exit().code(), Some(3));
        assert_eq!(gateway.output(), "no\n");
        assert!(!gateway.starts());
    }

    #[test]
    #[should_panic(expected = "waited in vain for the gateway to listen")]
    fn a_process_that_ends_without_listening_panics() {
        spawn_weir("/bin/sh", &["-c", "echo listening to nothing"], "");
    }
}
