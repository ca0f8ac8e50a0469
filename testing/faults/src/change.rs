//! Routes and whole configurations that change under traffic.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use weir_testkit::{Client, Gateway, PATIENCE};

use crate::tally::{Size, Tally};
use crate::traffic::{Kind, Manners, Traffic, upstream};
use crate::weir::{Weir, config};

/// Keep-alive, short connections, uploads and WebSockets, none of which may notice anything.
const TRAFFIC: [(Kind, usize); 4] =
    [(Kind::KeepAlive, 2), (Kind::Short, 1), (Kind::Upload, 1), (Kind::WebSocket, 2)];
const MANNERS: Manners = Manners { pace: Duration::from_millis(1), until_closed: false };
/// Routes that come, change and go.
const ROUTES: usize = 10;

/// Route changes through the admin API: each serves as soon as it is acknowledged, and no request
/// of anybody fails.
pub(crate) async fn routes(weir: Weir, size: Size) -> Tally {
    let origin = upstream();
    let gateway = weir.before(origin.address(), "");
    let traffic = Traffic::start(gateway.address(), &TRAFFIC, MANNERS);
    let mut tally = Tally::default();
    let mut admin = Client::connect(gateway.admin()).await;
    let mut client = Client::connect(gateway.address()).await;
    let mut there = [false; ROUTES];
    for n in 0..size.of(100, 1_000) {
        let id = n % ROUTES;
        // Each route is changed in place twice, then deleted, then created again.
        let goes = there[id] && (n / ROUTES) % 4 == 3;
        there[id] = !goes;
        let (method, body) = match goes {
            true => ("DELETE", String::new()),
            false => ("POST", route(id, n, origin.address())),
        };
        let response = admin.exchange(change(method, id, &body)).await;
        let good = (200..300).contains(&response.status);
        tally.request(good, || format!("{method} {id}: {response:?}"));
        let seen = client.get(&format!("/ok/{id}")).await.field("X-Generation");
        let expected = (!goes).then(|| n.to_string());
        tally.request(seen == expected, || format!("{seen:?} instead of {expected:?}"));
    }
    tally.add(traffic.finish().tally);
    tally
}

fn route(id: usize, generation: usize, origin: SocketAddr) -> String {
    format!(
        r#"{{"uri":"http://{origin}","order":-1,
            "predicates":[{{"name":"Path","args":{{"patterns":"/ok/{id}"}}}}],
            "filters":[{{"name":"AddResponseHeader",
                "args":{{"name":"X-Generation","value":"{generation}"}}}}]}}"#
    )
}

fn change(method: &str, id: usize, body: &str) -> String {
    format!(
        "{method} /actuator/gateway/routes/r{id} HTTP/1.1\r\nHost: localhost\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Whole configurations, by SIGHUP and by a changed file: each comes to serve, and no request of
/// anybody fails.
pub(crate) async fn configurations(weir: Weir, size: Size) -> Tally {
    let origin = upstream();
    let gateway = weir.before(origin.address(), "");
    let traffic = Traffic::start(gateway.address(), &TRAFFIC, MANNERS);
    let mut tally = Tally::default();
    let before = config(origin.address(), "");
    for n in 0..size.of(10, 100) {
        let filters = format!(
            "predicates: [ 'Path=/**' ], filters: [ 'AddResponseHeader=X-Generation, {n}' ]"
        );
        let next = before.replace("predicates: [ 'Path=/**' ]", &filters);
        std::fs::write(gateway.config(), next).expect("a configuration file");
        // Every tenth is left to be noticed.
        if n % 10 != 9 {
            gateway.hang_up();
        }
        comes_to_serve(&mut tally, &gateway, n).await;
    }
    tally.add(traffic.finish().tally);
    tally
}

async fn comes_to_serve(tally: &mut Tally, gateway: &Gateway, generation: usize) {
    let mut client = Client::connect(gateway.address()).await;
    let since = Instant::now();
    loop {
        let response = client.get("/ok").await;
        tally.request(response.status == 200, || format!("{response:?}"));
        if response.field("X-Generation") == Some(generation.to_string()) {
            return;
        }
        if since.elapsed() > PATIENCE {
            tally.check(false, || format!("configuration {generation} does not come to serve"));
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
