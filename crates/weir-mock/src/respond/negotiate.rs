//! The choice of the response and of its media type.

use crate::definition::{Code, Media, Operation, Response};
use crate::problem::Fault;
use crate::request::Call;
use crate::request::body::{fits, is_json};

/// The response for a request that is right, and its status.
pub(super) fn choose(
    operation: &Operation,
    wanted: Option<u16>,
) -> Result<(u16, &Response), Fault> {
    let all = &operation.responses;
    if let Some(wanted) = wanted {
        let found = declared(all, wanted);
        return found.map(|response| (wanted, response)).ok_or_else(|| {
            Fault::NotFound(format!("there is no response {wanted}; there are: {}", listed(all)))
        });
    }
    let lowest = all
        .iter()
        .filter_map(|response| match response.code {
            Code::Exact(code @ 200..=299) => Some((code, response)),
            Code::Range(2) => Some((200, response)),
            _ => None,
        })
        .min_by_key(|(code, _)| *code);
    if let Some(found) = lowest {
        return Ok(found);
    }
    let default = all.iter().find(|response| response.code == Code::Default);
    let first = default.or(all.first()).ok_or(Fault::NoResponse)?;
    let code = match first.code {
        Code::Exact(code) => code,
        Code::Range(digit) => digit * 100,
        Code::Default => 200,
    };
    Ok((code, first))
}

/// The response that is declared for a request that is wrong.
pub(super) fn for_fault<'o>(
    operation: &'o Operation,
    fault: &Fault,
) -> Option<(u16, &'o Response)> {
    let codes: &[u16] = match fault {
        Fault::Unauthorized(_) => &[401],
        Fault::MediaType(_) => &[415, 422, 400],
        Fault::Invalid(_) => &[422, 400],
        _ => &[],
    };
    let all = &operation.responses;
    let exact = codes.iter().find_map(|code| {
        let same = |one: &&Response| one.code == Code::Exact(*code);
        all.iter().find(same).map(|response| (*code, response))
    });
    exact.or_else(|| {
        let wide = all.iter().find(|one| matches!(one.code, Code::Range(4) | Code::Default));
        Some((fault.status(), wide?))
    })
}

pub(crate) fn declared(all: &[Response], code: u16) -> Option<&Response> {
    let find = |wanted: Code| all.iter().find(|response| response.code == wanted);
    find(Code::Exact(code))
        .or_else(|| find(Code::Range(code / 100)))
        .or_else(|| find(Code::Default))
}

pub(crate) fn listed(all: &[Response]) -> String {
    let each = all.iter().map(|response| match response.code {
        Code::Exact(code) => code.to_string(),
        Code::Range(digit) => format!("{digit}XX"),
        Code::Default => "default".to_owned(),
    });
    each.collect::<Vec<_>>().join(", ")
}

/// The media type of a response that the client accepts, with the type to announce; `None` if the
/// response has no content.
pub(super) fn media_for<'r>(
    response: &'r Response,
    call: &Call<'_>,
) -> Result<Option<(&'r Media, String)>, Fault> {
    let all = &response.media;
    if all.is_empty() {
        return Ok(None);
    }
    let accept: Vec<String> = call
        .fields
        .get_all(b"accept")
        .flat_map(|line| line.split(|byte| *byte == b','))
        .map(|part| String::from_utf8_lossy(part.trim_ascii()).into_owned())
        .filter(|part| !part.is_empty())
        .collect();
    let usual = || {
        let exact = all.iter().find(|one| one.range == "*/*" || is_json(&one.range));
        exact.or_else(|| all.first())
    };
    if accept.is_empty() {
        return Ok(usual().map(|media| (media, announced(&media.range, "*/*"))));
    }
    let mut wanted: Vec<(u32, String)> = accept
        .iter()
        .map(|part| {
            let quality = part.split(';').skip(1).find_map(|one| {
                let (name, value) = one.split_once('=')?;
                name.trim().eq_ignore_ascii_case("q").then(|| value.trim().parse::<f32>().ok())?
            });
            let range = part.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
            ((quality.unwrap_or(1.0).clamp(0.0, 1.0) * 1000.0) as u32, range)
        })
        .filter(|(quality, _)| *quality > 0)
        .collect();
    // Stable: of two that are wanted as much, the first one named.
    wanted.sort_by_key(|(quality, _)| std::cmp::Reverse(*quality));
    for (_, range) in &wanted {
        if range == "*/*" {
            return Ok(usual().map(|media| (media, announced(&media.range, range))));
        }
        let found = all.iter().find(|one| fits(range, &one.range) || fits(&one.range, range));
        if let Some(media) = found {
            return Ok(Some((media, announced(&media.range, range))));
        }
    }
    Err(Fault::NotAcceptable)
}

/// The media type of an answer: as declared, or what the client named where that is a range.
pub(crate) fn announced(declared: &str, asked: &str) -> String {
    let is_range = |text: &str| text.split(';').next().unwrap_or_default().contains('*');
    match (is_range(declared), is_range(asked)) {
        (false, _) => declared.to_owned(),
        (true, false) => asked.to_owned(),
        (true, true) if declared.starts_with("text/") => "text/plain".to_owned(),
        (true, true) => "application/json".to_owned(),
    }
}
