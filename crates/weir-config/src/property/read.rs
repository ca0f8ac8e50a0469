//! Reads the registry's properties into [`Settings`].

use super::{Kind, PropertySpec, Root, Usage, Value, registry};
use crate::diagnostic::{Code, Diagnostic, Severity, fills_in_secret, is_secret};
use crate::spring::{self, Layers, Node, Trouble};
use weir_snapshot::{ADMIN_PORT, FIXED_POOL_SIZE, Settings};

/// The settings of `layers`; invalid values keep their default.
pub(crate) fn settings(layers: &Layers<'_>, problems: &mut Vec<Diagnostic>) -> Settings {
    let mut settings = Settings::default();
    for spec in registry() {
        if spec.name.contains('*') {
            continue;
        }
        let Some(node) = layers.first_of(&spec.names()) else { continue };
        match spec.usage {
            Usage::Sets(apply) => {
                if let Some(value) = read(layers, spec, node, problems) {
                    apply(&mut settings, &value);
                }
            }
            Usage::SetsAtStart(apply) => {
                if let Some(value) = read(layers, spec, node, problems) {
                    apply(&mut settings, &value);
                    if !spec.is_default(&value) {
                        settings.at_start.push((spec.name, format!("{value:?}")));
                    }
                }
            }
            Usage::Unsupported(help) => unsupported(layers, spec, node, help, problems),
            Usage::Refused(help) => refused(layers, spec, node, help, problems),
            Usage::Protects(help) if !settings.ignore_spring_security => {
                refused(layers, spec, node, help, problems);
            }
            Usage::Protects(_) => {}
            Usage::Read | Usage::Ignored(_) => {}
        }
    }
    finish(&mut settings, layers, problems);
    settings
}

/// The value of the property `name` in `layers`, before there are settings; `None` if it is
/// missing, empty or invalid.
pub(crate) fn one(
    layers: &Layers<'_>,
    name: &str,
    problems: &mut Vec<Diagnostic>,
) -> Option<Value> {
    let spec = registry().find(|spec| spec.root == Root::Plain && spec.name == name)?;
    let node = layers.find(name)?;
    read(layers, spec, node, problems)
}

/// The value of one property; `None` if it is empty or invalid.
fn read(
    layers: &Layers<'_>,
    spec: &PropertySpec,
    node: Node<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Option<Value> {
    let name = spec.full_name();
    if spec.kind == Kind::List {
        return Some(Value::List(spring::texts(layers, node)));
    }
    let Some(text) = node.text() else {
        let message = format!("`{name}` takes one value, not a list or map");
        let help = format!("write it as `{name}: {}`", spec.default.unwrap_or("…"));
        problems.push(Diagnostic::new(Code::InvalidValue, message).at(node.key_span()).help(help));
        return None;
    };
    let written = text;
    let (text, trouble) = layers.resolve(&written);
    report(trouble, &name, node, problems);
    let empty = text.trim().is_empty();
    if empty && !matches!(spec.kind, Kind::Text) {
        return None;
    }
    match Value::parse(spec.kind, &text) {
        Ok(value) => Some(value),
        Err(help) => {
            let secret = spec.kind == Kind::Secret || is_secret(&name) || fills_in_secret(&written);
            let shown = if secret { "the value".to_owned() } else { format!("`{}`", text.trim()) };
            let message = format!("{shown} is not a value of `{name}`");
            problems.push(
                Diagnostic::new(Code::InvalidValue, message)
                    .at(node.span())
                    .help(help)
                    .secret(secret),
            );
            None
        }
    }
}

/// Reports a placeholder of a property that cannot be resolved.
pub(crate) fn report(
    trouble: Option<Trouble>,
    name: &str,
    node: Node<'_>,
    problems: &mut Vec<Diagnostic>,
) {
    let diagnostic = match trouble {
        None => return,
        Some(Trouble::Unknown(missing)) => Diagnostic::new(
            Code::PlaceholderUnknown,
            format!("`${{{missing}}}` in `{name}` has neither a value nor a default"),
        )
        .help(format!("set `{missing}`, or write a default: `${{{missing}:…}}`")),
        Some(Trouble::Loop(missing)) => Diagnostic::new(
            Code::PlaceholderLoop,
            format!("`${{{missing}}}` in `{name}` leads back to itself or grows without end"),
        )
        .help("break the circle of values that refer to each other"),
    };
    problems.push(diagnostic.at(node.span()).secret(is_secret(name)));
}

/// Whether an unsupported property is set to a value that would change something; otherwise it need
/// not be reported.
fn asks(layers: &Layers<'_>, spec: &PropertySpec, node: Node<'_>) -> bool {
    let Some(text) = node.text() else { return !is_off(layers, node) };
    let text = layers.resolve(&text).0;
    if text.trim().is_empty() {
        return false;
    }
    !Value::parse(spec.kind, &text).is_ok_and(|value| spec.is_default(&value))
}

fn unsupported(
    layers: &Layers<'_>,
    spec: &PropertySpec,
    node: Node<'_>,
    help: &str,
    problems: &mut Vec<Diagnostic>,
) {
    if !asks(layers, spec, node) {
        return;
    }
    let message = format!("weir does not follow `{}`", spec.full_name());
    let at = node.key_span();
    problems.push(Diagnostic::new(Code::PropertyUnsupported, message).at(at).help(help));
}

/// Whether a subtree is disabled.
fn is_off(layers: &Layers<'_>, node: Node<'_>) -> bool {
    let text = spring::child(node, "enabled").and_then(Node::text);
    text.is_some_and(|text| crate::value::bool(&layers.resolve(&text).0) == Some(false))
}

/// Reports a request for TLS or a proxy, which must not be ignored silently.
fn refused(
    layers: &Layers<'_>,
    spec: &PropertySpec,
    node: Node<'_>,
    help: &str,
    problems: &mut Vec<Diagnostic>,
) {
    let empty = node.children().all(|child| child.text().is_some_and(|text| text.is_empty()));
    if is_off(layers, node) || empty {
        return;
    }
    let message = format!("weir cannot run with `{}`", spec.full_name());
    problems.push(
        Diagnostic::new(Code::PropertyUnsupported, message)
            .severity(Severity::Error)
            .at(node.key_span())
            .help(help),
    );
}

/// Moves the admin API to the next port if the gateway itself is configured to use its default
/// port.
fn keep_admin_apart(settings: &mut Settings, layers: &Layers<'_>) {
    let is_taken = settings.listen.port() == ADMIN_PORT;
    if is_taken && !settings.management.is_configured() && layers.find("weir.admin.port").is_none()
    {
        settings.management.own_port = i64::from(ADMIN_PORT) + 1;
    }
}

/// Derives settings that depend on two properties.
fn finish(settings: &mut Settings, layers: &Layers<'_>, problems: &mut Vec<Diagnostic>) {
    super::discovery::finish(settings, layers);
    super::kubernetes::finish(&mut settings.discovery.kubernetes, layers);
    keep_admin_apart(settings, layers);
    if let Some(node) = layers.find("weir.request-uri.allow") {
        for text in spring::texts(layers, node) {
            match text.parse() {
                Ok(address) => settings.request_uri_allow.push(address),
                Err(_) => problems.push(
                    Diagnostic::new(Code::InvalidValue, format!("`{text}` is not an address"))
                        .at(node.span())
                        .help("write an IP address, such as `169.254.1.2`"),
                ),
            }
        }
    }
    let pool = &mut settings.pool;
    if pool.fixed {
        pool.connections_max.get_or_insert(FIXED_POOL_SIZE);
    } else if pool.connections_max.take().is_some() {
        let names = ["server.webflux.httpclient", "httpclient"]
            .map(|middle| format!("spring.cloud.gateway.{middle}.pool.max-connections"));
        let at = layers.first_of(&names).map(|node| node.key_span()).unwrap_or_default();
        let message = "`max-connections` has no effect unless `pool.type` is `fixed`";
        let help = "add `type: fixed` beside it";
        problems.push(Diagnostic::new(Code::Suspicious, message).at(at).help(help));
    }
    for prefix in [super::OLD_PREFIX, super::PREFIX] {
        for node in layers.all(&format!("{prefix}.metrics.tags")) {
            for tag in node.children() {
                let Some(text) = tag.text() else { continue };
                let value = layers.resolve(&text).0.into_owned();
                let known = settings.metrics_tags.iter().any(|(name, _)| name == tag.key());
                if !known {
                    settings.metrics_tags.push((tag.key().to_owned(), value));
                }
            }
        }
    }
}
