//! Plays a case against a gateway and compares the observations of both sides.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use super::case::{Case, Cases, Check, End, Pool, Request, Response, Script, ScriptEnd, Upstream};
use crate::judge::canonical;
use crate::received::latin1;
use crate::{Answer, Body, Client, Gateway, Origin, Received, spawn_weir};

/// Longest input that is also sent byte by byte.
const BYTEWISE_MAX: usize = 400;

/// Requests that belong to no case have such a path; it comes back as their answer's body.
const NEIGHBOUR: &str = "/neighbour/";

/// The script of the case being played.
type Scripts = Arc<Mutex<VecDeque<Script>>>;

/// The strictness of the expectations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// As written.
    Exact,
    /// The duties of any gateway: the same requests and bodies upstream, an answer of the same
    /// class (an error is an error, and may be left out), the connection closed or kept. The
    /// wording of its own answers and its additions to heads are not checked.
    AnyGateway,
}

/// The kind of a gateway's deviation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deviation {
    /// A valid message is refused or changed, or the connection is handled wrongly.
    Wrong,
    /// An invalid message is forwarded as it is.
    PassedOn,
    /// An invalid message is accepted and forwarded in a valid form.
    Repaired,
}

/// A gateway, its upstream, and the script of the case being played.
pub struct Stage {
    /// The address of the gateway.
    address: SocketAddr,
    /// weir, if this stage started it.
    _weir: Option<Gateway>,
    origin: Origin,
    script: Scripts,
    judgement: Judgement,
    /// Requests the origin had got before this play.
    before: usize,
    plays: usize,
}

/// The division of the client's bytes into writes.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    /// One write.
    Whole,
    /// One write a byte.
    Bytes,
    /// Two writes.
    At(usize),
}

impl Cut {
    /// The ways to send so many bytes.
    pub fn all(bytes: usize) -> Vec<Self> {
        let mut cuts = vec![Self::Whole];
        if bytes <= BYTEWISE_MAX {
            cuts.push(Self::Bytes);
        }
        let mut at: Vec<_> = [bytes / 4, bytes / 2, bytes * 3 / 4, bytes.saturating_sub(1)]
            .into_iter()
            .filter(|at| *at > 0)
            .collect();
        at.dedup();
        cuts.extend(at.into_iter().map(Self::At));
        cuts
    }
}

/// A scripted origin, and its script.
pub async fn answering() -> (Origin, Scripts) {
    let script = Scripts::default();
    let shared = Arc::clone(&script);
    let origin = Origin::answering(move |got| {
        if is_neighbour(got) {
            return Answer::status(200, &[], got.target());
        }
        shared.lock().unwrap().pop_front().map_or_else(Answer::ok, answer)
    })
    .await;
    (origin, script)
}

impl Stage {
    /// Starts weir, the program `binary`, as `cases` need it.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start(binary: &str, cases: &Cases) -> Self {
        let (origin, script) = answering().await;
        let everything = "{ id: all, uri: ORIGIN, predicates: [ 'Path=/**' ] }".to_owned();
        let routes: Vec<_> = cases.routes.iter().chain([&everything]).map(String::as_str).collect();
        let config = format!(
            "server: {{ address: 127.0.0.1, port: 0 }}\nweir.admin.port: 0\n\
             weir.server.workers: 1\nspring.cloud.gateway.server.webflux.routes: [ {} ]\n{}\n",
            routes.join(", ").replace("ORIGIN", &format!("'{}'", origin.uri())),
            cases.config.join("\n"),
        );
        let gateway = spawn_weir(binary, &["run", "{config}"], &config);
        let stage = Self::before(gateway.address(), origin, script, Judgement::Exact);
        Self { _weir: Some(gateway), ..stage }
    }

    /// A stage for a gateway at `address` that passes everything on to `origin` (see
    /// [`answering`]).
    pub fn before(
        address: SocketAddr,
        origin: Origin,
        script: Scripts,
        judgement: Judgement,
    ) -> Self {
        Self { address, _weir: None, origin, script, judgement, before: 0, plays: 0 }
    }

    /// The same stage with this strictness.
    pub fn judged(self, judgement: Judgement) -> Self {
        Self { judgement, ..self }
    }

    /// Plays `case` with its bytes cut in one way; then another client must get its own answer.
    pub async fn play(&mut self, case: &Case, cut: Cut) {
        self.plays += 1;
        self.before = self.origin.requests().len();
        *self.script.lock().unwrap() = self.scripts_for(case);
        let mut client = Client::connect(self.address).await;
        send(&mut client, &case.request, cut).await;
        if case.finishes {
            client.finish_sending().await;
        }
        for response in &case.responses {
            self.expect(&mut client, response).await;
        }
        let mut neighbour = Client::connect(self.address).await;
        self.ask_own(&mut neighbour, "after").await;
        self.settle().await;
        self.compare(case.upstream.as_ref().expect("checked when read"));
        if let Some(pool) = case.pool.filter(|_| self.judgement == Judgement::Exact) {
            self.compare_pool(pool);
        }
    }

    /// The upstream's answers to `case`. A gateway may retry a request whose answer was cut off;
    /// the retry then gets the same answer.
    fn scripts_for(&self, case: &Case) -> VecDeque<Script> {
        let again = match case.answers.as_slice() {
            [only] if self.judgement == Judgement::AnyGateway && only.end != ScriptEnd::Keep => 3,
            _ => 1,
        };
        case.answers.iter().flat_map(|script| std::iter::repeat_n(script.clone(), again)).collect()
    }

    /// The gateway's deviation in the play that failed with `message`.
    pub fn deviation(&self, message: &str) -> Deviation {
        // Bytes for the client that are no response, or that switch protocols without a request to.
        let to_client = message.starts_with("cut: ") && message.contains(" after None, then \"H");
        if self.sent_on_broken().is_some() || to_client || message.starts_with("answered 101,") {
            return Deviation::PassedOn;
        }
        let taken = message.starts_with("answered 2") || message.starts_with("not cut: ");
        if taken { Deviation::Repaired } else { Deviation::Wrong }
    }

    /// The head of a request that the gateway has sent on in this play though it, or its body, is
    /// not valid.
    pub fn sent_on_broken(&self) -> Option<String> {
        let got = self.origin.requests().split_off(self.before);
        let broken = got.into_iter().find(|got| got.body_state == Body::Malformed);
        broken.map(|got| got.head())
    }

    /// Waits until everything on its way to the origin has been recorded.
    async fn settle(&self) {
        self.origin
            .wait_until(|origin| {
                origin.open_connections() <= 1
                    && origin.requests().iter().all(|got| got.body_state != Body::Reading)
            })
            .await;
    }

    /// Sends a request whose target no other request has.
    async fn ask_own(&self, client: &mut Client, what: &str) {
        let target = format!("{NEIGHBOUR}{}/{what}", self.plays);
        let response = client.get(&target).await;
        let (status, text) = (response.status, response.text());
        assert!(status == 200 && text == target, "{target} is answered {status} {text:?}");
    }

    async fn expect(&self, client: &mut Client, expected: &Response) {
        if expected.status == 0 {
            let rest = client.read_to_end().await;
            let error = rest.starts_with(b"HTTP/1.") && matches!(rest.get(9), Some(b'4' | b'5'));
            let fine = error && self.judgement == Judgement::AnyGateway;
            assert!(rest.is_empty() || fine, "bytes before the end: {:?}", latin1(&rest));
            return;
        }
        let method = if expected.to_head { "HEAD" } else { "GET" };
        let result = client.try_read_response_to(method).await;
        if self.judgement == Judgement::AnyGateway && fails_as_well(expected, &result) {
            return;
        }
        if let Err(crate::Cut { response: Some(begun), .. }) = &result
            && expected.status >= 400
        {
            assert!(begun.status >= 400, "answered {}, not {}", begun.status, expected.status);
        }
        let response = match (result, expected.end) {
            (Ok(response), End::Cut) => panic!("not cut: {response:?}"),
            (Ok(response), _) => response,
            (Err(cut), End::Cut) => cut.response.unwrap_or_else(|| panic!("no head: {}", cut.rest)),
            (Err(cut), _) => panic!("cut: {cut}"),
        };
        let class = |status: u16| match self.judgement {
            Judgement::Exact => status,
            Judgement::AnyGateway => (status / 100).min(4),
        };
        let (status, due) = (response.status, expected.status);
        assert!(class(status) == class(due), "answered {status}, not {due}: {response:?}");
        let interim: Vec<_> = response.interim.iter().map(|head| head[9..12].to_owned()).collect();
        let own = self.judgement == Judgement::AnyGateway && expected.status >= 400;
        for check in expected.checks.iter().filter(|check| !own && self.concerns(check)) {
            let trailers = &response.trailers;
            holds(check, &response.fields(), &response.body, trailers, &interim);
        }
        match expected.end {
            End::Any | End::Cut => {}
            End::Keeps if own => {}
            End::Keeps if response.closes && self.judgement == Judgement::AnyGateway => {}
            End::Keeps => self.ask_own(client, "same").await,
            End::Closes => client.expect_closed().await,
        }
    }

    /// Whether `check` applies to any gateway.
    fn concerns(&self, check: &Check) -> bool {
        let framing = ["content-length", "transfer-encoding", "connection"];
        match check {
            _ if self.judgement == Judgement::Exact => true,
            Check::Body(_) => true,
            // A gateway may change the framing of a body, and the fields about its own connections.
            Check::Lacks(name) => !framing.iter().any(|own| own.eq_ignore_ascii_case(name)),
            _ => false,
        }
    }

    fn arrived(&self, got: &Received, expected: &Request) {
        if !expected.line.is_empty() {
            let same = match self.judgement {
                Judgement::Exact => got.line() == expected.line,
                Judgement::AnyGateway => meaning(&got.line()) == meaning(&expected.line),
            };
            assert!(same, "sent on {:?}, not {:?}", got.line(), expected.line);
        }
        let (body, due) = (got.body_state, if expected.cut { Body::Cut } else { Body::Complete });
        assert!(body == due, "sent on with a body {body:?}, not {due:?}: {got:?}");
        for check in expected.checks.iter().filter(|check| self.concerns(check)) {
            holds(check, &got.fields(), &got.body, &got.trailers, &[]);
        }
    }

    /// `got`, without what a gateway tried once more: any may do so with what changes nothing.
    fn told_apart(&self, mut got: Vec<Received>, expected: &[Request]) -> Vec<Received> {
        if self.judgement == Judgement::AnyGateway && expected.len() == 1 {
            got.dedup_by(|again, first| {
                matches!(first.method().as_str(), "GET" | "HEAD" | "OPTIONS")
                    && again.line() == first.line()
                    && again.connection != first.connection
            });
        }
        got
    }

    fn compare_pool(&self, expected: Pool) {
        let got = self.origin.requests().split_off(self.before);
        let of_case = got.iter().rfind(|got| !is_neighbour(got)).map(|got| got.connection);
        let next = got.iter().find(|got| is_neighbour(got)).map(|got| got.connection);
        let used_again = of_case == next;
        assert_eq!(used_again, expected == Pool::Kept, "same connection for the next request");
    }

    fn compare(&self, expected: &Upstream) {
        let got = self.origin.requests().split_off(self.before);
        let got: Vec<_> = got.into_iter().filter(|got| !is_neighbour(got)).collect();
        for got in &got {
            let head = got.head();
            assert!(got.body_state != Body::Malformed, "sent on as it came: {head:?}");
        }
        match expected {
            Upstream::Nothing => assert!(got.is_empty(), "sent on, not refused: {got:?}"),
            Upstream::Aborted => {
                let whole = got.iter().find(|got| got.body_state == Body::Complete);
                assert!(whole.is_none(), "sent on whole, not cut: {whole:?}");
            }
            Upstream::Requests(expected) => {
                let got = self.told_apart(got, expected);
                if self.judgement == Judgement::AnyGateway
                    && got.is_empty()
                    && expected.iter().all(|request| request.cut)
                {
                    // A gateway that buffers a body first has nothing to forward when it is cut
                    // off.
                    return;
                }
                let (count, due) = (got.len(), expected.len());
                assert!(count == due, "sent on {count} requests, not {due}: {got:?}");
                for (got, expected) in got.iter().zip(expected) {
                    self.arrived(got, expected);
                }
            }
        }
    }
}

/// Whether a gateway reports a failure in an accepted alternative way: an error instead of a
/// truncated response, or a close instead of an error.
fn fails_as_well(expected: &Response, result: &Result<crate::Response, crate::Cut>) -> bool {
    let fails = expected.status >= 400 || expected.end == End::Cut;
    match result {
        Ok(response) => expected.end == End::Cut && response.status >= 400,
        Err(cut) => fails && cut.response.is_none() && cut.rest.is_empty(),
    }
}

/// Method and target of a request line, whatever the target's form and its dot segments.
fn meaning(line: &str) -> (String, Option<Vec<u8>>) {
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    (method.to_owned(), canonical(method.as_bytes(), target.as_bytes()))
}

fn is_neighbour(got: &Received) -> bool {
    got.target().starts_with(NEIGHBOUR)
}

async fn send(client: &mut Client, bytes: &[u8], cut: Cut) {
    // The gateway may have refused and closed before the last byte.
    match cut {
        Cut::Whole => drop(client.try_send(bytes).await),
        Cut::Bytes => {
            for byte in bytes.chunks(1) {
                if client.try_send(byte).await.is_err() {
                    return;
                }
                tokio::task::yield_now().await;
            }
        }
        Cut::At(at) => {
            let (first, second) = bytes.split_at(at);
            if client.try_send(first).await.is_ok() {
                tokio::task::yield_now().await;
                drop(client.try_send(second).await);
            }
        }
    }
}

fn answer(script: Script) -> Answer {
    let mut answer = Answer::nothing();
    if script.early {
        answer = answer.early();
    }
    if !script.interim.is_empty() {
        answer = answer.write(script.interim).read_body();
    }
    if !script.bytes.is_empty() {
        answer = answer.write(script.bytes);
    }
    match script.end {
        ScriptEnd::Keep => answer,
        ScriptEnd::Close => answer.close(),
        ScriptEnd::Reset => answer.reset(),
    }
}

/// Panics unless `check` holds.
fn holds(
    check: &Check,
    fields: &[(String, String)],
    body: &[u8],
    trailers: &[(String, String)],
    interim: &[String],
) {
    let lines = |fields: &[(String, String)]| -> Vec<String> {
        fields
            .iter()
            .map(|(name, value)| format!("{name}: {value}").trim_end().to_owned())
            .collect()
    };
    let all = |name: &str| -> Vec<&str> {
        let named = fields.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str()).collect()
    };
    match check {
        Check::Has(line) => {
            assert!(lines(fields).contains(line), "no {line:?} in {:?}", lines(fields))
        }
        Check::Lacks(name) => assert!(all(name).is_empty(), "{name} is there: {:?}", all(name)),
        Check::All(name, values) => assert_eq!(&all(name), values, "{name}"),
        Check::Body(expected) => {
            let (body, due) = (latin1(body), latin1(expected));
            assert!(body == due, "with the body {body:?}, not {due:?}");
        }
        Check::Trailers(expected) => assert_eq!(&lines(trailers), expected, "trailers"),
        Check::Interim(expected) => assert_eq!(interim, expected, "interim responses"),
    }
}
