//! `Version`: the API version of the request.

use std::borrow::Cow;
use std::fmt;

use super::condition::Condition;
use super::context::{ApiVersionSource, BuildContext, Make};
use super::error::PredicateError;
use super::header::header_values;
use super::query::query_values;
use super::weight_groups::WeightGroups;
use crate::args::{ArgError, Args};
use crate::request::Request;
use crate::spec::{ArgKind, ArgSpec, Compatibility, Shortcut, Spec};

/// Registry entry.
pub(super) static SPEC: Spec<Make<Box<Version>>> = Spec {
    name: "Version",
    doc: "Matches requests for one version of an API (`1.3`), or for that and all later ones \
(`1.3+`). Where a request states its version is set by `spring.webflux.apiversion.use.*`; without \
that nothing matches. A request that states none does not match. `1` means `1.0.0`; letters before \
the first digit are skipped, so `v1.3` is `1.3`.

```example
Version=1.3+ | @version-header X-Version
+ GET / | X-Version: 1.3
+ GET / | X-Version: v2
- GET / | X-Version: 1.2.9
- GET /
```",
    args: &[ArgSpec {
        name: "version",
        kind: ArgKind::Text,
        default: None,
        required: true,
        doc: "The version, such as `1.3`; with `+` behind it, that or later.",
    }],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Differs(
        "a request without a version still reaches routes without this predicate; SCG answers 404 \
         to all of them once `spring.webflux.apiversion` is set",
    ),
    build,
};

/// A version of the API, or the first of several.
#[derive(Debug)]
pub struct Version {
    text: Box<str>,
    version: [u32; 3],
    or_later: bool,
    source: Option<ApiVersionSource>,
}

fn build(args: &Args, context: &BuildContext<'_>) -> Result<Box<Version>, ArgError> {
    let text = args.filled("version")?;
    let number = text.strip_suffix('+').unwrap_or(text);
    let version = parse_version(number).ok_or_else(|| {
        ArgError::new("version", format!("`{text}` is not a version"))
            .help("write one to three numbers, such as `1.3`, and `+` behind them for later ones")
    })?;
    Ok(Box::new(Version {
        text: text.into(),
        version,
        or_later: text.ends_with('+'),
        source: context.options.api_version.clone(),
    }))
}

/// Spring's `SemanticApiVersionParser`: skips to the first digit, then one to three numbers.
pub fn parse_version(text: &str) -> Option<[u32; 3]> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let mut version = [0; 3];
    let mut slots = version.iter_mut();
    for number in text.get(start..)?.split('.') {
        let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        *slots.next()? = digits.then(|| number.parse().ok()).flatten()?;
    }
    Some(version)
}

impl Condition for Version {
    fn matches(&self, request: &Request<'_>, _: &WeightGroups) -> Result<bool, PredicateError> {
        let Some(source) = &self.source else {
            return Err(PredicateError("`spring.webflux.apiversion.use` is not set"));
        };
        let Some(stated) = source.version(request) else { return Ok(false) };
        let Some(stated) = parse_version(&stated) else {
            return Err(PredicateError("the request states something that is not a version"));
        };
        Ok(if self.or_later { stated >= self.version } else { stated == self.version })
    }

    fn subject(&self, request: &Request<'_>, _: &WeightGroups) -> String {
        match self.source.as_ref().and_then(|source| source.version(request)) {
            Some(stated) => format!("the request asks for version `{}`", stated.escape_debug()),
            None => "the request states no version".to_owned(),
        }
    }

    fn caution(&self) -> Option<String> {
        let missing = "never matches: `spring.webflux.apiversion.use` is not set";
        self.source.is_none().then(|| missing.to_owned())
    }
}

impl ApiVersionSource {
    /// The version of `request`, as written.
    pub fn version<'a>(&'a self, request: &Request<'a>) -> Option<Cow<'a, str>> {
        let fields = &request.head.fields;
        match self {
            Self::Header(name) => fields.get(name.as_bytes()).map(String::from_utf8_lossy),
            Self::QueryParameter(name) => query_values(request.head.query(), name).next()?,
            Self::PathSegment(at) => request.parts.path.get(*at).map(Cow::Borrowed),
            Self::MediaTypeParameter(media_type, parameter) => {
                let mut found = None;
                let mut visit = |value: &str| {
                    found = media_type_parameter(value, media_type, parameter);
                    found.is_some()
                };
                let _ = header_values(fields, "accept", true, &mut visit)
                    || header_values(fields, "content-type", true, &mut visit);
                found.map(Cow::Owned)
            }
        }
    }
}

/// Parameter `name` of `value` (`type/subtype;name=x`) if its type is compatible with `wanted`.
fn media_type_parameter(value: &str, wanted: &str, name: &str) -> Option<String> {
    let mut parts = value.split(';').map(str::trim);
    if !is_compatible(parts.next()?, wanted) {
        return None;
    }
    parts.find_map(|parameter| {
        let (key, text) = parameter.split_once('=')?;
        key.trim().eq_ignore_ascii_case(name).then(|| text.trim().trim_matches('"').to_owned())
    })
}

fn is_compatible(one: &str, other: &str) -> bool {
    let (Some(one), Some(other)) = (one.split_once('/'), other.split_once('/')) else {
        return false;
    };
    let same = |a: &str, b: &str| a == "*" || b == "*" || a.eq_ignore_ascii_case(b);
    same(one.0, other.0) && same(one.1, other.1)
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Version: {}", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::parse_version;

    fn check(text: &str, expected: Option<[u32; 3]>) {
        assert_eq!(parse_version(text), expected, "{text}");
    }

    #[test]
    fn versions_are_read_as_spring_reads_them() {
        check("1", Some([1, 0, 0]));
        check("1.2", Some([1, 2, 0]));
        check("v1.2.3", Some([1, 2, 3]));
        check("1.2.3.4", None);
        check("1.", None);
        check("1.a", None);
        check("", None);
        check("99999999999", None);
    }
}
