//! Reading and changing the API definitions of the store.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use axum::body::Bytes;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};
use weir_control::apis::{ApiKey, Apis, By, Entry, Kept, Shelf};
use weir_control::{Problem, Refusal};
use weir_mock::Kind;
use weir_store::StoreError;
use weir_wire::Fields;

use super::Call;
use super::batch::Batch;
use super::body;
use super::routes::{blocking, condition, number, page_links, parameters};
use super::tenants::{checked, key, query_of, tenant};
use crate::answer::{Failure, empty, etag, ok_json, stream_list};
use crate::rights::Rights;

/// The default and the maximum number of definitions on a page.
const PAGE_SIZE: usize = 100;
const PAGE_SIZE_MAX: usize = 10_000;

/// The query parameters of lists and removals.
#[derive(Default)]
struct Selection {
    /// Empty for those of no tenant.
    tenant: String,
    /// Whether those of each tenant are meant.
    every_tenant: bool,
    q: Option<String>,
    page: Option<usize>,
    size: Option<usize>,
    all: bool,
    /// Whether whole entries are returned as written, instead of summaries.
    as_written: bool,
}

pub(super) async fn list(call: Call) -> Result<Response, Failure> {
    let selection = selection(&call)?;
    let Selection { page, size, as_written, every_tenant, .. } = selection;
    let is_paged = page.is_some() || size.is_some();
    let (page, size) = match is_paged {
        true => (page.unwrap_or(0), size.unwrap_or(PAGE_SIZE).min(PAGE_SIZE_MAX)),
        false => (0, usize::MAX),
    };
    if size == 0 {
        return Err(Failure::bad_request("`size` is at least 1"));
    }
    let apis = Arc::clone(call.site.control.apis());
    let shelf = apis.shelf();
    let rights = call.rights.clone();
    let (keys, shelf, tag) = blocking(move || {
        let keys = selection.keys(&shelf, &rights);
        let revisions = keys.iter().filter_map(|key| Some(shelf.get(key)?.revision));
        let tag = rights.list_tag(shelf.revision, revisions);
        (keys, shelf, tag)
    })
    .await?;
    let total = keys.len();
    let rights = call.rights.clone();
    let mut response = stream_list(move |list| {
        for key in keys.iter().skip(page.saturating_mul(size)).take(size) {
            let shown = match as_written {
                true => written(&apis, key, every_tenant)?,
                false => shelf.get(key).map(|kept| Value::Object(summary(key, kept, &rights))),
            };
            if shown.is_some_and(|shown| !list.push(&shown)) {
                break;
            }
        }
        Ok::<_, StoreError>(())
    });
    let headers = response.headers_mut();
    headers.insert("x-total-count", HeaderValue::from(total));
    headers.insert(header::ETAG, etag(tag));
    if is_paged && let Some(links) = page_links(&call, page, size, total) {
        headers.insert(header::LINK, links);
    }
    Ok(response)
}

/// A definition as it was written, with its name, and its tenant if asked for.
fn written(apis: &Apis, key: &ApiKey, with_tenant: bool) -> Result<Option<Value>, StoreError> {
    let Some((_, bytes)) = apis.written(key)? else { return Ok(None) };
    let mut entry = Map::new();
    entry.insert("name".into(), key.name.as_str().into());
    if with_tenant && !key.tenant.is_empty() {
        entry.insert("tenant".into(), key.tenant.as_str().into());
    }
    if let Ok(Value::Object(members)) = serde_json::from_slice(&bytes) {
        entry.extend(members);
    }
    Ok(Some(Value::Object(entry)))
}

pub(super) async fn get(mut call: Call) -> Result<Response, Failure> {
    let key = key(&mut call).await?;
    let apis = Arc::clone(call.site.control.apis());
    let rights = call.rights;
    let found = blocking(move || {
        let written = apis.written(&key)?;
        Ok::<_, Failure>(written.map(|(revision, bytes)| {
            let shelf = apis.shelf();
            let kept = shelf.get(&key);
            let mut shown = kept.map(|kept| summary(&key, kept, &rights)).unwrap_or_default();
            if let Some(Ok(served)) = kept.map(|kept| &kept.served) {
                let api = &served.mount.api;
                let operations = api.operations.iter().map(
                    |one| json!({ "method": one.method, "path": one.path, "operationId": one.id }),
                );
                shown.insert("operations".into(), operations.collect());
                let webhooks = api.webhooks.iter().map(|one| one.name.as_str());
                shown.insert("webhooks".into(), webhooks.collect());
                let warnings = api.warnings.iter().map(ToString::to_string);
                shown.insert("warnings".into(), warnings.collect());
            }
            if let Ok(Value::Object(members)) = serde_json::from_slice(&bytes) {
                shown.extend(members);
            }
            (rights.shown(revision), Value::Object(shown))
        }))
    });
    let Some((revision, shown)) = found.await?? else {
        return Ok(empty(StatusCode::NOT_FOUND));
    };
    let mut response = ok_json(&shown);
    response.headers_mut().insert(header::ETAG, etag(revision));
    Ok(response)
}

pub(super) async fn put(mut call: Call) -> Result<Response, Failure> {
    let key = key(&mut call).await?;
    let rights = call.rights.clone();
    let when = rights.condition(condition(&call.parts.headers)?);
    let mut place = [None, None];
    for (key, value) in parameters(&call) {
        match key.as_str() {
            "base-path" => place[0] = Some(value),
            "host" => place[1] = Some(value),
            "tenant" => {}
            _ => return Err(Failure::bad_request(format!("unknown parameter `{key}`"))),
        }
    }
    // Held until the end, so that only one large text is in memory at a time.
    let _turn = call.site.imports.acquire().await;
    let bytes_max = call.site.options.limits.import_bytes_max;
    let bytes = body::read(&call.parts.headers, call.body, bytes_max).await?;
    let apis = Arc::clone(call.site.control.apis());
    let by = by(call.who);
    let location = format!("/weir/apis/{}{}", key.name, query_of(&key));
    let done = blocking(move || {
        let [base_path, host] = place;
        let entry = match entry_in(&bytes) {
            Some(value) => Entry::read(Some(&key.tenant), Some(&key.name), value),
            None => {
                let text = String::from_utf8(bytes.to_vec());
                let text = text.map_err(|_| vec![Problem::new("", "the text is not UTF-8")]);
                text.and_then(|text| Entry::of_document(&key, text, base_path, host))
            }
        };
        let checked = entry.and_then(|entry| apis.check(entry)).map_err(Refusal::Invalid)?;
        apis.put(checked, &when, by)
    })
    .await?
    .map_err(|refusal| failure(refusal, &rights))?;
    let mut response = empty(match done.created {
        0 => StatusCode::OK,
        _ => StatusCode::CREATED,
    });
    if let Ok(location) = HeaderValue::from_str(&location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response.headers_mut().insert(header::ETAG, etag(rights.shown(done.revision)));
    Ok(response)
}

pub(super) async fn delete(mut call: Call) -> Result<Response, Failure> {
    let key = key(&mut call).await?;
    let rights = call.rights;
    let when = rights.condition(condition(&call.parts.headers)?);
    let apis = Arc::clone(call.site.control.apis());
    let by = by(call.who);
    match blocking(move || apis.delete(&key, &when, by)).await? {
        Ok(_) => Ok(empty(StatusCode::OK)),
        Err(Refusal::NotFound) => Ok(empty(StatusCode::NOT_FOUND)),
        Err(refusal) => Err(failure(refusal, &rights)),
    }
}

pub(super) async fn delete_matching(call: Call) -> Result<Response, Failure> {
    let selection = selection(&call)?;
    if selection.page.is_some() || selection.size.is_some() || selection.as_written {
        return Err(Failure::bad_request("a removal has no pages and no form"));
    }
    if selection.every_tenant {
        return Err(Failure::bad_request("a removal is for one tenant, or for none"));
    }
    if selection.q.is_none() && !selection.all {
        return Err(Failure::bad_request("say which definitions (q), or all=true for every one"));
    }
    let apis = Arc::clone(call.site.control.apis());
    let (by, rights) = (by(call.who), call.rights);
    let own = rights.clone();
    let done = blocking(move || {
        let keys = selection.keys(&apis.shelf(), &own);
        apis.delete_all(&keys, by)
    });
    let done = done.await?.map_err(|refusal| failure(refusal, &rights))?;
    Ok(ok_json(&json!({ "deleted": done.deleted })))
}

pub(super) async fn import(call: Call) -> Result<Response, Failure> {
    let form = body::list_form(&call.parts.headers)?;
    let rights = call.rights.clone();
    let tenant = rights.asked(tenant(&call)?)?;
    let limits = call.site.options.limits;
    let _turn = call.site.imports.acquire().await;
    let bytes = body::read(&call.parts.headers, call.body, limits.import_bytes_max).await?;
    let apis = Arc::clone(call.site.control.apis());
    let (by, own) = (by(call.who), call.rights);
    let done = blocking(move || {
        let batch = Batch::new(&apis, tenant, &own);
        apis.import(batch.check_all(&bytes, form, limits.import_routes_max)?, by)
    });
    let done = done.await?.map_err(|refusal| failure(refusal, &rights))?;
    let mut response = empty(StatusCode::OK);
    let headers = response.headers_mut();
    headers.insert("x-weir-created", HeaderValue::from(done.created));
    headers.insert("x-weir-replaced", HeaderValue::from(done.replaced));
    headers.insert(header::ETAG, etag(rights.shown(done.revision)));
    Ok(response)
}

/// Explains how one definition answers a request; nothing is sent.
pub(super) async fn try_out(mut call: Call) -> Result<Response, Failure> {
    let key = key(&mut call).await?;
    let bytes_max = call.site.options.limits.body_bytes_max;
    let asked = body::read_json(&call.parts.headers, call.body, bytes_max).await?;
    let apis = Arc::clone(call.site.control.apis());
    if apis.shelf().get(&key).is_none() {
        return Ok(empty(StatusCode::NOT_FOUND));
    }
    let text = |key: &str| asked.get(key).and_then(Value::as_str).unwrap_or_default();
    let (method, target) = (text("method"), text("target"));
    if method.is_empty() || !target.starts_with('/') {
        return Err(Failure::bad_request("write `{ \"method\": \"GET\", \"target\": \"/path\" }`"));
    }
    let mut fields = Fields::default();
    for pair in asked.get("headers").and_then(Value::as_array).into_iter().flatten() {
        if let (Some(name), Some(value)) = (pair[0].as_str(), pair[1].as_str()) {
            fields.append(name.as_bytes(), value.as_bytes());
        }
    }
    let (path, query) = target.split_once('?').map_or((target, None), |(p, q)| (p, Some(q)));
    let request = weir_mock::Call {
        method: method.as_bytes(),
        path: path.as_bytes(),
        prefix: b"",
        query: query.map(str::as_bytes),
        fields: &fields,
        body: text("body").as_bytes(),
    };
    let dice = RandomState::new().build_hasher().finish();
    let (served, now_ms) = (apis.served(), by(String::new()).at_ms);
    let told = served.of(&key.tenant).explain_as(Some(&key.name), &request, dice, now_ms);
    let mut document = told.document();
    let body = String::from_utf8_lossy(&told.reply.body).into_owned();
    let headers =
        told.reply.fields.iter().map(|(name, value)| json!([name, String::from_utf8_lossy(value)]));
    document["headers"] = headers.collect();
    document["body"] = body.into();
    Ok(ok_json(&document))
}

/// Forgets what clients have written to a stateful definition.
pub(super) async fn reset(mut call: Call) -> Result<Response, Failure> {
    let key = key(&mut call).await?;
    let apis = call.site.control.apis();
    if apis.shelf().get(&key).is_none() {
        return Ok(empty(StatusCode::NOT_FOUND));
    }
    apis.served().of(&key.tenant).reset(&key.name);
    Ok(empty(StatusCode::NO_CONTENT))
}

/// The body as an entry, if it is one: JSON with a `definition`.
fn entry_in(bytes: &Bytes) -> Option<Value> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    value.get("definition").is_some().then_some(value)
}

fn selection(call: &Call) -> Result<Selection, Failure> {
    let mut selection = Selection::default();
    let mut tenant = None;
    for (key, value) in parameters(call) {
        match key.as_str() {
            "tenant" if value == "*" => selection.every_tenant = true,
            "tenant" => tenant = Some(checked(value)?),
            "q" => selection.q = Some(value.to_lowercase()),
            "page" => selection.page = Some(number(&key, &value)?),
            "size" => selection.size = Some(number(&key, &value)?),
            "all" => selection.all = value == "true",
            "form" if value == "entry" => selection.as_written = true,
            "form" => return Err(Failure::bad_request("`form` is entry, or left out")),
            // A misspelt condition must not turn a removal into one of everything.
            _ => return Err(Failure::bad_request(format!("unknown parameter `{key}`"))),
        }
    }
    if !selection.every_tenant {
        selection.tenant = call.rights.tenant(tenant)?;
    }
    Ok(selection)
}

impl Selection {
    /// What is selected of the definitions within `rights`, in order.
    fn keys(&self, shelf: &Shelf, rights: &Rights) -> Vec<ApiKey> {
        let is_meant =
            |tenant: &str| (self.every_tenant || tenant == self.tenant) && rights.include(tenant);
        let mut keys = Vec::new();
        for (tenant, own) in shelf.owners().filter(|(tenant, _)| is_meant(tenant)) {
            let found = own.iter().filter(|(name, kept)| matches(name, kept, self.q.as_deref()));
            keys.extend(found.map(|(name, _)| ApiKey::new(tenant, name)));
        }
        keys
    }
}

/// Whether `q`, in lower case, occurs in the name, title, base path, host or a path.
fn matches(name: &str, kept: &Kept, q: Option<&str>) -> bool {
    let Some(q) = q else { return true };
    let has = |text: &str| text.to_lowercase().contains(q);
    has(name)
        || kept.served.as_ref().is_ok_and(|served| {
            let mount = &served.mount;
            has(&mount.api.title)
                || mount.base_path.as_deref().is_some_and(has)
                || mount.hosts.iter().any(|host| has(host))
                || mount.api.operations.iter().any(|one| has(&one.path))
        })
}

fn summary(key: &ApiKey, kept: &Kept, rights: &Rights) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("name".into(), key.name.as_str().into());
    if !key.tenant.is_empty() {
        shown.insert("tenant".into(), key.tenant.as_str().into());
    }
    shown.insert("revision".into(), rights.shown(kept.revision).into());
    match &kept.served {
        Ok(served) => {
            let api = &served.mount.api;
            let kind = match api.kind {
                Kind::OpenApi => "openapi",
                Kind::YApi => "yapi",
                Kind::Postman => "postman",
                Kind::Har => "har",
                Kind::Apifox => "apifox",
            };
            shown.insert("kind".into(), kind.into());
            shown.insert("title".into(), api.title.as_str().into());
            shown.insert("version".into(), api.version.as_str().into());
            shown.insert("operations".into(), api.operations.len().into());
            shown.insert("base-path".into(), json!(served.mount.base_path));
            shown.insert("host".into(), json!(served.mount.hosts));
        }
        Err(problems) => drop(shown.insert("problems".into(), json!(problems))),
    }
    shown
}

fn by(who: String) -> By {
    By { who, at_ms: jiff::Timestamp::now().as_millisecond() }
}

/// A refusal in the words of definitions, as the caller may see it.
pub(super) fn failure(refusal: Refusal, rights: &Rights) -> Failure {
    let refusal = match refusal {
        Refusal::Changed(at) => Refusal::Changed(at.map(|revision| rights.shown(revision))),
        other => other,
    };
    let message = match &refusal {
        Refusal::Changed(Some(revision)) => format!("the definition is at revision {revision} now"),
        Refusal::Changed(None) => "the definition does not exist".to_owned(),
        _ => return refusal.into(),
    };
    Failure::from(refusal).told(message)
}
