//! Runtime expressions of OpenAPI: values of a request and its answer within a text.

use std::cell::OnceCell;

use percent_encoding::{AsciiSet, utf8_percent_encode};
use serde_json::Value;

use crate::definition::PATH;
use crate::request::{Call, form_pairs};
use crate::respond::text::text_of;

/// What a value within a URL may not hold as it is; a value that the URL begins with is one itself.
const WITHIN: &AsciiSet = &PATH.add(b'&').add(b'+');

/// A text with expressions: `http://a/{$request.body#/id}`, or one alone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expression(Vec<Part>);

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    /// A value, and how it was written.
    Value(Source, String),
}

#[derive(Clone, Debug, PartialEq)]
enum Source {
    Url,
    Method,
    Status,
    RequestHeader(String),
    RequestQuery(String),
    RequestPath(String),
    /// JSON pointer.
    RequestBody(String),
    ResponseHeader(String),
    /// JSON pointer.
    ResponseBody(String),
}

/// What expressions speak of.
pub(crate) struct Known<'k> {
    call: &'k Call<'k>,
    path_values: &'k [(&'k str, String)],
    status: u16,
    fields: &'k [(String, Vec<u8>)],
    content: &'k [u8],
    request_body: OnceCell<Value>,
    response_body: OnceCell<Value>,
}

impl<'k> Known<'k> {
    /// A request with the variables of its path, and status, fields and content of its answer.
    pub(crate) fn new(
        call: &'k Call<'k>,
        path_values: &'k [(&'k str, String)],
        status: u16,
        fields: &'k [(String, Vec<u8>)],
        content: &'k [u8],
    ) -> Self {
        let (request_body, response_body) = (OnceCell::new(), OnceCell::new());
        Self { call, path_values, status, fields, content, request_body, response_body }
    }

    /// The body of the request: JSON, or a form as an object of texts.
    fn request_body(&self) -> &Value {
        self.request_body.get_or_init(|| {
            let media_type = self.call.header("content-type").unwrap_or_default();
            if media_type.starts_with("application/x-www-form-urlencoded") {
                let pairs = form_pairs(self.call.body).into_iter();
                return Value::Object(pairs.map(|(name, text)| (name, text.into())).collect());
            }
            serde_json::from_slice(self.call.body).unwrap_or_default()
        })
    }

    fn response_body(&self) -> &Value {
        self.response_body.get_or_init(|| serde_json::from_slice(self.content).unwrap_or_default())
    }

    fn url(&self) -> Option<String> {
        let prefix = String::from_utf8_lossy(self.call.prefix);
        let path = String::from_utf8_lossy(self.call.path);
        let query = self.call.query.map(|query| format!("?{}", String::from_utf8_lossy(query)));
        let host = self.call.header("host")?;
        Some(format!("http://{host}{prefix}{path}{}", query.unwrap_or_default()))
    }

    fn value(&self, source: &Source) -> Option<String> {
        let text = |value: Option<&Value>| value.filter(|value| !value.is_null()).map(text_of);
        match source {
            Source::Url => self.url(),
            Source::Method => Some(String::from_utf8_lossy(self.call.method).into_owned()),
            Source::Status => Some(self.status.to_string()),
            Source::RequestHeader(name) => self.call.header(name),
            Source::RequestQuery(name) => {
                self.call.pairs().into_iter().find(|(own, _)| own == name).map(|(_, text)| text)
            }
            Source::RequestPath(name) => {
                let mut all = self.path_values.iter();
                all.find(|(own, _)| own == name).map(|(_, text)| text.clone())
            }
            Source::RequestBody(pointer) => text(self.request_body().pointer(pointer)),
            Source::ResponseHeader(name) => {
                let found = self.fields.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
                found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
            }
            Source::ResponseBody(pointer) => text(self.response_body().pointer(pointer)),
        }
    }
}

impl Expression {
    /// Reads a text with expressions in braces, or one expression without them.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        if text.starts_with('$') {
            return Ok(Self(vec![Part::Value(source(text)?, text.to_owned())]));
        }
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some((before, after)) = rest.split_once('{') {
            let Some((inside, behind)) = after.split_once('}') else {
                return Err(format!("`{text}` has a brace that is not closed"));
            };
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            parts.push(Part::Value(source(inside)?, inside.to_owned()));
            rest = behind;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Self(parts))
    }

    /// The URL that it stands for.
    ///
    /// # Errors
    /// Which value is not there.
    pub(crate) fn url(&self, known: &Known<'_>) -> Result<String, String> {
        let mut url = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => url.push_str(text),
                Part::Value(source, written) => {
                    let value = known.value(source);
                    let value = value.ok_or_else(|| format!("there is no `{written}`"))?;
                    match url.is_empty() {
                        true => url.push_str(&value),
                        false => url.extend(utf8_percent_encode(&value, WITHIN)),
                    }
                }
            }
        }
        Ok(url)
    }
}

fn source(text: &str) -> Result<Source, String> {
    let unknown = || {
        format!(
            "`{text}` is no runtime expression; there are $url, $method, $statusCode, \
             $request.header.NAME, .query.NAME, .path.NAME and .body#/POINTER, and \
             $response.header.NAME and .body#/POINTER"
        )
    };
    let pointer = |rest: &str| match rest {
        "" => Some(String::new()),
        rest => {
            let own = rest.strip_prefix("#")?;
            (own.is_empty() || own.starts_with("/")).then(|| own.to_owned())
        }
    };
    let named = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let found = match text {
        "$url" => Some(Source::Url),
        "$method" => Some(Source::Method),
        "$statusCode" => Some(Source::Status),
        text => match text.split_once('.') {
            Some(("$request", rest)) => match rest.split_once('.') {
                Some(("header", name)) => named(name).map(Source::RequestHeader),
                Some(("query", name)) => named(name).map(Source::RequestQuery),
                Some(("path", name)) => named(name).map(Source::RequestPath),
                _ => rest.strip_prefix("body").and_then(pointer).map(Source::RequestBody),
            },
            Some(("$response", rest)) => match rest.split_once('.') {
                Some(("header", name)) => named(name).map(Source::ResponseHeader),
                _ => rest.strip_prefix("body").and_then(pointer).map(Source::ResponseBody),
            },
            _ => None,
        },
    };
    found.ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use weir_wire::Fields;

    use super::{Expression, Known};
    use crate::request::Call;

    fn check(written: &str, body: &[u8], expected: Result<&str, &str>) {
        let mut fields = Fields::default();
        fields.append(b"host", b"mock:1");
        fields.append(b"x-url", b"http://h/a?b");
        if body.starts_with(b"url=") {
            fields.append(b"content-type", b"application/x-www-form-urlencoded");
        }
        let call = Call {
            method: b"POST",
            path: b"/subs/7",
            prefix: b"/mock/acme",
            query: Some(b"to=http%3A%2F%2Fq&n=a+b"),
            fields: &fields,
            body,
        };
        let values = [("id", "7".to_owned())];
        let answer = [("Location".to_owned(), b"http://l/1".to_vec())];
        let known = Known::new(&call, &values, 201, &answer, br#"{"id":[5]}"#);
        let found = Expression::read(written).and_then(|expression| expression.url(&known));
        match expected {
            Ok(url) => assert_eq!(found.as_deref(), Ok(url), "{written}"),
            Err(part) => {
                let why = found.expect_err(written);
                assert!(why.contains(part), "{why}");
            }
        }
    }

    #[test]
    fn all_sources() {
        let body = br#"{"url":"http://b/","a/b":[{"n":3}],"nothing":null}"#;
        for (written, expected) in [
            ("{$request.body#/url}", "http://b/"),
            ("$request.body#/url", "http://b/"),
            ("http://h/{$request.body#/a~1b/0/n}/x", "http://h/3/x"),
            ("{$request.header.X-Url}", "http://h/a?b"),
            ("{$request.query.to}/{$request.query.n}", "http://q/a%20b"),
            ("http://h/{$request.header.x-url}", "http://h/http://h/a%3Fb"),
            ("http://h/{$request.path.id}/{$method}/{$statusCode}", "http://h/7/POST/201"),
            ("{$url}", "http://mock:1/mock/acme/subs/7?to=http%3A%2F%2Fq&n=a+b"),
            ("{$response.header.location}?{$response.body#/id/0}", "http://l/1?5"),
            ("http://fixed/", "http://fixed/"),
        ] {
            check(written, body, Ok(expected));
        }
        check("{$request.body#/url}", b"url=http%3A%2F%2Ff", Ok("http://f"));
    }

    #[test]
    fn what_is_missing_or_wrong_is_said() {
        for written in ["{$request.body#/url}", "{$request.body#/nothing}", "{$request.path.x}"] {
            check(written, br#"{"nothing":null}"#, Err("there is no `$request."));
        }
        for wrong in ["{$request.body.url}", "{$request.header.}", "{url}", "$response.query.a"] {
            check(wrong, b"", Err("is no runtime expression"));
        }
        check("http://h/{$url", b"", Err("not closed"));
    }
}
