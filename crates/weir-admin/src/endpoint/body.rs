//! Request bodies: media type, size, time.

use std::time::Duration;

use axum::body::{Body, Bytes};
use http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::Value;

use crate::answer::Failure;

/// A body must go on within this time.
const PROGRESS_TIMEOUT: Duration = Duration::from_secs(30);

/// Memory taken on the word of a Content-Length alone.
const RESERVE_BYTES_MAX: usize = 1024 * 1024;

/// The format of a list of routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListForm {
    /// One JSON array.
    Array,
    /// One JSON object a line.
    Lines,
}

/// 415 unless the body is JSON.
pub(super) fn require_json(headers: &HeaderMap) -> Result<(), Failure> {
    match list_form(headers)? {
        ListForm::Array => Ok(()),
        ListForm::Lines => Err(Failure::plain(StatusCode::UNSUPPORTED_MEDIA_TYPE)),
    }
}

/// The form of a list, by its media type; 415 for any other.
pub(super) fn list_form(headers: &HeaderMap) -> Result<ListForm, Failure> {
    let media = headers.get(header::CONTENT_TYPE).and_then(|media| media.to_str().ok());
    let media = media.unwrap_or("").split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    match media.as_str() {
        "application/json" => Ok(ListForm::Array),
        "application/x-ndjson" | "application/jsonl" | "application/x-jsonlines" => {
            Ok(ListForm::Lines)
        }
        other if other.starts_with("application/") && other.ends_with("+json") => {
            Ok(ListForm::Array)
        }
        _ => Err(Failure::plain(StatusCode::UNSUPPORTED_MEDIA_TYPE)),
    }
}

/// The whole body.
pub(super) async fn read(
    headers: &HeaderMap,
    mut body: Body,
    bytes_max: usize,
) -> Result<Bytes, Failure> {
    let too_large = || {
        let message = format!("the body is longer than {bytes_max} bytes; send it in parts");
        Failure::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    };
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let length: Option<usize> = length.and_then(|length| length.parse().ok());
    if length.is_some_and(|length| length > bytes_max) {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(length.unwrap_or(0).min(RESERVE_BYTES_MAX));
    loop {
        let Ok(frame) = tokio::time::timeout(PROGRESS_TIMEOUT, body.frame()).await else {
            return Err(Failure::new(StatusCode::REQUEST_TIMEOUT, "the body stopped coming"));
        };
        let Some(frame) = frame else { return Ok(bytes.into()) };
        let frame = frame.map_err(|_| Failure::bad_request("the body broke off"))?;
        if let Some(data) = frame.data_ref() {
            if bytes.len() + data.len() > bytes_max {
                return Err(too_large());
            }
            bytes.extend_from_slice(data);
        }
    }
}

/// A JSON body.
pub(super) async fn read_json(
    headers: &HeaderMap,
    body: Body,
    bytes_max: usize,
) -> Result<Value, Failure> {
    require_json(headers)?;
    let bytes = read(headers, body, bytes_max).await?;
    serde_json::from_slice(&bytes)
        .map_err(|error| Failure::bad_request(format!("the body is not JSON: {error}")))
}
