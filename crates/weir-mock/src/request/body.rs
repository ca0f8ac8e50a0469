//! Bodies of requests: JSON, forms, multipart, XML, texts and bytes.

use memchr::memmem;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use super::call::Call;
use super::value::{Shape, coerce, form_pairs};
use super::violation::{Violation, violations};
use crate::definition::{Media, RequestBody};
use crate::problem::Fault;

/// The maximum depth of nested XML elements.
const XML_DEPTH_MAX: usize = 128;

/// The violations in the body of a request that its head reveals.
pub(super) fn check_head(
    declared: &RequestBody,
    call: &Call<'_>,
    found: &mut Vec<Violation>,
) -> Result<(), Fault> {
    if !call.announces_body() {
        if declared.required {
            found.push(missing());
        }
        return Ok(());
    }
    media_of(declared, call).map(drop)
}

/// Whether the announced body must be read to validate it.
pub(super) fn is_looked_at(declared: &RequestBody, call: &Call<'_>) -> bool {
    let media = media_of(declared, call).ok().filter(|_| call.announces_body());
    media.is_some_and(|(media, content_type)| media.schema.is_some() && is_read(&content_type))
}

fn missing() -> Violation {
    Violation::new(vec!["body".to_owned()], "required", "a body is required")
}

/// The declared content that a request has by its Content-Type, and that type.
fn media_of<'d>(declared: &'d RequestBody, call: &Call<'_>) -> Result<(&'d Media, String), Fault> {
    let content_type = call.header("content-type").unwrap_or_default();
    let usual = declared.media.first().filter(|_| content_type.is_empty());
    let media = usual.or_else(|| declared.media.iter().find(|one| fits(&one.range, &content_type)));
    let Some(media) = media else {
        let known: Vec<&str> = declared.media.iter().map(|one| one.range.as_str()).collect();
        return Err(Fault::MediaType(known.join(", ")));
    };
    let content_type = if content_type.is_empty() { media.range.clone() } else { content_type };
    Ok((media, content_type))
}

/// The body as a value for its schema, if its type can be inspected.
pub(super) fn check(
    declared: &RequestBody,
    call: &Call<'_>,
    found: &mut Vec<Violation>,
) -> Result<Option<Value>, Fault> {
    let location = vec!["body".to_owned()];
    if call.body.is_empty() && declared.required {
        found.push(missing());
        return Ok(None);
    }
    // No bytes are a form without fields, if they are announced as a form.
    if call.body.is_empty() && !is_form(&call.header("content-type").unwrap_or_default()) {
        return Ok(None);
    }
    let (media, content_type) = media_of(declared, call)?;
    Ok(check_content(media, &content_type, call.body, &location, found))
}

/// Content of a declared type, as a value for its schema, if the type can be inspected; violations
/// are reported below `location`.
pub(crate) fn check_content(
    media: &Media,
    content_type: &str,
    content: &[u8],
    location: &[String],
    found: &mut Vec<Violation>,
) -> Option<Value> {
    let value = match read(media, content_type, content) {
        Ok(value) => value?,
        Err(why) => {
            found.push(Violation::new(location.to_vec(), "syntax", why));
            return None;
        }
    };
    if let Some(schema) = &media.schema {
        violations(schema, &value, location, found);
    }
    Some(value)
}

/// Whether a declared range covers a media type; parameters are ignored.
pub(crate) fn fits(range: &str, media_type: &str) -> bool {
    let essence =
        |text: &str| text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let (range, own) = (essence(range), essence(media_type));
    if range == own || range == "*/*" {
        return true;
    }
    let (Some((kind, sub)), Some((own_kind, own_sub))) =
        (range.split_once('/'), own.split_once('/'))
    else {
        return false;
    };
    let suffix = sub.strip_prefix('*').is_some_and(|suffix| own_sub.ends_with(suffix));
    kind == own_kind && suffix
}

/// The essence of a media type is JSON.
pub(crate) fn is_json(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || essence == "*/*" || essence.ends_with("+json")
}

/// The essence of a media type is a form as browsers write it into a URL.
fn is_form(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// The essence of a media type is XML.
pub(crate) fn is_xml(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    matches!(essence.as_str(), "application/xml" | "text/xml") || essence.ends_with("+xml")
}

/// Whether [`read`] parses bodies of this type.
pub(crate) fn is_read(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let forms = ["application/x-www-form-urlencoded", "multipart/form-data"];
    is_json(content_type)
        || is_xml(content_type)
        || forms.contains(&essence.as_str())
        || essence.starts_with("text/")
}

fn read(media: &Media, content_type: &str, body: &[u8]) -> Result<Option<Value>, String> {
    let shape = media.schema.as_ref().map(Shape::of);
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if is_json(content_type) {
        return serde_json::from_slice(body).map(Some).map_err(|error| format!("no JSON: {error}"));
    }
    match essence.as_str() {
        "application/x-www-form-urlencoded" => {
            Ok(Some(form(form_pairs(body).into_iter(), shape.as_ref(), media)))
        }
        "multipart/form-data" => {
            let parts = multipart(content_type, body)?;
            Ok(Some(form(parts.into_iter(), shape.as_ref(), media)))
        }
        _ if is_xml(content_type) => {
            let text = std::str::from_utf8(body).map_err(|_| "no UTF-8".to_owned())?;
            let document =
                roxmltree::Document::parse(text).map_err(|error| format!("no XML: {error}"))?;
            Ok(Some(element(document.root_element(), shape.as_ref(), 0)))
        }
        text if text.starts_with("text/") => {
            let text = String::from_utf8_lossy(body);
            Ok(Some(coerce(&text, shape.as_ref())))
        }
        // Bytes cannot be validated against a schema.
        _ => Ok(None),
    }
}

/// Fields of a form as an object; several of one name are an array.
fn form(
    pairs: impl Iterator<Item = (String, String)>,
    shape: Option<&Shape<'_>>,
    media: &Media,
) -> Value {
    let mut members: Map<String, Value> = Map::new();
    for (name, text) in pairs {
        let (base, inner) = match name.split_once('[') {
            Some((base, rest)) => (base.to_owned(), rest.strip_suffix(']').map(str::to_owned)),
            None => (name, None),
        };
        let own = shape.and_then(|shape| shape.property(&base));
        let is_array = own.as_ref().is_some_and(|own| own.may_be("array"));
        let is_json_part = media.encoding.get(&base).is_some_and(|own| is_json(own));
        let parsed = is_json_part.then(|| serde_json::from_str(&text).ok()).flatten();
        match inner.filter(|inner| !inner.is_empty()) {
            Some(inner) => {
                let of_member = own.as_ref().and_then(|own| own.property(&inner));
                let value = coerce(&text, of_member.as_ref());
                let all = members.entry(base).or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(all) = all {
                    all.insert(inner, value);
                }
            }
            None if is_array => {
                let items = own.as_ref().and_then(Shape::items);
                let all = members.entry(base).or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(all) = all {
                    all.push(parsed.unwrap_or_else(|| coerce(&text, items.as_ref())));
                }
            }
            None => {
                let value = parsed.unwrap_or_else(|| coerce(&text, own.as_ref()));
                members.insert(base, value);
            }
        }
    }
    Value::Object(members)
}

/// Names and contents of the parts (RFC 7578).
fn multipart(content_type: &str, body: &[u8]) -> Result<Vec<(String, String)>, String> {
    let boundary = parameter(content_type, "boundary").ok_or("the boundary is missing")?;
    let mark = format!("--{boundary}");
    let mut parts = Vec::new();
    let mut rest = body;
    let mut at = memmem::find(rest, mark.as_bytes()).ok_or("no part begins")?;
    loop {
        rest = rest.get(at + mark.len()..).unwrap_or_default();
        if rest.starts_with(b"--") {
            return Ok(parts);
        }
        let start = memmem::find(rest, b"\r\n").ok_or("a part does not begin")? + 2;
        rest = rest.get(start..).unwrap_or_default();
        at = memmem::find(rest, format!("\r\n{mark}").as_bytes())
            .ok_or("the last part does not end")?
            + 2;
        let part = rest.get(..at - 2).unwrap_or_default();
        let head_end = memmem::find(part, b"\r\n\r\n").ok_or("a part has no end of its head")?;
        let head = String::from_utf8_lossy(part.get(..head_end).unwrap_or_default()).into_owned();
        let content = part.get(head_end + 4..).unwrap_or_default();
        let disposition = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.trim().eq_ignore_ascii_case("content-disposition").then(|| value.trim().to_owned())
        });
        let name = disposition.and_then(|value| parameter(&value, "name"));
        let name = name.ok_or("a part has no name")?;
        parts.push((name, String::from_utf8_lossy(content).into_owned()));
    }
}

/// A parameter of a media type or disposition.
fn parameter(value: &str, name: &str) -> Option<String> {
    value.split(';').skip(1).find_map(|part| {
        let (own, text) = part.split_once('=')?;
        let text = text.trim().trim_matches('"');
        own.trim()
            .eq_ignore_ascii_case(name)
            .then(|| percent_decode_str(text).decode_utf8_lossy().into_owned())
    })
}

/// An element as its schema's `xml` objects say, in short: attributes and elements are properties
/// by their local names; several elements of one name, or a wrapped list, are an array.
fn element(node: roxmltree::Node<'_, '_>, shape: Option<&Shape<'_>>, depth: usize) -> Value {
    let children: Vec<_> = node.children().filter(roxmltree::Node::is_element).collect();
    let is = |name: &str| shape.is_some_and(|shape| shape.may_be(name));
    if depth > XML_DEPTH_MAX {
        return Value::Null;
    }
    if is("array") {
        let items = shape.and_then(Shape::items);
        let each = children.iter().map(|child| element(*child, items.as_ref(), depth + 1));
        return Value::Array(each.collect());
    }
    if children.is_empty() && node.attributes().len() == 0 && !is("object") {
        return coerce(node.text().unwrap_or_default(), shape);
    }
    let mut members: Map<String, Value> = Map::new();
    for attribute in node.attributes() {
        let own = shape.and_then(|shape| shape.property(attribute.name()));
        members.insert(attribute.name().to_owned(), coerce(attribute.value(), own.as_ref()));
    }
    for child in children {
        let name = child.tag_name().name().to_owned();
        let own = shape.and_then(|shape| shape.property(&name));
        let is_array = own.as_ref().is_some_and(|own| own.may_be("array"));
        let is_wrapper = is_array && child.children().any(|inner| inner.is_element());
        let items = own.as_ref().and_then(Shape::items);
        let is_item = items.as_ref().is_some_and(|items| {
            let inner: Vec<_> = child.children().filter(roxmltree::Node::is_element).collect();
            inner.iter().any(|one| items.property(one.tag_name().name()).is_some())
        });
        if is_array && (!is_wrapper || is_item) {
            let all = members.entry(name).or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(all) = all {
                all.push(element(child, items.as_ref(), depth + 1));
            }
        } else {
            members.insert(name, element(child, own.as_ref(), depth + 1));
        }
    }
    Value::Object(members)
}
