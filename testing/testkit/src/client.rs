//! A client that sends exactly the given bytes and reads exactly the received ones.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use weir_wire::ResponseHead;
use weir_wire::http1::{
    BodyDecoder, BodyKind, Connection, HeadLimits, Parsed, ResponseFraming, parse_response,
};

use crate::patiently;
use crate::received::{fields, latin1};

/// A connection of a raw client.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    received: Vec<u8>,
}

/// A response as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// The head as it was on the wire, with the empty line; bytes that are not ASCII come as
    /// U+0080 to U+00FF.
    pub head: String,
    /// The decoded body.
    pub body: Vec<u8>,
    /// Trailer fields.
    pub trailers: Vec<(String, String)>,
    /// The delimiter of the body.
    pub body_kind: BodyKind,
    /// The response closes the connection, by its version or its Connection field.
    pub closes: bool,
    /// Heads of the 1xx responses before it.
    pub interim: Vec<String>,
}

impl Response {
    /// The values of every line called `name` (any case), in order.
    pub fn all(&self, name: &str) -> Vec<String> {
        let named =
            |(field, value): (String, String)| field.eq_ignore_ascii_case(name).then_some(value);
        fields(&self.head).into_iter().filter_map(named).collect()
    }

    /// The value of the only line called `name` (any case).
    ///
    /// # Panics
    /// If there is more than one.
    pub fn field(&self, name: &str) -> Option<String> {
        let mut all = self.all(name);
        assert!(all.len() < 2, "{name} is repeated: {}", self.head);
        all.pop()
    }

    /// All field lines in order.
    pub fn fields(&self) -> Vec<(String, String)> {
        fields(&self.head)
    }

    /// The body as text, invalid UTF-8 replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A response that did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The fault.
    pub reason: String,
    /// Head and body as far as they came; `None` if not even the head was complete.
    pub response: Option<Response>,
    /// Bytes received and not understood.
    pub rest: String,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} after {:?}, then {:?}", self.reason, self.response, self.rest)
    }
}

impl Client {
    /// Connects.
    ///
    /// # Panics
    /// If that fails.
    pub async fn connect(address: SocketAddr) -> Self {
        let connecting = Self::try_connect(address).await;
        connecting.unwrap_or_else(|error| panic!("cannot connect to {address}: {error}"))
    }

    /// Connects to a peer that may not be there.
    ///
    /// # Errors
    /// What the socket says.
    ///
    /// # Panics
    /// If it says nothing.
    pub async fn try_connect(address: SocketAddr) -> io::Result<Self> {
        let connecting = patiently(TcpStream::connect(address), "a connection").await;
        let Some(stream) = connecting else { panic!("connecting to {address} does not end") };
        let stream = stream?;
        let _ = stream.set_nodelay(true);
        Ok(Self { stream, received: Vec::new() })
    }

    /// The address it connects from.
    pub fn address(&self) -> SocketAddr {
        self.stream.local_addr().expect("a connected socket has an address")
    }

    /// Sends these bytes.
    ///
    /// # Panics
    /// If the peer does not take them.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let sent = self.try_send(bytes).await;
        sent.unwrap_or_else(|error| panic!("cannot send: {error}; {}", self.so_far()));
    }

    /// Sends these bytes to a peer that may be gone.
    ///
    /// # Errors
    /// What the socket says.
    pub async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        match patiently(self.stream.write_all(bytes.as_ref()), "a peer to take bytes").await {
            Some(result) => result,
            None => panic!("the peer takes no bytes; {}", self.so_far()),
        }
    }

    /// Sends these bytes, `piece` of them a system call.
    ///
    /// # Panics
    /// If the peer does not take them.
    pub async fn send_split(&mut self, bytes: impl AsRef<[u8]>, piece: usize) {
        for piece in bytes.as_ref().chunks(piece.max(1)) {
            self.send(piece).await;
            tokio::task::yield_now().await;
        }
    }

    /// Sends a GET request for `target` and reads the response.
    ///
    /// # Panics
    /// If there is none.
    pub async fn get(&mut self, target: &str) -> Response {
        self.exchange(format!("GET {target} HTTP/1.1\r\nHost: test.example\r\n\r\n")).await
    }

    /// Sends these bytes and reads the response.
    ///
    /// # Panics
    /// If there is none.
    pub async fn exchange(&mut self, bytes: impl AsRef<[u8]>) -> Response {
        let bytes = bytes.as_ref();
        let method = bytes.split(|&byte| byte == b' ').next().unwrap_or_default();
        let method = latin1(method);
        self.send(bytes).await;
        self.read_response_to(&method).await
    }

    /// Reads a final response to anything but HEAD and CONNECT, with the 1xx before it.
    ///
    /// # Panics
    /// If it does not come whole.
    pub async fn read_response(&mut self) -> Response {
        self.read_response_to("GET").await
    }

    /// Reads a final response to a request with this method, with the 1xx before it.
    ///
    /// # Panics
    /// If it does not come whole.
    pub async fn read_response_to(&mut self, method: &str) -> Response {
        self.try_read_response_to(method).await.unwrap_or_else(|cut| panic!("{cut}"))
    }

    /// Reads a final response to a request with this method, which may be cut off.
    ///
    /// # Errors
    /// What came instead of a whole response.
    ///
    /// # Panics
    /// If nothing comes any more and the connection stays open.
    pub async fn try_read_response_to(&mut self, method: &str) -> Result<Response, Cut> {
        let mut interim = Vec::new();
        loop {
            let (response, framing) = self.read_head(method).await?;
            if !framing.interim {
                return self.read_body(Response { interim, ..response }).await;
            }
            interim.push(response.head);
        }
    }

    /// Reads one head, of a 1xx or a final response, and nothing after it.
    ///
    /// # Panics
    /// If it does not come.
    pub async fn read_interim(&mut self) -> Response {
        let head = self.read_head("HEAD").await;
        head.unwrap_or_else(|cut| panic!("{cut}")).0
    }

    /// Reads exactly `count` bytes.
    ///
    /// # Panics
    /// If they do not come.
    pub async fn read_exactly(&mut self, count: usize) -> Vec<u8> {
        while self.received.len() < count {
            if !self.read().await.unwrap_or(false) {
                panic!("closed before {count} bytes; {}", self.so_far());
            }
        }
        self.received.drain(..count).collect()
    }

    /// Reads until the peer closes.
    ///
    /// # Errors
    /// A reset; what came before it is lost.
    ///
    /// # Panics
    /// If the peer does not close.
    pub async fn try_read_to_end(&mut self) -> io::Result<Vec<u8>> {
        while self.read().await? {}
        Ok(std::mem::take(&mut self.received))
    }

    /// Reads until the peer closes or resets.
    ///
    /// # Panics
    /// If it does neither.
    pub async fn read_to_end(&mut self) -> Vec<u8> {
        while self.read().await.unwrap_or(false) {}
        std::mem::take(&mut self.received)
    }

    /// Waits for the peer to close or reset, without another byte.
    ///
    /// # Panics
    /// If bytes come, or nothing does.
    pub async fn expect_closed(&mut self) {
        let rest = latin1(&self.read_to_end().await);
        assert!(rest.is_empty(), "bytes before the end: {rest:?}");
    }

    /// Sends FIN: no more bytes will come from here.
    pub async fn finish_sending(&mut self) {
        let _ = self.stream.shutdown().await;
    }

    /// Sends RST.
    pub fn reset(self) {
        let _ = self.stream.set_zero_linger();
    }

    async fn read_head(&mut self, method: &str) -> Result<(Response, ResponseFraming), Cut> {
        let limits =
            HeadLimits { target_bytes_max: 0, fields_max: 256, head_bytes_max: 1024 * 1024 };
        let mut head = ResponseHead::default();
        loop {
            match parse_response(&self.received, method.as_bytes(), &mut head, &limits) {
                Ok(Parsed::Complete { consumed, framing }) => {
                    let raw: Vec<u8> = self.received.drain(..consumed).collect();
                    let response = Response {
                        status: head.status,
                        head: latin1(&raw),
                        body: Vec::new(),
                        trailers: Vec::new(),
                        body_kind: framing.body,
                        closes: framing.connection == Connection::Close,
                        interim: Vec::new(),
                    };
                    return Ok((response, framing));
                }
                Ok(Parsed::Partial) => match self.read().await {
                    Ok(true) => {}
                    Ok(false) => return Err(self.cut("closed", None)),
                    Err(error) => return Err(self.cut(&error.to_string(), None)),
                },
                Err(error) => return Err(self.cut(&format!("{error:?}"), None)),
            }
        }
    }

    async fn read_body(&mut self, mut response: Response) -> Result<Response, Cut> {
        let mut decoder = BodyDecoder::new(response.body_kind);
        while !decoder.is_done() {
            let step = match decoder.step(&self.received) {
                Ok(step) => step,
                Err(error) => return Err(self.cut(&format!("{error:?}"), Some(response))),
            };
            let content = self.received.get(step.content.0..step.content.1);
            response.body.extend_from_slice(content.unwrap_or_default());
            self.received.drain(..step.consumed);
            if step.consumed > 0 || step.done {
                continue;
            }
            match self.read().await {
                Ok(true) => {}
                Ok(false) if decoder.finish().is_ok() => break,
                Ok(false) => return Err(self.cut("closed", Some(response))),
                Err(error) => return Err(self.cut(&error.to_string(), Some(response))),
            }
        }
        let text = |(name, value): (&[u8], &[u8])| (latin1(name), latin1(value));
        response.trailers = decoder.trailers().iter().map(text).collect();
        Ok(response)
    }

    fn cut(&mut self, reason: &str, response: Option<Response>) -> Cut {
        let rest = latin1(&std::mem::take(&mut self.received));
        Cut { reason: reason.to_owned(), response, rest }
    }

    /// Reads some bytes: false at the end.
    async fn read(&mut self) -> io::Result<bool> {
        let reading = self.stream.read_buf(&mut self.received);
        match patiently(reading, "bytes").await {
            Some(result) => result.map(|count| count > 0),
            None => panic!("nothing comes; {}", self.so_far()),
        }
    }

    fn so_far(&self) -> String {
        format!("received and not read so far: {:?}", latin1(&self.received))
    }
}
