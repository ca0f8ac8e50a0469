//! The dispatch of a request to its endpoint.

mod apis;
mod apis_table;
mod batch;
mod body;
mod breakers;
mod caches;
mod call;
mod describe;
mod gateway;
mod limits;
mod memory;
mod openapi;
mod pipelines;
mod process;
mod recordings;
mod recordings_table;
mod routes;
mod services;
mod shared;
mod table;
mod tenants;
mod upstreams;
mod webhooks;

use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use http::request::Parts;
use http::{StatusCode, header};

use crate::access::{Caller, Intent};
use crate::answer::{Failure, ok_json};
use crate::rights::Reach;
use crate::site::{Kind, Site};
pub use breakers::{breakers_metrics, breakers_prometheus};
use call::Call;
use describe::{Endpoint, Run};
pub use limits::{limits_metrics, limits_prometheus};
pub use openapi::openapi;
use table::endpoints;

/// The answer of the main port to a request for a change.
const CHANGES_ELSEWHERE: &str = "nothing is changed on this port; send it to the admin API, which \
                                 `weir run` names at its start (127.0.0.1:9090 by default, \
                                 `weir.admin.port`)";

/// The answer of the main port to what tenants may not see.
const READS_ELSEWHERE: &str = "with weir.admin.tenant-tokens this is not shown on this port; ask \
                               the admin API, with a token";

/// The TCP peer of a connection, put into each of its requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Everything `site` serves.
pub(crate) fn router(site: &Arc<Site>) -> Router {
    let mut router = Router::new();
    for endpoint in endpoints() {
        if !is_served(site, endpoint) {
            continue;
        }
        let path = endpoint.address(&base_of(site));
        let site = Arc::clone(site);
        let call = move |request: Request| serve(Arc::clone(&site), endpoint, request);
        router = router.route(&path, on(method_filter(endpoint.method), call));
    }
    router = options(site, elsewhere(site, router));
    if matches!(site.options.kind, Kind::Admin(_)) {
        let site = Arc::clone(site);
        let call = move |request: Request| {
            let site = Arc::clone(&site);
            async move {
                let path = request.uri().path().to_owned();
                let (parts, body) = request.into_parts();
                match admit(site, (Intent::Read, Reach::Open), parts, body) {
                    Ok(call) => ok_json(&served_openapi(&call.site)),
                    Err(failure) => failure.answer(&path),
                }
            }
        };
        router = router.route("/openapi.json", on(MethodFilter::GET, call));
    }
    router
        .method_not_allowed_fallback(|request: Request| async move {
            Failure::plain(StatusCode::METHOD_NOT_ALLOWED).answer(request.uri().path())
        })
        .fallback(|request: Request| async move {
            Failure::plain(StatusCode::NOT_FOUND).answer(request.uri().path())
        })
}

/// OpenAPI 3.1 of what `site` serves.
fn served_openapi(site: &Site) -> serde_json::Value {
    openapi::document(&site.options.base_path, |endpoint| is_served(site, endpoint))
}

/// Makes the main port answer requests for changes with the address that accepts them.
fn elsewhere(site: &Arc<Site>, mut router: Router) -> Router {
    if !matches!(site.options.kind, Kind::Main) {
        return router;
    }
    let writes = endpoints().filter(|endpoint| endpoint.intent == Intent::Write);
    for endpoint in writes.filter(|endpoint| endpoint.name != "apis") {
        if site.allows(endpoint.name, Intent::Write) {
            let told = |request: Request| async move {
                let status = StatusCode::METHOD_NOT_ALLOWED;
                Failure::new(status, CHANGES_ELSEWHERE).answer(request.uri().path())
            };
            let path = endpoint.address(&base_of(site));
            router = router.route(&path, on(method_filter(endpoint.method), told));
        }
    }
    router
}

/// Answers OPTIONS as Spring does: with the methods that a path has.
fn options(site: &Arc<Site>, mut router: Router) -> Router {
    let mut methods: Vec<(String, Vec<&str>)> = Vec::new();
    for endpoint in endpoints().filter(|endpoint| is_served(site, endpoint)) {
        let path = endpoint.address(&base_of(site));
        match methods.iter_mut().find(|(known, _)| *known == path) {
            Some((_, list)) => list.push(endpoint.method),
            None => methods.push((path, vec![endpoint.method])),
        }
    }
    for (path, mut list) in methods {
        if list.contains(&"GET") {
            list.push("HEAD");
        }
        list.push("OPTIONS");
        let allow = list.join(",");
        let site = Arc::clone(site);
        let call = move |request: Request| async move {
            let path = request.uri().path().to_owned();
            let (parts, body) = request.into_parts();
            match admit(site, (Intent::Read, Reach::Open), parts, body) {
                Ok(_) => [(header::ALLOW, allow)].into_response(),
                Err(failure) => failure.answer(&path),
            }
        };
        router = router.route(&path, on(MethodFilter::OPTIONS, call));
    }
    router
}

/// The base path as a pattern: a brace is no parameter when the operator writes it.
fn base_of(site: &Site) -> String {
    site.options.base_path.replace('{', "{{").replace('}', "}}")
}

/// Whether `site` has `endpoint`.
fn is_served(site: &Site, endpoint: &Endpoint) -> bool {
    site.serves(endpoint.name, endpoint.intent) && (site.options.is_verbose || !endpoint.is_verbose)
}

fn method_filter(method: &str) -> MethodFilter {
    match method {
        "POST" => MethodFilter::POST,
        "PUT" => MethodFilter::PUT,
        "DELETE" => MethodFilter::DELETE,
        _ => MethodFilter::GET,
    }
}

async fn serve(site: Arc<Site>, endpoint: &'static Endpoint, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let (parts, body) = request.into_parts();
    let answered = match admit(site, (endpoint.intent, endpoint.reach), parts, body) {
        Ok(call) => answer(endpoint, call).await,
        Err(failure) => Err(failure),
    };
    answered.unwrap_or_else(|failure| failure.answer(&path))
}

fn admit(
    site: Arc<Site>,
    asked: (Intent, Reach),
    parts: Parts,
    body: Body,
) -> Result<Call, Failure> {
    // Only a server that forgot to say who the peer is leaves it out; that peer may do nothing.
    let peer = parts.extensions.get::<Peer>().map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.0);
    let Caller { who, rights } = match &site.options.kind {
        Kind::Admin(rules) => rules
            .judge(asked, peer, &parts.headers)
            .map_err(|denied| Failure::new(denied.status, denied.message))?,
        Kind::Main if site.options.keeps_tenants && asked.1 != Reach::Open => {
            return Err(Failure::new(StatusCode::FORBIDDEN, READS_ELSEWHERE));
        }
        Kind::Main => Caller::whole(String::new()),
    };
    Ok(Call { site, who, rights, parts, body })
}

async fn answer(endpoint: &Endpoint, call: Call) -> Result<Response, Failure> {
    // A list is answered 200 before it is read to its end, so this is the time to find out.
    if endpoint.reads_store {
        call.site.control.recover().await?;
    }
    match endpoint.operation.run {
        Run::Now(run) => run(&call),
        Run::Later(run) => run(call).await,
    }
}
