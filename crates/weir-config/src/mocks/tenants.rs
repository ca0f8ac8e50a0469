//! `weir.mock.tenant`: how requests name their tenants, and what one tenant may keep.

use weir_mock::{TenantForm, check_tenant};
use weir_route::parse_data_size;

use crate::fields::Fields;
use crate::spring::Kind;

/// How requests name their tenants, and what one tenant may keep in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantRules {
    /// How requests name their tenants; without it, only a route leads to those of a tenant.
    pub form: Option<TenantForm>,
    /// The maximum number of tenants.
    pub tenants_max: usize,
    /// The maximum number of definitions of one tenant.
    pub definitions_max: usize,
    /// The maximum size of the definitions of one tenant together, in bytes of their stored form.
    pub bytes_max: u64,
}

impl TenantRules {
    /// The usual maximum of tenants.
    pub const TENANTS_MAX: usize = 10_000;
    /// The usual maximum of definitions.
    pub const DEFINITIONS_MAX: usize = 10_000;
    /// The usual maximum of bytes (1 GiB).
    pub const BYTES_MAX: u64 = 1024 * 1024 * 1024;
}

impl Default for TenantRules {
    fn default() -> Self {
        Self {
            form: None,
            tenants_max: Self::TENANTS_MAX,
            definitions_max: Self::DEFINITIONS_MAX,
            bytes_max: Self::BYTES_MAX,
        }
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
    if let Some(node) = fields.node("tenant").filter(|node| node.kind() != Kind::Map) {
        let help = format!("write one of {}", FORMS.map(|(_, _, example)| example).join(", "));
        fields.wrong(node.span(), "it does not say where a request names its tenant", help);
        return rules;
    }
    let Some(mut below) = fields.below("tenant") else { return rules };
    below.only(&["header", "host", "path", "tenants-max", "definitions-max", "bytes-max"]);
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
    for (name, max) in
        [("tenants-max", &mut rules.tenants_max), ("definitions-max", &mut rules.definitions_max)]
    {
        let read = |text: &str| text.parse().ok().filter(|max| *max > 0);
        *max = below.value(name, "a number above 0", read).unwrap_or(*max);
    }
    let size = |text: &str| parse_data_size(text).ok().filter(|max| *max > 0);
    let bytes_max = below.value("bytes-max", "a size such as `1GB`", size);
    rules.bytes_max = bytes_max.unwrap_or(rules.bytes_max);
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
