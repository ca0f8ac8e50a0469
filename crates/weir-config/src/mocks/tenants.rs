//! `weir.mock.tenant`: how requests name their tenants, and what one tenant may keep.

use weir_mock::{TenantForm, check_tenant};

use crate::fields::Fields;
use crate::spring::Kind;

/// How requests name their tenants, and what one tenant may keep in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantRules {
    /// How requests name their tenants; without it, only a route leads to those of a tenant.
    pub form: Option<TenantForm>,
    /// The maximum number of definitions of one tenant.
    pub definitions_max: usize,
}

impl TenantRules {
    /// The usual maximum of definitions.
    pub const DEFINITIONS_MAX: usize = 10_000;
}

impl Default for TenantRules {
    fn default() -> Self {
        Self { form: None, definitions_max: Self::DEFINITIONS_MAX }
    }
}

/// Reads a form.
type ReadForm = fn(&str) -> Result<TenantForm, String>;
/// The forms, with an example of each.
const FORMS: [(&str, ReadForm, &str); 3] = [
    ("header", TenantForm::header, "`header: X-Tenant`"),
    ("host", TenantForm::host, "`host: \"{tenant}.mock.example\"`"),
    ("path", TenantForm::path, "`path: \"/mock/{tenant}\"`"),
];

/// Reads `tenant`.
pub(super) fn rules(fields: &mut Fields<'_, '_>) -> TenantRules {
    let mut rules = TenantRules::default();
    let is_map = fields.node("tenant").is_none_or(|node| node.kind() == Kind::Map);
    let Some(mut below) = fields.below("tenant") else { return rules };
    if !is_map {
        let help = format!("write one of {}", FORMS.map(|(_, _, example)| example).join(", "));
        below.wrong(below.at(), "it does not say where a request names its tenant", help);
        return rules;
    }
    below.only(&["header", "host", "path", "definitions-max"]);
    for (name, read, example) in FORMS {
        let Some(written) = below.text(name) else { continue };
        match (read(&written.text), &rules.form) {
            (_, Some(_)) => {
                let message = format!("`{name}` is a second place of the tenant");
                below.wrong(written.at, message, "keep one of `header`, `host` and `path`");
            }
            (Ok(form), None) => rules.form = Some(form),
            (Err(why), None) => below.wrong(written.at, why, format!("write {example}")),
        }
    }
    let max = below.value("definitions-max", "a number above 0", |text| {
        text.parse().ok().filter(|max| *max > 0)
    });
    rules.definitions_max = max.unwrap_or(rules.definitions_max);
    rules
}

/// The `tenant` of a definition; empty if there is none.
pub(super) fn tenant_of(fields: &mut Fields<'_, '_>) -> String {
    let Some(written) = fields.text("tenant") else { return String::new() };
    match check_tenant(&written.text) {
        Ok(()) => written.text,
        Err((message, help)) => {
            fields.wrong(written.at, message, help);
            String::new()
        }
    }
}
