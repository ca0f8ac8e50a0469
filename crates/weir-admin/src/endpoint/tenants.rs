//! The tenants of API definitions, and which one a request is for.

use axum::response::Response;
use http::HeaderValue;
use serde_json::json;
use weir_control::apis::{ApiKey, check_tenant};

use super::Call;
use super::routes::parameters;
use crate::answer::{Failure, stream_list};

/// The tenants of the store that the caller may see, with what they have.
pub(super) fn list(call: &Call) -> Result<Response, Failure> {
    let shelf = call.site.control.apis().shelf();
    let rights = call.rights.clone();
    let is_meant = move |tenant: &str| !tenant.is_empty() && rights.include(tenant);
    let count = shelf.owners().filter(|(tenant, _)| is_meant(tenant)).count();
    let mut response = stream_list(move |list| {
        for (tenant, own) in shelf.owners().filter(|(tenant, _)| is_meant(tenant)) {
            let broken = own.iter().filter(|(_, kept)| kept.served.is_err()).count();
            let shown = json!({
                "tenant": **tenant,
                "definitions": own.len(),
                "bytes": shelf.bytes_of(tenant),
                "not-served": broken,
            });
            if !list.push(&shown) {
                break;
            }
        }
        Ok::<_, std::convert::Infallible>(())
    });
    response.headers_mut().insert("x-total-count", HeaderValue::from(count));
    Ok(response)
}

/// The definition that the path, the parameter `tenant` and the token name.
pub(super) async fn key(call: &mut Call) -> Result<ApiKey, Failure> {
    let name = call.segment("name").await?;
    let tenant = call.rights.tenant(tenant(call)?)?;
    Ok(ApiKey { tenant, name })
}

/// The parameter `tenant`, if there is one.
pub(super) fn tenant(call: &Call) -> Result<Option<String>, Failure> {
    let found = parameters(call).into_iter().find(|(key, _)| key == "tenant");
    found.map(|(_, tenant)| checked(tenant)).transpose()
}

/// A tenant that a parameter names; empty is none.
pub(super) fn checked(tenant: String) -> Result<String, Failure> {
    if !tenant.is_empty() {
        check_tenant(&tenant).map_err(|problem| Failure::bad_request(problem.to_string()))?;
    }
    Ok(tenant)
}

/// What identifies a definition below `/weir/apis`, as a query: `?tenant=T`, or nothing.
pub(super) fn query_of(key: &ApiKey) -> String {
    match key.tenant.is_empty() {
        true => String::new(),
        false => format!("?tenant={}", key.tenant),
    }
}
