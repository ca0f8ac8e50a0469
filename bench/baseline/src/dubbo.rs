//! Dubbo2 peers that cost little: a provider that answers each call by its own body, and a consumer
//! that keeps some calls under way on each of its connections and compares what comes back.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use anyhow::{Context, ensure};
use weir_wire::dubbo::{
    HEAD_BYTES, HESSIAN2, Head, Status, parse_head, set_id, write_heartbeat_reply,
};

use crate::net::SCRATCH_BYTES;

/// Most bytes of a body.
const BODY_MAX: usize = 1 << 20;
const RESPONSE: u8 = HESSIAN2;
/// `org.demo.Greeter.say("hello")`, two-way, as a consumer of Dubbo 3 writes it in Hessian 2.
const CALL: &[u8] = b"\xda\xbb\xc2\0\0\0\0\0\0\0\0\0\0\0\0\x7a\x052.0.2\x10org.demo.Greeter\x050.0.0\
    \x03say\x12Ljava/lang/String;\x05helloH\x04path\x10org.demo.Greeter\x12remote.application\x06caller\
    \x07timeout\x0510000Z";

/// Answers until the process is ended; a thread for each connection.
///
/// # Errors
/// The address cannot be had.
pub fn answer(listen: SocketAddr) -> anyhow::Result<()> {
    let listener = TcpListener::bind(listen)?;
    println!("listening {}", listener.local_addr()?);
    for stream in listener.incoming() {
        let stream = stream?;
        // One that breaks is over; the others go on.
        thread::spawn(move || serve(stream));
    }
    Ok(())
}

fn serve(mut stream: TcpStream) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let mut messages = Messages::default();
    let mut out = Vec::new();
    while messages.more(&mut stream)? {
        out.clear();
        messages.each(|head, bytes| {
            ensure!(head.is_request, "not a call");
            if head.event {
                write_heartbeat_reply(&mut out, head);
                return Ok(());
            }
            let start = out.len();
            out.extend_from_slice(bytes);
            if let Some([_, _, flags, status, ..]) = out.get_mut(start..) {
                (*flags, *status) = (RESPONSE, Status::Ok.code());
            }
            Ok(())
        })?;
        stream.write_all(&out)?;
    }
    Ok(())
}

/// Makes `calls` calls over `connections`, each of which has `depth` calls under way.
///
/// # Errors
/// A connection ends, or an answer is not that of a call.
pub fn load(to: SocketAddr, connections: u64, depth: u64, calls: u64) -> anyhow::Result<()> {
    ensure!(connections > 0 && depth > 0, "at least one connection and one call");
    let threads: Vec<_> = (0..connections)
        .map(|n| {
            let share = calls / connections + u64::from(n < calls % connections);
            thread::spawn(move || call(to, depth, share))
        })
        .collect();
    for thread in threads {
        thread.join().ok().context("a thread failed")??;
    }
    println!("calls {calls}");
    Ok(())
}

/// Every connection uses the same ids.
fn call(to: SocketAddr, depth: u64, calls: u64) -> anyhow::Result<()> {
    let mut stream = TcpStream::connect(to)?;
    stream.set_nodelay(true)?;
    let mut messages = Messages::default();
    let (mut asked, mut answered) = (0, 0);
    let mut waits = vec![false; usize::try_from(calls)?];
    let mut out = Vec::new();
    while answered < calls {
        out.clear();
        while asked < calls && asked - answered < depth {
            let start = out.len();
            out.extend_from_slice(CALL);
            if let Some(head) = out.get_mut(start..).and_then(<[u8]>::first_chunk_mut) {
                set_id(head, asked);
            }
            waits[usize::try_from(asked)?] = true;
            asked += 1;
        }
        stream.write_all(&out)?;
        ensure!(messages.more(&mut stream)?, "the connection ended");
        messages.each(|head, bytes| {
            if head.event {
                return Ok(());
            }
            let waited = waits.get_mut(usize::try_from(head.id)?).map(std::mem::take);
            let is_right = waited == Some(true)
                && !head.is_request
                && head.status == Status::Ok.code()
                && bytes.get(HEAD_BYTES..) == CALL.get(HEAD_BYTES..);
            ensure!(is_right, "{head:?} is not the answer to a call");
            answered += 1;
            Ok(())
        })?;
    }
    Ok(())
}

/// What came on a connection, in whole messages.
#[derive(Default)]
struct Messages {
    bytes: Vec<u8>,
    scratch: Vec<u8>,
}

impl Messages {
    /// Reads once; tells whether the peer goes on.
    fn more(&mut self, stream: &mut TcpStream) -> anyhow::Result<bool> {
        self.scratch.resize(SCRATCH_BYTES, 0);
        let count = stream.read(&mut self.scratch)?;
        self.bytes.extend_from_slice(self.scratch.get(..count).unwrap_or_default());
        Ok(count > 0)
    }

    /// Gives out every whole message.
    fn each(
        &mut self,
        mut take: impl FnMut(&Head, &[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut used = 0;
        loop {
            let rest = self.bytes.get(used..).unwrap_or_default();
            let Some(head) = parse_head(rest, BODY_MAX)? else { break };
            let Some(message) = rest.get(..head.message_len()) else { break };
            take(&head, message)?;
            used += message.len();
        }
        self.bytes.drain(..used);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use weir_wire::dubbo::{Call, HEAD_BYTES, HESSIAN2, parse_head};

    use super::{BODY_MAX, CALL};

    #[test]
    fn the_call_is_one_that_can_be_read() {
        let head = parse_head(CALL, BODY_MAX).expect("magic").expect("whole");
        assert_eq!(head.message_len(), CALL.len());
        assert!(head.wants_reply());
        let call = Call::peek(HESSIAN2, &CALL[HEAD_BYTES..]).expect("a call");
        assert_eq!((&*call.service, &*call.method), ("org.demo.Greeter", "say"));
    }
}
