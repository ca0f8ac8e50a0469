//! Calls of gRPC methods for a route (JsonToGrpc): the control plane makes them, within the times
//! that the route has, and tells the balancer what came of them.

use std::sync::Arc;
use std::time::Duration;

use weir_filter::{Answer, GrpcCall, GrpcReply, Question, Target};
use weir_route::Route;
use weir_snapshot::{RouteTarget, Snapshot};

use super::ask::ask;
use super::choice::Balancer;
use super::client::Client;
use super::exchange::Exchange;
use crate::error::{ErrorKind, ProxyError};
use crate::pacer::now_ns;
use crate::worker::Worker;

/// How long a call may take where neither the route nor the gateway has a response timeout.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The status by which a server says that it does not serve now.
const UNAVAILABLE: u32 = 14;

/// Calls a method of `target`, an instance of `service` if it is one.
pub(super) async fn call(
    worker: &Worker,
    client: &mut Client,
    x: &mut Exchange,
    snapshot: &Snapshot,
    route: &Route<RouteTarget>,
    (target, service): (Arc<Target>, Option<Balancer<'_>>),
    mut call: GrpcCall,
) -> Result<Answer, ProxyError> {
    let (own, settings) = (route.target.timeouts(), &snapshot.settings);
    let connect = own.and_then(|own| own.connect).unwrap_or(settings.connect_timeout);
    let response = own.and_then(|own| own.response).unwrap_or(settings.response_timeout);
    call.connect_timeout_ms = whole_ms(connect);
    call.timeout_ms = whole_ms(response.unwrap_or(TIMEOUT));
    call.target = Some(Arc::clone(&target));
    let kind = match ask(worker, client, Question::Grpc(call)).await? {
        Answer::Grpc(GrpcReply::Unreached(why)) => {
            if let Some(service) = service {
                service.unreached(worker, &mut x.choice, &target);
            }
            return Err(ProxyError::with(ErrorKind::Connect, why));
        }
        Answer::Grpc(GrpcReply::Broken(why)) => (ErrorKind::UpstreamClosed, why),
        Answer::Grpc(GrpcReply::Late) => (ErrorKind::ResponseTimeout, String::new()),
        Answer::Nobody(why) => (ErrorKind::PoolExhausted, why),
        answer => {
            if let Some(choice) = &mut x.choice {
                choice.answered(status_of(&answer), now_ns());
            }
            return Ok(answer);
        }
    };
    Err(ProxyError::with(kind.0, kind.1))
}

/// What a balancer takes an answer for.
fn status_of(answer: &Answer) -> u16 {
    match answer {
        Answer::Grpc(GrpcReply::Status { code: UNAVAILABLE, .. }) => 503,
        _ => 200,
    }
}

fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)
}
