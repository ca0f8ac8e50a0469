//! A panic ends one request only.
//!
//! Our code should not panic, and lints enforce that; but one bug in a filter must not cost a
//! worker's other connections.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use weir_wire::RequestHead;

use crate::executor::caught;

/// Output of `work`; `None` if it panics, which is logged.
///
/// Its state is left as it was at the panic. Shared worker state stays valid: cells are borrowed
/// only while a value lives, and scratch memory is cleared before use.
pub(super) async fn contained<T>(mut work: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    poll_fn(|cx| match caught("a request", || work.as_mut().poll(cx)) {
        Some(polled) => polled.map(Some),
        None => Poll::Ready(None),
    })
    .await
}

/// Panics in tests for a request that names `place` in `X-Panic`; otherwise a no-op.
#[inline]
pub(super) fn point(place: &str, head: &RequestHead) {
    #[cfg(test)]
    if head.fields.get(b"x-panic") == Some(place.as_bytes()) {
        panic!("a fault in {place}");
    }
    let _ = (place, head);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use arc_swap::ArcSwap;
    use weir_config::{Format, Loader, Source};
    use weir_limit::Valves;
    use weir_testkit::{Answer, Client, Gate, Origin};

    use crate::worker::CROWD;
    use crate::{Server, ServerOptions};

    fn server(origin: &Origin, acceptors: usize, valves: &Arc<Valves>) -> Server {
        let yaml = format!(
            "server: {{ address: 127.0.0.1, port: 0 }}\n\
             weir.server: {{ workers: 1, acceptors: {acceptors} }}\n\
             spring.cloud.gateway.server.webflux.routes:\n\
             - id: waiting\n  uri: '{uri}'\n  predicates: [ 'Path=/waiting' ]\n  filters:\n  \
               - {{ name: Throttle, args: {{ rate: 1/h, max-wait: 1000h }} }}\n\
             - id: all\n  uri: '{uri}'\n  predicates: [ 'Path=/**' ]\n",
            uri = origin.uri()
        );
        let mut loader = Loader::new(Vec::new(), &[], Vec::new()).with_limits(valves);
        loader.add(Source::new("application.yml", yaml, Format::Yaml));
        let mut loaded = loader.load();
        let compiled = loaded.compile();
        let snapshot = loaded.compiler.snapshot(compiled.routes);
        let snapshot = Arc::new(ArcSwap::from_pointee(snapshot));
        let server = Server::start(
            &snapshot,
            &ServerOptions {
                seed: 1,
                reserved: None,
                admin: None,
                inquiries: None,
                recorder: Arc::default(),
            },
        );
        server.expect("a server")
    }

    fn request(place: &str) -> String {
        format!("GET / HTTP/1.1\r\nHost: a\r\nX-Panic: {place}\r\n\r\n")
    }

    /// One request panics at `place` while another, on the same worker, waits for its answer.
    async fn check(acceptors: usize, place: &str, expected: Option<u16>) {
        let gate = Gate::new();
        let held = gate.clone();
        let origin = Origin::answering(move |got| match got.target().as_str() {
            "/held" => Answer::nothing().pause(&held).write("HTTP/1.1 204 No Content\r\n\r\n"),
            _ => Answer::ok(),
        })
        .await;
        let server = server(&origin, acceptors, &Arc::default());
        let mut neighbour = Client::connect(server.address().expect("a listener")).await;
        neighbour.send("GET /held HTTP/1.1\r\nHost: a\r\n\r\n").await;
        gate.wait_for(1).await;
        let mut client = Client::connect(server.address().expect("a listener")).await;
        client.send(request(place)).await;
        let got = client.try_read_response_to("GET").await;
        assert_eq!(got.as_ref().ok().map(|got| got.status), expected, "{place}: {got:?}");
        client.expect_closed().await;
        gate.open();
        assert_eq!(neighbour.read_response_to("GET").await.status, 204, "{place}");
        assert_eq!(neighbour.get("/").await.status, 200, "{place}");
        drop((client, neighbour));
        let metrics = server.metrics().clone();
        let cut = tokio::task::spawn_blocking(|| server.finish(Duration::from_secs(10), || false));
        assert_eq!(cut.await.expect("a stop"), 0, "{place}");
        let metrics = metrics.prometheus(1);
        assert!(metrics.contains("weir_errors_total{kind=\"panic\"} 1\n"), "{metrics}");
        assert!(metrics.contains("weir_requests_total 3\n"), "{metrics}");
    }

    #[tokio::test]
    async fn a_panic_costs_one_request() {
        for acceptors in [0, 1] {
            check(acceptors, "predicates", Some(500)).await;
            check(acceptors, "request filters", Some(500)).await;
            check(acceptors, "response filters", Some(500)).await;
            // The head is not out, but may be: no second one is sent.
            check(acceptors, "response body", None).await;
        }
    }
    #[tokio::test]
    async fn a_panic_beside_a_crowd_costs_one_request() {
        let origin = Origin::start().await;
        let valves = Arc::default();
        let server = server(&origin, 1, &valves);
        let address = server.address().expect("a listener");
        assert_eq!(Client::connect(address).await.get("/waiting").await.status, 200);
        let mut crowd = Vec::new();
        for _ in 0..CROWD + 2 {
            let mut client = Client::connect(address).await;
            client.send("GET /waiting HTTP/1.1\r\nHost: a\r\n\r\n").await;
            crowd.push(client);
        }
        let valve = valves.all().pop().expect("the limit");
        while valve.counts().depth < crowd.len() {
            tokio::task::yield_now().await;
        }
        for place in ["predicates", "request filters", "response filters"] {
            let mut client = Client::connect(address).await;
            client.send(request(place)).await;
            assert_eq!(client.read_response_to("GET").await.status, 500, "{place}");
            client.expect_closed().await;
        }
        assert_eq!(Client::connect(address).await.get("/").await.status, 200);
        assert_eq!(valve.counts().depth, crowd.len());
    }
}
