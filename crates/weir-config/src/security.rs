//! Authentication: `spring.security.oauth2.resourceserver.jwt.*`, `weir.security.*`,
//! `weir.api-keys` and `weir.users`.

use std::path::Path;
use std::sync::Arc;

use weir_auth::{
    Algorithm, ApiKeys, AuthoritySettings, KeyPlace, KeyRing, KeySet, RemoteKeys, Secret, Users,
    Verifier,
};
use weir_route::pattern::{PathPattern, RegexCache};
use weir_snapshot::Security;

use crate::diagnostic::{Code, Diagnostic};
use crate::spring::{self, Kind, Layers, Node};
use weir_snapshot::Settings;

const JWT: &str = "spring.security.oauth2.resourceserver.jwt";
const PERMIT: &str = "weir.security.permit";

/// Reads a file named in the configuration.
pub(crate) type ReadFile = fn(&Path) -> std::io::Result<String>;

struct Reading<'a, 'l> {
    layers: &'a Layers<'l>,
    read_file: Option<ReadFile>,
    problems: &'a mut Vec<Diagnostic>,
}

/// Token verification of the layers; `None` if it is not configured.
pub(crate) fn security(
    layers: &Layers<'_>,
    settings: &Settings,
    ring: &KeyRing,
    read_file: Option<ReadFile>,
    problems: &mut Vec<Diagnostic>,
) -> Option<Arc<Security>> {
    let whole = layers.find(JWT).filter(|_| !settings.ignore_spring_security)?;
    let mut reading = Reading { layers, read_file, problems };
    let before = reading.problems.len();
    let (issuer, keys) = reading.keys(whole, ring)?;
    let authorities = reading.authorities()?;
    let mut verifier = Verifier::new(authorities);
    verifier.issuer = issuer;
    verifier.audiences = reading.texts("audiences").into_iter().map(|(text, _)| text).collect();
    reading.algorithms(&mut verifier);
    let permit = reading.permit(settings);
    (reading.problems.len() == before)
        .then(|| Arc::new(Security::new(verifier, keys, permit, settings.security_headers)))
}

impl<'l> Reading<'_, 'l> {
    fn node(&self, name: &str) -> Option<Node<'l>> {
        self.layers.find(&format!("{JWT}.{name}"))
    }

    fn text(&self, name: &str) -> Option<(String, Node<'l>)> {
        let node = self.node(name)?;
        let text = self.layers.resolve(&node.text()?).0.trim().to_owned();
        (!text.is_empty()).then_some((text, node))
    }

    fn texts(&self, name: &str) -> Vec<(String, Node<'l>)> {
        let Some(node) = self.node(name) else { return Vec::new() };
        let texts = spring::texts(self.layers, node).into_iter();
        texts
            .map(|text| (text.trim().to_owned(), node))
            .filter(|(text, _)| !text.is_empty())
            .collect()
    }

    fn wrong(&mut self, node: Node<'_>, message: impl Into<String>, help: impl Into<String>) {
        let found = Diagnostic::new(Code::InvalidValue, message).at(node.span()).help(help);
        self.problems.push(found);
    }

    /// The source of keys, and the expected issuer. Spring uses the public key first, then the key
    /// set, then the issuer.
    fn keys(
        &mut self,
        whole: Node<'l>,
        ring: &KeyRing,
    ) -> Option<(Option<String>, Arc<RemoteKeys>)> {
        let issuer = self.text("issuer-uri");
        let name = issuer.as_ref().map(|(text, _)| text.clone());
        if let Some((location, node)) = self.text("public-key-location") {
            let set = self.public_key(&location, node)?;
            return Some((name, Arc::new(RemoteKeys::fixed(set))));
        }
        let (place, node) = match (self.text("jwk-set-uri"), issuer) {
            (Some((url, node)), _) => (KeyPlace::JwkSet(url), node),
            (None, Some((url, node))) => (KeyPlace::Issuer(url), node),
            (None, None) => {
                let help = format!(
                    "write `{JWT}.issuer-uri: https://issuer.example`, or \
                     `weir.security.ignore-spring-security: true`"
                );
                self.wrong(whole, "no token issuer is configured", help);
                return None;
            }
        };
        let (KeyPlace::Issuer(url) | KeyPlace::JwkSet(url)) = &place else { return None };
        if !url.starts_with("http://") && !url.starts_with("https://") {
            self.wrong(node, format!("`{url}` is no URL"), "write one that begins with https://");
            return None;
        }
        Some((name, ring.keys(&place)))
    }

    fn public_key(&mut self, location: &str, node: Node<'l>) -> Option<KeySet> {
        let help = "name a file with `-----BEGIN PUBLIC KEY-----`, as `file:/path/key.pem`";
        let Some(path) = location.strip_prefix("file:") else {
            let message = format!("`{location}` lies in a Java application");
            self.wrong(node, message, help);
            return None;
        };
        let path = Path::new(path.strip_prefix("//").unwrap_or(path));
        let read =
            self.read_file.map_or(Err(std::io::ErrorKind::Unsupported.into()), |read| read(path));
        let set = read.map_err(|error| error.to_string()).and_then(|text| {
            KeySet::from_pem_public_key(&text).map_err(|error| error.message().to_owned())
        });
        match set {
            Ok(set) => Some(set),
            Err(why) => {
                self.wrong(node, format!("no public key in {}: {why}", path.display()), help);
                None
            }
        }
    }

    fn authorities(&mut self) -> Option<AuthoritySettings> {
        let delimiter = self.text("authorities-claim-delimiter");
        let read = AuthoritySettings::new(delimiter.as_ref().map(|(text, _)| text.as_str()));
        let mut settings = match (read, delimiter) {
            (Ok(settings), _) => settings,
            (Err(error), Some((_, node))) => {
                let message = format!("the delimiter is no expression: {error}");
                self.wrong(node, message, "write a character such as `,`");
                return None;
            }
            (Err(_), None) => return None,
        };
        settings.claim = self.text("authorities-claim-name").map(|(text, _)| text);
        // An empty prefix is a valid one.
        if let Some(prefix) = self.node("authority-prefix").and_then(Node::text) {
            settings.prefix = self.layers.resolve(&prefix).0.into_owned();
        }
        if let Some((claim, _)) = self.text("principal-claim-name") {
            settings.principal_claim = claim;
        }
        Some(settings)
    }

    fn algorithms(&mut self, verifier: &mut Verifier) {
        let names = self.texts("jws-algorithms");
        if names.is_empty() {
            return;
        }
        verifier.algorithms.clear();
        for (name, node) in names {
            match Algorithm::from_name(&name) {
                Some(algorithm) => verifier.algorithms.push(algorithm),
                None => {
                    let all: Vec<_> = Algorithm::ALL.into_iter().map(Algorithm::name).collect();
                    let help = format!("there are {}", all.join(", "));
                    self.wrong(node, format!("there is no algorithm `{name}`"), help);
                }
            }
        }
    }

    fn permit(&mut self, settings: &Settings) -> Vec<PathPattern> {
        let Some(node) = self.layers.find(PERMIT) else { return Vec::new() };
        let mut all = Vec::new();
        for text in spring::texts(self.layers, node) {
            match PathPattern::parse(text.trim(), &RegexCache::default()) {
                Ok(pattern) => {
                    let tolerates = settings.compat.trailing_slash;
                    all.push(pattern.tolerating_trailing_slash(tolerates));
                }
                Err(error) => {
                    let help = "write a path pattern such as `/public/**`";
                    self.wrong(
                        node,
                        format!("`{text}` is no path pattern: {}", error.message),
                        help,
                    );
                }
            }
        }
        all
    }
}

/// `weir.api-keys`: keys or hashes of keys, by name.
pub(crate) fn api_keys(layers: &Layers<'_>, problems: &mut Vec<Diagnostic>) -> ApiKeys {
    let mut keys = ApiKeys::default();
    let mut known: Vec<String> = Vec::new();
    for node in layers.all("weir.api-keys") {
        if node.kind() != Kind::Map {
            let help = "write a map: `weir.api-keys: { alice: \"${ALICE_KEY}\" }`";
            let message = "`weir.api-keys` is no map of names";
            problems.push(Diagnostic::new(Code::InvalidValue, message).at(node.span()).help(help));
            continue;
        }
        for entry in node.children() {
            if known.iter().any(|name| name == entry.key()) {
                continue;
            }
            known.push(entry.key().to_owned());
            let text = entry.text().map(|text| layers.resolve(&text).0.trim().to_owned());
            let text = text.unwrap_or_default();
            let added = secret(&text).and_then(|secret| {
                keys.add(entry.key(), &secret).map_err(|error| error.message().to_owned())
            });
            if let Err(why) = added {
                let message = format!("the key of `{}` cannot be used: {why}", entry.key());
                let help = "write the key, best as `${VARIABLE}`, or `sha256:` and its hash in \
                            hexadecimal digits";
                let found = Diagnostic::new(Code::InvalidValue, message).at(entry.key_span());
                problems.push(found.help(help).secret(true));
            }
        }
    }
    keys
}

/// `weir.users`: passwords or hashes of them, by name.
pub(crate) fn users(layers: &Layers<'_>, problems: &mut Vec<Diagnostic>) -> Users {
    let mut users = Users::default();
    for entry in layers.all("weir.users").flat_map(Node::children) {
        if users.contains(entry.key()) {
            continue;
        }
        let text = entry.text().map(|text| layers.resolve(&text).0.trim().to_owned());
        if let Err(error) = users.add(entry.key(), &text.unwrap_or_default()) {
            let why = error.message();
            let message = format!("the password of `{}` cannot be used: {why}", entry.key());
            let help = "write a bcrypt hash as `htpasswd -nB user` prints it, or the password as \
                        `${VARIABLE}`";
            let found = Diagnostic::new(Code::InvalidValue, message).at(entry.key_span());
            problems.push(found.help(help).secret(true));
        }
    }
    users
}

fn secret(text: &str) -> Result<Secret, String> {
    let read = match text.starts_with('{') || text.starts_with("sha256:") {
        true => Secret::parse(text),
        false => Secret::of_plain(text),
    };
    read.map_err(|error| error.message().to_owned())
}
