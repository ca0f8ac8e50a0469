//! Requests to Zookeeper and its answers: as much of its client protocol (version 0, encoded by
//! Jute, `zookeeper.jute` of Apache Zookeeper) as service discovery needs. Called by
//! `weir-control`, which has the sockets and the sessions.

/// The node is not there.
pub const NO_NODE: i32 = -101;
/// Credentials do not suffice.
pub const NO_AUTH: i32 = -102;
/// The node is there already.
pub const NODE_EXISTS: i32 = -110;
/// Number of the answer to a ping.
pub const PING: i32 = -2;
/// Number of the answer to [`Request::Login`].
pub const LOGIN: i32 = -4;
/// Number of what the server says of its own accord.
const EVENT: i32 = -1;
/// Children of one node that are taken at most.
const CHILDREN_MAX: usize = 1 << 20;

/// Why bytes make no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZookeeperError {
    /// They end too early, a length is negative, or a text is not UTF-8.
    Malformed,
    /// A message is longer than allowed.
    TooLong,
}

/// A request. Those that read also watch: the server tells of the next change of what was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'r> {
    /// The names of a node's children.
    Children(&'r str),
    /// A node's data.
    Data(&'r str),
    /// Whether there is a node; if not, its creation is watched.
    Exists(&'r str),
    /// Makes a node that everybody may read and change.
    Create {
        /// Where.
        path: &'r str,
        /// What it says.
        data: &'r [u8],
        /// It goes when the session ends.
        is_ephemeral: bool,
    },
    /// Removes a node, whatever its version.
    Delete(&'r str),
    /// Gives the session the rights of a user, by the scheme `digest`.
    Login {
        /// The name, which has no colon.
        user: &'r str,
        /// The password, as it is: the server makes the digest.
        password: &'r str,
    },
    /// Keeps the session.
    Ping,
    /// Ends the session; its ephemeral nodes go.
    Close,
}

/// A session that the server grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Time without a sign of the client after which the server ends the session; 0 refuses it.
    pub timeout_ms: u32,
    /// Its number.
    pub id: i64,
}

/// What the server sends in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'m> {
    /// The answer to a request.
    Answer {
        /// Number of the request.
        number: i32,
        /// 0 is good.
        code: i32,
        /// What depends on the request.
        body: &'m [u8],
    },
    /// What was watched at this path has changed.
    Changed(&'m str),
}

/// Appends the start of a session.
pub fn write_connect(timeout_ms: u32, out: &mut Vec<u8>) {
    framed(out, |out| {
        put_int(0, out); // version
        out.extend_from_slice(&0_i64.to_be_bytes()); // last transaction that was seen
        put_int(i32::try_from(timeout_ms).unwrap_or(i32::MAX), out);
        out.extend_from_slice(&0_i64.to_be_bytes()); // a new session
        put_bytes(&[0; 16], out); // its password
        out.push(0); // a server that can only read is of no use
    });
}

/// Appends a request with its number.
pub fn write_request(number: i32, request: Request<'_>, out: &mut Vec<u8>) {
    framed(out, |out| {
        let (number, operation) = match request {
            Request::Create { .. } => (number, 1),
            Request::Delete(_) => (number, 2),
            Request::Exists(_) => (number, 3),
            Request::Data(_) => (number, 4),
            Request::Children(_) => (number, 8),
            Request::Ping => (PING, 11),
            Request::Login { .. } => (LOGIN, 100),
            Request::Close => (number, -11),
        };
        put_int(number, out);
        put_int(operation, out);
        match request {
            Request::Children(path) | Request::Data(path) | Request::Exists(path) => {
                put_bytes(path.as_bytes(), out);
                out.push(1);
            }
            Request::Create { path, data, is_ephemeral } => {
                put_bytes(path.as_bytes(), out);
                put_bytes(data, out);
                put_int(1, out);
                put_int(31, out); // all rights
                put_bytes(b"world", out);
                put_bytes(b"anyone", out);
                put_int(i32::from(is_ephemeral), out);
            }
            Request::Delete(path) => {
                put_bytes(path.as_bytes(), out);
                put_int(-1, out);
            }
            Request::Login { user, password } => {
                put_int(0, out); // type, unused
                put_bytes(b"digest", out);
                put_bytes(format!("{user}:{password}").as_bytes(), out);
            }
            Request::Ping | Request::Close => {}
        }
    });
}

/// The first message in `bytes`, and how many bytes it takes; `None` if it is not yet whole.
///
/// # Errors
/// It is longer than `bytes_max`.
pub fn frame(bytes: &[u8], bytes_max: usize) -> Result<Option<(&[u8], usize)>, ZookeeperError> {
    let Some((length, rest)) = bytes.split_first_chunk() else { return Ok(None) };
    let length = usize::try_from(i32::from_be_bytes(*length));
    let length = length.map_err(|_| ZookeeperError::Malformed)?;
    if length > bytes_max {
        return Err(ZookeeperError::TooLong);
    }
    Ok(rest.get(..length).map(|message| (message, length + 4)))
}

/// The answer to [`write_connect`].
///
/// # Errors
/// It makes no sense.
pub fn granted(message: &[u8]) -> Result<Granted, ZookeeperError> {
    let mut rest = Rest(message);
    rest.int()?;
    let timeout_ms = u32::try_from(rest.int()?).unwrap_or(0);
    Ok(Granted { timeout_ms, id: rest.long()? })
}

/// A message after the first one.
///
/// # Errors
/// It makes no sense.
pub fn message(message: &[u8]) -> Result<Message<'_>, ZookeeperError> {
    let mut rest = Rest(message);
    let number = rest.int()?;
    rest.long()?;
    let code = rest.int()?;
    if number != EVENT {
        return Ok(Message::Answer { number, code, body: rest.0 });
    }
    rest.int()?; // what has happened: it is read again anyway
    rest.int()?; // how the session is
    Ok(Message::Changed(rest.text()?))
}

/// The names in an answer to [`Request::Children`].
///
/// # Errors
/// It makes no sense.
pub fn children(body: &[u8]) -> Result<Vec<String>, ZookeeperError> {
    let mut rest = Rest(body);
    let count = usize::try_from(rest.int()?).map_err(|_| ZookeeperError::Malformed)?;
    if count > CHILDREN_MAX {
        return Err(ZookeeperError::TooLong);
    }
    (0..count).map(|_| rest.text().map(str::to_owned)).collect()
}

/// The data in an answer to [`Request::Data`].
///
/// # Errors
/// It makes no sense.
pub fn data(body: &[u8]) -> Result<&[u8], ZookeeperError> {
    Rest(body).bytes()
}

/// What is left of a message.
struct Rest<'m>(&'m [u8]);

impl<'m> Rest<'m> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], ZookeeperError> {
        let (first, rest) = self.0.split_first_chunk().ok_or(ZookeeperError::Malformed)?;
        self.0 = rest;
        Ok(*first)
    }

    fn int(&mut self) -> Result<i32, ZookeeperError> {
        self.array().map(i32::from_be_bytes)
    }

    fn long(&mut self) -> Result<i64, ZookeeperError> {
        self.array().map(i64::from_be_bytes)
    }

    fn bytes(&mut self) -> Result<&'m [u8], ZookeeperError> {
        let length = self.int()?;
        // -1 stands for no bytes at all.
        let length = if length == -1 { Ok(0) } else { usize::try_from(length) };
        let length = length.map_err(|_| ZookeeperError::Malformed)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(ZookeeperError::Malformed)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn text(&mut self) -> Result<&'m str, ZookeeperError> {
        std::str::from_utf8(self.bytes()?).map_err(|_| ZookeeperError::Malformed)
    }
}

/// Writes a message with its length in front.
fn framed(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    put_int(0, out);
    write(out);
    let length = int(out.len() - start - 4);
    if let Some(place) = out.get_mut(start..start + 4) {
        place.copy_from_slice(&length.to_be_bytes());
    }
}

fn put_int(int: i32, out: &mut Vec<u8>) {
    out.extend_from_slice(&int.to_be_bytes());
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_int(int(bytes.len()), out);
    out.extend_from_slice(bytes);
}

fn int(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_as_they_are_on_the_wire() {
        let check = |request: Request<'_>, expected: &[u8]| {
            let mut out = vec![7];
            write_request(3, request, &mut out);
            let length = (expected.len() as i32).to_be_bytes();
            assert_eq!(out, [&[7][..], &length, expected].concat(), "{request:?}");
        };
        check(Request::Children("/a"), b"\0\0\0\x03\0\0\0\x08\0\0\0\x02/a\x01");
        check(Request::Delete("/a"), b"\0\0\0\x03\0\0\0\x02\0\0\0\x02/a\xff\xff\xff\xff");
        check(
            Request::Create { path: "/a", data: b"x", is_ephemeral: true },
            b"\0\0\0\x03\0\0\0\x01\0\0\0\x02/a\0\0\0\x01x\0\0\0\x01\0\0\0\x1f\0\0\0\x05world\
              \0\0\0\x06anyone\0\0\0\x01",
        );
        check(
            Request::Login { user: "u", password: "p" },
            b"\xff\xff\xff\xfc\0\0\0\x64\0\0\0\0\0\0\0\x06digest\0\0\0\x03u:p",
        );
        check(Request::Ping, b"\xff\xff\xff\xfe\0\0\0\x0b");
        check(Request::Close, b"\0\0\0\x03\xff\xff\xff\xf5");
        let mut out = Vec::new();
        write_connect(6_000, &mut out);
        assert_eq!((out.len(), &out[..4]), (49, &45_i32.to_be_bytes()[..]));
    }

    #[test]
    fn answers_are_read_and_nonsense_is_refused() {
        let grant = b"\0\0\0\0\0\0\x17\x70\0\0\0\0\0\0\0\x09\0\0\0\x10";
        assert_eq!(granted(grant), Ok(Granted { timeout_ms: 6_000, id: 9 }));
        let head = b"\0\0\0\x03\0\0\0\0\0\0\0\x01\0\0\0\0";
        let names = b"\0\0\0\x02\0\0\0\x01a\0\0\0\x02bc";
        let whole = [&head[..], names].concat();
        let expected = Message::Answer { number: 3, code: 0, body: names };
        assert_eq!(message(&whole), Ok(expected));
        assert_eq!(children(names), Ok(vec!["a".to_owned(), "bc".to_owned()]));
        assert_eq!(children(b"\0\0\0\x02\0\0\0\x01a"), Err(ZookeeperError::Malformed));
        assert_eq!(children(b"\x7f\xff\xff\xff"), Err(ZookeeperError::TooLong));
        assert_eq!(data(b"\0\0\0\x01xyz"), Ok(&b"x"[..]));
        assert_eq!(data(b"\xff\xff\xff\xff"), Ok(&b""[..]));
        assert_eq!(data(b"\xff\xff\xff\xfe"), Err(ZookeeperError::Malformed));
        let event = [&b"\xff\xff\xff\xff"[..], &[0xff; 8], &[0; 4], &[0; 8], b"\0\0\0\x02/a"];
        assert_eq!(message(&event.concat()), Ok(Message::Changed("/a")));
        assert_eq!(message(&whole[..15]), Err(ZookeeperError::Malformed));
    }

    #[test]
    fn messages_are_taken_when_they_are_whole() {
        let bytes = b"\0\0\0\x02ab\0\0";
        for end in 0..6 {
            assert_eq!(frame(&bytes[..end], 10), Ok(None), "{end}");
        }
        assert_eq!(frame(bytes, 10), Ok(Some((&b"ab"[..], 6))));
        assert_eq!(frame(bytes, 1), Err(ZookeeperError::TooLong));
        assert_eq!(frame(b"\xff\0\0\0", 1), Err(ZookeeperError::Malformed));
    }
}
