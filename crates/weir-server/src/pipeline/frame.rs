//! A pipeline of messages that have a fixed length, or their length in front.
//!
//! Each client has its own connection to an upstream. Its messages go there one by one as the limit
//! admits them; responses are parsed only if something depends on where they end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use weir_limit::Way;
use weir_snapshot::FrameSettings;

use super::balance::connect;
use super::counters::PipelineCounters;
use super::end::End;
use super::lifetime::converse;
use super::near::{Cut, Near};
use super::turn::{Held, OwnLimit, Place, Ruling, pace};
use crate::http::buffers::ReadBuffer;

/// Messages of one client that may wait for their turn, and for their answers; beyond, it is not
/// read from.
const WAITING_MAX: usize = 256;
const WAITING_BYTES_MAX: usize = 1024 * 1024;
const UNANSWERED_MAX: usize = 4_096;
/// Messages in a row before others have their turn.
const TURN_MAX: usize = 128;

/// Serves a connection to its end.
pub(super) async fn serve(
    near: &mut Near,
    settings: &FrameSettings,
    counters: &PipelineCounters,
) -> Result<(), Cut> {
    let group = Arc::clone(&near.pipeline.upstream);
    let far = connect(near, &group).await?;
    let mut upstream = End::new(far.stream, far.carry, pace(near, Way::Down));
    upstream.push(&near.introduction());
    let pace = pace(near, Way::Up);
    let client = End::new(near.stream.take(), std::mem::take(&mut near.carry), pace);
    let limit = OwnLimit::of(near);
    let mut frames = Frames {
        settings,
        client,
        upstream,
        waiting: VecDeque::new(),
        waiting_bytes: 0,
        unanswered: VecDeque::new(),
        pairs: settings.refusal.is_some() || limit.as_ref().is_some_and(|own| own.valve.holds()),
        limit,
        counters,
    };
    converse(near, counters, |cx, scratch| {
        let polled = frames.poll(cx, scratch);
        (polled, frames.client.received_bytes, frames.upstream.received_bytes)
    })
    .await
}

/// A client's messages on their way to an upstream, and the answers.
struct Frames<'a> {
    settings: &'a FrameSettings,
    limit: Option<OwnLimit>,
    client: End,
    upstream: End,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    /// Messages that were forwarded or rejected and await a response, in order of arrival.
    unanswered: VecDeque<Unanswered>,
    /// Whether responses are parsed one by one.
    pairs: bool,
    counters: &'a PipelineCounters,
}

/// A message that is not at its turn.
struct Waiting {
    turn: Turn,
    message: Vec<u8>,
}

/// What becomes of a message once those in front of it are gone.
enum Turn {
    Passes,
    /// The limit decides.
    Comes(Place),
    Refused,
}

/// A message that is to be answered.
struct Unanswered {
    key: Vec<u8>,
    /// The response to a rejected message.
    refusal: Option<Vec<u8>>,
    _held: Option<Held>,
}

impl Frames<'_> {
    fn poll(&mut self, cx: &mut Context<'_>, scratch: &mut ReadBuffer) -> Poll<Result<(), Cut>> {
        for _ in 0..TURN_MAX {
            if self.requests(cx, scratch)? | self.replies(cx, scratch)? {
                continue;
            }
            let sent = self.flush();
            if self.client.failed || self.upstream.failed {
                return Poll::Ready(Ok(()));
            }
            if self.upstream.is_over && self.upstream.carry.is_empty() {
                // The upstream is gone: the client's other messages cannot be answered.
                self.client.end();
                self.client.flush();
                return match self.client.is_empty() {
                    true => Poll::Ready(Ok(())),
                    false => Poll::Pending,
                };
            }
            if !sent {
                return Poll::Pending;
            }
        }
        self.flush();
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn flush(&mut self) -> bool {
        self.client.flush() | self.upstream.flush()
    }

    /// Relays messages from the client to the upstream; returns whether any bytes moved.
    fn requests(&mut self, cx: &mut Context<'_>, scratch: &mut ReadBuffer) -> Result<bool, Cut> {
        let mut moved = self.pass(cx)?;
        let takes = self.upstream.has_room()
            && self.client.has_room()
            && self.waiting.len() < WAITING_MAX
            && self.waiting_bytes < WAITING_BYTES_MAX
            && self.unanswered.len() < UNANSWERED_MAX;
        if !takes {
            return Ok(moved);
        }
        let frame = self.settings.requests.next(self.client.carry.as_slice());
        match frame.map_err(|_| Cut::Broken)? {
            None if self.client.is_over => {
                if !self.client.carry.is_empty() {
                    return Err(Cut::Broken);
                }
                if self.waiting.is_empty() {
                    self.upstream.end();
                }
            }
            None => moved |= self.client.fill(cx, scratch),
            Some(frame) => {
                let message = self.client.carry.as_slice().get(..frame.len).unwrap_or_default();
                let message = message.to_vec();
                self.client.carry.consume(frame.len);
                moved = true;
                match frame.is_poll {
                    // It asks for the peer of its own connection.
                    true => self.client.push(&message),
                    false => self.arrive(message)?,
                }
            }
        }
        Ok(moved)
    }

    fn arrive(&mut self, message: Vec<u8>) -> Result<(), Cut> {
        self.counters.messages.fetch_add(1, Ordering::Relaxed);
        let ruling = self.limit.as_ref().map_or(Ruling::Pass, |limit| limit.arrive(message.len()));
        match ruling {
            Ruling::Pass if self.waiting.is_empty() => self.send(message),
            Ruling::Pass => self.wait(Turn::Passes, message),
            Ruling::Wait(place) => self.wait(Turn::Comes(place), message),
            Ruling::Refused if self.is_ordered() && !self.waiting.is_empty() => {
                self.wait(Turn::Refused, message);
            }
            Ruling::Refused => self.refuse(&message)?,
        }
        Ok(())
    }

    /// Whether responses and refusals must leave in the order of the messages.
    fn is_ordered(&self) -> bool {
        self.settings.refusal.is_some() && self.settings.requests.correlation.is_none()
    }

    fn wait(&mut self, turn: Turn, message: Vec<u8>) {
        self.waiting_bytes += message.len();
        self.waiting.push_back(Waiting { turn, message });
    }

    /// Sends the messages whose turn has come, in order of arrival.
    fn pass(&mut self, cx: &Context<'_>) -> Result<bool, Cut> {
        let mut moved = false;
        while self.upstream.has_room()
            && let Some(first) = self.waiting.front_mut()
        {
            let passes = match &mut first.turn {
                Turn::Passes => true,
                Turn::Refused => false,
                Turn::Comes(place) => match place.poll(cx) {
                    Poll::Ready(passes) => passes,
                    Poll::Pending => break,
                },
            };
            let Some(first) = self.waiting.pop_front() else { break };
            self.waiting_bytes -= first.message.len();
            match passes {
                true => self.send(first.message),
                false => self.refuse(&first.message)?,
            }
            moved = true;
        }
        Ok(moved)
    }

    fn send(&mut self, message: Vec<u8>) {
        let held = self.limit.as_ref().and_then(OwnLimit::hold);
        if self.pairs {
            let key = self.settings.requests.key(&message).unwrap_or_default().to_vec();
            self.unanswered.push_back(Unanswered { key, refusal: None, _held: held });
        }
        self.upstream.push(&message);
    }

    /// Rejects a message: at once if responses have keys, else after the responses to earlier
    /// messages.
    fn refuse(&mut self, message: &[u8]) -> Result<(), Cut> {
        let key = self.settings.requests.key(message).unwrap_or_default();
        let refusal = self.settings.refusal_to(key).ok_or(Cut::Limited)?;
        self.counters.limited.fetch_add(1, Ordering::Relaxed);
        if self.settings.requests.correlation.is_some() || self.unanswered.is_empty() {
            self.client.push(&refusal);
            return Ok(());
        }
        let refusal = Some(refusal);
        self.unanswered.push_back(Unanswered { key: Vec::new(), refusal, _held: None });
        Ok(())
    }

    /// Relays responses from the upstream to the client; returns whether any bytes moved.
    fn replies(&mut self, cx: &mut Context<'_>, scratch: &mut ReadBuffer) -> Result<bool, Cut> {
        if !self.client.has_room() {
            return Ok(false);
        }
        if !self.pairs && !self.settings.replies.poll {
            let moved = self.upstream.fill(cx, scratch);
            let bytes = self.upstream.carry.as_slice();
            self.client.push(bytes);
            let len = bytes.len();
            self.upstream.carry.consume(len);
            return Ok(moved);
        }
        let frame = self.settings.replies.next(self.upstream.carry.as_slice());
        let Some(frame) = frame.map_err(|_| Cut::Broken)? else {
            if self.upstream.is_over && !self.upstream.carry.is_empty() {
                return Err(Cut::Broken);
            }
            return Ok(self.upstream.fill(cx, scratch));
        };
        let message = self.upstream.carry.as_slice().get(..frame.len).unwrap_or_default();
        match frame.is_poll {
            true => {
                let message = message.to_vec();
                self.upstream.push(&message);
            }
            false => {
                self.client.push(message);
                let key = self.settings.replies.key(message).unwrap_or_default();
                let is_its = |one: &Unanswered| one.key == key;
                let answered = match self.settings.replies.correlation {
                    Some(_) => self.unanswered.iter().position(is_its),
                    None => Some(0),
                };
                if let Some(at) = answered {
                    self.unanswered.remove(at);
                }
            }
        }
        self.upstream.carry.consume(frame.len);
        while let Some(refusal) = self.unanswered.front_mut().and_then(|one| one.refusal.take()) {
            self.client.push(&refusal);
            self.unanswered.pop_front();
        }
        Ok(true)
    }
}
