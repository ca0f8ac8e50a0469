//! Questions to other servers: ForwardAuth.

use std::time::Duration;

use http::header::CONNECTION;
use http::{HeaderName, Method};
use weir_filter::{Answer, LocalResponse, Subrequest};

use crate::http::{Answer as HttpAnswer, Ask, Pool};

/// The maximum length of an answer body that is passed to the client.
const BODY_BYTES_MAX: usize = 1 << 20;
/// Fields that are about a connection, not about an answer; `Connection` names further ones.
const OF_CONNECTION: [&str; 7] = [
    "connection",
    "content-length",
    "keep-alive",
    "proxy-connection",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Sends the request and returns the response.
pub(super) async fn ask(question: &Subrequest, pool: &Pool) -> Answer {
    match send(question, pool).await {
        Ok(answer) => Answer::Response(Box::new(response(answer))),
        Err(why) => {
            tracing::warn!(url = %crate::http::shown(&question.url), "not answered: {why}");
            Answer::Nobody(why)
        }
    }
}

async fn send(question: &Subrequest, pool: &Pool) -> Result<HttpAnswer, String> {
    let method = Method::from_bytes(question.method.as_bytes());
    let mut ask =
        Ask::get(&question.url, Duration::from_millis(question.timeout_ms), BODY_BYTES_MAX);
    ask.method = method.map_err(|error| error.to_string())?;
    ask.headers.clear();
    for (name, value) in &question.fields {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| error.to_string())?;
        ask.fields.push((name, value.clone()));
    }
    ask.send_by(pool).await.map_err(|error| error.to_string())
}

fn response(answer: HttpAnswer) -> LocalResponse {
    let named: Vec<String> = answer
        .headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|names| names.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let is_of_connection =
        |name: &str| OF_CONNECTION.contains(&name) || named.iter().any(|it| it == name);
    let fields = answer.headers.iter();
    let fields = fields.filter(|(name, _)| !is_of_connection(name.as_str()));
    let fields =
        fields.map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect();
    LocalResponse { status: answer.status.as_u16(), fields, body: answer.body.to_vec() }
}
