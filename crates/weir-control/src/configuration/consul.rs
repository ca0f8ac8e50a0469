//! Consul's key-value store: `GET /v1/kv/…`, with a blocking query for each folder to detect
//! changes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tokio::task::JoinSet;
use weir_config::{ConsulFormat, ConsulServer, Content, Fetched, Format};

use crate::discovery::{encoded, path_segment, token_header};
use crate::http::{Answer, Ask, Failure, Looked, text};

/// The time limit for an answer to a query that does not block.
const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

/// One client's view of the agent.
#[derive(Debug)]
pub(super) struct Client {
    server: ConsulServer,
    /// For each context the index of its last answer.
    indexes: Vec<u64>,
}

/// A key below a context, and its value.
type Pair = (String, String);

impl Client {
    pub fn new(server: &ConsulServer) -> Self {
        Self { server: server.clone(), indexes: Vec::new() }
    }

    pub async fn look(&mut self) -> Looked<Vec<Fetched>> {
        let mut parts = Vec::new();
        let mut indexes = Vec::new();
        for (context, is_specific) in &self.server.contexts {
            let (index, pairs) = get(&self.server, context, None).await?;
            indexes.push(index);
            if let Some(content) = content(&self.server, context, pairs) {
                let (host, port) = (&self.server.host, self.server.port);
                let name = format!("consul:{host}:{port}/{context}");
                parts.push(Fetched { name, content, is_specific: *is_specific });
            }
        }
        self.indexes = indexes;
        Ok(parts)
    }

    /// Returns when a folder may have changed.
    pub async fn wait(&mut self) -> Looked<()> {
        let mut queries = JoinSet::new();
        for ((context, _), index) in self.server.contexts.iter().zip(&self.indexes) {
            let (server, context, index) = (self.server.clone(), context.clone(), *index);
            queries.spawn(async move {
                let (found, _) = get(&server, &context, Some(index)).await?;
                Ok(found != index)
            });
        }
        while let Some(done) = queries.join_next().await {
            if matches!(done, Ok(Ok(true))) {
                break;
            }
            // A task that panicked is no answer.
            if let Ok(Err(failure)) = done {
                return Err(failure);
            }
        }
        tokio::time::sleep(self.server.watch.unwrap_or_default()).await;
        Ok(())
    }
}

/// Keys and values at or below `context`, and their index; blocks while the index is `after`.
async fn get(server: &ConsulServer, context: &str, after: Option<u64>) -> Looked<(u64, Vec<Pair>)> {
    let is_folder = server.format == ConsulFormat::KeyValue;
    let mut key = context.to_owned();
    match server.format {
        ConsulFormat::KeyValue => key.push('/'),
        ConsulFormat::Yaml | ConsulFormat::Properties => key += &format!("/{}", server.data_key),
        ConsulFormat::Files => {}
    }
    let key: Vec<String> = key.split('/').map(path_segment).collect();
    let host = server.host.trim_start_matches('[').trim_end_matches(']');
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let index = after.map(|index| index.to_string()).unwrap_or_default();
    let wait = after.map(|_| format!("{}s", server.wait.as_secs())).unwrap_or_default();
    let recurse = if is_folder { "true" } else { "" };
    let query = encoded(&[("recurse", recurse), ("index", &index), ("wait", &wait)]);
    let url = format!("{}://{host}:{}/v1/kv/{}?{query}", server.scheme, server.port, key.join("/"));
    let hold = if after.is_some() { server.wait + server.wait / 16 } else { Default::default() };
    let mut ask = Ask::get(&url, TIMEOUT + hold, server.answer_bytes_max);
    ask.connect_timeout = TIMEOUT;
    ask.headers.extend(token_header(server.token.as_ref().map(weir_snapshot::Secret::expose)));
    let answer = ask.send().await?;
    let index = answer.header("x-consul-index").and_then(|text| text.parse().ok());
    // Consul's rule: zero would return at once, again and again.
    let index = index.filter(|index| *index > 0);
    let index = index.ok_or_else(|| match answer.status.is_success() {
        true => Failure::Nonsense("it has no X-Consul-Index".to_owned()),
        false => Failure::Status(answer.status),
    })?;
    if answer.status.as_u16() == 404 {
        return Ok((index, Vec::new()));
    }
    Ok((index, pairs(&answer.success()?)?))
}

/// `[{"Key": …, "Value": base64 or null}]`.
fn pairs(answer: &Answer) -> Looked<Vec<Pair>> {
    let nonsense = |what: &str| Failure::Nonsense(what.to_owned());
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let list = body.as_array().ok_or_else(|| nonsense("it is no list of keys"))?;
    let mut pairs = Vec::with_capacity(list.len());
    for entry in list {
        let key = entry.get("Key").and_then(Value::as_str);
        let key = key.ok_or_else(|| nonsense("an entry has no key"))?;
        let value = entry.get("Value").and_then(Value::as_str).unwrap_or_default();
        let value = STANDARD.decode(value).map_err(|_| nonsense("a value is not base64"))?;
        pairs.push((key.to_owned(), text(&value)?));
    }
    Ok(pairs)
}

/// The content of the keys below `context`; `None` without keys.
fn content(server: &ConsulServer, context: &str, pairs: Vec<Pair>) -> Option<Content> {
    let format = match server.format {
        ConsulFormat::KeyValue => {
            let start = format!("{context}/");
            let own = pairs.into_iter().filter_map(|(key, value)| {
                let key = key.strip_prefix(&start)?;
                // A folder is a key that ends in `/`.
                let is_key = !key.is_empty() && !key.ends_with('/');
                is_key.then(|| (key.replace('/', "."), value))
            });
            let pairs: Vec<Pair> = own.collect();
            return (!pairs.is_empty()).then_some(Content::Pairs(pairs));
        }
        ConsulFormat::Yaml => Format::Yaml,
        ConsulFormat::Properties => Format::Properties,
        ConsulFormat::Files => Format::of_name(context).unwrap_or(Format::Yaml),
    };
    let (_, text) = pairs.into_iter().next()?;
    (!text.trim().is_empty()).then_some(Content::Text(text, format))
}
