//! Unknown keys: misspelt, misplaced, or of the other server.
//!
//! Searches below `weir` and the gateway's prefixes only; all other keys belong to Spring.

use super::{Kind, MVC_PREFIXES, OLD_PREFIX, PREFIX, PropertySpec, Root, registry};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::fields::Shape;
use crate::spring::{Kind as NodeKind, Layers, Node, below, child, key};
use crate::value::nearest;
use weir_snapshot::ScgLine;

/// Maximum number of findings about unknown keys.
const FINDINGS_MAX: usize = 100;

/// Differences between the routes of the two servers.
const MVC_ROUTES: &str = "predicates and filters are those of WebFlux: CircuitBreaker takes `name` \
                          for `id`, Retry its own arguments, and `default-filters` and \
                          `globalcors` apply, which the MVC server does not have";

/// Reports every unknown key of `layers`.
pub(crate) fn unknown(layers: &Layers<'_>, line: ScgLine, problems: &mut Vec<Diagnostic>) {
    let mut search = Search { problems, found: 0 };
    if line >= ScgLine::V4_3 {
        search.old_prefix(layers);
    }
    for root in layers.roots().filter(|root| !root.joined()) {
        if let Some(node) = child(root, "weir") {
            search.walk(node, Root::Plain, &mut vec!["weir".to_owned()]);
        }
        if let Some(node) = below(root, OLD_PREFIX) {
            search.old(node);
        }
        if let Some(node) = below(root, PREFIX) {
            search.walk(node, Root::Gateway, &mut Vec::new());
        }
        search.mvc(root);
    }
    for root in layers.roots().filter(|root| root.joined()) {
        search.variables(root);
    }
}

struct Search<'p> {
    problems: &'p mut Vec<Diagnostic>,
    found: usize,
}

impl Search<'_> {
    /// Reports use of the old prefix, which Spring Cloud Gateway ignores since 4.3 but weir reads.
    /// This may surprise most if both prefixes are used and some properties were left behind.
    fn old_prefix(&mut self, layers: &Layers<'_>) {
        let own =
            |node: Node<'_>| !["server", "mvc"].iter().any(|name| key::same(name, node.key()));
        let mixed = layers.find(PREFIX).is_some_and(|node| node.children().next().is_some());
        for node in layers.all(OLD_PREFIX).filter(|node| !node.joined()) {
            let mut entries = node.children().filter(|entry| own(*entry));
            if mixed {
                for entry in entries {
                    let name = entry.key();
                    let twin = layers.find(&format!("{PREFIX}.{name}"));
                    let replaced = twin.is_some_and(|twin| twin.kind() != NodeKind::Map);
                    let message = match replaced {
                        true => format!("`{PREFIX}.{name}` takes the place of this one"),
                        false => format!("`{OLD_PREFIX}.{name}` counts, beside the new prefix"),
                    };
                    let help = format!(
                        "from 4.3 on, Spring Cloud Gateway reads it only with \
                         `spring-boot-properties-migrator`; keep it under one prefix, \
                         `{PREFIX}.{name}`"
                    );
                    self.problems.push(
                        Diagnostic::new(Code::OldPrefix, message)
                            .severity(Severity::Warning)
                            .at(entry.key_span())
                            .help(help),
                    );
                }
            } else if let Some(first) = entries.next() {
                let message = format!("the old prefix `{OLD_PREFIX}` counts");
                let help = format!(
                    "Spring Cloud Gateway 4.3 and later read `{PREFIX}`, and this one only with \
                     `spring-boot-properties-migrator`"
                );
                self.problems.push(
                    Diagnostic::new(Code::OldPrefix, message).at(first.key_span()).help(help),
                );
            }
        }
    }

    /// Checks keys below the old prefix, which also contains the new one and that of the MVC
    /// server.
    fn old(&mut self, node: Node<'_>) {
        for entry in node.children() {
            let name = entry.key();
            if key::same(name, "server") || key::same(name, "mvc") {
                continue;
            }
            self.entry(entry, Root::Gateway, &mut Vec::new());
        }
        if let Some(server) = child(node, "server") {
            for entry in server.children() {
                let known = ["webflux", "webmvc", "webexchange"];
                if !known.iter().any(|name| key::same(name, entry.key())) {
                    let path = vec!["server".to_owned()];
                    self.report(entry, &path, &known, None);
                }
            }
        }
    }

    /// Routes of the MVC server are used; for its other properties the replacement is reported.
    fn mvc(&mut self, root: Node<'_>) {
        for prefix in MVC_PREFIXES {
            let Some(node) = below(root, prefix) else { continue };
            for entry in node.children() {
                let name = entry.key();
                let at = entry.key_span();
                let is_routes = ["routes", "routes-map"].iter().any(|own| key::same(own, name));
                let finding = match is_routes {
                    true => Diagnostic::new(
                        Code::MvcPrefix,
                        format!("`{prefix}.{name}` of the MVC server runs as `{PREFIX}.{name}`"),
                    )
                    .help(MVC_ROUTES),
                    false => Diagnostic::new(
                        Code::PropertyUnsupported,
                        format!("weir does not follow `{prefix}.{name}` of the MVC server"),
                    )
                    .help(instead(name)),
                };
                self.problems.push(finding.at(at));
            }
        }
    }

    fn walk(&mut self, node: Node<'_>, root: Root, path: &mut Vec<String>) {
        for entry in node.children() {
            self.entry(entry, root, path);
        }
    }

    fn entry(&mut self, entry: Node<'_>, root: Root, path: &mut Vec<String>) {
        path.push(entry.key().to_owned());
        match find(root, path) {
            Found::Property(spec) => self.bare_pattern(entry, spec),
            Found::Inside if entry.kind() == NodeKind::Map => self.walk(entry, root, path),
            Found::Inside if root == Root::Plain => self.group(entry, path),
            Found::Inside if entry.text().is_none_or(|text| text.is_empty()) => {}
            Found::Inside | Found::Nothing => {
                path.pop();
                self.unknown(entry, root, path);
                return;
            }
        }
        path.pop();
    }

    /// Reports a value in place of a group of properties.
    fn group(&mut self, entry: Node<'_>, path: &[String]) {
        let Some(misfit) = Shape::Map.misfit(entry) else { return };
        let name = path.join(".");
        let help = match siblings(Root::Plain, path).first() {
            Some(first) => format!("write properties below it, such as `{name}.{first}`"),
            None => "write entries below it, each with its name".to_owned(),
        };
        let found = Diagnostic::new(Code::InvalidValue, misfit.message(&name));
        self.problems.push(found.at(misfit.at).help(help));
    }

    fn unknown(&mut self, entry: Node<'_>, root: Root, path: &[String]) {
        let siblings = siblings(root, path);
        let elsewhere = elsewhere(root, entry.key());
        self.report(entry, path, &siblings, elsewhere);
    }

    fn report(
        &mut self,
        entry: Node<'_>,
        path: &[String],
        siblings: &[&str],
        elsewhere: Option<&PropertySpec>,
    ) {
        self.found += 1;
        if self.found > FINDINGS_MAX {
            return;
        }
        let plain = path.first().is_some_and(|first| first == "weir");
        let above = match (plain, path.join(".")) {
            (true, path) => path,
            (false, path) if path.is_empty() => OLD_PREFIX.to_owned(),
            (false, path) => format!("{OLD_PREFIX}.{path}"),
        };
        let name = entry.key();
        let at = entry.key_span();
        let near = nearest(name, siblings.iter().copied());
        let diagnostic = match (near, elsewhere) {
            (Some(near), _) => {
                Diagnostic::new(Code::UnknownProperty, format!("unknown property `{above}.{name}`"))
                    .help(format!("did you mean `{above}.{near}`?"))
            }
            (None, Some(spec)) => Diagnostic::new(
                Code::MisplacedProperty,
                format!("`{name}` has no meaning below `{above}`"),
            )
            .help(format!("move it to `{}`", spec.full_name())),
            (None, None) => {
                let routes = match child(entry, "routes") {
                    Some(_) => format!("; the routes below it are not read, `{above}.routes` are"),
                    None => String::new(),
                };
                Diagnostic::new(Code::UnknownProperty, format!("unknown property `{above}.{name}`"))
                    .help(format!(
                        "neither weir nor Spring Cloud Gateway reads it; if a program of your own \
                         does, it may stay{routes}"
                    ))
            }
        };
        self.problems.push(diagnostic.at(at));
    }

    /// Without brackets, `'/**'` loses its slash and stars in Spring.
    fn bare_pattern(&mut self, entry: Node<'_>, spec: &PropertySpec) {
        if !spec.name.starts_with("globalcors.cors-configurations") || entry.bracketed() {
            return;
        }
        let name = entry.key();
        let message = format!("the pattern `{name}` is not in brackets: Spring drops its signs");
        let help = format!("write it as `'[{name}]'`");
        let at = entry.key_span();
        self.problems.push(Diagnostic::new(Code::Suspicious, message).at(at).help(help));
    }

    /// Reports only variables that Kubernetes does not set (`WEIR_PORT_…`, `WEIR_SERVICE_…`);
    /// `WEIR_LOG` is read before the configuration.
    fn variables(&mut self, root: Node<'_>) {
        let Some(weir) = child(root, "weir") else { return };
        let path = vec!["weir".to_owned()];
        let siblings = siblings(Root::Plain, &path);
        for entry in weir.children() {
            let name = entry.key();
            let begins =
                |known: &&str| key::same(known, name) || known.split('-').next() == Some(name);
            if !["log", "port", "service"].contains(&name) && !siblings.iter().any(begins) {
                self.report(entry, &path, &siblings, None);
            }
        }
    }
}

/// The replacement of a property of the MVC server.
fn instead(name: &str) -> String {
    let twins = [
        ("http-client", "httpclient.connect-timeout` and `response-timeout"),
        ("x-forwarded-request-headers-filter", "x-forwarded.*"),
        ("forwarded-request-headers-filter", "forwarded.enabled"),
        ("remove-hop-by-hop-request-headers-filter", "filter.remove-hop-by-hop.headers"),
        ("trusted-proxies", "trusted-proxies"),
    ];
    let twin = twins.iter().find(|(own, _)| key::same(own, name));
    match twin {
        Some((_, twin)) => format!("write `{PREFIX}.{twin}`"),
        None => format!("weir has what lies below `{PREFIX}`; it may stay if nothing needs it"),
    }
}

enum Found {
    /// The path is a property, or is within its subtree.
    Property(&'static PropertySpec),
    /// Properties exist below the path.
    Inside,
    Nothing,
}

fn find(root: Root, path: &[String]) -> Found {
    let mut inside = false;
    let mut tree = None;
    for spec in registry().filter(|spec| spec.root == root) {
        let mut names = spec.name.split('.');
        let mut matched = 0;
        for part in path {
            match names.next() {
                Some(name) if name == "*" || key::same(name, part) => matched += 1,
                _ => break,
            }
        }
        let below = spec.name.split('.').count();
        if matched == path.len() && matched == below {
            return Found::Property(spec);
        }
        inside |= matched == path.len();
        if matched == below && spec.kind == Kind::Tree {
            tree = Some(spec);
        }
    }
    match tree {
        Some(spec) => Found::Property(spec),
        None if inside => Found::Inside,
        None => Found::Nothing,
    }
}

/// Valid names at the position of an unknown one.
fn siblings(root: Root, path: &[String]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for spec in registry().filter(|spec| spec.root == root) {
        let mut parts = spec.name.split('.');
        let under = path.iter().all(|part| parts.next().is_some_and(|name| key::same(name, part)));
        if let (true, Some(name)) = (under, parts.next())
            && name != "*"
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

/// A property whose name starts or ends with a misplaced key.
fn elsewhere(root: Root, name: &str) -> Option<&'static PropertySpec> {
    let mut specs = registry().filter(|spec| spec.root == root);
    specs.find(|spec| {
        let first = spec.name.split('.').next().unwrap_or_default();
        let last = spec.name.rsplit('.').next().unwrap_or_default();
        let whole = first.len() == spec.name.len();
        (whole && key::same(first, name)) || (last != "enabled" && key::same(last, name))
    })
}
