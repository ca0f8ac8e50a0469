//! Values as content of a media type.

use serde_json::Value;

use super::text::text_of;
use super::xml;
use crate::definition::Media;
use crate::request::body::{is_json, is_xml};

/// A value as `media_type`, which is one of `media`.
pub(crate) fn write(value: &Value, media: &Media, media_type: &str) -> Vec<u8> {
    match value {
        Value::String(text) if !is_json(media_type) => text.clone().into_bytes(),
        value if is_xml(media_type) => xml::write(media.schema.as_ref(), value).into_bytes(),
        Value::Object(members) if media_type.starts_with("application/x-www-form-") => {
            let pairs = members.iter().map(|(name, value)| {
                let encode = |text: &str| {
                    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC)
                        .to_string()
                };
                format!("{}={}", encode(name), encode(&text_of(value)))
            });
            pairs.collect::<Vec<_>>().join("&").into_bytes()
        }
        value => value.to_string().into_bytes(),
    }
}
