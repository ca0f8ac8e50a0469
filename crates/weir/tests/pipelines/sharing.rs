//! Dubbo2 calls of consumers that share connections to providers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use weir_testkit::Gateway;

use super::dubbo::{
    HEARTBEAT, Message, ONE_WAY, REQUEST, RESPONSE, ask, call, config, connect, heartbeat,
    provider, read, text,
};
use super::{gateway, status, until};

/// As the one end of a shared connection: takes `calls` calls on it.
async fn take_calls(provider: &mut TcpStream, calls: usize) -> Vec<Message> {
    let mut taken = Vec::new();
    while taken.len() < calls {
        taken.push(read(provider).await.expect("a call"));
    }
    taken
}

fn answer(id: u64, body: &[u8]) -> Vec<u8> {
    Message { flags: RESPONSE, status: 20, id, body: body.to_vec() }.bytes()
}

/// A gateway with one worker whose consumers share connections to one provider, and its listener.
async fn shared_gateway(dubbo: &str) -> (TcpListener, Gateway) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    let more = format!("  dubbo: {{ shared: true{dubbo} }}\nweir.server.workers: 1\n");
    (listener, gateway(&config(&[address], &more)))
}

#[tokio::test]
async fn consumers_with_the_same_ids_share_a_connection() {
    let (listener, gateway) = shared_gateway("").await;
    let mut clients = [connect(&gateway).await, connect(&gateway).await, connect(&gateway).await];
    for (n, client) in clients.iter_mut().enumerate() {
        let method = format!("of-{n}");
        let calls = [7, 8].map(|id| call(REQUEST, id, "org.demo.Hello", &method).bytes()).concat();
        client.write_all(&calls).await.expect("sent");
    }
    let (mut provider, _) = listener.accept().await.expect("a connection");
    let calls = take_calls(&mut provider, 6).await;
    let mut ids: Vec<u64> = calls.iter().map(|call| call.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 6, "each has an id of its own");
    // The last call is answered first, by its own body.
    for call in calls.iter().rev() {
        provider.write_all(&answer(call.id, &call.body)).await.expect("sent");
    }
    for (n, client) in clients.iter_mut().enumerate() {
        let mut got = [read(client).await.unwrap(), read(client).await.unwrap()];
        got.sort_by_key(|answer| answer.id);
        assert_eq!(got.each_ref().map(|answer| answer.id), [7, 8]);
        assert!(got.iter().all(|answer| answer.text().contains(&format!("of-{n}"))), "{got:?}");
    }
    // Heartbeats of the provider are answered without any consumer.
    provider.write_all(&heartbeat(HEARTBEAT, 5).bytes()).await.expect("sent");
    let beat = read(&mut provider).await;
    assert_eq!(beat, Some(Message { status: 20, ..heartbeat(0x22, 5) }));
    // So are calls that name no consumer.
    let back = call(REQUEST, 9, "org.demo.Watcher", "told");
    provider.write_all(&back.bytes()).await.expect("sent");
    let refused = read(&mut provider).await.expect("an answer");
    assert_eq!((refused.id, refused.status), (9, 60));
}

#[tokio::test]
async fn a_consumer_that_leaves_disturbs_no_other_one() {
    let (listener, gateway) = shared_gateway("").await;
    let (mut gone, mut stays) = (connect(&gateway).await, connect(&gateway).await);
    gone.write_all(&call(REQUEST, 1, "org.demo.Hello", "gone").bytes()).await.expect("sent");
    let (mut provider, _) = listener.accept().await.expect("a connection");
    let first = read(&mut provider).await.expect("a call");
    stays.write_all(&call(REQUEST, 1, "org.demo.Hello", "stays").bytes()).await.expect("sent");
    let second = read(&mut provider).await.expect("a call");
    // Its end with what it sent half is a broken connection, which the gateway closes at once.
    gone.write_all(&[0xda]).await.expect("sent");
    drop(gone);
    until(&gateway, "d", |found| found["active"] == 1).await;
    for call in [&first, &second] {
        provider.write_all(&answer(call.id, &call.body)).await.expect("sent");
    }
    assert!(read(&mut stays).await.expect("an answer").text().contains("stays"));
    assert_eq!(status(&gateway, "d").await["counts"]["late"], 1);
}

#[tokio::test]
async fn a_shared_provider_that_dies_fails_the_calls_of_all() {
    let (listener, gateway) = shared_gateway("").await;
    let mut clients = [connect(&gateway).await, connect(&gateway).await];
    for (client, id) in clients.iter_mut().zip([3, 4]) {
        let bytes = call(REQUEST, id, "org.demo.Hello", "say").bytes();
        client.write_all(&bytes).await.expect("sent");
    }
    let (mut provider, _) = listener.accept().await.expect("a connection");
    take_calls(&mut provider, 2).await;
    drop(provider);
    for (client, id) in clients.iter_mut().zip([3, 4]) {
        let answer = read(client).await.expect("an answer");
        assert_eq!((answer.id, answer.status), (id, 80), "{}", answer.text());
    }
    // The next call has a new connection.
    let bytes = call(REQUEST, 5, "org.demo.Hello", "say").bytes();
    clients[0].write_all(&bytes).await.expect("sent");
    let (mut provider, _) = listener.accept().await.expect("a connection");
    let again = read(&mut provider).await.expect("a call");
    provider.write_all(&answer(again.id, &[0x91])).await.expect("sent");
    assert_eq!(read(&mut clients[0]).await.expect("an answer").id, 5);
}

#[tokio::test]
async fn calls_of_sharers_that_were_not_sent_go_to_another_provider() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let shared = "  dubbo: { shared: true }\n";
    let gateway = gateway(&config(&[closed, provider("a", 1).await], shared));
    let mut client = connect(&gateway).await;
    for id in 1..5 {
        let one_way = call(ONE_WAY, 90 + id, "org.demo.Hello", "tell").bytes();
        client.write_all(&one_way).await.expect("sent");
        let answer = ask(&mut client, &call(REQUEST, id, "org.demo.Hello", "say")).await;
        assert_eq!((answer.id, answer.status), (id, 20));
    }
    let alone = super::gateway(&config(&[closed], shared));
    let mut client = connect(&alone).await;
    let answer = ask(&mut client, &call(REQUEST, 1, "org.demo.Hello", "say")).await;
    assert_eq!((answer.id, answer.status), (1, 80), "{}", answer.text());
}

#[tokio::test]
async fn a_shared_provider_that_stops_gets_no_more_calls_of_anybody() {
    let (a, b) = (provider("a", 1).await, provider("b", 1).await);
    let shared = "  dubbo: { shared: true }\nweir.server.workers: 1\n";
    let gateway = gateway(&config(&[a, b], shared));
    let (mut one, mut two) = (connect(&gateway).await, connect(&gateway).await);
    let gone = ask(&mut one, &call(REQUEST, 1, "org.demo.Hello", "stop")).await.text();
    for id in 2..10 {
        for client in [&mut one, &mut two] {
            let answer = ask(client, &call(REQUEST, id, "org.demo.Hello", "say")).await;
            assert_ne!(answer.text(), gone);
        }
    }
}

#[tokio::test]
async fn a_consumer_that_does_not_read_is_cut_and_the_others_are_served() {
    let (listener, gateway) = shared_gateway(", backlog: 1KB").await;
    let (mut slow, mut quick) = (connect(&gateway).await, connect(&gateway).await);
    slow.write_all(&call(REQUEST, 1, "org.demo.Hello", "slow").bytes()).await.expect("sent");
    let (mut provider, _) = listener.accept().await.expect("a connection");
    let large = vec![b'x'; 7 << 20];
    let mut slow_calls = vec![read(&mut provider).await.expect("a call")];
    // Bytes that nobody reads fill the buffers of the system first.
    for id in 2..=8 {
        let bytes = call(REQUEST, id, "org.demo.Hello", "slow").bytes();
        slow.write_all(&bytes).await.expect("sent");
        slow_calls.push(read(&mut provider).await.expect("a call"));
    }
    for call in &slow_calls {
        provider.write_all(&answer(call.id, &large)).await.expect("sent");
        let bytes = self::call(REQUEST, 1, "org.demo.Hello", "quick").bytes();
        quick.write_all(&bytes).await.expect("sent");
        let id = read(&mut provider).await.expect("a call").id;
        provider.write_all(&answer(id, b"now")).await.expect("sent");
        assert_eq!(read(&mut quick).await.expect("an answer").text(), "now");
    }
    until(&gateway, "d", |found| found["counts"]["slow"] == 1 && found["active"] == 1).await;
}

#[tokio::test]
async fn shared_connections_and_their_calls_are_bounded() {
    let (listener, gateway) = shared_gateway(", connections: 2, calls: 1").await;
    let mut client = connect(&gateway).await;
    for id in 1..=3 {
        let bytes = call(REQUEST, id, "org.demo.Hello", "say").bytes();
        client.write_all(&bytes).await.expect("sent");
    }
    let refused = read(&mut client).await.expect("an answer");
    assert_eq!((refused.id, refused.status), (3, 100), "{}", refused.text());
    let mut providers = Vec::new();
    for _ in 0..2 {
        let (mut provider, _) = listener.accept().await.expect("a connection");
        let taken = read(&mut provider).await.expect("a call");
        provider.write_all(&answer(taken.id, b"ok")).await.expect("sent");
        assert_eq!(read(&mut client).await.expect("an answer").text(), "ok");
        providers.push(provider);
    }
}

#[tokio::test]
async fn consumers_that_are_called_back_have_a_connection_of_their_own() {
    let (listener, gateway) = shared_gateway("").await;
    let (mut client, mut other) = (connect(&gateway).await, connect(&gateway).await);
    other.write_all(&call(REQUEST, 3, "org.demo.Hello", "say").bytes()).await.expect("sent");
    let (mut shared, _) = listener.accept().await.expect("a connection");
    read(&mut shared).await.expect("the call");
    let mut watch = call(REQUEST, 3, "org.demo.Hello", "watch");
    watch.body.pop();
    watch.body.extend([text("sys_callback_arg-0"), text("12"), b"Z".to_vec()].concat());
    client.write_all(&watch.bytes()).await.expect("sent");
    let (mut own, _) = listener.accept().await.expect("a connection");
    assert_eq!(read(&mut own).await.expect("the call").body, watch.body);
    let back = call(REQUEST, 1_000, "org.demo.Watcher", "told");
    own.write_all(&back.bytes()).await.expect("sent");
    let got = read(&mut client).await.expect("the call back");
    assert_eq!(got.body, back.body);
    client.write_all(&answer(got.id, &[0x92])).await.expect("sent");
    assert_eq!(read(&mut own).await.expect("its answer").id, 1_000);
}

/// A provider that answers each call with its own body, and counts its connections.
async fn echo() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counter.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                while let Some(call) = read(&mut stream).await {
                    stream.write_all(&answer(call.id, &call.body)).await.expect("sent");
                }
            });
        }
    });
    (address, count)
}

/// Twelve consumers whose calls have the same ids, on so many workers.
async fn check_workers(workers: usize) {
    let (address, connections) = echo().await;
    let more = format!("  dubbo: {{ shared: true }}\nweir.server.workers: {workers}\n");
    let gateway = gateway(&config(&[address], &more));
    let mut clients = Vec::new();
    for _ in 0..12 {
        clients.push(connect(&gateway).await);
    }
    for id in 1..=20 {
        for (n, client) in clients.iter_mut().enumerate() {
            let bytes = call(REQUEST, id, "org.demo.Hello", &format!("of-{n}-{id}")).bytes();
            client.write_all(&bytes).await.expect("sent");
        }
        for (n, client) in clients.iter_mut().enumerate() {
            let got = read(client).await.expect("an answer");
            let expected = call(RESPONSE, id, "org.demo.Hello", &format!("of-{n}-{id}"));
            assert_eq!((got.id, got.status, got.body), (id, 20, expected.body), "{workers}");
        }
    }
    let count = connections.load(Ordering::Relaxed);
    assert!((1..=workers).contains(&count), "{count} connections of {workers} workers");
}

#[tokio::test]
async fn each_worker_has_a_connection_that_its_consumers_share() {
    check_workers(2).await;
    check_workers(4).await;
}
