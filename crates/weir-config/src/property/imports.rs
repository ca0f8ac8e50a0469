//! Properties of imports. They are read before the others: by `imports`.

use super::{Kind, PropertySpec, Usage};

/// `spring.config.*` and what weir adds.
pub(super) static IMPORTS: &[PropertySpec] = &[
    PropertySpec::new(
        "spring.config.import",
        Kind::List,
        None,
        "Further configuration, each over the file that names it: a file or directory (beside the importing file, or with `file:` in the working directory), `configtree:`, `configserver:`, `nacos:`, `consul:`. `optional:` before it: the gateway starts without it.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.config.additional-location",
        Kind::List,
        None,
        "In the environment or with `--set`: files and directories over the others.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.config.location",
        Kind::List,
        None,
        "Where Spring looks for files.",
        Usage::Unsupported("name the files on the command line"),
    ),
    PropertySpec::new(
        "spring.config.name",
        Kind::List,
        Some("application"),
        "Name of the files Spring looks for.",
        Usage::Unsupported("name the files on the command line"),
    ),
    PropertySpec::new(
        "spring.cloud.bootstrap.enabled",
        Kind::Bool,
        Some("true"),
        "`false` asks no server for the sake of a bootstrap file.",
        Usage::Read,
    ),
    PropertySpec::new(
        "weir.config.nacos.routes.data-id",
        Kind::Text,
        None,
        "A Nacos data id that holds a JSON array of routes; they come beside those of the files, and change when it does.",
        Usage::Read,
    ),
    PropertySpec::new(
        "weir.config.nacos.routes.group",
        Kind::Text,
        None,
        "Its group; `spring.cloud.nacos.config.group` if unset.",
        Usage::Read,
    ),
];
