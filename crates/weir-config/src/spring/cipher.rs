//! `{cipher}` values, which Spring Cloud decrypts with `encrypt.key` before other properties are
//! read (class `DecryptEnvironmentPostProcessor`). A value is decrypted in place, so that
//! placeholders see the plain text; findings do not show it.

use weir_auth::TextCipher;

use super::Documents;
use super::tree::{Content, Tree};
use crate::diagnostic::{Code, Diagnostic};
use crate::source::{Sources, Span};

const PREFIX: &str = "{cipher}";
/// Maximum number of findings about values that cannot be decrypted.
const TOLD_MAX: usize = 16;

impl Documents {
    /// Decrypts all values once everything is read. Returns the problems of the texts.
    pub fn finish(&mut self, active: &[String]) -> Vec<Diagnostic> {
        self.decrypt(active, true);
        let mut problems = std::mem::take(&mut self.problems);
        problems.extend(self.condition_problems());
        problems
    }

    /// Decrypts every encrypted value. Unless it `is_last`, the key may still be imported, and
    /// nothing is reported.
    pub fn decrypt(&mut self, active: &[String], is_last: bool) {
        let has_some = self.trees().into_iter().any(|tree| !encrypted(tree).is_empty());
        if !has_some && !self.variables.values().any(|value| value.starts_with(PREFIX)) {
            return;
        }
        let cipher = self.cipher(active);
        if cipher.is_err() && !is_last {
            return;
        }
        let mut problems = Vec::new();
        let sources = &mut self.sources;
        let application_json = self.application_json.as_mut();
        let outside = [&mut self.sets, &mut self.environment].into_iter().chain(application_json);
        for tree in self.list.iter_mut().map(|document| &mut document.tree).chain(outside) {
            decrypt_all(tree, &cipher, sources, &mut problems);
        }
        if let Ok(cipher) = &cipher {
            for value in self.variables.values_mut() {
                let plain = value.strip_prefix(PREFIX).and_then(|hex| cipher.decrypt(hex));
                *value = plain.unwrap_or_else(|| std::mem::take(value));
            }
        }
        if is_last {
            problems.truncate(TOLD_MAX);
            self.problems.extend(problems);
        }
    }

    fn trees(&self) -> Vec<&Tree> {
        let mut trees = self.outside();
        trees.extend(self.list.iter().map(|document| &document.tree));
        trees
    }

    /// The cipher; otherwise the reason why there is none, with a remedy.
    fn cipher(&self, active: &[String]) -> Result<TextCipher, &'static str> {
        let layers = self.layers(active);
        // Looked up as a placeholder, so that an environment variable is found by its plain name.
        let key = layers.resolve("${encrypt.key:}").0;
        if key.is_empty() {
            return Err("set `encrypt.key` to the pass phrase it was encrypted with, best in the \
                environment as ENCRYPT_KEY");
        }
        if key.contains("-----BEGIN") || key.starts_with("ssh-rsa") {
            return Err("`encrypt.key` is an RSA key; weir decrypts with a pass phrase only: \
                encrypt the value with one, or have the configuration server decrypt it");
        }
        let salt = layers.resolve("${encrypt.salt:deadbeef}").0;
        TextCipher::new(&key, &salt).ok_or("`encrypt.salt` takes pairs of hexadecimal digits")
    }
}

/// The encrypted values of a tree: number of the node, and the text after the prefix.
fn encrypted(tree: &Tree) -> Vec<(usize, String)> {
    if !tree.text.contains(PREFIX) && !tree.extra.contains(PREFIX) {
        return Vec::new();
    }
    let nodes = tree.nodes.iter().enumerate().filter_map(|(id, data)| match data.content {
        Content::Scalar { text, .. } => Some((id, tree.str(text).strip_prefix(PREFIX)?.to_owned())),
        Content::Null | Content::List { .. } | Content::Map { .. } => None,
    });
    nodes.collect()
}

fn decrypt_all(
    tree: &mut Tree,
    cipher: &Result<TextCipher, &'static str>,
    sources: &mut Sources,
    problems: &mut Vec<Diagnostic>,
) {
    for (id, hex) in encrypted(tree) {
        let plain = match cipher {
            Ok(cipher) => cipher.decrypt(&hex).ok_or(
                "it was encrypted with another `encrypt.key` or `encrypt.salt`, or is not whole; \
                 encrypt it anew",
            ),
            Err(why) => Err(*why),
        };
        match plain {
            Ok(plain) => {
                sources.keep_secret(&plain);
                let text = tree.keep(&plain);
                if let Some(data) = tree.nodes.get_mut(id) {
                    data.content = Content::Scalar { text, plain: false };
                }
            }
            Err(help) => {
                let Some(data) = tree.nodes.get(id) else { continue };
                let at = Span { source: tree.source, start: data.start, end: data.end };
                let message = "a `{cipher}` value cannot be decrypted";
                problems.push(Diagnostic::new(Code::CipherUnreadable, message).at(at).help(help));
            }
        }
    }
}
