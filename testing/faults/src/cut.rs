//! Responses that end before their end.

use weir_testkit::{Answer, Client, Origin};

use crate::tally::{Size, Tally};
use crate::weir::Weir;

/// A response with a length, and a chunked one with a trailer: each cut before every byte.
const RESPONSES: [&str; 2] = [
    "HTTP/1.1 200 OK\r\nContent-Length: 12\r\nX-A: 1\r\n\r\nhello, world",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
        6;x=1\r\nhello,\r\n6\r\n world\r\n0\r\nX-T: 1\r\n\r\n",
];

/// FIN or RST before each byte: the client gets 502, or sees the cut, but never a truncated
/// response that looks complete; and the next request gets its own answer.
pub(crate) async fn responses(weir: Weir, size: Size) -> Tally {
    let origin = Origin::answering(|got| answer(&got.target())).await;
    let gateway = weir.before(origin.address(), "");
    let mut tally = Tally::default();
    for _ in 0..size.of(1, 10) {
        for (kind, response) in RESPONSES.iter().enumerate() {
            for at in 0..response.len() {
                for end in ["fin", "rst"] {
                    let mut client = Client::connect(gateway.address()).await;
                    let target = format!("/{kind}/{at}/{end}");
                    cut(&mut tally, &mut client, &target, (response, at, end)).await;
                    let mut next = Client::connect(gateway.address()).await;
                    let own = next.get("/whole").await;
                    tally.request(own.text() == "whole", || format!("behind {target}: {own:?}"));
                }
            }
        }
    }
    tally
}

fn answer(target: &str) -> Answer {
    let parts: Vec<&str> = target.trim_start_matches('/').split('/').collect();
    let [kind, at, end] = parts.as_slice() else { return Answer::status(200, &[], "whole") };
    let kind: usize = kind.parse().expect("a number");
    let at: usize = at.parse().expect("a number");
    let answer = Answer::raw(&RESPONSES[kind][..at]);
    if *end == "fin" { answer.close() } else { answer.reset() }
}

async fn cut(tally: &mut Tally, client: &mut Client, target: &str, at: (&str, usize, &str)) {
    let (response, at, end) = at;
    let head = response.find("\r\n\r\n").expect("a head") + 4;
    client.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
    let got = client.try_read_response_to("GET").await;
    let status = got.as_ref().map(|got| got.status);
    // A reset may overtake the bytes before it, so that even a whole head is lost.
    let lost = status == Ok(502) && (at < head || end == "rst");
    let seen = at >= head && status.is_err();
    tally.request(lost || seen, || format!("{target}: {got:?}"));
    if lost && at < head {
        let whole = client.get("/whole").await;
        tally.request(whole.text() == "whole", || format!("after {target}: {whole:?}"));
    }
}
