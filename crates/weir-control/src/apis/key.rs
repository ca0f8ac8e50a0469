//! What a definition is addressed by: its name, which is unique for each tenant.

/// Separates the name from the tenant in the store. No name has it.
const SEPARATOR: char = '/';

/// The name of a definition, and its tenant; an empty tenant stands for none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiKey {
    /// Whose definition it is.
    pub tenant: String,
    /// Its name.
    pub name: String,
}

impl ApiKey {
    /// The definition `name` of `tenant`.
    pub fn new(tenant: &str, name: &str) -> Self {
        Self { tenant: tenant.to_owned(), name: name.to_owned() }
    }

    /// The key in the store: `NAME`, or `TENANT/NAME`.
    pub(super) fn of_stored(text: &str) -> Self {
        let (tenant, name) = text.split_once(SEPARATOR).unwrap_or(("", text));
        Self::new(tenant, name)
    }
}

/// As in the store.
impl std::fmt::Display for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.tenant.is_empty() {
            true => f.write_str(&self.name),
            false => write!(f, "{}{SEPARATOR}{}", self.tenant, self.name),
        }
    }
}
