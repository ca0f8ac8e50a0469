//! Clients that abort in the middle of an exchange.

use weir_testkit::{Answer, Body, Client, Gate, Gateway, Origin};

use crate::tally::{Size, Tally};
use crate::weir::{Weir, settles};

/// The phase in which a client aborts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Head,
    Body,
    Waiting,
    Response,
    Tunnel,
}

/// Clients that close or reset in each phase abort their upstream requests, and the gauges return
/// to zero.
pub(crate) async fn clients(weir: Weir, size: Size) -> Tally {
    let mut tally = Tally::default();
    for phase in [Phase::Head, Phase::Body, Phase::Waiting, Phase::Response, Phase::Tunnel] {
        let gate = Gate::new();
        let held = gate.clone();
        let origin = Origin::answering(move |_| answer(phase, &held)).await;
        let gateway = weir.before(origin.address(), "");
        let count = size.of(20, 200);
        let mut clients = Vec::new();
        for _ in 0..count {
            clients.push(begin(phase, &gateway).await);
        }
        let reached = if phase == Phase::Head { 0 } else { count };
        origin.wait_until(|origin| origin.requests().len() == reached).await;
        for (n, client) in clients.into_iter().enumerate() {
            // Clients alternate between close and reset.
            if n % 2 == 0 { drop(client) } else { client.reset() }
        }
        origin.wait_for_open(0).await;
        for got in origin.requests() {
            let cancelled = match phase {
                Phase::Body => got.body_state == Body::Cut,
                _ => got.abandoned,
            };
            tally.check(cancelled, || format!("{phase:?}: not cancelled: {got:?}"));
        }
        settles(&gateway, "weir_connections", 0.0).await;
        settles(&gateway, "weir_tunnels", 0.0).await;
        tally.requests += count as u64;
    }
    tally
}

fn answer(phase: Phase, held: &Gate) -> Answer {
    match phase {
        Phase::Head | Phase::Body | Phase::Waiting => Answer::nothing().pause(held),
        Phase::Response => {
            Answer::raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc").pause(held)
        }
        Phase::Tunnel => {
            let switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\
                Upgrade: chat\r\n\r\nabc";
            Answer::raw(switched).pause(held)
        }
    }
}

/// Brings a connection into the phase.
async fn begin(phase: Phase, gateway: &Gateway) -> Client {
    let mut client = Client::connect(gateway.address()).await;
    let request = match phase {
        Phase::Head => "GET / HTTP/1.1\r\nHost: a\r\nX-Half: ",
        Phase::Body => "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc",
        Phase::Waiting | Phase::Response => "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        Phase::Tunnel => {
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n"
        }
    };
    client.send(request).await;
    if matches!(phase, Phase::Response | Phase::Tunnel) {
        client.read_interim().await;
        client.read_exactly(3).await;
    }
    client
}
