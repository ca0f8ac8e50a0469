//! Definitions of several tenants, each with names, paths and state of its own, and how a request
//! names its tenant.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::mocks::Mocks;
use crate::mounted::{Mount, Mounted, host_name};
use crate::problem::Fault;
use crate::request::Call;
use crate::respond::Options;
use crate::sorted::Sorted;

/// What stands for the tenant in a host or a path.
const PLACE: &str = "{tenant}";
/// Bytes of a tenant's name at most: one label of a host name.
const TENANT_BYTES_MAX: usize = 63;
/// Names that mean something else in a uri.
const RESERVED: [&str; 2] = ["all", "store"];

/// How a request names its tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TenantForm {
    /// By the value of this header field.
    Header(Box<str>),
    /// By what stands between these two in the host.
    Host(Box<str>, Box<str>),
    /// By the segment behind this text at the start of the path. Both are removed from the path.
    Path(Box<str>),
}

impl TenantForm {
    /// A header field.
    ///
    /// # Errors
    /// It is no name of a field.
    pub fn header(name: &str) -> Result<Self, String> {
        match weir_wire::is_token(name.as_bytes()) {
            true => Ok(Self::Header(name.into())),
            false => Err(format!("`{name}` is no name of a header field")),
        }
    }

    /// A host such as `{tenant}.mock.example`.
    ///
    /// # Errors
    /// It does not have the place of a tenant, or is no host.
    pub fn host(template: &str) -> Result<Self, String> {
        let lower = template.to_ascii_lowercase();
        let (before, after) = around(&lower)?;
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        // Without text behind it, it would stand for each host, and an address would name a tenant.
        if !before.bytes().chain(after.bytes()).all(is_host) || !after.contains('.') {
            return Err(format!("`{template}` is no host with a domain behind `{PLACE}`"));
        }
        Ok(Self::Host(before.into(), after.into()))
    }

    /// The start of a path, such as `/mock/{tenant}`.
    ///
    /// # Errors
    /// It is no such start.
    pub fn path(template: &str) -> Result<Self, String> {
        let (before, after) = around(template)?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
        let is_segment = before.starts_with('/') && before.ends_with('/') && after.is_empty();
        if !is_segment || !before.bytes().all(is_plain) || before.contains("//") {
            return Err(format!("`{template}` is no start of a path that ends with `/{PLACE}`"));
        }
        Ok(Self::Path(before.into()))
    }

    /// The tenant that a request names, and the path behind it.
    fn read<'c>(&self, call: &Call<'c>) -> Option<(Cow<'c, str>, &'c [u8])> {
        let (tenant, path) = match self {
            Self::Header(name) => {
                let mut all = call.fields.get_all(name.as_bytes());
                let value = all.next()?.trim_ascii();
                // Two tenants are none that exists.
                let is_one = all.all(|other| other.trim_ascii() == value);
                let value = if is_one { value } else { b"," };
                (String::from_utf8_lossy(value).into_owned().into(), call.path)
            }
            Self::Host(before, after) => {
                let host = host_name(call.fields.get(b"host")?);
                let tenant = host.strip_prefix(&**before)?.strip_suffix(&**after)?;
                (Cow::Owned(tenant.to_owned()), call.path)
            }
            Self::Path(before) => {
                let rest = call.path.strip_prefix(before.as_bytes())?;
                let end = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
                let (tenant, path) = rest.split_at_checked(end)?;
                let path = if path.is_empty() { b"/" } else { path };
                (String::from_utf8_lossy(tenant), path)
            }
        };
        (!tenant.is_empty()).then_some((tenant, path))
    }
}

/// How a request names its tenant, in words.
impl std::fmt::Display for TenantForm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Header(name) => write!(f, "the header `{name}`"),
            Self::Host(before, after) => write!(f, "the host, `{before}{PLACE}{after}`"),
            Self::Path(before) => write!(f, "the path, `{before}{PLACE}/...`"),
        }
    }
}

/// The texts before and behind the one place of a tenant.
fn around(template: &str) -> Result<(&str, &str), String> {
    let halves = template.split_once(PLACE).filter(|(_, after)| !after.contains(PLACE));
    halves.ok_or_else(|| format!("`{template}` does not have `{PLACE}` in it, once"))
}

/// Whether a tenant may have this name: one that each [`TenantForm`] can carry.
///
/// # Errors
/// It may not, and what it may have.
pub fn check_tenant(name: &str) -> Result<(), (String, String)> {
    let is_plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    let is_free = !RESERVED.contains(&name);
    if is_free && !name.is_empty() && name.len() <= TENANT_BYTES_MAX && name.bytes().all(is_plain) {
        return Ok(());
    }
    if RESERVED.contains(&name) {
        let message = format!("`{name}` stands for many definitions, so no tenant is called so");
        return Err((message, "take another name".to_owned()));
    }
    let help = format!("take up to {TENANT_BYTES_MAX} lower-case letters, digits, `-` and `_`");
    Err((format!("`{name}` is no name of a tenant"), help))
}

/// Definitions of tenants, and those that belong to none. Copies share what they have in common.
///
/// A request is answered from the definitions of its tenant alone. An empty name of a tenant
/// stands for none.
#[derive(Clone, Debug, Default)]
pub struct MockSet {
    /// Those of no tenant.
    common: Mocks,
    tenants: Sorted<Arc<str>, Arc<Mocks>>,
    /// Answers instead of a tenant that does not exist.
    nobody: Mocks,
    form: Option<TenantForm>,
}

/// One set of definitions that belongs to no tenant.
impl From<Mocks> for MockSet {
    fn from(common: Mocks) -> Self {
        Self { common, ..Self::default() }
    }
}

impl MockSet {
    /// An empty set; definitions added by [`Self::put`] can be addressed by name.
    pub fn named(options: &Options, form: Option<TenantForm>) -> Self {
        let mocks = |nowhere| Mocks::named(options.clone()).owned(None, nowhere);
        Self {
            common: mocks(nowhere(form.as_ref(), false)),
            nobody: mocks(nowhere(form.as_ref(), true)),
            tenants: Sorted::default(),
            form,
        }
    }

    /// Serves definitions, each with the name of its tenant, as their mounts say.
    ///
    /// # Errors
    /// See [`Mocks::mount`].
    pub fn mount(
        mounts: Vec<(String, Mount)>,
        options: &Options,
        form: Option<TenantForm>,
    ) -> Result<Self, String> {
        let mut each: BTreeMap<String, Vec<Mount>> = BTreeMap::new();
        for (tenant, mount) in mounts {
            each.entry(tenant).or_default().push(mount);
        }
        let mut set = Self::named(options, form);
        for (tenant, mounts) in each {
            let mocks = Mocks::mount(mounts, options.clone())?;
            set.replace(&tenant, mocks);
        }
        Ok(set)
    }

    /// Serves definitions of one tenant, or of none, to each request.
    ///
    /// # Errors
    /// See [`Mocks::mount`].
    pub fn of_one(tenant: &str, mounts: Vec<Mount>, options: Options) -> Result<Self, String> {
        let mocks = Mocks::mount(mounts, options)?;
        Ok(match tenant.is_empty() {
            true => mocks.into(),
            false => mocks.owned(Some(tenant), nowhere(None, true)).into(),
        })
    }

    fn replace(&mut self, tenant: &str, mocks: Mocks) {
        let is_common = tenant.is_empty();
        let nowhere = nowhere(self.form.as_ref(), !is_common);
        match is_common {
            true => self.common = mocks.owned(None, nowhere),
            false => {
                let mocks = mocks.owned(Some(tenant), nowhere);
                self.tenants.insert(tenant.into(), Arc::new(mocks));
            }
        }
    }

    /// Adds a definition of `tenant`, or replaces the one with its name. Those of other tenants
    /// are not touched.
    ///
    /// # Errors
    /// See [`Mocks::put`]. Then nothing has changed.
    pub fn put(&mut self, tenant: &str, mounted: Arc<Mounted>) -> Result<(), String> {
        if tenant.is_empty() {
            return self.common.put(mounted);
        }
        let known = self.tenants.remove(tenant);
        let mut mocks = known.unwrap_or_else(|| {
            let nowhere = nowhere(self.form.as_ref(), true);
            Arc::new(self.nobody.clone().owned(Some(tenant), nowhere))
        });
        let added = Arc::make_mut(&mut mocks).put(mounted);
        if !mocks.is_empty() {
            self.tenants.insert(tenant.into(), mocks);
        }
        added
    }

    /// Removes the definition `name` of `tenant`, which was added by [`Self::put`]; with the last
    /// one goes the tenant.
    pub fn remove(&mut self, tenant: &str, name: &str) -> Option<Arc<Mounted>> {
        if tenant.is_empty() {
            return self.common.remove(name);
        }
        let mut mocks = self.tenants.remove(tenant)?;
        let gone = Arc::make_mut(&mut mocks).remove(name);
        if !mocks.is_empty() {
            self.tenants.insert(tenant.into(), mocks);
        }
        gone
    }

    /// The definitions of `tenant`; none, if it does not exist.
    pub fn of(&self, tenant: &str) -> &Mocks {
        match tenant.is_empty() {
            true => &self.common,
            false => self.tenants.get(tenant).map_or(&self.nobody, |mocks| mocks),
        }
    }

    /// How a request names its tenant; without it, none leads to a tenant.
    pub fn form(&self) -> Option<&TenantForm> {
        self.form.as_ref()
    }

    /// The definitions of no tenant, then those of each tenant.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Mocks)> {
        let own = self.tenants.iter().map(|(tenant, mocks)| (&**tenant, &**mocks));
        std::iter::once(("", &self.common)).chain(own)
    }

    /// The definitions that a request is for, and the request as they see it.
    pub(crate) fn meant<'s, 'c>(&'s self, call: &Call<'c>) -> (&'s Mocks, Call<'c>) {
        let named = self.form.as_ref().and_then(|form| form.read(call));
        match named {
            Some((tenant, path)) => {
                // Nothing of it but `/` may stand for a path that ends with the tenant.
                let prefix = call.path.strip_suffix(path).unwrap_or(call.path);
                (self.of(&tenant), Call { path, prefix, ..*call })
            }
            None => (&self.common, *call),
        }
    }
}

/// The fault of a request that a set of definitions does not know.
fn nowhere(form: Option<&TenantForm>, is_tenant: bool) -> Fault {
    match (form, is_tenant) {
        (None, false) => Fault::NoPath,
        (Some(form), false) => Fault::NoTenant(form.to_string().into()),
        (Some(form), true) => Fault::NoTenantPath(form.to_string().into()),
        (None, true) => Fault::NoTenantPath("the uri of the route".into()),
    }
}
