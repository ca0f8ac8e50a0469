//! A compiled CORS configuration (Spring classes `CorsConfiguration` and `DefaultCorsProcessor`).

use std::borrow::Cow;

use weir_route::ArgError;
use weir_wire::{RequestHead, is_token, list_members};

use super::origin::OriginPattern;
use crate::header::check_value;

/// A configuration as written. An empty list means that the property is not set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CorsConfiguration {
    /// `allowedOrigins`: origins, or `*`.
    pub allowed_origins: Vec<String>,
    /// `allowedOriginPatterns`: origins with `*`; `:[8080,8081]` or `:[*]` match ports.
    pub allowed_origin_patterns: Vec<String>,
    /// `allowedMethods`: methods, or `*`; GET and HEAD if empty.
    pub allowed_methods: Vec<String>,
    /// `allowedHeaders`: headers that a preflight may ask for, or `*`; none if empty.
    pub allowed_headers: Vec<String>,
    /// `exposedHeaders`.
    pub exposed_headers: Vec<String>,
    /// `allowCredentials`.
    pub allow_credentials: bool,
    /// `maxAge` in seconds.
    pub max_age_s: Option<u64>,
}

/// A header for the response.
pub type CorsField = (Cow<'static, str>, Vec<u8>);

/// A compiled configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorsRule {
    any_origin: bool,
    /// See [`CorsConfiguration::grants_nothing`].
    grants_nothing: bool,
    origins: Box<[Box<str>]>,
    patterns: Box<[OriginPattern]>,
    /// `None` is any.
    methods: Option<Box<[Box<str>]>>,
    /// `None` is any.
    headers: Option<Box<[Box<str>]>>,
    /// Names joined for `Access-Control-Expose-Headers`; empty if there are none.
    exposed: Box<str>,
    credentials: bool,
    max_age_s: Option<u64>,
}

const ANY: &str = "*";

impl CorsConfiguration {
    /// Whether `*` is combined with credentials. Browsers reject such responses, and SCG fails
    /// every request with an Origin; weir serves the requests but adds no CORS headers.
    pub fn grants_nothing(&self) -> bool {
        self.allow_credentials && self.allowed_origins.iter().any(|origin| origin.trim() == ANY)
    }

    /// Compiles a configuration.
    ///
    /// # Errors
    /// The error, with the property's name in camel case as `arg`.
    pub fn compile(&self) -> Result<CorsRule, ArgError> {
        let any_origin = self.allowed_origins.iter().any(|origin| origin.trim() == ANY);
        check_names("allowedMethods", &self.allowed_methods)?;
        check_names("allowedHeaders", &self.allowed_headers)?;
        check_names("exposedHeaders", &self.exposed_headers)?;
        let without_slash = |text: &String| Box::from(text.trim().trim_end_matches('/'));
        let methods = match self.allowed_methods.as_slice() {
            [] => Some(["GET", "HEAD"].map(Box::from).into()),
            list => unless_any(list),
        };
        let exposed = self.exposed_headers.join(", ");
        check_value("exposedHeaders", &exposed)?;
        Ok(CorsRule {
            any_origin,
            grants_nothing: self.grants_nothing(),
            origins: self.allowed_origins.iter().map(without_slash).collect(),
            patterns: self
                .allowed_origin_patterns
                .iter()
                .map(|p| OriginPattern::new(p.trim()))
                .collect(),
            methods,
            headers: unless_any(&self.allowed_headers),
            exposed: exposed.into(),
            credentials: self.allow_credentials,
            max_age_s: self.max_age_s,
        })
    }
}

fn check_names(property: &str, names: &[String]) -> Result<(), ArgError> {
    match names.iter().find(|name| !is_token(name.trim().as_bytes())) {
        None => Ok(()),
        Some(bad) => Err(ArgError::new(property, format!("`{bad}` is not a name"))
            .help("write one name for each element of the list, or `*`")),
    }
}

fn unless_any(names: &[String]) -> Option<Box<[Box<str>]>> {
    let any = names.iter().any(|name| name.trim() == ANY);
    (!any).then(|| names.iter().map(|name| Box::from(name.trim())).collect())
}

impl CorsRule {
    /// Headers for the response to `head`, which is no preflight; `None` means refused.
    pub(super) fn simple(&self, head: &RequestHead, origin: &[u8]) -> Option<Vec<CorsField>> {
        let allowed = self.origin(origin)?;
        self.allows_method(head.method()).then_some(())?;
        let mut fields = vec![("Access-Control-Allow-Origin".into(), allowed.to_vec())];
        self.push_common(&mut fields);
        Some(fields)
    }

    /// Headers for the response to the preflight `head`; `None` means refused.
    pub(super) fn preflight(&self, head: &RequestHead, origin: &[u8]) -> Option<Vec<CorsField>> {
        let allowed = self.origin(origin)?;
        let method = head.fields.get(b"access-control-request-method").unwrap_or_default();
        self.allows_method(method).then_some(())?;
        let headers = self.headers_of(head)?;
        let methods = match &self.methods {
            None => method.to_vec(),
            Some(methods) => methods.join(",").into_bytes(),
        };
        let mut fields = vec![
            ("Access-Control-Allow-Origin".into(), allowed.to_vec()),
            ("Access-Control-Allow-Methods".into(), methods),
        ];
        if !headers.is_empty() {
            fields.push(("Access-Control-Allow-Headers".into(), headers.join(&b", "[..])));
        }
        self.push_common(&mut fields);
        if let Some(max_age) = self.max_age_s {
            fields.push(("Access-Control-Max-Age".into(), max_age.to_string().into_bytes()));
        }
        Some(fields)
    }

    fn push_common(&self, fields: &mut Vec<CorsField>) {
        if !self.exposed.is_empty() {
            fields.push(("Access-Control-Expose-Headers".into(), self.exposed.as_bytes().to_vec()));
        }
        if self.credentials {
            fields.push(("Access-Control-Allow-Credentials".into(), b"true".to_vec()));
        }
    }

    /// Value of Access-Control-Allow-Origin for `origin`, if it is allowed.
    fn origin<'o>(&self, origin: &'o [u8]) -> Option<&'o [u8]> {
        let text = std::str::from_utf8(origin).ok().filter(|text| !text.trim().is_empty())?;
        if self.grants_nothing {
            return None;
        }
        if self.any_origin {
            return Some(ANY.as_bytes());
        }
        let text = text.strip_suffix('/').unwrap_or(text);
        let listed = self.origins.iter().any(|own| own.eq_ignore_ascii_case(text));
        (listed || self.patterns.iter().any(|pattern| pattern.matches(text))).then_some(origin)
    }

    fn allows_method(&self, method: &[u8]) -> bool {
        let list = self.methods.as_ref();
        list.is_none_or(|methods| methods.iter().any(|own| own.as_bytes() == method))
    }

    /// The allowed headers among those that a preflight requests; `None` if it requests some and
    /// none is allowed.
    fn headers_of<'h>(&self, head: &'h RequestHead) -> Option<Vec<&'h [u8]>> {
        let asked = head.fields.get_all(b"access-control-request-headers").flat_map(list_members);
        let Some(own) = &self.headers else { return Some(asked.collect()) };
        let is_allowed =
            |name: &&[u8]| own.iter().any(|own| own.as_bytes().eq_ignore_ascii_case(name));
        let allowed: Vec<_> = asked.clone().filter(is_allowed).collect();
        (!allowed.is_empty() || asked.count() == 0).then_some(allowed)
    }
}
