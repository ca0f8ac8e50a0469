//! One session with a Zookeeper server: requests in order, changes as they are told, and a sign of
//! life now and then. A session that fails is dropped; who needs another one opens it and reads
//! anew what it watched.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::Instant;
use weir_snapshot::{Secret, Zookeeper as Settings};
use weir_wire::zookeeper::{
    LOGIN, Message, NO_AUTH, PING, Request, ZookeeperError, frame, granted, message, write_connect,
    write_request,
};

use crate::http::{Failure, Looked};

/// Requests that are sent before an answer is read.
const PIPELINED: usize = 256;
/// Changes that wait at most: what is read anew covers many of them.
const CHANGES_MAX: usize = 100_000;
/// Longest answer to the start of a session.
const GRANT_BYTES_MAX: usize = 1 << 10;
/// Port of a server that is named without one.
const PORT: u16 = 2181;

/// An answer: its code, 0 if good, and what depends on the request.
pub(super) type Answer = (i32, Vec<u8>);

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    stream: TcpStream,
    inbox: Vec<u8>,
    /// What is yet to be sent.
    outbox: Vec<u8>,
    bytes_max: usize,
    number: i32,
    /// Time without a sign of weir after which the server ends it.
    timeout: Duration,
    heard: Instant,
    spoke: Instant,
    changes: VecDeque<String>,
}

impl Session {
    /// A session with any of the servers; they are tried from one by chance on.
    pub async fn open(settings: &Settings, bytes_max: usize) -> Looked<Self> {
        let servers = servers(&settings.servers);
        let chance = RandomState::new().build_hasher().finish();
        let from = usize::try_from(chance % servers.len().max(1) as u64).unwrap_or_default();
        let mut last = Failure::Unreachable("no server is named".to_owned());
        for server in servers.iter().cycle().skip(from).take(servers.len()) {
            let opening = Self::with(server, settings, bytes_max);
            last = match tokio::time::timeout(settings.connection_timeout, opening).await {
                Ok(Ok(session)) => return Ok(session),
                Ok(Err(failure)) => failure,
                Err(_) => Failure::TimedOut(settings.connection_timeout),
            };
        }
        Err(last)
    }

    async fn with(server: &str, settings: &Settings, bytes_max: usize) -> Looked<Self> {
        let timeout = settings.session_timeout;
        let unreachable = |error| Failure::Unreachable(format!("{server}: {error}"));
        let stream = TcpStream::connect(server).await.map_err(unreachable)?;
        stream.set_nodelay(true).map_err(unreachable)?;
        let now = Instant::now();
        let mut session = Self {
            stream,
            inbox: Vec::new(),
            outbox: Vec::new(),
            bytes_max,
            number: 0,
            timeout,
            heard: now,
            spoke: now,
            changes: VecDeque::new(),
        };
        let timeout_ms = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        write_connect(timeout_ms, &mut session.outbox);
        session.send().await?;
        loop {
            // What is longer is of another protocol.
            let first = frame(&session.inbox, GRANT_BYTES_MAX);
            let first = first.map_err(|_| nonsense(ZookeeperError::Malformed))?;
            if let Some((first, length)) = first {
                let granted = granted(first).map_err(nonsense)?;
                if granted.timeout_ms == 0 {
                    return Err(Failure::Nonsense(format!("{server} grants no session")));
                }
                session.timeout = Duration::from_millis(granted.timeout_ms.into());
                session.inbox.drain(..length);
                session.log_in(settings).await?;
                return Ok(session);
            }
            session.receive().await?;
        }
    }

    /// Gives the session the rights of the configured user, if there is one.
    async fn log_in(&mut self, settings: &Settings) -> Looked<()> {
        let Some(user) = &settings.user else { return Ok(()) };
        let password = settings.password.as_ref().map(Secret::expose).unwrap_or_default();
        write_request(LOGIN, Request::Login { user, password }, &mut self.outbox);
        self.send().await?;
        match self.answer(LOGIN).await? {
            (0, _) => Ok(()),
            (code, _) => {
                Err(Failure::Forbidden(format!("it refuses the user `{user}` with code {code}")))
            }
        }
    }

    /// The answers to `requests`, in their order.
    pub async fn ask(&mut self, requests: &[Request<'_>]) -> Looked<Vec<Answer>> {
        let mut answers = Vec::with_capacity(requests.len());
        for some in requests.chunks(PIPELINED) {
            let first = self.number.wrapping_add(1);
            for request in some {
                // Numbers stay positive: negative ones have a meaning.
                self.number = self.number.checked_add(1).ok_or_else(worn_out)?;
                write_request(self.number, *request, &mut self.outbox);
            }
            self.send().await?;
            for number in first..=self.number {
                answers.push(self.answer(number).await?);
            }
        }
        Ok(answers)
    }

    /// The paths that have changed, as soon as there are any.
    pub async fn changes(&mut self) -> Looked<Vec<String>> {
        while self.changes.is_empty() {
            if let Some((number, _)) = self.take_message()? {
                return Err(unasked(number));
            }
            if !self.changes.is_empty() {
                break;
            }
            self.listen().await?;
        }
        Ok(self.changes.drain(..).collect())
    }

    /// Keeps the session for ever; ends when it is lost.
    pub async fn keep(&mut self) -> Failure {
        loop {
            if let Err(failure) = self.changes().await {
                return failure;
            }
        }
    }

    /// Ends the session; its ephemeral nodes go at once.
    pub async fn close(mut self) -> Looked<()> {
        self.ask(&[Request::Close]).await.map(drop)
    }

    async fn answer(&mut self, number: i32) -> Looked<Answer> {
        loop {
            match self.take_message()? {
                Some((own, answer)) if own == number => return Ok(answer),
                Some((other, _)) => return Err(unasked(other)),
                None => self.receive().await?,
            }
        }
    }

    /// The next answer that has come, if it is whole; changes are put aside.
    fn take_message(&mut self) -> Looked<Option<(i32, Answer)>> {
        loop {
            let whole = frame(&self.inbox, self.bytes_max).map_err(|error| match error {
                ZookeeperError::TooLong => Failure::TooLong(self.bytes_max),
                error @ ZookeeperError::Malformed => nonsense(error),
            })?;
            let Some((bytes, length)) = whole else { return Ok(None) };
            let taken = match message(bytes).map_err(nonsense)? {
                Message::Answer { number: PING, .. } => None,
                Message::Answer { number, code, body } => Some((number, (code, body.to_vec()))),
                Message::Changed(path) if self.changes.len() < CHANGES_MAX => {
                    self.changes.push_back(path.to_owned());
                    None
                }
                Message::Changed(_) => {
                    return Err(Failure::Nonsense("it tells of too many changes".to_owned()));
                }
            };
            self.inbox.drain(..length);
            if taken.is_some() {
                return Ok(taken);
            }
        }
    }

    /// Waits for bytes, and gives signs of life meanwhile. May be dropped at any time.
    async fn listen(&mut self) -> Looked<()> {
        let due = self.spoke + self.timeout / 3;
        tokio::select! {
            received = self.receive() => return received,
            () = tokio::time::sleep_until(due) => {}
        }
        write_request(PING, Request::Ping, &mut self.outbox);
        self.send().await
    }

    /// Waits for bytes, but not longer than the server may be silent.
    async fn receive(&mut self) -> Looked<()> {
        let silent = self.timeout * 2 / 3;
        let reading = self.stream.read_buf(&mut self.inbox);
        match tokio::time::timeout_at(self.heard + silent, reading).await {
            Ok(Ok(0)) => Err(Failure::Unreachable("it closed the connection".to_owned())),
            Ok(Ok(_)) => {
                self.heard = Instant::now();
                Ok(())
            }
            Ok(Err(error)) => Err(Failure::Unreachable(error.to_string())),
            Err(_) => Err(Failure::TimedOut(silent)),
        }
    }

    /// Sends what is to be sent. May be dropped at any time: what is left is sent later.
    async fn send(&mut self) -> Looked<()> {
        self.spoke = Instant::now();
        let until = self.spoke + self.timeout * 2 / 3;
        while !self.outbox.is_empty() {
            let writing = self.stream.write(&self.outbox);
            match tokio::time::timeout_at(until, writing).await {
                Ok(Ok(0)) => {
                    return Err(Failure::Unreachable("it takes nothing more".to_owned()));
                }
                Ok(Ok(count)) => drop(self.outbox.drain(..count)),
                Ok(Err(error)) => return Err(Failure::Unreachable(error.to_string())),
                Err(_) => return Err(Failure::TimedOut(self.timeout * 2 / 3)),
            }
        }
        Ok(())
    }
}

/// `host:port` of each server of a connection string.
pub(super) fn servers(text: &str) -> Vec<String> {
    let text = text.split_once('/').map_or(text, |(servers, _)| servers);
    let servers = text.split(',').map(str::trim).filter(|server| !server.is_empty());
    let whole = |server: &str| {
        let has_port = server.rsplit_once(':').is_some_and(|(host, port)| {
            // An IPv6 address without a port has colons, too.
            port.parse::<u16>().is_ok() && (!host.contains(':') || host.ends_with(']'))
        });
        if has_port { server.to_owned() } else { format!("{server}:{PORT}") }
    };
    servers.map(whole).collect()
}

/// The node below which everything is, as the connection string says; empty for the top.
pub(super) fn chroot(text: &str) -> String {
    text.split_once('/').map(|(_, path)| joined(&["", path])).unwrap_or_default()
}

/// Parts of a path as one, without slashes that are too many.
pub(super) fn joined(parts: &[&str]) -> String {
    let names = parts.iter().flat_map(|part| part.split('/')).filter(|name| !name.is_empty());
    names.fold(String::new(), |path, name| path + "/" + name)
}

/// A code that is not good.
pub(super) fn refused(path: &str, code: i32) -> Failure {
    match code {
        NO_AUTH => Failure::Forbidden(format!(
            "it denies weir access to {path}: set weir.discovery.zookeeper.username and password \
             of a user who may read it, or give the world the right"
        )),
        code => Failure::Nonsense(format!("it answers with code {code} for {path}")),
    }
}

pub(super) fn nonsense(error: ZookeeperError) -> Failure {
    Failure::Nonsense(match error {
        ZookeeperError::Malformed => "it does not speak Zookeeper's protocol".to_owned(),
        ZookeeperError::TooLong => "it says more than makes sense".to_owned(),
    })
}

fn unasked(number: i32) -> Failure {
    Failure::Nonsense(format!("it answers request {number}, which is not the one that waits"))
}

fn worn_out() -> Failure {
    Failure::Unreachable("the session has had all its numbers".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_strings() {
        let check = |text: &str, expected: &[&str], below: &str| {
            assert_eq!(servers(text), expected, "{text}");
            assert_eq!(chroot(text), below, "{text}");
        };
        check("localhost:2181", &["localhost:2181"], "");
        check("a, b:1,/c/d/", &["a:2181", "b:1"], "/c/d");
        check("[::1]:7,[::2],::3", &["[::1]:7", "[::2]:2181", "::3:2181"], "");
        check("", &[], "");
        assert_eq!(joined(&["/a/", "", "b//c"]), "/a/b/c");
    }
}
