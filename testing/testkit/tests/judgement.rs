//! The judgement of other gateways by the wire cases: permitted and forbidden deviations.

use std::sync::Arc;

use tokio::sync::Mutex;
use weir_testkit::wire::{Cut, Deviation, Judgement, Stage, answering, read};
use weir_testkit::{Answer, Origin};

const REQUEST: &str = "> GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n";

/// Plays a case with these expectations against a gateway that sends `answer` and forwards nothing.
async fn check(expectations: &str, answer: fn() -> Answer, expected: Option<Deviation>) {
    let text = format!("== [1] a case\n{REQUEST}\n{expectations}\n");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, text).unwrap();
    let cases = read(file.path());
    let gateway = Origin::answering(move |got| match got.target().starts_with("/neighbour/") {
        true => Answer::status(200, &[], got.target()),
        false => answer(),
    })
    .await;
    let (origin, script) = answering().await;
    let stage = Stage::before(gateway.address(), origin, script, Judgement::AnyGateway);
    let stage = Arc::new(Mutex::new(stage));
    let (playing, case) = (Arc::clone(&stage), cases.list[0].clone());
    let played = tokio::spawn(async move { playing.lock().await.play(&case, Cut::Whole).await });
    let message = played.await.err().map(|failed| {
        let panic = failed.into_panic();
        panic.downcast_ref::<String>().cloned().unwrap_or_default()
    });
    let stage = stage.lock().await;
    let found = message.as_ref().map(|message| stage.deviation(message));
    assert_eq!(found, expected, "{expectations}: {message:?}");
}

fn closing(status: &str) -> Answer {
    Answer::raw(format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"))
        .close()
}

#[tokio::test]
async fn any_error_or_a_close_refuses() {
    check("refused: 400", || closing("400 Bad Request"), None).await;
    check("refused: 400", || closing("431 Too Large"), None).await;
    check("refused: 400", || closing("501 Not Implemented"), None).await;
    check("refused: 400", || Answer::nothing().close(), None).await;
    check("refused: 400", || closing("200 OK"), Some(Deviation::Repaired)).await;
    check("refused: 400", || closing("20 OK"), Some(Deviation::PassedOn)).await;
}

#[tokio::test]
async fn an_error_may_end_the_connection_or_keep_it() {
    let failed = "upstream: nothing\nclient: 502 keeps";
    check(failed, || closing("502 Bad Gateway"), None).await;
    check(failed, || Answer::status(500, &[], ""), None).await;
    check(failed, Answer::ok, Some(Deviation::Repaired)).await;
}

#[tokio::test]
async fn a_response_cut_off_may_be_an_error_instead() {
    let cut = "upstream: nothing\nclient: 200 cut";
    check(cut, || closing("502 Bad Gateway"), None).await;
    check(cut, || Answer::nothing().close(), None).await;
    let part = || Answer::raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab").close();
    check(cut, part, None).await;
    check(cut, Answer::ok, Some(Deviation::Repaired)).await;
}

#[tokio::test]
async fn what_is_valid_is_served() {
    let served = "upstream: nothing\nclient: 200 keeps";
    check(served, Answer::ok, None).await;
    check(served, || closing("200 OK"), None).await;
    check(served, || closing("400 Bad Request"), Some(Deviation::Wrong)).await;
    let closed = || Answer::raw("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").close();
    check(served, closed, Some(Deviation::Wrong)).await;
    let unsaid = "upstream: POST / HTTP/1.1\nclient: 200";
    check(unsaid, Answer::ok, Some(Deviation::Wrong)).await;
    // A gateway that collects a body has not begun to send what was cut off.
    check("upstream: GET / HTTP/1.1 cut\nclient: 400", || closing("408 Timeout"), None).await;
}
