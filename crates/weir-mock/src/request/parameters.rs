//! Parameters in every style (OpenAPI 3, "Style Values").

use serde_json::Value;

use super::call::Call;
use super::value::{Shape, array, coerce, object};
use super::violation::{Violation, violations};
use crate::definition::{Parameter, ParameterPlace, Style};

/// The form in which a request contains a parameter.
pub(super) enum Written {
    Nothing,
    /// A text that stands for the whole value in the parameter's style.
    Text(String),
    /// `color=blue&color=black`.
    Several(Vec<String>),
    /// Members of an object.
    Members(Vec<(String, String)>),
}

pub(super) fn from_path(parameter: &Parameter, values: &[(&str, String)]) -> Written {
    let found = values.iter().find(|(name, _)| *name == parameter.name);
    found.map_or(Written::Nothing, |(_, text)| Written::Text(text.clone()))
}

pub(super) fn from_header(parameter: &Parameter, call: &Call<'_>) -> Written {
    let lines: Vec<String> = call
        .fields
        .get_all(parameter.name.as_bytes())
        .map(|value| String::from_utf8_lossy(value).into_owned())
        .collect();
    if lines.is_empty() { Written::Nothing } else { Written::Text(lines.join(",")) }
}

pub(super) fn from_cookie(parameter: &Parameter, call: &Call<'_>) -> Written {
    call.cookie(&parameter.name).map_or(Written::Nothing, Written::Text)
}

pub(super) fn from_query(parameter: &Parameter, pairs: &[(String, String)]) -> Written {
    if pairs.is_empty() {
        return Written::Nothing;
    }
    let name = parameter.name.as_str();
    if parameter.style == Style::DeepObject {
        let members: Vec<(String, String)> = pairs
            .iter()
            .filter_map(|(own, value)| {
                let inner = own.strip_prefix(name)?.strip_prefix('[')?.strip_suffix(']')?;
                Some((inner.to_owned(), value.clone()))
            })
            .collect();
        return if members.is_empty() { Written::Nothing } else { Written::Members(members) };
    }
    let shape = parameter.schema.as_ref().map(Shape::of);
    let is_object = shape.as_ref().is_some_and(|shape| shape.may_be("object"));
    let alone = |other: &str| shape.as_ref().is_some_and(|shape| shape.property(other).is_some());
    if is_object && parameter.style == Style::Form && parameter.explode {
        let members: Vec<(String, String)> =
            pairs.iter().filter(|(own, _)| alone(own)).cloned().collect();
        return if members.is_empty() { Written::Nothing } else { Written::Members(members) };
    }
    // `a[]=1&a[]=2`, as PHP and Rails have it.
    let own = |key: &str| key == name || key.strip_suffix("[]") == Some(name);
    let values: Vec<String> =
        pairs.iter().filter(|(key, _)| own(key)).map(|(_, value)| value.clone()).collect();
    let is_array = shape.as_ref().is_some_and(|shape| shape.may_be("array"));
    match values.as_slice() {
        [] => Written::Nothing,
        [_, ..] if is_array && parameter.explode => Written::Several(values),
        [.., last] => Written::Text(last.clone()),
    }
}

pub(super) fn check(parameter: &Parameter, written: Written, found: &mut Vec<Violation>) {
    let place = parameter.place.name();
    let location = vec![place.to_owned(), parameter.name.clone()];
    let shape = parameter.schema.as_ref().map(Shape::of);
    let shape = shape.as_ref();
    let value = match written {
        Written::Nothing => {
            if parameter.required {
                let message = format!("the {place} parameter `{}` is required", parameter.name);
                found.push(Violation::new(location, "required", message));
            }
            return;
        }
        Written::Text(text) if text.is_empty() && parameter.allow_empty => return,
        Written::Text(text) => match read(parameter, &text, shape) {
            Ok(value) => value,
            Err(why) => {
                found.push(Violation::new(location, "style", why));
                return;
            }
        },
        Written::Several(texts) => array(texts.iter().map(String::as_str), shape),
        Written::Members(members) => {
            object(members.iter().map(|(name, text)| (name.as_str(), text.as_str())), shape)
        }
    };
    if let Some(schema) = &parameter.schema {
        violations(schema, &value, &location, found);
    }
}

/// A text in the style of its parameter.
fn read(parameter: &Parameter, text: &str, shape: Option<&Shape<'_>>) -> Result<Value, String> {
    if parameter.style == Style::Json {
        return serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"));
    }
    let is = |name: &str| shape.is_some_and(|shape| shape.may_be(name));
    let (is_array, is_object) = (is("array"), is("object"));
    let matrix = format!(";{}=", parameter.name);
    let (text, separator) = match parameter.style {
        Style::Label => {
            let rest = text.strip_prefix('.').ok_or("a value of style `label` starts with `.`")?;
            (rest, if parameter.explode { '.' } else { ',' })
        }
        Style::Matrix if is_object && parameter.explode => {
            (text.strip_prefix(';').ok_or("a value of style `matrix` starts with `;`")?, ';')
        }
        Style::Matrix if is_array && parameter.explode => {
            let parts = text.split(matrix.as_str()).skip(1);
            return Ok(array(parts, shape));
        }
        Style::Matrix => {
            let rest = text.strip_prefix(matrix.as_str());
            (rest.ok_or_else(|| format!("a value of style `matrix` starts with `{matrix}`"))?, ',')
        }
        Style::SpaceDelimited => (text, ' '),
        Style::PipeDelimited => (text, '|'),
        Style::TabDelimited => (text, '\t'),
        _ => (text, ','),
    };
    if is_array {
        let parts = text.split(separator).map(|part| match parameter.place {
            ParameterPlace::Header => part.trim(),
            _ => part,
        });
        return Ok(array(parts.filter(|_| !text.is_empty()), shape));
    }
    if is_object && text.is_empty() {
        return Ok(object(std::iter::empty(), shape));
    }
    if is_object && !text.starts_with('{') {
        if parameter.explode {
            let pairs =
                text.split(separator).map(|pair| pair.split_once('=').unwrap_or((pair, "")));
            return Ok(object(pairs, shape));
        }
        let parts: Vec<&str> = text.split(separator).collect();
        if !parts.len().is_multiple_of(2) {
            return Err("an object is written as names and values in turn".to_owned());
        }
        let pairs = parts.chunks(2).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?)));
        return Ok(object(pairs, shape));
    }
    Ok(coerce(text, shape))
}
