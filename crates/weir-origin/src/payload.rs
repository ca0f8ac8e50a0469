//! Response bodies: whole, or made while they are sent.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Interval, MissedTickBehavior, interval};

/// A response body.
pub(crate) enum Payload {
    /// The whole body at once.
    Whole(Full<Bytes>),
    /// So many bytes, the same ones for the same count.
    Pattern { left: u64 },
    /// So many lines; without a length, so chunked where the version allows.
    Lines { next: u64, count: u64, line: Box<dyn Fn(u64) -> String> },
    /// Server-sent events, one at each tick.
    Events { next: u64, count: u64, tick: Interval },
}

/// One period of [`Payload::Pattern`].
static PATTERN: [u8; PATTERN_BYTES] = pattern();

const PATTERN_BYTES: usize = 64 * 1024;

const fn pattern() -> [u8; PATTERN_BYTES] {
    let mut bytes = [0; PATTERN_BYTES];
    let mut at = 0;
    while at < PATTERN_BYTES {
        bytes[at] = b'a' + (at % 26) as u8;
        at += 1;
    }
    bytes
}

impl Payload {
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Whole(Full::new(bytes.into()))
    }

    pub(crate) fn events(period: Duration, count: u64) -> Self {
        // A period of 0 would panic.
        let mut tick = interval(period.max(Duration::from_millis(1)));
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self::Events { next: 0, count, tick }
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = match self.get_mut() {
            Self::Whole(body) => return Pin::new(body).poll_frame(context),
            Self::Pattern { left: 0 } => return Poll::Ready(None),
            Self::Pattern { left } => {
                let take = usize::try_from(*left).unwrap_or(usize::MAX).min(PATTERN_BYTES);
                *left -= take as u64;
                Bytes::from_static(PATTERN.get(..take).unwrap_or_default())
            }
            Self::Lines { next, count, .. } | Self::Events { next, count, .. } if next == count => {
                return Poll::Ready(None);
            }
            Self::Lines { next, line, .. } => {
                *next += 1;
                Bytes::from(line(*next - 1))
            }
            Self::Events { next, tick, .. } => {
                ready!(tick.poll_tick(context));
                *next += 1;
                Bytes::from(format!("id: {0}\ndata: {{\"id\": {0}}}\n\n", *next - 1))
            }
        };
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_end_stream(),
            Self::Pattern { left } => *left == 0,
            Self::Lines { next, count, .. } | Self::Events { next, count, .. } => next == count,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => body.size_hint(),
            Self::Pattern { left } => SizeHint::with_exact(*left),
            Self::Lines { .. } | Self::Events { .. } => SizeHint::default(),
        }
    }
}
