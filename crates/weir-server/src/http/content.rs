//! Bodies that filters change: collected up to a bound, edited, and sent on with another length.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};

use weir_filter::{Answer, Encoder, FilterError, LocalResponse, Side, decoded};
use weir_route::Route;
use weir_snapshot::{RouteTarget, Settings, Snapshot};
use weir_wire::http1::{BodyDecoder, BodyKind, Connection, RequestFraming, ResponseFraming};

use super::cached;
use super::compared::{self, Fate};
use super::downstream::Client;
use super::exchange::{BodyRead, Exchange, Next};
use super::forward::Outgoing;
use super::local::{answer, filter_response, send};
use super::replay::{Body, content_of, keep_body, put_aside};
use super::respond::relay;
use super::upstream::{Upstream, keep, poll_gone};
use crate::drain::Phase;
use crate::error::{ErrorKind, ProxyError, body_error_text};
use crate::net::poll_read;
use crate::worker::Worker;

pub(super) fn failed(error: FilterError) -> ProxyError {
    ProxyError::with(ErrorKind::Filter, error.0)
}

/// Has the filters of `route` change the body of a request, and puts it back in front of what else
/// the client sent. Gives how it is framed now.
pub(super) async fn edit_request(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    framing: RequestFraming,
    snapshot: &Snapshot,
    route: &Route<RouteTarget>,
) -> Result<RequestFraming, ProxyError> {
    let (chain, settings) = (&route.target.chain, &snapshot.settings);
    let field = |name: &[u8]| x.request.fields.get(name).unwrap_or_default().to_vec();
    let (content_type, encoding) = (field(b"content-type"), field(b"content-encoding"));
    let is_empty = matches!(framing.body, BodyKind::None | BodyKind::Length(0));
    if is_empty || framing.upgrade || !chain.edits(Side::Request, &content_type) {
        return Ok(framing);
    }
    let max = settings.kept_body_bytes_max;
    let Body::Kept(raw) = keep_body(worker, client, x, framing, settings, true).await? else {
        return Err(ProxyError::new(ErrorKind::BodyTooLarge(max as u64)));
    };
    let content = content_of(framing, &raw)?;
    let edited = chain.edit(Side::Request, (&content_type, &encoding), content, max);
    let edited = edited.map_err(failed)?;
    client.carry.consume(raw.len());
    client.carry.put_back(&edited);
    // What lies there is not what the client's framing tells of.
    x.record.is_replaced = true;
    x.request.fields.remove(b"content-encoding");
    x.request.fields.set(b"content-length", edited.len().to_string().as_bytes());
    let body = BodyKind::Length(edited.len() as u64);
    Ok(RequestFraming { body, expect_continue: false, ..framing })
}

/// Reads the content of a request for a filter that looks at it. The body stays where it is, and
/// is sent on as it came.
pub(super) async fn look(
    worker: &Worker,
    client: &mut Client,
    x: &mut Exchange,
    framing: &mut RequestFraming,
    settings: &Settings,
) -> Result<Answer, ProxyError> {
    let max = settings.kept_body_bytes_max;
    let body = keep_body(worker, client, x, *framing, settings, true).await?;
    // The client was told to go on, unless the length alone is too much.
    framing.expect_continue &= x.request.fields.contains(b"expect");
    let Body::Kept(raw) = body else { return Ok(Answer::ContentTooLong(max)) };
    let content = content_of(*framing, &raw)?;
    let encoding = x.request.fields.get(b"content-encoding").unwrap_or_default();
    Ok(match decoded(encoding, content, max) {
        Ok(content) => Answer::Content(content),
        Err(error) => Answer::Nobody(error.0),
    })
}

/// Applies the body filters of `route` to a response made in the gateway.
pub(super) fn edit_local(
    local: &mut LocalResponse,
    route: &Route<RouteTarget>,
    max: usize,
) -> Result<(), ProxyError> {
    let is_type = |(name, _): &&(String, Vec<u8>)| name.eq_ignore_ascii_case("content-type");
    let content_type = local.fields.iter().find(is_type).map(|(_, value)| value.clone());
    let content_type = content_type.unwrap_or_default();
    let chain = &route.target.chain;
    if chain.takes_response() && chain.edits(Side::Response, &content_type) {
        let content = std::mem::take(&mut local.body);
        let edited = chain.edit(Side::Response, (&content_type, b""), content, max);
        local.body = edited.map_err(failed)?;
    }
    Ok(())
}

/// Collects a response whose head is there, keeps it in the cache, has it changed, and sends it;
/// one that nobody wants whole is relayed.
pub(super) async fn collected(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    outgoing: &Outgoing<'_>,
    route: &Route<RouteTarget>,
    mut upstream: Box<Upstream>,
    response: ResponseFraming,
) -> Result<Next, ProxyError> {
    let (framing, snapshot) = (outgoing.framing, outgoing.snapshot);
    if cached::replaces_error(worker, x) {
        put_aside(worker, x, outgoing, upstream, response);
        let error = ProxyError::new(ErrorKind::UpstreamClosed);
        return cached::rescue(worker, client, x, framing, snapshot, route, error).await;
    }
    let may_have_body =
        !matches!(x.response.status, 101 | 204 | 304) && x.request.method() != b"HEAD";
    let is_empty = matches!(response.body, BodyKind::None | BodyKind::Length(0));
    let content_type = x.response.fields.get(b"content-type").unwrap_or_default();
    let edits =
        may_have_body && !is_empty && route.target.chain.edits(Side::Response, content_type);
    let kept_max = match may_have_body {
        true => cached::wants(worker, x, response.body),
        false => {
            cached::dismiss(worker, x);
            None
        }
    };
    let fate = compared::head(worker, x, route, may_have_body && !is_empty);
    let reads = matches!(fate, Fate::NeedsContent);
    if let Fate::Refused(local) = fate {
        return refuse(worker, client, x, outgoing, route, (upstream, response), &local).await;
    }
    let own_max = snapshot.settings.kept_body_bytes_max;
    let Some(max) = (edits || reads).then_some(own_max).or(kept_max) else {
        return relay(worker, client, x, outgoing, route, upstream, response).await;
    };
    let Some(content) = collect(worker, client, x, &mut upstream, response.body, max).await? else {
        cached::dismiss(worker, x);
        if reads && let Fate::Refused(local) = compared::unread(worker, x, route) {
            return refuse(worker, client, x, outgoing, route, (upstream, response), &local).await;
        }
        if edits {
            let why =
                format!("the response is longer than the {max} bytes that filters may change");
            return Err(ProxyError::with(ErrorKind::Filter, why));
        }
        return relay(worker, client, x, outgoing, route, upstream, response).await;
    };
    if reads && let Fate::Refused(local) = compared::whole(worker, x, route, &content, own_max) {
        return refuse(worker, client, x, outgoing, route, (upstream, response), &local).await;
    }
    release(worker, x, outgoing, upstream, response);
    snapshot.forwarding.response(&mut x.response, false);
    worker.identity.pass_back(&mut x.response, &snapshot.settings.via);
    match kept_max {
        Some(kept_max) if content.len() <= kept_max => cached::keep(worker, x, &content),
        _ => cached::dismiss(worker, x),
    }
    finish_with(worker, client, x, framing, snapshot, route, content).await
}

/// Answers in the place of a response, whose connection is not used again.
async fn refuse(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    outgoing: &Outgoing<'_>,
    route: &Route<RouteTarget>,
    (upstream, response): (Box<Upstream>, ResponseFraming),
    local: &LocalResponse,
) -> Result<Next, ProxyError> {
    cached::dismiss(worker, x);
    put_aside(worker, x, outgoing, upstream, response);
    x.record.body = if x.upload.is_done() { BodyRead::Whole } else { BodyRead::Partly };
    let (framing, snapshot) = (outgoing.framing, outgoing.snapshot);
    answer(worker, client, x, framing, snapshot, Some(route), (local, 0)).await
}

/// Edits the body of a response, applies the response filters to its head, and sends it.
pub(super) async fn finish_with(
    worker: &Rc<Worker>,
    client: &mut Client,
    x: &mut Exchange,
    framing: RequestFraming,
    snapshot: &Snapshot,
    route: &Route<RouteTarget>,
    mut content: Vec<u8>,
) -> Result<Next, ProxyError> {
    let chain = &route.target.chain;
    let content_type = x.response.fields.get(b"content-type").unwrap_or_default();
    if !content.is_empty() && chain.edits(Side::Response, content_type) {
        let encoding = x.response.fields.get(b"content-encoding").unwrap_or_default();
        let max = snapshot.settings.kept_body_bytes_max;
        content =
            chain.edit(Side::Response, (content_type, encoding), content, max).map_err(failed)?;
        x.response.fields.remove(b"content-encoding");
    }
    filter_response(x, Some(route))?;
    if let Some(compress) = chain.compress().filter(|_| x.request.method() != b"HEAD")
        && let Some(coding) =
            compress.apply(&x.request, &mut x.response, Some(content.len() as u64))
    {
        let mut encoder = Encoder::new(coding).map_err(failed)?;
        encoder.write(&content);
        content = encoder.finish();
    }
    send(worker, client, x, Some(framing), snapshot, &content, 0).await
}

/// Reads a response's body to its end, while what is left of the request is sent. `None` if it has
/// more than `max` bytes of content; then all that came is still in the upstream's carry.
pub(super) async fn collect(
    worker: &Worker,
    client: &mut Client,
    x: &mut Exchange,
    upstream: &mut Upstream,
    kind: BodyKind,
    max: usize,
) -> Result<Option<Vec<u8>>, ProxyError> {
    if matches!(kind, BodyKind::Length(length) if length > max as u64) {
        return Ok(None);
    }
    upstream.carry.keep();
    let mut collecting =
        Collecting { decoder: BodyDecoder::new(kind), content: Vec::new(), used: 0 };
    let polled = |cx: &mut Context<'_>| collecting.poll(cx, worker, client, x, upstream, max);
    let fits = poll_fn(polled).await?;
    if !fits {
        return Ok(None);
    }
    upstream.carry.consume(collecting.used);
    Ok(Some(collecting.content))
}

struct Collecting {
    decoder: BodyDecoder,
    content: Vec<u8>,
    /// Bytes of the carry that have been decoded.
    used: usize,
}

impl Collecting {
    /// Whether the body is whole (`true`) or has too much content.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        worker: &Worker,
        client: &mut Client,
        x: &mut Exchange,
        upstream: &mut Upstream,
        max: usize,
    ) -> Poll<Result<bool, ProxyError>> {
        let mut scratch = worker.scratch.borrow_mut();
        if !x.upload.is_done() {
            let (from, to) = (&mut client.stream, &mut upstream.stream);
            // A broken upload ends by itself; the response decides how the exchange ends.
            let _ = x.upload.poll(cx, from, &mut client.carry, to, &mut scratch);
        }
        loop {
            self.decode(upstream.carry.as_slice())?;
            if self.content.len() > max {
                return Poll::Ready(Ok(false));
            }
            if self.decoder.is_done() {
                return Poll::Ready(Ok(true));
            }
            match poll_read(&mut upstream.stream, scratch.buffer()) {
                Poll::Ready(Ok(0)) => {
                    let ended = self.decoder.finish();
                    let cut = |_| ProxyError::new(ErrorKind::UpstreamClosed);
                    return Poll::Ready(ended.map(|_| true).map_err(cut));
                }
                Poll::Ready(Err(_)) => {
                    return Poll::Ready(Err(ProxyError::new(ErrorKind::UpstreamClosed)));
                }
                Poll::Ready(Ok(count)) => upstream.carry.push(scratch.read(count)),
                Poll::Pending => break,
            }
        }
        drop(scratch);
        let gone = x.upload.is_done() && poll_gone(worker, client);
        if gone || worker.drain.phase() == Phase::Stopped {
            return Poll::Ready(Err(ProxyError::new(ErrorKind::ClientGone)));
        }
        Poll::Pending
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<(), ProxyError> {
        while !self.decoder.is_done() {
            let rest = bytes.get(self.used..).unwrap_or_default();
            let step = self.decoder.step(rest).map_err(|error| {
                ProxyError::with(ErrorKind::BadResponse, body_error_text(error))
            })?;
            let (start, end) = step.content;
            self.content.extend_from_slice(rest.get(start..end).unwrap_or_default());
            self.used += step.consumed;
            if step.consumed == 0 {
                break;
            }
        }
        Ok(())
    }
}

/// Keeps the connection of a response that was read to its end, if it can be.
pub(super) fn release(
    worker: &Worker,
    x: &mut Exchange,
    outgoing: &Outgoing<'_>,
    upstream: Box<Upstream>,
    response: ResponseFraming,
) {
    let is_sent = x.upload.is_done();
    x.record.body = if is_sent { BodyRead::Whole } else { BodyRead::Partly };
    let reusable = response.connection == Connection::KeepAlive
        && is_sent
        && response.body != BodyKind::UntilClose
        && upstream.carry.is_empty()
        && !outgoing.framing.upgrade
        && !worker.files.is_short();
    if reusable {
        keep(upstream, &outgoing.snapshot.settings.pool, worker.deadlines.now_ms());
    }
}
