//! From the text of a definition to its model.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;

use serde_json::Value;

use super::collect::{field_rules, warn};
use super::documents::{Documents, Load, Place, ReadError, ReadErrors};
use super::extension;
use super::model::{
    Api, Challenge, Code, Example, Header, Kind, Media, Operation, Outgoing, Parameter,
    ParameterPlace, RequestBody, Response, Style, Warning,
};
use super::schema::{Schema, Side, check, normalise};
use super::source::find_sources;
use super::swagger;
use crate::behaviour::{Override, Settings};
use crate::callback::Expression;

const METHODS: &[&str] =
    &["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];

/// Callbacks of one operation at most: each of its answers sets them all off.
const CALLBACKS_MAX: usize = 16;

/// What is known of a definition before it is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    None,
    /// The definition was validated before.
    Known,
}

/// Reads the definition `root`, that of the file `file`.
pub(super) fn read(
    name: &str,
    file: &str,
    root: Value,
    load: Load<'_>,
    trust: Trust,
) -> Result<Api, ReadErrors> {
    let mut documents = Documents::read(file, root, load)?;
    if trust == Trust::None {
        let errors = documents.nowhere();
        if !errors.0.is_empty() {
            return Err(errors);
        }
    }
    let version = version(&documents)?;
    if version < (3, 0) {
        documents.change(swagger::upgrade);
    }
    if version < (3, 1) {
        documents.change(normalise);
    }
    if trust == Trust::None {
        check(&documents)?;
    }
    let reader = Reader { documents: &documents, warnings: RefCell::default() };
    let root = Place::root(file);
    let (mut operations, mut errors) = (Vec::new(), ReadErrors::default());
    let mut settings = extension::of_root(&documents).unwrap_or_else(|error| {
        errors.push(error);
        Settings::default()
    });
    let paths = documents.root().get("paths").and_then(Value::as_object);
    for path in paths.into_iter().flatten().map(|(path, _)| path) {
        if !path.starts_with("x-") {
            let at = root.at("paths").at(path);
            for read in reader.path(&at, path).unwrap_or_else(|error| vec![Err(error)]) {
                match read {
                    Ok((operation, overrides)) => {
                        operations.push(operation);
                        settings.overrides.extend(overrides);
                    }
                    Err(error) => errors.push(error),
                }
            }
        }
    }
    if !errors.0.is_empty() {
        return Err(errors);
    }
    let info = |key| info(&documents, key);
    let webhooks = reader.webhooks();
    let mut warnings = reader.warnings.take();
    let mut api = Api {
        name: name.to_owned(),
        kind: Kind::OpenApi,
        title: info("title").unwrap_or_else(|| name.to_owned()),
        version: info("version").unwrap_or_default(),
        bases: bases(documents.root()),
        operations,
        webhooks,
        settings,
        has_field_rules: field_rules(documents.root(), "", &mut warnings),
        warnings,
        files: documents.names().map(str::to_owned).collect(),
    };
    let webhooks = api.webhooks.iter_mut().map(|one| &mut one.operation);
    find_sources(api.operations.iter_mut().chain(webhooks), documents);
    Ok(api)
}

/// A text of the section `info`.
fn info(documents: &Documents, key: &str) -> Option<String> {
    let text = documents.root().get("info")?.get(key)?;
    Some(text.as_str().map_or_else(|| text.to_string(), str::to_owned))
}

/// Major and minor version of OpenAPI.
fn version(documents: &Documents) -> Result<(u32, u32), ReadError> {
    let root = documents.root();
    let text = root.get("openapi").or_else(|| root.get("swagger"));
    let text = text.map(|text| text.as_str().map_or_else(|| text.to_string(), str::to_owned));
    let text = text.unwrap_or_default();
    let mut numbers = text.split('.').map(|part| part.trim().parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major @ (2 | 3)), minor) => Ok((major, minor.unwrap_or(0))),
        _ => Err(Place::root(&documents.first).error(
            "this version of OpenAPI is not known; write `openapi: 3.x` or `swagger: \"2.0\"`",
        )),
    }
}

/// The paths of `servers`, variables at their defaults; the empty one besides.
fn bases(root: &Value) -> Vec<String> {
    let mut bases = vec![String::new()];
    let servers = root.get("servers").and_then(Value::as_array).into_iter().flatten();
    for server in servers {
        let mut url = server.get("url").and_then(Value::as_str).unwrap_or_default().to_owned();
        let variables = server.get("variables").and_then(Value::as_object);
        for (name, variable) in variables.into_iter().flatten() {
            let default = variable.get("default").and_then(Value::as_str).unwrap_or_default();
            url = url.replace(&format!("{{{name}}}"), default);
        }
        let path = match url.split_once("://") {
            Some((_, rest)) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or_default(),
            None => &url,
        };
        let path = path.trim_end_matches('/');
        if path.starts_with('/') && !bases.iter().any(|known| known == path) {
            bases.push(path.to_owned());
        }
    }
    bases
}

/// An operation with its own overrides, or its error.
type ReadOperation = Result<(Operation, Vec<Override>), ReadError>;

struct Reader<'d> {
    documents: &'d Documents,
    /// What is not used.
    warnings: RefCell<Vec<Warning>>,
}

impl Reader<'_> {
    /// The operations of a path, each with its overrides, or its error.
    fn path(&self, place: &Place, path: &str) -> Result<Vec<ReadOperation>, ReadError> {
        if !path.starts_with('/') {
            return Err(place.error(format!("the path `{path}` does not start with `/`")));
        }
        let (place, item) = self.documents.follow(place.clone())?;
        let common = self.parameters(&place, item)?;
        let each = methods(&place, item).into_iter().map(|(method, at)| {
            let own = self.documents.value(&at).unwrap_or(&Value::Null);
            let overrides = extension::of_operation(own, &at, (&method, path))?;
            let mut operation = self.operation(&at, path, method, &common)?;
            operation.callbacks = self.callbacks(&at, own);
            Ok((operation, overrides))
        });
        Ok(each.collect())
    }

    /// What an operation, written at `place`, sends once it has been answered.
    fn callbacks(&self, place: &Place, value: &Value) -> Vec<Outgoing> {
        let mut all = Vec::new();
        let declared = value.get("callbacks").and_then(Value::as_object);
        for name in declared.into_iter().flatten().map(|(name, _)| name) {
            let at = place.at("callbacks").at(name);
            let found = self.documents.follow(at.clone());
            let Some((at, callback)) = self.or_warn(&at, found) else { continue };
            let urls = callback.as_object().into_iter().flatten().map(|(url, _)| url);
            for url in urls.filter(|url| !url.starts_with("x-")) {
                let at = at.at(url);
                let read = Expression::read(url).map_err(|why| at.error(why));
                if let Some(read) = self.or_warn(&at, read) {
                    self.outgoing(&at, name, Some(&read), &mut all);
                }
            }
        }
        if all.len() > CALLBACKS_MAX {
            let message = format!("not sent: callbacks after the first {CALLBACKS_MAX}");
            warn(&mut self.warnings.borrow_mut(), &place.at("callbacks").pointer, message);
            all.truncate(CALLBACKS_MAX);
        }
        all
    }

    /// What is sent on demand; before 3.1 it stands at `x-webhooks`.
    fn webhooks(&self) -> Vec<Outgoing> {
        let mut all = Vec::new();
        for key in ["webhooks", "x-webhooks"] {
            let at = Place::root(&self.documents.first).at(key);
            let declared = self.documents.value(&at).and_then(Value::as_object);
            for name in declared.into_iter().flatten().map(|(name, _)| name) {
                self.outgoing(&at.at(name), name, None, &mut all);
            }
        }
        all
    }

    /// Adds the requests of the path item at `place`.
    fn outgoing(
        &self,
        place: &Place,
        name: &str,
        url: Option<&Expression>,
        all: &mut Vec<Outgoing>,
    ) {
        let found = self.documents.follow(place.clone()).and_then(|(at, item)| {
            let common = self.parameters(&at, item)?;
            let each = methods(&at, item).into_iter();
            each.map(|(method, at)| self.operation(&at, name, method, &common)).collect()
        });
        let found: Vec<Operation> = self.or_warn(place, found).unwrap_or_default();
        all.extend(found.into_iter().map(|operation| Outgoing {
            name: name.to_owned(),
            url: url.cloned(),
            operation,
        }));
    }

    /// What was read; else it is noted that it is not sent.
    fn or_warn<T>(&self, place: &Place, read: Result<T, ReadError>) -> Option<T> {
        let why = match read {
            Ok(read) => return Some(read),
            Err(why) => why,
        };
        warn(&mut self.warnings.borrow_mut(), &place.pointer, format!("not sent: {}", why.message));
        None
    }

    fn operation(
        &self,
        place: &Place,
        path: &str,
        method: String,
        common: &[Place],
    ) -> Result<Operation, ReadError> {
        let value = self.documents.value(place).unwrap_or(&Value::Null);
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let mut parameters: Vec<Parameter> = Vec::new();
        let own = self.parameters(place, value)?;
        for at in own.iter().chain(common) {
            let Some(parameter) = self.parameter(at)? else { continue };
            let same = |one: &Parameter| one.name == parameter.name && one.place == parameter.place;
            // One of the operation hides one of the path.
            if !parameters.iter().any(same) {
                parameters.push(parameter);
            }
        }
        let body = match value.get("requestBody") {
            Some(_) => Some(self.body(place.at("requestBody"))?),
            None => None,
        };
        let mut responses = Vec::new();
        let declared = value.get("responses").and_then(Value::as_object);
        for code in declared.into_iter().flatten().map(|(code, _)| code) {
            if !code.starts_with("x-") {
                responses.push(self.response(&place.at("responses").at(code), code)?);
            }
        }
        Ok(Operation {
            id: text("operationId"),
            method,
            path: path.to_owned(),
            summary: text("summary").unwrap_or_default(),
            parameters,
            body,
            responses,
            security: self.security(place, value)?,
            deprecated: value.get("deprecated") == Some(&Value::Bool(true)),
            callbacks: Vec::new(),
            recordings: Vec::new(),
            in_turn: false,
            turns: AtomicUsize::new(0),
        })
    }

    /// The places of the parameters of an operation or path.
    fn parameters(&self, place: &Place, value: &Value) -> Result<Vec<Place>, ReadError> {
        let count = value.get("parameters").and_then(Value::as_array).map_or(0, Vec::len);
        let at = place.at("parameters");
        (0..count).map(|n| Ok(self.documents.follow(at.at(&n.to_string()))?.0)).collect()
    }

    fn parameter(&self, place: &Place) -> Result<Option<Parameter>, ReadError> {
        let value = self.documents.value(place).unwrap_or(&Value::Null);
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let name = text("name").ok_or_else(|| place.error("a parameter needs a `name`"))?;
        let found = match text("in") {
            Some("path") => ParameterPlace::Path,
            Some("query") => ParameterPlace::Query,
            Some("header") => ParameterPlace::Header,
            Some("cookie") => ParameterPlace::Cookie,
            // A parameter for the whole query string (3.2) is ignored.
            Some("querystring") => return Ok(None),
            _ => return Err(place.error("`in` is none of path, query, header, cookie")),
        };
        let ignored = ["accept", "content-type", "authorization"];
        if found == ParameterPlace::Header && ignored.contains(&&*name.to_ascii_lowercase()) {
            return Ok(None);
        }
        let style = match text("style") {
            Some("simple") => Style::Simple,
            Some("label") => Style::Label,
            Some("matrix") => Style::Matrix,
            Some("form" | "cookie") => Style::Form,
            Some("spaceDelimited") => Style::SpaceDelimited,
            Some("pipeDelimited") => Style::PipeDelimited,
            Some("tabDelimited") => Style::TabDelimited,
            Some("deepObject") => Style::DeepObject,
            Some(other) => return Err(place.at("style").error(format!("no style `{other}`"))),
            None if matches!(found, ParameterPlace::Query | ParameterPlace::Cookie) => Style::Form,
            None => Style::Simple,
        };
        let content = value.get("content").and_then(Value::as_object);
        let media = content.and_then(|content| content.keys().next());
        let schema = match media {
            Some(media) => place.at("content").at(media).at("schema"),
            None => place.at("schema"),
        };
        let has_schema = self.documents.value(&schema).is_some();
        let explode = value.get("explode").and_then(Value::as_bool);
        Ok(Some(Parameter {
            name: name.to_owned(),
            place: found,
            style: if media.is_some() { Style::Json } else { style },
            explode: explode.unwrap_or(style == Style::Form),
            required: found == ParameterPlace::Path
                || value.get("required") == Some(&Value::Bool(true)),
            allow_empty: value.get("allowEmptyValue") == Some(&Value::Bool(true)),
            schema: has_schema.then(|| Schema::new(schema, Side::Request)),
        }))
    }

    fn body(&self, place: Place) -> Result<RequestBody, ReadError> {
        let (place, value) = self.documents.follow(place)?;
        let required = value.get("required") == Some(&Value::Bool(true));
        Ok(RequestBody { required, media: self.media(&place, value, Side::Request)? })
    }

    fn response(&self, place: &Place, code: &str) -> Result<Response, ReadError> {
        let upper = code.to_ascii_uppercase();
        let parsed = match (code, upper.strip_suffix("XX")) {
            ("default", _) => Some(Code::Default),
            (_, Some(digit)) => digit.parse().ok().map(Code::Range),
            _ => code.parse().ok().filter(|code| (100..=999).contains(code)).map(Code::Exact),
        };
        let code = parsed.ok_or_else(|| place.error(format!("`{code}` is no status")))?;
        let (place, value) = self.documents.follow(place.clone())?;
        let mut headers = Vec::new();
        let declared = value.get("headers").and_then(Value::as_object);
        for name in declared.into_iter().flatten().map(|(name, _)| name) {
            if name.eq_ignore_ascii_case("content-type") {
                continue;
            }
            let (at, header) = self.documents.follow(place.at("headers").at(name))?;
            let schema = at.at("schema");
            let schema = self.documents.value(&schema).map(|_| Schema::new(schema, Side::Response));
            let example = header.get("example").cloned();
            let named = header.get("examples").and_then(Value::as_object);
            let named = named.and_then(|all| all.values().next()?.get("value").cloned());
            let required = header.get("required") == Some(&Value::Bool(true));
            let example = example.or(named);
            headers.push(Header { name: name.clone(), required, schema, example });
        }
        Ok(Response { code, media: self.media(&place, value, Side::Response)?, headers })
    }

    fn media(&self, place: &Place, value: &Value, side: Side) -> Result<Vec<Media>, ReadError> {
        let mut all = Vec::new();
        let content = value.get("content").and_then(Value::as_object);
        for range in content.into_iter().flatten().map(|(range, _)| range) {
            let (at, media) = self.documents.follow(place.at("content").at(range))?;
            let schema = at.at("schema");
            let schema = self.documents.value(&schema).map(|_| Schema::new(schema, side));
            let mut examples = Vec::new();
            if let Some(example) = media.get("example") {
                examples.push((String::new(), Example::Value(example.clone().into())));
            }
            let named = media.get("examples").and_then(Value::as_object);
            for name in named.into_iter().flatten().map(|(name, _)| name) {
                let (_, example) = self.documents.follow(at.at("examples").at(name))?;
                if let Some(value) = example.get("value") {
                    examples.push((name.clone(), Example::Value(value.clone().into())));
                }
            }
            let encoding = media.get("encoding").and_then(Value::as_object);
            let encoding: BTreeMap<String, String> = encoding
                .into_iter()
                .flatten()
                .filter_map(|(name, own)| {
                    Some((name.clone(), own.get("contentType")?.as_str()?.to_owned()))
                })
                .collect();
            all.push(Media { range: range.to_ascii_lowercase(), schema, examples, encoding });
        }
        Ok(all)
    }

    fn security(&self, place: &Place, value: &Value) -> Result<Vec<Vec<Challenge>>, ReadError> {
        let root = Place::root(&self.documents.first);
        let (place, list) = match value.get("security") {
            Some(list) => (place.at("security"), list),
            None => match self.documents.root().get("security") {
                Some(list) => (root.at("security"), list),
                None => return Ok(Vec::new()),
            },
        };
        let schemes = root.at("components").at("securitySchemes");
        let mut all = Vec::new();
        for requirement in list.as_array().into_iter().flatten() {
            let mut each = Vec::new();
            for name in requirement.as_object().into_iter().flatten().map(|(name, _)| name) {
                let found = self
                    .documents
                    .follow(schemes.at(name))
                    .map_err(|_| place.error(format!("there is no security scheme `{name}`")))?;
                each.push(challenge(found.1));
            }
            all.push(each);
        }
        Ok(all)
    }
}

/// The methods of the path item at `place`, each with the place of its operation.
fn methods(place: &Place, item: &Value) -> Vec<(String, Place)> {
    let more = item.get("additionalOperations").and_then(Value::as_object);
    let more = more
        .into_iter()
        .flatten()
        .map(|(method, _)| (method.clone(), place.at("additionalOperations").at(method)));
    let usual = METHODS
        .iter()
        .filter(|method| item.get(**method).is_some())
        .map(|method| (method.to_ascii_uppercase(), place.at(method)));
    usual.chain(more).collect()
}

fn challenge(scheme: &Value) -> Challenge {
    let text = |key: &str| scheme.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "http" => Challenge::Http(text("scheme").to_owned()),
        "oauth2" | "openIdConnect" => Challenge::Http("bearer".to_owned()),
        "apiKey" => match text("in") {
            "query" => Challenge::Key(ParameterPlace::Query, text("name").to_owned()),
            "cookie" => Challenge::Key(ParameterPlace::Cookie, text("name").to_owned()),
            _ => Challenge::Key(ParameterPlace::Header, text("name").to_owned()),
        },
        _ => Challenge::Unseen,
    }
}
