//! Reading and changing routes.

use std::str::FromStr;
use std::sync::Arc;

use axum::body::Bytes;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::de::{DeserializeSeed, Error, SeqAccess, Visitor};
use serde_json::{Value, json};
use weir_control::{Batch, Condition, Entry, Filter, Origin, Refusal, View};
use weir_store::StoreError;

use super::Call;
use super::body::{self, ListForm};
use crate::answer::{Failure, empty, etag, ok_json, stream_list};
use crate::definition::read_definition;
use crate::display;

/// The maximum number of routes on a page.
const PAGE_SIZE_MAX: usize = 10_000;
/// Routes on a page if only its number is given.
const PAGE_SIZE: usize = 100;

/// The query parameters of GET and DELETE of `/routes`.
#[derive(Default)]
struct Selection {
    filter: Filter,
    page: Option<usize>,
    size: Option<usize>,
    all: bool,
    from: Option<Origin>,
    form: Form,
}

/// The representation of a route.
#[derive(Clone, Copy, Default)]
enum Form {
    /// As SCG shows it.
    #[default]
    Scg,
    /// The definition, with where it comes from and its revision.
    Entry,
}

pub(super) async fn list(call: Call) -> Result<Response, Failure> {
    call.accepts(&super::process::MEDIA)?;
    let Selection { filter, page, size, from, form, .. } = selection(&call)?;
    let view = call.site.control.view();
    let revision = view.revision();
    let is_paged = page.is_some() || size.is_some();
    let (page, size) = match is_paged {
        true => (page.unwrap_or(0), size.unwrap_or(PAGE_SIZE).min(PAGE_SIZE_MAX)),
        false => (0, usize::MAX),
    };
    if size == 0 {
        return Err(Failure::bad_request("`size` is at least 1"));
    }
    // Counting what a search finds reads the whole store.
    let (view, filter, total) = blocking(move || {
        let total = view.count(from, &filter)?;
        Ok::<_, StoreError>((view, filter, total))
    })
    .await??;
    let is_verbose = call.site.options.is_verbose;
    let mut response = stream_list(move |list| {
        view.list(from, &filter, page.saturating_mul(size), size, |entry| {
            list.push(&shown(&entry, form, is_verbose))
        })
    });
    let headers = response.headers_mut();
    headers.insert("x-total-count", HeaderValue::from(total));
    headers.insert(header::ETAG, etag(revision));
    if is_paged && let Some(links) = page_links(&call, page, size, total) {
        headers.insert(header::LINK, links);
    }
    Ok(response)
}

/// `Link` to the pages around this one (RFC 8288).
pub(super) fn page_links(
    call: &Call,
    page: usize,
    size: usize,
    total: usize,
) -> Option<HeaderValue> {
    let query = call.parts.uri.query().unwrap_or("");
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.starts_with("page=") && !pair.starts_with("size="))
        .collect();
    let path = call.parts.uri.path();
    let link = |page: usize, relation: &str| {
        let mut query = vec![format!("page={page}"), format!("size={size}")];
        query.extend(kept.iter().map(|&pair| pair.to_owned()));
        format!("<{path}?{}>; rel=\"{relation}\"", query.join("&"))
    };
    let mut links = Vec::new();
    if let Some(before) = page.checked_sub(1) {
        links.push(link(before, "prev"));
    }
    if page.saturating_add(1).saturating_mul(size) < total {
        links.push(link(page + 1, "next"));
    }
    HeaderValue::from_str(&links.join(", ")).ok().filter(|links| !links.is_empty())
}

pub(super) fn definitions(call: &Call) -> Result<Response, Failure> {
    call.accepts(&super::process::MEDIA)?;
    let view = call.site.control.view();
    Ok(stream_list(move |list| {
        view.list_as_written(|definition| list.push(&display::definition(definition)))
    }))
}

pub(super) async fn get(mut call: Call) -> Result<Response, Failure> {
    call.accepts(&super::process::MEDIA)?;
    let id = call.segment("id").await?;
    let Selection { form, .. } = selection(&call)?;
    let entries = find(call.site.control.view(), id).await?;
    let [entry] = entries.as_slice() else {
        // SCG's responses: 404 for no entry, an error for more than one.
        return match entries.len() {
            0 => Ok(empty(StatusCode::NOT_FOUND)),
            _ => Err(Failure::plain(StatusCode::INTERNAL_SERVER_ERROR)),
        };
    };
    let mut response = ok_json(&match (form, call.site.options.is_verbose) {
        (Form::Scg, false) => display::definition(&entry.definition),
        (form, is_verbose) => shown(entry, form, is_verbose),
    });
    if let Some(revision) = entry.revision {
        response.headers_mut().insert(header::ETAG, etag(revision));
    }
    Ok(response)
}

pub(super) async fn combined_filters(mut call: Call) -> Result<Response, Failure> {
    call.accepts(&super::process::MEDIA)?;
    let id = call.segment("id").await?;
    let entries = find(call.site.control.view(), id).await?;
    let told =
        entries.iter().map(|entry| (display::route(entry), Value::from(entry.definition.order)));
    Ok(ok_json(&Value::Object(told.collect())))
}

async fn find(view: View, id: String) -> Result<Vec<Entry>, Failure> {
    let found = blocking(move || view.find(&id)).await?;
    Ok(found?)
}

fn shown(entry: &Entry, form: Form, is_verbose: bool) -> Value {
    match form {
        Form::Scg if is_verbose => display::verbose(entry),
        Form::Scg => display::terse(entry),
        Form::Entry => display::entry(entry),
    }
}

pub(super) async fn put(mut call: Call) -> Result<Response, Failure> {
    body::require_json(&call.parts.headers)?;
    let id = call.segment("id").await?;
    let condition = condition(&call.parts.headers)?;
    let bytes_max = call.site.options.limits.body_bytes_max;
    let json = body::read_json(&call.parts.headers, call.body, bytes_max).await?;
    let mut definition = read_definition(&json).map_err(Refusal::Invalid)?;
    let location = format!("/routes/{}", escaped(&id));
    definition.id = id;
    let done = call.site.control.put(definition, condition, call.who).await?;
    let mut response = empty(StatusCode::CREATED);
    if let Ok(location) = HeaderValue::from_str(&location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response.headers_mut().insert(header::ETAG, etag(done.revision));
    Ok(response)
}

pub(super) async fn delete(mut call: Call) -> Result<Response, Failure> {
    let id = call.segment("id").await?;
    let condition = condition(&call.parts.headers)?;
    match call.site.control.delete(id, condition, call.who).await {
        Ok(_) => Ok(empty(StatusCode::OK)),
        Err(Refusal::NotFound) => Ok(empty(StatusCode::NOT_FOUND)),
        Err(refusal) => Err(refusal.into()),
    }
}

pub(super) async fn delete_matching(call: Call) -> Result<Response, Failure> {
    let Selection { filter, page, size, all, from, .. } = selection(&call)?;
    if page.is_some() || size.is_some() || from.is_some() {
        return Err(Failure::bad_request("a removal has no pages, and is from the store always"));
    }
    if filter.is_empty() && !all {
        return Err(Failure::bad_request(
            "say which routes (q, uri, path, id or metadata), or all=true for every one",
        ));
    }
    let done = call.site.control.delete_matching(filter, call.who).await?;
    Ok(ok_json(&json!({ "deleted": done.deleted })))
}

pub(super) async fn import(call: Call) -> Result<Response, Failure> {
    let form = body::list_form(&call.parts.headers)?;
    let limits = call.site.options.limits;
    // Held until the end, so that only one import is in memory at a time.
    let _turn = call.site.imports.acquire().await;
    let bytes = body::read(&call.parts.headers, call.body, limits.import_bytes_max).await?;
    let control = Arc::clone(&call.site.control);
    let batch =
        blocking(move || read_batch(&bytes, form, control.batch(), limits.import_routes_max))
            .await??;
    let done = call.site.control.import(batch, call.who).await?;
    let mut response = empty(StatusCode::OK);
    let headers = response.headers_mut();
    headers.insert("x-weir-created", HeaderValue::from(done.created));
    headers.insert("x-weir-replaced", HeaderValue::from(done.replaced));
    headers.insert(header::ETAG, etag(done.revision));
    Ok(response)
}

fn read_batch(
    bytes: &Bytes,
    form: ListForm,
    mut batch: Batch,
    routes_max: usize,
) -> Result<Batch, Failure> {
    match form {
        ListForm::Array => {
            let mut deserializer = serde_json::Deserializer::from_slice(bytes);
            ArrayReader { batch: &mut batch, routes_max }
                .deserialize(&mut deserializer)
                .and_then(|()| deserializer.end())
                .map_err(|error| Failure::bad_request(format!("not a list of routes: {error}")))?;
        }
        ListForm::Lines => {
            let lines =
                bytes.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
            for line in lines {
                if batch.count() >= routes_max {
                    return Err(Failure::bad_request(too_many(routes_max)));
                }
                match serde_json::from_slice(line) {
                    Ok(json) => add(&mut batch, &json),
                    Err(error) => batch.add_unreadable(error),
                }
            }
        }
    }
    Ok(batch)
}

fn add(batch: &mut Batch, json: &Value) {
    match read_definition(json) {
        Ok(definition) => batch.add(definition),
        Err(problems) => batch.add_refused(problems),
    }
}

fn too_many(routes_max: usize) -> String {
    format!("more than {routes_max} routes; send them in parts")
}

/// Reads the elements of an array one by one into a batch.
struct ArrayReader<'b> {
    batch: &'b mut Batch,
    routes_max: usize,
}

impl<'de> DeserializeSeed<'de> for ArrayReader<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for ArrayReader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of routes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while let Some(json) = elements.next_element::<Value>()? {
            if self.batch.count() >= self.routes_max {
                return Err(A::Error::custom(too_many(self.routes_max)));
            }
            add(self.batch, &json);
        }
        Ok(())
    }
}

fn selection(call: &Call) -> Result<Selection, Failure> {
    let mut selection = Selection::default();
    for (key, value) in parameters(call) {
        let filter = &mut selection.filter;
        match key.as_str() {
            "page" => selection.page = Some(number(&key, &value)?),
            "size" => selection.size = Some(number(&key, &value)?),
            "from" => {
                let known = [Origin::File, Origin::Store];
                let from = known.into_iter().find(|origin| origin.name() == value);
                let unknown = || Failure::bad_request("`from` is file or store");
                selection.from = Some(from.ok_or_else(unknown)?);
            }
            "form" => {
                selection.form = match value.as_str() {
                    "scg" => Form::Scg,
                    "entry" => Form::Entry,
                    _ => return Err(Failure::bad_request("`form` is scg or entry")),
                };
            }
            "all" => selection.all = value == "true",
            "q" => filter.q = Some(value),
            "uri" => filter.uri = Some(value),
            "path" => filter.path = Some(value),
            "id" => filter.id_prefix = Some(value),
            "metadata" => {
                let (key, value) = value
                    .split_once(':')
                    .ok_or_else(|| Failure::bad_request("`metadata` is written key:value"))?;
                filter.metadata.push((key.to_owned(), value.to_owned()));
            }
            // A misspelt condition must not turn a removal into one of everything.
            _ => return Err(Failure::bad_request(format!("unknown parameter `{key}`"))),
        }
    }
    Ok(selection)
}

/// The decoded query.
pub(super) fn parameters(call: &Call) -> Vec<(String, String)> {
    use axum::extract::Query;
    Query::<Vec<(String, String)>>::try_from_uri(&call.parts.uri)
        .map(|Query(pairs)| pairs)
        .unwrap_or_default()
}

pub(super) fn number<T: FromStr>(key: &str, value: &str) -> Result<T, Failure> {
    value.parse().map_err(|_| Failure::bad_request(format!("`{key}` is not a whole number")))
}

/// `If-Match` and `If-None-Match` (RFC 9110 section 13).
pub(super) fn condition(headers: &HeaderMap) -> Result<Condition, Failure> {
    let text = |name: header::HeaderName| headers.get(name).map(HeaderValue::to_str).transpose();
    let invalid = |_| Failure::bad_request("If-Match or If-None-Match is not text");
    if let Some(none_match) = text(header::IF_NONE_MATCH).map_err(invalid)? {
        return match none_match.trim() {
            "*" => Ok(Condition::Absent),
            _ => Err(Failure::bad_request("If-None-Match is taken as `*` only")),
        };
    }
    let Some(tags) = text(header::IF_MATCH).map_err(invalid)? else { return Ok(Condition::Any) };
    if tags.trim() == "*" {
        return Ok(Condition::Exists);
    }
    // A tag that is none of ours is at no revision; weak tags never match (RFC 9110 13.1.1).
    let revision = |tag: &str| tag.trim().strip_prefix('"')?.strip_suffix('"')?.parse().ok();
    Ok(Condition::At(tags.split(',').filter_map(revision).collect()))
}

/// `id` as a segment of a path.
fn escaped(id: &str) -> String {
    let mut out = String::with_capacity(id.len());
    for byte in id.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Runs slow work off the serving thread.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Failure::from(Refusal::Fault))
}
