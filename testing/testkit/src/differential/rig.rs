//! A client and a recording upstream in one thread, so that the order of events is certain.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::judge::{End, Message, read_requests};

/// The silence after which a connection is taken to be stuck: far longer than any step takes.
const SILENCE: Duration = Duration::from_secs(5);

/// A client of a gateway and the upstream behind it.
#[derive(Debug)]
pub struct Rig {
    listener: TcpListener,
    upstreams: Vec<Upstream>,
    serial: usize,
}

/// The observed result of one client connection.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Complete requests the upstream got, in the order they were complete.
    pub messages: Vec<Message>,
    /// Their bytes.
    pub raw: Vec<Vec<u8>>,
    /// Requests begun and cut off; `None` where not even the head was complete.
    pub cut: Vec<Option<Message>>,
    /// Malformed bytes that the upstream received.
    pub malformed: Vec<(&'static str, Vec<u8>)>,
    /// The bytes that the client received.
    pub answers: Vec<u8>,
    /// The number of the upstream's first answer.
    pub first_serial: usize,
    /// The side that waited in vain.
    pub stuck: Option<&'static str>,
}

#[derive(Debug)]
struct Upstream {
    stream: TcpStream,
    bytes: Vec<u8>,
}

/// The client's connection.
struct Client<'b> {
    stream: TcpStream,
    unsent: &'b [u8],
    finished: bool,
    ended: bool,
}

impl Seen {
    /// Numbers of the upstream's answers that the client got, in order.
    pub fn serials(&self) -> Vec<usize> {
        let text = String::from_utf8_lossy(&self.answers).into_owned();
        let after = text.split("x-serial: ").skip(1);
        after.filter_map(|rest| rest.split('\r').next()?.parse().ok()).collect()
    }

    /// Statuses of the final answers that the client got.
    pub fn statuses(&self) -> Vec<u16> {
        let text = String::from_utf8_lossy(&self.answers).into_owned();
        let after = text.split("HTTP/1.1 ").skip(1);
        after.filter_map(|rest| rest.get(..3)?.parse().ok()).filter(|code| *code >= 200).collect()
    }
}

impl Rig {
    /// An upstream on a free port.
    ///
    /// # Panics
    /// If there is none.
    pub fn new() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        listener.set_nonblocking(true).expect("a socket that does not block");
        Self { listener, upstreams: Vec::new(), serial: 0 }
    }

    /// The address of the upstream.
    ///
    /// # Panics
    /// If the system does not tell.
    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr().expect("an address")
    }

    /// Sends `bytes` to `gateway` on a new connection, answering whatever reaches the upstream,
    /// until the gateway closes. If the judge finds the last request unfinished, the client ends
    /// its side once all others are answered.
    ///
    /// # Errors
    /// The gateway cannot be reached.
    pub fn play(&mut self, gateway: SocketAddr, bytes: &[u8]) -> io::Result<Seen> {
        let reading = read_requests(bytes);
        let unfinished = matches!(reading.end, End::Inside | End::Clean);
        let answers_before_end = unfinished.then_some(reading.messages.len());
        let stream = TcpStream::connect(gateway)?;
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let mut client = Client { stream, unsent: bytes, finished: false, ended: false };
        let mut seen = Seen { first_serial: self.serial, ..Seen::default() };
        while !client.ended {
            let due = answers_before_end.is_some_and(|count| seen.statuses().len() >= count);
            if client.unsent.is_empty() && due && !client.finished {
                client.finished = true;
                let _ = client.stream.shutdown(Shutdown::Write);
            }
            if !self.wait(&client)? {
                seen.stuck = Some(if client.finished { "after the client's end" } else { "yet" });
                break;
            }
            self.serve(&mut seen)?;
            client.exchange(&mut seen);
        }
        drop(client);
        // The bytes that the gateway sent before it closed have arrived: the loopback delivers at
        // once.
        self.serve(&mut seen)?;
        self.settle(&mut seen)?;
        Ok(seen)
    }

    /// Waits for requests that were begun to be cut off.
    fn settle(&mut self, seen: &mut Seen) -> io::Result<()> {
        while self.upstreams.iter().any(|upstream| !upstream.bytes.is_empty()) {
            if !self.wait_upstream()? {
                seen.stuck = Some("in a request begun at the upstream");
                self.upstreams.retain(|upstream| upstream.bytes.is_empty());
            }
            self.serve(seen)?;
        }
        Ok(())
    }

    /// Waits until something can be done; false after [`SILENCE`].
    fn wait(&self, client: &Client<'_>) -> io::Result<bool> {
        let writing = if client.unsent.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        let fd = PollFd::new(&client.stream, PollFlags::IN | writing);
        self.wait_for(Some(fd))
    }

    fn wait_upstream(&self) -> io::Result<bool> {
        self.wait_for(None)
    }

    fn wait_for<'f>(&'f self, first: Option<PollFd<'f>>) -> io::Result<bool> {
        let mut fds: Vec<PollFd<'_>> = first.into_iter().collect();
        fds.push(PollFd::new(&self.listener, PollFlags::IN));
        let upstreams = self.upstreams.iter();
        fds.extend(upstreams.map(|upstream| PollFd::new(&upstream.stream, PollFlags::IN)));
        let silence = Timespec { tv_sec: SILENCE.as_secs() as i64, tv_nsec: 0 };
        Ok(poll(&mut fds, Some(&silence))? > 0)
    }

    /// Reads all bytes that have arrived at the upstream, and answers each complete request.
    fn serve(&mut self, seen: &mut Seen) -> io::Result<()> {
        while let Ok((stream, _)) = self.listener.accept() {
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            self.upstreams.push(Upstream { stream, bytes: Vec::new() });
        }
        let serial = &mut self.serial;
        self.upstreams.retain_mut(|upstream| upstream.serve(serial, seen));
        Ok(())
    }
}

impl Default for Rig {
    fn default() -> Self {
        Self::new()
    }
}

impl Upstream {
    /// Reads the bytes that have arrived; returns whether the connection is still usable.
    fn serve(&mut self, serial: &mut usize, seen: &mut Seen) -> bool {
        let open = read_all(&mut self.stream, &mut self.bytes);
        loop {
            let mut reading = read_requests(&self.bytes);
            if let Some(message) = reading.messages.drain(..).next() {
                let behind = self.bytes.split_off(message.end);
                seen.raw.push(std::mem::replace(&mut self.bytes, behind));
                seen.messages.push(message);
                let answer =
                    format!("HTTP/1.1 200 OK\r\nx-serial: {serial}\r\nContent-Length: 0\r\n\r\n");
                *serial += 1;
                let _ = self.stream.write_all(answer.as_bytes());
                continue;
            }
            match reading.end {
                End::Refused(why) => {
                    seen.malformed.push((why, std::mem::take(&mut self.bytes)));
                    return false;
                }
                _ if !open && !self.bytes.is_empty() => seen.cut.push(reading.open),
                _ => {}
            }
            return open;
        }
    }
}

impl Client<'_> {
    /// Sends and receives what can be.
    fn exchange(&mut self, seen: &mut Seen) {
        while !self.unsent.is_empty() {
            match self.stream.write(self.unsent) {
                Ok(count) => self.unsent = self.unsent.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // Closed by the gateway, whose answer is still to be read.
                Err(_) => self.unsent = &[],
            }
        }
        self.ended = !read_all(&mut self.stream, &mut seen.answers);
    }
}

/// Reads the bytes that have arrived; returns whether more can come.
fn read_all(stream: &mut TcpStream, into: &mut Vec<u8>) -> bool {
    let mut buffer = [0; 16 * 1024];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return false,
            Ok(count) => into.extend(buffer.iter().take(count)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
            Err(_) => return false,
        }
    }
}
