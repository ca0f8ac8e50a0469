//! Nacos' configuration API, version 1 and, where a server no longer has that, version 3.
//!
//! A request that version 1 holds reports changes; where that fails, the server is polled.

use std::time::Duration;

use http::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use weir_config::{Content, DataId, Fetched, NacosServer};

use crate::discovery::{Api, Form, Session};
use crate::http::{Answer, Failure, Looked, shown, text};

/// The time for which Nacos may hold a request while nothing changes.
const HOLD: Duration = Duration::from_secs(30);
/// Between two looks where the server holds no requests.
const POLL: Duration = Duration::from_secs(5);
/// The pause between two held requests, so that a server that answers at once is not flooded.
const REST: Duration = Duration::from_millis(200);
/// The answer of Nacos for an unknown data id.
const ABSENT: &str = "config data not exist";
/// The corresponding code in version 3.
const ABSENT_CODE: u64 = 20_004;

/// One client's view of the server.
#[derive(Debug)]
pub(super) struct Client {
    server: NacosServer,
    session: Session,
    /// For each item what the server calls its content; empty if there is none, `None` if the
    /// server does not say.
    sums: Vec<Option<String>>,
}

/// The server's answer for one data id.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    content: Option<String>,
    sum: Option<String>,
}

/// The name of what `item` holds.
pub(super) fn name(server: &NacosServer, item: &DataId) -> String {
    let address = server.servers.first().map(|one| shown(one)).unwrap_or_default();
    let address = address.rsplit_once('@').map_or(address.as_str(), |(_, host)| host);
    format!("nacos:{}/{}@{}", address.trim_end_matches('/'), item.data_id, item.group)
}

impl Client {
    pub fn new(server: &NacosServer) -> Self {
        let password = server.password.as_ref();
        Self {
            server: server.clone(),
            session: Session::of(&server.servers, server.username.clone(), password),
            sums: Vec::new(),
        }
    }

    pub async fn look(&mut self) -> Looked<Vec<Fetched>> {
        let mut parts = Vec::new();
        let mut sums = Vec::new();
        for item in self.server.items.clone() {
            let found = self.get(&item).await?;
            sums.push(found.sum);
            let (data_id, group) = (&item.data_id, &item.group);
            let Some(content) = found.content.filter(|text| !text.trim().is_empty()) else {
                if item.needed {
                    return Err(Failure::Nonsense(format!(
                        "it has nothing under the data id `{data_id}` in the group `{group}`"
                    )));
                }
                tracing::info!(data_id, group, "Nacos has nothing there");
                continue;
            };
            parts.push(Fetched {
                name: name(&self.server, &item),
                content: Content::Text(content.clone(), item.format.of_text(&content)),
                is_specific: item.is_specific,
            });
        }
        self.sums = sums;
        Ok(parts)
    }

    async fn get(&mut self, item: &DataId) -> Looked<Found> {
        let namespace = self.server.namespace.clone();
        let max = self.server.answer_bytes_max;
        if self.session.api == Api::V1 {
            let query =
                [("dataId", item.data_id.as_str()), ("group", &item.group), ("tenant", &namespace)];
            let answer = self.session.send(Method::GET, "v1/cs/configs", &query, max).await?;
            let has_no_v1 = matches!(answer.status.as_u16(), 404 | 410 | 501)
                && !String::from_utf8_lossy(&answer.body).contains(ABSENT);
            if !has_no_v1 {
                return of_v1(answer);
            }
            self.session.api = Api::V3;
        }
        let query = [
            ("dataId", item.data_id.as_str()),
            ("groupName", &item.group),
            ("namespaceId", &namespace),
        ];
        let answer = self.session.send(Method::GET, "v3/client/cs/config", &query, max).await;
        let found = answer.and_then(|answer| of_v3(&answer));
        if found.is_err() {
            self.session.api = Api::V1;
        }
        found
    }

    /// Returns when the server reports a change, or it is time to read again.
    pub async fn wait(&mut self) -> Looked<()> {
        let Some(form) = self.form().filter(|_| self.session.api == Api::V1) else {
            tokio::time::sleep(POLL).await;
            return Ok(());
        };
        let target = (Method::POST, "v1/cs/configs/listener");
        let max = self.server.answer_bytes_max;
        let answer = self.session.send_form(target, &[], Some(&form), max).await;
        match answer.and_then(Answer::success) {
            Ok(_) => tokio::time::sleep(REST).await,
            // A proxy in between gave up, or held requests are unsupported: the next read shows
            // which.
            Err(failure) => {
                tracing::debug!("no held request: {failure}");
                tokio::time::sleep(POLL).await;
            }
        }
        Ok(())
    }

    /// `dataId^2group^2md5^2tenant^1` for each item; `None` if the server sent no checksum for one.
    fn form(&self) -> Option<Form> {
        let (field, end) = ('\u{2}', '\u{1}');
        let mut list = String::new();
        for (item, sum) in self.server.items.iter().zip(&self.sums) {
            let (sum, namespace) = (sum.as_ref()?, &self.server.namespace);
            list += &format!("{}{field}{}{field}{sum}", item.data_id, item.group);
            if !namespace.is_empty() {
                list += &format!("{field}{namespace}");
            }
            list.push(end);
        }
        if list.is_empty() {
            return None;
        }
        let encoded = utf8_percent_encode(&list, NON_ALPHANUMERIC);
        Some(Form { body: format!("Listening-Configs={encoded}"), hold: HOLD })
    }
}

/// The content itself, with its sum in a header.
fn of_v1(answer: Answer) -> Looked<Found> {
    if answer.status.as_u16() == 404 {
        return Ok(Found { content: None, sum: Some(String::new()) });
    }
    let answer = answer.success()?;
    let sum = answer.header("content-md5").map(str::to_owned);
    Ok(Found { content: Some(text(&answer.body)?), sum })
}

/// `{"code": 0, "data": {"content": …, "md5": …}}`.
fn of_v3(answer: &Answer) -> Looked<Found> {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let code = body.get("code").and_then(Value::as_u64);
    if code == Some(ABSENT_CODE) {
        return Ok(Found { content: None, sum: Some(String::new()) });
    }
    if !answer.status.is_success() {
        return Err(Failure::Status(answer.status));
    }
    let data = body.get("data").unwrap_or(&Value::Null);
    let content = data.as_str().or_else(|| data.get("content")?.as_str());
    match (code, content) {
        (None | Some(0), Some(content)) => {
            let sum = data.get("md5").and_then(Value::as_str).map(str::to_owned);
            Ok(Found { content: Some(content.to_owned()), sum })
        }
        _ => Err(Failure::Nonsense("it has no content".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, StatusCode};

    use super::*;

    fn answer(status: u16, body: &str) -> Answer {
        let mut headers = HeaderMap::new();
        headers.insert("content-md5", "abc".parse().expect("a value"));
        let status = StatusCode::from_u16(status).expect("a status");
        Answer { status, headers, body: Bytes::from(body.to_owned()) }
    }

    fn shown(found: Looked<Found>) -> String {
        match found {
            Ok(Found { content, sum }) => format!("{content:?} {sum:?}"),
            Err(failure) => failure.of_discovery(),
        }
    }

    #[test]
    fn contents_of_both_versions() {
        assert_eq!(shown(of_v1(answer(200, "a: 1"))), r#"Some("a: 1") Some("abc")"#);
        assert_eq!(shown(of_v1(answer(404, ABSENT))), r#"None Some("")"#);
        assert!(shown(of_v1(answer(403, "x"))).contains("check user, password"));
        let three = r#"{"code":0,"message":"success","data":{"content":"a: 1","md5":"d"}}"#;
        assert_eq!(shown(of_v3(&answer(200, three))), r#"Some("a: 1") Some("d")"#);
        let plain = r#"{"code":0,"data":"a: 1"}"#;
        assert_eq!(shown(of_v3(&answer(200, plain))), r#"Some("a: 1") None"#);
        let absent = r#"{"code":20004,"message":"resource not found","data":null}"#;
        assert_eq!(shown(of_v3(&answer(404, absent))), r#"None Some("")"#);
        assert!(shown(of_v3(&answer(200, "<html>"))).contains("not understood"));
    }
}
