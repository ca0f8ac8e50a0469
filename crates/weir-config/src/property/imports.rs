//! Properties of imports. They are read before the others, by `imports`.

use super::{Kind, PropertySpec, Usage};

/// `spring.config.*` and weir's additions.
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
        "In the environment or with `--set`, where the command names no CONFIG: files, and directories in which `spring.config.name` is looked for. `optional:` before one: it may be missing.",
        Usage::Read,
    ),
    PropertySpec::new(
        "spring.config.name",
        Kind::List,
        Some("application"),
        "In the environment or with `--set`: names of the files that are looked for in directories, without their endings.",
        Usage::Read,
    ),
    PropertySpec::new(
        "encrypt.key",
        Kind::Text,
        None,
        "Pass phrase that decrypts values which begin with `{cipher}`; best in the environment, as `ENCRYPT_KEY`.",
        Usage::Read,
    ),
    PropertySpec::new(
        "encrypt.salt",
        Kind::Text,
        Some("deadbeef"),
        "Its salt, in hexadecimal digits.",
        Usage::Read,
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
