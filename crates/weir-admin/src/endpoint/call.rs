//! A request on its way to an endpoint.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts as _, Path};
use http::request::Parts;
use http::{StatusCode, header};

use crate::answer::Failure;
use crate::rights::Rights;
use crate::site::Site;

/// A request on its way to an endpoint that its caller may use.
pub(super) struct Call {
    pub site: Arc<Site>,
    /// The name of the client for the audit log.
    pub who: String,
    /// What the client may see and change.
    pub rights: Rights,
    pub parts: Parts,
    pub body: Body,
}

impl Call {
    /// A decoded segment of the path.
    pub async fn segment(&mut self, name: &str) -> Result<String, Failure> {
        let read = Path::<HashMap<String, String>>::from_request_parts(&mut self.parts, &()).await;
        let Ok(Path(mut segments)) = read else {
            return Err(Failure::bad_request("the path is not UTF-8"));
        };
        segments.remove(name).ok_or(Failure::plain(StatusCode::NOT_FOUND))
    }

    /// 406 unless the caller accepts one of these media types.
    pub fn accepts(&self, offered: &[&str]) -> Result<(), Failure> {
        let mut accepted = self.parts.headers.get_all(header::ACCEPT).iter().peekable();
        if accepted.peek().is_none() {
            return Ok(());
        }
        let ranges = accepted.filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(','));
        let matches = |range: &str| {
            let range = range.split(';').next().unwrap_or("").trim();
            let kind = range.strip_suffix("/*");
            range == "*/*"
                || offered.iter().any(|media| {
                    media.eq_ignore_ascii_case(range)
                        || kind.is_some_and(|kind| {
                            media.split('/').next().is_some_and(|own| own == kind)
                        })
                })
        };
        match ranges.into_iter().any(matches) {
            true => Ok(()),
            false => Err(Failure::plain(StatusCode::NOT_ACCEPTABLE)),
        }
    }
}
