//! Nacos as a configuration server: `spring.cloud.nacos.config.*` (class `NacosConfigProperties`).

use std::fmt;

use super::properties::Properties;
use super::url::shown;
use crate::source::Format;
use crate::spring::{self, Kind, Node};
use weir_snapshot::Secret;

const PREFIX: &str = "spring.cloud.nacos.config";
/// Default address of the server.
const DEFAULT_SERVER: &str = "127.0.0.1:8848";
const DEFAULT_GROUP: &str = "DEFAULT_GROUP";

/// A Nacos server, and the data ids to read from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NacosServer {
    /// `host:port` or URLs; if one fails, the next is tried.
    pub servers: Vec<String>,
    /// User.
    pub username: Option<String>,
    /// Password.
    pub password: Option<Secret>,
    /// Id of the namespace; empty for the public one.
    pub namespace: String,
    /// Data ids to read; later ones override earlier ones.
    pub items: Vec<DataId>,
    /// Maximum size of an answer in bytes.
    pub answer_bytes_max: usize,
}

/// A data id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataId {
    /// Its name.
    pub data_id: String,
    /// Its group.
    pub group: String,
    /// Its syntax.
    pub format: DataIdFormat,
    /// Whether changes are applied at once.
    pub refresh: bool,
    /// Whether the import fails without it, because it was named explicitly.
    pub needed: bool,
    /// Whether it belongs to one profile.
    pub is_specific: bool,
}

/// The syntax of a [`DataId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataIdFormat {
    /// From its name or `file-extension`.
    Of(Format),
    /// Guessed from the text.
    Guessed,
    /// A JSON array of routes.
    Routes,
}

impl DataIdFormat {
    /// The syntax of a text.
    pub fn of_text(self, text: &str) -> Format {
        match self {
            Self::Of(format) => format,
            Self::Routes => Format::Json,
            Self::Guessed => guess(text),
        }
    }

    fn of_ending(ending: &str) -> Self {
        match Format::of_name(&format!(".{}", ending.trim())) {
            Some(Format::Ini) | None => Self::Guessed,
            Some(format) => Self::Of(format),
        }
    }
}

/// JSON starts with a bracket, properties have an `=` before any `:`; anything else is YAML.
fn guess(text: &str) -> Format {
    let text = text.trim_start();
    if text.starts_with(['{', '[']) {
        return Format::Json;
    }
    let is_key = |line: &&str| !line.is_empty() && !line.starts_with(['#', '!']);
    let first = text.lines().map(str::trim).find(is_key).unwrap_or_default();
    match first.find([':', '=']).and_then(|at| first.get(at..)) {
        Some(rest) if rest.starts_with('=') => Format::Properties,
        _ => Format::Yaml,
    }
}

impl NacosServer {
    /// The server of the properties, without data ids; `None` if the properties disable it.
    fn new(properties: &mut Properties<'_>) -> Option<Self> {
        let name = |rest: &str| format!("{PREFIX}.{rest}");
        if !properties.flag(&name("enabled"), true) {
            return None;
        }
        let mut servers = properties.list(&name("server-addr"));
        if servers.is_empty() {
            servers = properties.list("spring.cloud.nacos.server-addr");
        }
        if servers.is_empty() {
            servers.push(DEFAULT_SERVER.to_owned());
        }
        Some(Self {
            servers,
            username: properties.first(&[&name("username"), "spring.cloud.nacos.username"]),
            password: properties.secret(&[&name("password"), "spring.cloud.nacos.password"]),
            namespace: properties.text(&name("namespace")).unwrap_or_default(),
            items: Vec::new(),
            answer_bytes_max: properties.bytes_max(),
        })
    }

    /// Parses `nacos:dataId?group=…&refreshEnabled=…`.
    ///
    /// # Errors
    /// The correct syntax.
    pub(super) fn read(
        location: &str,
        properties: &mut Properties<'_>,
    ) -> Result<Option<Self>, String> {
        let (data_id, query) = location.split_once('?').unwrap_or((location, ""));
        let data_id = data_id.trim().trim_start_matches('/');
        if data_id.is_empty() {
            return Err("name the data id: `nacos:gateway.yaml?group=DEFAULT_GROUP`".to_owned());
        }
        let Some(mut server) = Self::new(properties) else { return Ok(None) };
        let own = |wanted: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim())
        };
        let refresh = own("refreshEnabled").and_then(crate::value::bool);
        let group = own("group").map(str::to_owned).filter(|group| !group.is_empty());
        server.items.push(DataId {
            data_id: data_id.to_owned(),
            group: group.unwrap_or_else(|| default_group(properties)),
            format: format_of(data_id, properties),
            refresh: refreshes(properties) && refresh.unwrap_or(true),
            needed: true,
            is_specific: properties.profiles.iter().any(|p| data_id.contains(&format!("-{p}"))),
        });
        Ok(Some(server))
    }

    /// Data ids of a bootstrap file: `shared-configs`, `extension-configs`, then `prefix`,
    /// `prefix.ext` and `prefix-profile.ext` (class `NacosPropertySourceLocator`).
    pub(super) fn bootstrap(properties: &mut Properties<'_>) -> Option<Self> {
        let mut server = Self::new(properties)?;
        for list in ["shared-configs", "shared-dataids", "extension-configs", "ext-config"] {
            let items = configs(&format!("{PREFIX}.{list}"), properties);
            server.items.extend(items);
        }
        let prefix = properties.first(&[&format!("{PREFIX}.prefix"), &format!("{PREFIX}.name")]);
        let prefix = prefix.unwrap_or_else(|| properties.application());
        let ending = file_extension(properties);
        let mut names = vec![prefix.clone(), format!("{prefix}.{ending}")];
        names.extend(
            properties.profiles.iter().map(|profile| format!("{prefix}-{profile}.{ending}")),
        );
        let (group, refresh) = (default_group(properties), refreshes(properties));
        for data_id in names {
            server.items.push(DataId {
                data_id,
                group: group.clone(),
                format: DataIdFormat::of_ending(&ending),
                refresh,
                needed: false,
                is_specific: false,
            });
        }
        Some(server)
    }

    /// `weir.config.nacos.routes`: a JSON array of routes in one data id.
    pub(super) fn routes(properties: &mut Properties<'_>) -> Option<Self> {
        let data_id = properties.text("weir.config.nacos.routes.data-id")?;
        let group = properties.text("weir.config.nacos.routes.group");
        let mut server = Self::new(properties)?;
        server.items.push(DataId {
            data_id,
            group: group.unwrap_or_else(|| default_group(properties)),
            format: DataIdFormat::Routes,
            refresh: true,
            needed: true,
            is_specific: false,
        });
        Some(server)
    }
}

fn default_group(properties: &mut Properties<'_>) -> String {
    let group = properties.text(&format!("{PREFIX}.group"));
    group.unwrap_or_else(|| DEFAULT_GROUP.to_owned())
}

fn refreshes(properties: &mut Properties<'_>) -> bool {
    properties.flag(&format!("{PREFIX}.refresh-enabled"), true)
}

fn file_extension(properties: &mut Properties<'_>) -> String {
    let ending = properties.text(&format!("{PREFIX}.file-extension"));
    ending.unwrap_or_else(|| "properties".to_owned())
}

fn format_of(data_id: &str, properties: &mut Properties<'_>) -> DataIdFormat {
    match data_id.rsplit_once('.') {
        Some((_, ending)) => DataIdFormat::of_ending(ending),
        None => DataIdFormat::of_ending(&file_extension(properties)),
    }
}

/// Elements `{ data-id, group, refresh }`, or plain names.
fn configs(path: &str, properties: &mut Properties<'_>) -> Vec<DataId> {
    let Some(list) = properties.layers.find(path) else { return Vec::new() };
    let layers = properties.layers;
    let of = |node: Node<'_>, name: &str| {
        let text = spring::below(node, name)?.text()?;
        let text = layers.resolve(&text).0.trim().to_owned();
        (!text.is_empty()).then_some(text)
    };
    let mut found = Vec::new();
    if list.kind() == Kind::Scalar {
        found.extend(spring::texts(layers, list).into_iter().map(|id| (id, None, None)));
    }
    for node in list.children() {
        let id = match node.kind() {
            Kind::Map => of(node, "data-id"),
            _ => node.text().map(|text| layers.resolve(&text).0.trim().to_owned()),
        };
        let refresh = of(node, "refresh").and_then(|text| crate::value::bool(&text));
        found.extend(id.map(|id| (id, of(node, "group"), refresh)));
    }
    let refreshes = refreshes(properties);
    found
        .into_iter()
        .map(|(data_id, group, refresh)| DataId {
            format: format_of(&data_id, properties),
            group: group.unwrap_or_else(|| DEFAULT_GROUP.to_owned()),
            refresh: refreshes && refresh.unwrap_or(false),
            needed: false,
            is_specific: false,
            data_id,
        })
        .collect()
}

impl fmt::Display for NacosServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers: Vec<String> = self.servers.iter().map(|server| shown(server)).collect();
        let items = self.items.iter().map(|item| format!("{}@{}", item.data_id, item.group));
        write!(f, "nacos:{}/", servers.join(","))?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&items.collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::guess;
    use crate::source::Format;

    #[test]
    fn a_text_without_a_name_tells_its_syntax() {
        for (text, expected) in [
            ("[{\"id\":\"a\"}]", Format::Json),
            ("# x\n\na.b=c:d\n", Format::Properties),
            ("# x\na:\n  b: c=d\n", Format::Yaml),
            ("", Format::Yaml),
        ] {
            assert_eq!(guess(text), expected, "{text}");
        }
    }
}
