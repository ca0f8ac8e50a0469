//! Objects of one kind in one namespace: listed once, then watched for changes.
//!
//! A watch goes on from the last version seen when its connection ends. If the server no longer
//! knows that version (410 Gone), the objects are listed again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::StatusCode;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::timeout_at;

use super::access::Api;
use super::objects::{Key, Kind, Object, key};
use crate::discovery::nacos::encoded;
use crate::http::{Failure, Looked, Opened};

/// A page of a list, and the head of an answer, must be there within this time.
const TIMEOUT: Duration = Duration::from_secs(15);
/// The requested duration of a watch.
const HOLD: Duration = Duration::from_secs(120);
/// The extra time that a watch may last beyond the requested duration.
const SLACK: Duration = Duration::from_secs(15);
/// Least time between the starts of two watches.
const PACE: Duration = Duration::from_secs(1);
/// Objects on one page of a list.
const PAGE: &str = "500";
/// The maximum number of objects of one kind and namespace.
const OBJECTS_MAX: usize = 200_000;

/// A change to report.
#[derive(Debug)]
pub(super) enum News {
    /// These are all there are.
    Listed(Vec<(Key, Object)>),
    /// An object is new, or different.
    Put(Key, Object),
    /// An object was deleted.
    Removed(Key),
}

/// Watches one kind in one namespace.
pub(super) struct Watcher {
    pub api: Arc<Api>,
    pub kind: Kind,
    /// Empty for all.
    pub namespace: String,
    /// Labels that objects must have, as a selector.
    pub selector: Option<String>,
    /// The index of the watcher, sent with each change.
    pub place: usize,
    pub news: mpsc::Sender<(usize, News)>,
}

/// The regular end of a watch.
enum Ended {
    /// The watch can continue from the last seen version.
    Closed,
    /// The server no longer knows the version.
    Gone,
}

impl Watcher {
    /// Lists and watches until something fails.
    pub async fn run(self) -> Failure {
        loop {
            let mut version = match self.list().await {
                Ok(version) => version,
                Err(failure) => return failure,
            };
            loop {
                let started = Instant::now();
                match self.watch(&mut version).await {
                    Ok(Ended::Closed) => {}
                    Ok(Ended::Gone) => break,
                    Err(failure) => return failure,
                }
                tokio::time::sleep(PACE.saturating_sub(started.elapsed())).await;
            }
            tokio::time::sleep(PACE).await;
        }
    }

    /// Reads all pages; returns the version of the list.
    async fn list(&self) -> Looked<String> {
        let mut objects = Vec::new();
        let mut after: Option<String> = None;
        let mut is_first = true;
        loop {
            let mut query = vec![("limit", PAGE)];
            query.extend(after.as_deref().map(|after| ("continue", after)));
            let url = self.url(&query)?;
            let answer = self.api.ask(&url, TIMEOUT)?.send().await?;
            if answer.status == StatusCode::GONE && after.take().is_some() && is_first {
                // The version of the pages has expired: the list is read from the first page again,
                // once.
                is_first = false;
                objects.clear();
                continue;
            }
            self.check(answer.status)?;
            let page: Value = answer.json()?;
            let items = page.get("items").and_then(Value::as_array);
            let items = items.ok_or_else(|| Failure::Nonsense("it has no `items`".to_owned()))?;
            objects.extend(items.iter().filter_map(|item| self.object(item)));
            if objects.len() > OBJECTS_MAX {
                return Err(Failure::Nonsense(format!(
                    "it lists more than {OBJECTS_MAX} {}; name fewer namespaces in \
                     spring.cloud.kubernetes.discovery.namespaces",
                    self.kind.plural()
                )));
            }
            let text = |pointer: &str| page.pointer(pointer).and_then(Value::as_str);
            after = text("/metadata/continue").filter(|text| !text.is_empty()).map(str::to_owned);
            if after.is_none() {
                let version = text("/metadata/resourceVersion").map(str::to_owned);
                let version = version
                    .ok_or_else(|| Failure::Nonsense("it has no `resourceVersion`".to_owned()))?;
                self.tell(News::Listed(objects)).await;
                return Ok(version);
            }
        }
    }

    /// Handles changes as they arrive, for as long as the server holds the connection.
    async fn watch(&self, version: &mut String) -> Looked<Ended> {
        let hold = HOLD.as_secs().to_string();
        let query = [
            ("watch", "1"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", version.as_str()),
            ("timeoutSeconds", hold.as_str()),
        ];
        let url = self.url(&query)?;
        let ask = self.api.ask(&url, TIMEOUT)?;
        let opened = tokio::time::timeout(TIMEOUT, ask.open()).await;
        let mut opened = opened.map_err(|_| Failure::TimedOut(TIMEOUT))??;
        if opened.status == StatusCode::GONE {
            return Ok(Ended::Gone);
        }
        self.check(opened.status)?;
        let mut lines = Lines { bytes: Vec::new(), max: self.api.bytes_max };
        let until = tokio::time::Instant::now() + HOLD + SLACK;
        loop {
            let line = match timeout_at(until, lines.next(&mut opened)).await {
                Ok(Ok(Some(line))) => line,
                // Half a line is of a connection that was cut.
                Err(_) | Ok(Ok(None) | Err(Failure::Unreachable(_))) => return Ok(Ended::Closed),
                Ok(Err(failure)) => return Err(failure),
            };
            let event: Value = serde_json::from_slice(&line)
                .map_err(|error| Failure::Nonsense(error.to_string()))?;
            if let Some(ended) = self.take(&event, version).await? {
                return Ok(ended);
            }
        }
    }

    /// Takes one event of a watch.
    async fn take(&self, event: &Value, version: &mut String) -> Looked<Option<Ended>> {
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        let object = event.get("object").unwrap_or(&Value::Null);
        if kind == "ERROR" {
            if object.get("code").and_then(Value::as_u64) == Some(410) {
                return Ok(Some(Ended::Gone));
            }
            let why = object.get("message").and_then(Value::as_str).unwrap_or("an error event");
            return Err(Failure::Nonsense(why.to_owned()));
        }
        let seen = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        let seen = seen.ok_or_else(|| {
            Failure::Nonsense(format!("an event of the type `{kind}` has no `resourceVersion`"))
        })?;
        seen.clone_into(version);
        let news = match kind {
            "ADDED" | "MODIFIED" => self.object(object).map(|(key, object)| News::Put(key, object)),
            "DELETED" => key(object).map(News::Removed),
            // A bookmark carries a version only; unknown events change nothing.
            _ => None,
        };
        if let Some(news) = news {
            self.tell(news).await;
        }
        Ok(None)
    }

    fn object(&self, value: &Value) -> Option<(Key, Object)> {
        Some((key(value)?, self.kind.read(value)?))
    }

    async fn tell(&self, news: News) {
        // Fails only when the receiver is gone, which ends this task, too.
        let _ = self.news.send((self.place, news)).await;
    }

    fn url(&self, query: &[(&str, &str)]) -> Looked<String> {
        let mut query = query.to_vec();
        query.extend(self.selector.as_deref().map(|selector| ("labelSelector", selector)));
        let (group, plural) = (self.kind.group(), self.kind.plural());
        let namespace = match self.namespace.as_str() {
            "" => String::new(),
            name => format!("namespaces/{}/", crate::discovery::member::path_segment(name)),
        };
        self.api.url(&format!("{group}/{namespace}{plural}?{}", encoded(&query)))
    }

    fn check(&self, status: StatusCode) -> Looked<()> {
        let plural = self.kind.plural();
        match status.as_u16() {
            200 => Ok(()),
            401 | 403 => Err(Failure::Forbidden(format!(
                "{status} for {plural} in {}: give the service account a role that may `list` and \
                 `watch` services and endpointslices",
                match self.namespace.as_str() {
                    "" => "all namespaces".to_owned(),
                    name => format!("the namespace `{name}`"),
                }
            ))),
            _ => Err(Failure::Status(status)),
        }
    }
}

/// Lines of an answer as it comes.
struct Lines {
    bytes: Vec<u8>,
    /// Longest line.
    max: usize,
}

impl Lines {
    async fn next(&mut self, from: &mut Opened) -> Looked<Option<Vec<u8>>> {
        let mut searched = 0;
        loop {
            let fresh = self.bytes.get(searched..).unwrap_or_default();
            if let Some(at) = fresh.iter().position(|byte| *byte == b'\n') {
                let rest = self.bytes.split_off(searched + at + 1);
                let line = std::mem::replace(&mut self.bytes, rest);
                if line.iter().all(u8::is_ascii_whitespace) {
                    searched = 0;
                    continue;
                }
                return Ok(Some(line));
            }
            searched = self.bytes.len();
            if searched > self.max {
                return Err(Failure::TooLong(self.max));
            }
            match from.chunk().await? {
                Some(chunk) => self.bytes.extend_from_slice(&chunk),
                None => return Ok(None),
            }
        }
    }
}
