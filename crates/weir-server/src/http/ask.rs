//! A request whose filter asked something: it waits for the answer, within the question's bound.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::oneshot;
use weir_filter::{Answer, Question};

use super::client::Client;
use super::replay::pause;
use crate::drain::Phase;
use crate::error::{ErrorKind, ProxyError};
use crate::pacer::now_ns;
use crate::worker::Worker;

/// Interval at which a waiting client is checked for having disconnected.
const LOOK: Duration = Duration::from_millis(250);

/// Asks, and waits for the answer.
pub(super) async fn ask(
    worker: &Worker,
    client: &mut Client,
    question: Question,
) -> Result<Answer, ProxyError> {
    if let Question::Pause(ms) = question {
        pause(worker, client, ms).await?;
        return Ok(Answer::Passed);
    }
    let (kind, timeout_ms) = (question.kind(), question.timeout_ms());
    let (sender, receiver) = oneshot::channel();
    let sent = worker.inquiries.as_ref().map(|inquiries| inquiries.try_send((question, sender)));
    let answer = match sent {
        Some(Ok(())) => wait(worker, client, receiver, timeout_ms).await?,
        Some(Err(_)) => Answer::Nobody("too many questions wait for an answer".to_owned()),
        None => Answer::Nobody("there is no control plane".to_owned()),
    };
    worker.counters.asked(kind, !matches!(answer, Answer::Nobody(_)));
    if let Answer::Nobody(why) = &answer {
        tracing::debug!(kind, "no answer: {why}");
    }
    Ok(answer)
}

async fn wait(
    worker: &Worker,
    client: &mut Client,
    receiver: oneshot::Receiver<Answer>,
    timeout_ms: u64,
) -> Result<Answer, ProxyError> {
    let until_ns = now_ns().saturating_add(timeout_ms.saturating_mul(1_000_000));
    let look = |now_ns: u64| LOOK.min(Duration::from_nanos(until_ns.saturating_sub(now_ns)));
    let mut receiver = pin!(receiver);
    worker.deadlines.refresh();
    client.deadline.set(look(now_ns()));
    let answer = poll_fn(|cx| {
        if let Poll::Ready(answer) = receiver.as_mut().poll(cx) {
            let gone = || Answer::Nobody("the control plane gave the question up".to_owned());
            return Poll::Ready(Some(answer.unwrap_or_else(|_| gone())));
        }
        if worker.drain.phase() == Phase::Stopped {
            return Poll::Ready(None);
        }
        while client.deadline.poll(cx) {
            if client.stream.has_hung_up() {
                return Poll::Ready(None);
            }
            let now_ns = now_ns();
            if now_ns >= until_ns {
                let why = format!("not within {timeout_ms} ms");
                return Poll::Ready(Some(Answer::Nobody(why)));
            }
            client.deadline.set(look(now_ns));
        }
        Poll::Pending
    })
    .await;
    client.deadline.clear();
    answer.ok_or_else(|| ProxyError::new(ErrorKind::ClientGone))
}
