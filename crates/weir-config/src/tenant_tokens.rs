//! `weir.admin.tenant-tokens`: tokens of the admin API that are for the API definitions of some
//! tenants alone.

use weir_mock::check_tenant;
use weir_snapshot::{Secret, TenantToken};

use crate::diagnostic::Diagnostic;
use crate::fields::Fields;
use crate::spring::{Kind, Layers};

const NAME: &str = "weir.admin.tenant-tokens";
const EXAMPLE: &str = "write `- { token: \"${ACME_TOKEN}\", tenants: [ acme ] }`";

/// Reads the tokens; `whole` is the one that may do everything.
pub(crate) fn tenant_tokens(
    layers: &Layers<'_>,
    whole: Option<&Secret>,
    problems: &mut Vec<Diagnostic>,
) -> Vec<TenantToken> {
    let Some(node) = layers.find(NAME) else { return Vec::new() };
    let mut fields = Fields::new(layers, vec![node], format!("`{NAME}`"), problems);
    if node.kind() != Kind::List {
        fields.wrong(node.span(), "this is no list of tokens with their tenants", EXAMPLE);
        return Vec::new();
    }
    let mut tokens: Vec<TenantToken> = Vec::new();
    for (at, entry) in node.children().enumerate() {
        let mut below = fields.of(entry, &format!("entry {}", at + 1));
        if entry.kind() != Kind::Map {
            below.wrong(entry.span(), "this has no `token` and no `tenants`", EXAMPLE);
            continue;
        }
        below.only(&["token", "tenants"]);
        let tenants = tenants(&mut below);
        let Some(token) = below.text("token") else {
            let help = "name a variable that has it: `token: \"${ACME_TOKEN}\"`";
            below.wrong(entry.span(), "there is no `token`, or it is empty", help);
            continue;
        };
        let is_known = |known: &Secret| known.expose() == token.text;
        if whole.is_some_and(is_known) || tokens.iter().any(|known| is_known(&known.token)) {
            let message = match whole.is_some_and(is_known) {
                true => "this token is `weir.admin.token` too, which may do everything",
                false => "this token stands in an entry before",
            };
            below.wrong(
                token.at,
                message,
                "make another one, or name all its tenants in one entry",
            );
            continue;
        }
        tokens.push(TenantToken { token: Secret::new(&token.text), tenants });
    }
    tokens
}

fn tenants(below: &mut Fields<'_, '_>) -> Vec<String> {
    let written = below.texts("tenants");
    if written.is_empty() {
        let at = below.node("tenants").map_or_else(|| below.at(), |node| node.span());
        let help = "name them: `tenants: [ acme ]`; `weir.admin.token` is for all of them";
        below.wrong(at, "the token has no `tenants`", help);
    }
    let mut tenants = Vec::new();
    for one in written {
        match check_tenant(&one.text) {
            Ok(()) if tenants.contains(&one.text) => {
                let message = format!("tenant `{}` is named twice", one.text);
                below.wrong(one.at, message, "remove one of them");
            }
            Ok(()) => tenants.push(one.text),
            Err((message, help)) => below.wrong(one.at, message, help),
        }
    }
    tenants
}
