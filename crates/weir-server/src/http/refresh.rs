//! Refresh of a stale cached response in the background, after the client got the stale one
//! (`stale-while-revalidate`, RFC 5861).
//!
//! The fetch is an exchange with the route's breaker, retries and load balancing, but without a
//! client: its response is only cached.

use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use weir_filter::Target;
use weir_route::{Predicates, Route};
use weir_snapshot::{RouteTarget, Snapshot, Upstream as RouteUpstream};
use weir_wire::http1::RequestFraming;

use super::attempts::Attempts;
use super::buffers::Carry;
use super::choice::{Balancer, end};
use super::client::Client;
use super::exchange::{Exchange, Storing};
use super::panic::contained;
use crate::executor::spawn;
use crate::net::Socket;
use crate::worker::{HeldSnapshot, Worker};

/// Refreshes of one worker at a time; beyond, the old response is given without one.
const REFRESHES_MAX: usize = 64;

/// Destination of a request.
#[derive(Clone, Copy)]
pub(super) struct Onward<'s> {
    pub(super) route: &'s Route<RouteTarget>,
    pub(super) target: &'s Arc<Target>,
    /// The service that `target` is an instance of.
    pub(super) service: Option<Balancer<'s>>,
    /// A filter took `target` from the request.
    pub(super) chosen: bool,
    pub(super) preserve_host: bool,
}

/// Starts a refresh of `storing`'s cache entry, unless the maximum number of refreshes is running.
pub(super) fn begin(
    worker: &Rc<Worker>,
    client: &Client,
    x: &mut Exchange,
    framing: RequestFraming,
    snapshot: &Snapshot,
    to: Onward<'_>,
    storing: Storing,
) {
    let held = worker.snapshot();
    // Under another configuration the next request will do.
    let is_same = std::ptr::eq(&**held, snapshot);
    let Some(route) = kept_of(to.route).filter(|_| is_same) else { return };
    if Rc::strong_count(&worker.refreshes) > REFRESHES_MAX {
        return;
    }
    let mut own = worker.take_exchange();
    own.request = x.request.clone();
    // Unconditional: the response is cached for all clients, not only for this one.
    own.request.fields.remove(b"if-none-match");
    own.request.fields.remove(b"if-modified-since");
    own.client_host.clone_from(&x.client_host);
    own.choice = x.choice.take();
    own.storing = Some(Box::new(storing));
    own.is_refresh = true;
    let client = Client {
        stream: Socket::nobody(),
        peer: client.peer,
        carry: Carry::default(),
        deadline: worker.deadline(),
        keep_alive: client.keep_alive,
        requests: 0,
        ended: false,
        refused: false,
    };
    let to = (Arc::clone(to.target), to.service.is_some(), to.chosen, to.preserve_host);
    let refresh = run(Rc::clone(worker), held, (route, to), own, client, framing);
    // Not started: others may fetch, as the flight is over.
    let _ = spawn(refresh);
}

/// An owned copy of the route for a spawned task; `None` if it does not lead to an upstream.
fn kept_of(route: &Route<RouteTarget>) -> Option<Route<RouteTarget>> {
    let upstream = match &route.target.upstream {
        RouteUpstream::Http(target) => RouteUpstream::Http(Arc::clone(target)),
        RouteUpstream::Balanced(service) => RouteUpstream::Balanced(Arc::clone(service)),
        RouteUpstream::Clustered(cluster) => RouteUpstream::Clustered(Arc::clone(cluster)),
        RouteUpstream::Forward(_) | RouteUpstream::Mock(_) | RouteUpstream::None => return None,
    };
    let of = &route.target;
    let series = AtomicU32::new(of.series.load(Ordering::Relaxed));
    let (chain, policy) = (of.chain.clone(), of.policy.clone());
    Some(Route {
        group: route.group.clone(),
        position: route.position,
        order: route.order,
        target: RouteTarget { chain, upstream, policy, series },
        // The route has already matched.
        predicates: Predicates::default(),
        id: Arc::clone(&route.id),
    })
}

async fn run(
    worker: Rc<Worker>,
    snapshot: HeldSnapshot,
    (route, to): (Route<RouteTarget>, (Arc<Target>, bool, bool, bool)),
    mut x: Box<Exchange>,
    mut client: Client,
    framing: RequestFraming,
) {
    let _running = Rc::clone(&worker.refreshes);
    let (target, is_balanced, chosen, preserve_host) = to;
    let service = match &route.target.upstream {
        RouteUpstream::Balanced(service) if is_balanced => Some(Balancer::Service(service)),
        RouteUpstream::Clustered(cluster) if is_balanced => Some(Balancer::Cluster(cluster)),
        _ => None,
    };
    let call = Attempts::new(&worker, &snapshot, &route, framing, preserve_host);
    let called = call.run(&mut client, &mut x, (target, service, chosen));
    let outcome = contained(pin!(called)).await;
    match outcome {
        Some(Ok(_)) => {}
        Some(Err(error)) => {
            tracing::debug!(route = %route.id, "no fresh response for the cache: {error:?}");
            x.record.error = Some(error.kind);
        }
        // The exchange stopped at an unknown point: none of its state is reused.
        None => return,
    }
    if x.choice.is_some() {
        end(&mut x);
    }
    worker.give_exchange(x);
}
