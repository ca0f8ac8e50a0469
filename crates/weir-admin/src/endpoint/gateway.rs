//! The gateway's own endpoints: its index, its predicates and filters, its counts, its audit log.

use std::collections::HashSet;
use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use serde_json::{Map, Value, json};
use weir_control::{ChangeTimes, STORE_POSITION};
use weir_route::index::Index;
use weir_snapshot::RouteTarget;
use weir_store::StoreError;

use super::Call;
use super::routes::{blocking, number, parameters};
use super::{body, memory};
use crate::access::Intent;
use crate::answer::{Failure, empty, moment, ok_json, stream_list};

/// Routes that can never match, named in the shape of the table.
const SHADOWED_SHOWN: usize = 100;
/// The maximum number of audit entries in one answer.
const AUDIT_COUNT_MAX: usize = 1_000;

/// SCG's global filters with their orders. Each stands for a step of weir's exchange that does the
/// same at the same place.
const GLOBAL_FILTERS: [(&str, i32); 10] = [
    ("config.GatewayNoLoadBalancerClientAutoConfiguration$NoLoadBalancerClientFilter", 10_150),
    ("filter.AdaptCachedBodyGlobalFilter", -2_147_482_648),
    ("filter.ForwardPathFilter", 0),
    ("filter.ForwardRoutingFilter", i32::MAX),
    ("filter.GatewayMetricsFilter", 0),
    ("filter.NettyRoutingFilter", i32::MAX),
    ("filter.NettyWriteResponseFilter", -1),
    ("filter.RemoveCachedBodyFilter", i32::MIN),
    ("filter.RouteToRequestUrlFilter", 10_000),
    ("filter.WebsocketRoutingFilter", i32::MAX - 1),
];

/// Factories whose configuration class in SCG is not `<Factory>.Config`.
const CONFIG_CLASSES: [(&str, &str); 22] = [
    ("AddRequestHeader", NAME_VALUE),
    ("AddRequestHeadersIfNotPresent", "Object"),
    ("AddRequestParameter", NAME_VALUE),
    ("AddResponseHeader", NAME_VALUE),
    ("CloudFoundryRouteService", "Object"),
    ("PreserveHostHeader", "Object"),
    ("RemoveJsonAttributesResponseBody", "Object"),
    ("RemoveRequestHeader", NAME),
    ("RemoveRequestParameter", NAME),
    ("RemoveResponseHeader", NAME),
    ("RequestHeaderToRequestUri", NAME),
    ("RequestSize", "RequestSizeGatewayFilterFactory.RequestSizeConfig"),
    ("Retry", "RetryGatewayFilterFactory.RetryConfig"),
    ("SaveSession", "Object"),
    ("SetRequestHeader", NAME_VALUE),
    ("SetResponseHeader", NAME_VALUE),
    ("Weight", "WeightConfig"),
    ("FallbackHeaders", "FallbackHeadersGatewayFilterFactory.Config"),
    ("TokenRelay", NAME),
    ("LocalResponseCache", "LocalResponseCacheGatewayFilterFactory.RouteCacheConfiguration"),
    ("CircuitBreaker", "SpringCloudCircuitBreakerFilterFactory.Config"),
    ("JsonToGrpc", "JsonToGrpcGatewayFilterFactory.Config"),
];
const NAME: &str = "AbstractGatewayFilterFactory.NameConfig";
const NAME_VALUE: &str = "AbstractNameValueGatewayFilterFactory.NameValueConfig";

pub(super) fn index(call: &Call) -> Result<Response, Failure> {
    call.accepts(&super::process::MEDIA)?;
    let site = Arc::clone(&call.site);
    let has_writes = site.serves("gateway", Intent::Write);
    let base = format!("{}/gateway", site.options.base_path);
    Ok(stream_list(move |list| {
        let link = |path: &str, methods: &[&str]| {
            let href = format!("{base}{path}");
            json!({ "href": href, "methods": methods })
        };
        let (routes, route): (&[&str], &[&str]) = match has_writes {
            true => (&["POST", "GET"], &["POST", "DELETE", "GET"]),
            false => (&["GET"], &["GET"]),
        };
        for path in ["/routedefinitions", "/globalfilters", "/routefilters"] {
            if path != "/routedefinitions" || site.options.is_verbose {
                list.push(&link(path, &["GET"]));
            }
        }
        let view = site.control.view();
        let mut seen = HashSet::new();
        let ids: Vec<Arc<str>> = view
            .snapshot()
            .index
            .iter()
            .map(|route| Arc::clone(&route.id))
            .filter(|id| seen.insert(Arc::clone(id)))
            .collect();
        for id in &ids {
            if !list.push(&link(&format!("/routes/{id}/combinedfilters"), &["GET"])) {
                return Ok(());
            }
        }
        list.push(&link("/routes", routes));
        for id in &ids {
            if !list.push(&link(&format!("/routes/{id}"), route)) {
                return Ok(());
            }
        }
        list.push(&link("/", &["GET"]));
        list.push(&link("/routepredicates", &["GET"]));
        if has_writes {
            list.push(&link("/refresh", &["POST"]));
        }
        Ok::<(), StoreError>(())
    }))
}

pub(super) fn global_filters(call: &Call) -> Result<Response, Failure> {
    call.accepts(&super::process::MEDIA)?;
    let filters: Map<String, Value> = GLOBAL_FILTERS
        .iter()
        .map(|(class, order)| {
            let name = format!("org.springframework.cloud.gateway.{class}@{}", identity(class));
            (name, Value::from(*order))
        })
        .collect();
    Ok(ok_json(&Value::Object(filters)))
}

pub(super) fn route_filters(call: &Call) -> Result<Response, Failure> {
    call.accepts(&super::process::MEDIA)?;
    let names = weir_filter::filter::SPECS.iter().map(|spec| spec.name);
    Ok(ok_json(&factories(names, "GatewayFilterFactory")))
}

pub(super) fn route_predicates(call: &Call) -> Result<Response, Failure> {
    call.accepts(&super::process::MEDIA)?;
    let names = weir_route::predicate::SPECS.iter().map(|spec| spec.name);
    Ok(ok_json(&factories(names, "RoutePredicateFactory")))
}

fn factories<'n>(names: impl Iterator<Item = &'n str>, suffix: &str) -> Value {
    let told = names.map(|name| {
        let known = CONFIG_CLASSES.iter().find(|(of, _)| *of == name);
        let class = known.map_or(format!("{name}{suffix}.Config"), |(_, class)| (*class).into());
        (format!("[{name}{suffix}@{} configClass = {class}]", identity(name)), Value::Null)
    });
    Value::Object(told.collect())
}

/// Eight hex digits where Java shows an object's identity: the same for the same name.
fn identity(name: &str) -> String {
    let hash = name
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{hash:08x}")
}

pub(super) fn refresh(_: &Call) -> Result<Response, Failure> {
    Ok(empty(StatusCode::OK))
}

pub(super) async fn explain(call: Call) -> Result<Response, Failure> {
    let bytes_max = call.site.options.limits.body_bytes_max;
    let body = body::read_json(&call.parts.headers, call.body, bytes_max).await?;
    let question = serde_json::from_value(body)
        .map_err(|error| Failure::bad_request(format!("not a request to explain: {error}")))?;
    let view = call.site.control.view();
    Ok(ok_json(&json!(crate::explain(view.snapshot(), &question))))
}

pub(super) async fn stats(call: Call) -> Result<Response, Failure> {
    let mut with_shape = false;
    for (key, value) in parameters(&call) {
        match key.as_str() {
            "shape" => with_shape = value == "true",
            _ => return Err(Failure::bad_request(format!("unknown parameter `{key}`"))),
        }
    }
    let view = call.site.control.view();
    let routes = &view.snapshot().index;
    let stored = routes.iter().filter(|route| route.position >= STORE_POSITION).count();
    let mut told = json!({
        "routes": {
            "total": routes.len(),
            "fromFiles": routes.len() - stored,
            "fromStore": stored,
            "revision": view.revision(),
        },
        "store": {
            "path": call.site.control.store_path(),
            "open": call.site.control.store_is_open(),
        },
        "changes": changes(&call.site.control.change_times()),
        "dataPlane": (call.site.hooks.stats)(),
    });
    if with_shape {
        let (shape, memory) = blocking(move || {
            let memory = memory::of(&view);
            (shape(&view.snapshot().index), memory)
        })
        .await?;
        told["index"] = shape;
        told["memory"] = memory;
    }
    Ok(ok_json(&told))
}

fn changes(times: &ChangeTimes) -> Value {
    json!({
        "transactions": times.transactions,
        "changes": times.changes,
        "writeMicrosMax": times.write_max.as_micros() as u64,
        "publishMicrosP50": times.publish_within(500).as_micros() as u64,
        "publishMicrosP99": times.publish_within(990).as_micros() as u64,
        "publishMicrosP999": times.publish_within(999).as_micros() as u64,
        "publishMicrosMax": times.publish_max.as_micros() as u64,
        "publishImportMicrosMax": times.publish_import_max.as_micros() as u64,
    })
}

/// The shape of the route table. Walks all of it.
fn shape(index: &Index<RouteTarget>) -> Value {
    let stats = index.stats();
    let shadowed = index.shadowed();
    let crowded = stats.crowded.iter().map(|crowded| {
        let only_by = crowded.only_by.iter();
        json!({
            "routes": crowded.routes,
            "ids": crowded.ids.iter().map(AsRef::as_ref).collect::<Vec<&str>>(),
            "way": crowded.way,
            "onlyBy": only_by.map(|(what, routes)| json!({ "predicate": what, "routes": routes }))
                .collect::<Vec<Value>>(),
        })
    });
    let branches = stats.branches.iter().map(|(on, branch)| {
        let counts = json!({
            "branches": branch.branches, "toldApart": branch.told_apart, "any": branch.any,
        });
        (on.clone(), counts)
    });
    let groups = stats.groups.iter().map(|(id, routes)| (id.to_string(), Value::from(*routes)));
    let never = shadowed.iter().take(SHADOWED_SHOWN).map(|found| {
        json!({
            "id": found.route.id.as_ref(), "by": found.by.id.as_ref(), "duplicate": found.duplicate,
        })
    });
    json!({
        "alone": stats.alone,
        "inShortLists": stats.in_short_lists,
        "scanned": stats.scanned,
        "depthMax": stats.depth_max,
        "bytes": stats.bytes,
        "grouped": stats.grouped,
        "groups": groups.collect::<Map<String, Value>>(),
        "branches": branches.collect::<Map<String, Value>>(),
        "crowded": crowded.collect::<Vec<Value>>(),
        "shadowed": shadowed.len(),
        "neverMatch": never.collect::<Vec<Value>>(),
    })
}

pub(super) fn audit(call: &Call) -> Result<Response, Failure> {
    let (mut before, mut count) = (None, 100);
    for (key, value) in parameters(call) {
        match key.as_str() {
            "before" => before = Some(number::<u64>(&key, &value)?),
            "count" => count = number::<usize>(&key, &value)?,
            _ => return Err(Failure::bad_request(format!("unknown parameter `{key}`"))),
        }
    }
    let entries = call.site.control.audit(before, count.min(AUDIT_COUNT_MAX))?;
    let told: Vec<Value> = entries
        .into_iter()
        .map(|(sequence, entry)| {
            json!({
                "sequence": sequence,
                "timestamp": moment(entry.at_ms),
                "who": entry.who,
                "action": entry.action,
                "ids": entry.ids,
                "count": entry.count,
                "revision": entry.revision,
            })
        })
        .collect();
    Ok(ok_json(&Value::Array(told)))
}
