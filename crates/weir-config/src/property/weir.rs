//! weir's own properties.

use weir_filter::forwarding::via::Via;

use super::{Kind, PropertySpec, Usage};
use weir_snapshot::AmbiguousPaths;
use weir_snapshot::{AccessLog, AccessLogFormat, ScgLine, Secret};

/// The maximum of `weir.access-log.bodies`: 64 batches of lines may wait for the disk.
const ACCESS_LOG_BODIES_BYTES_MAX: u64 = 1024 * 1024;

/// Applied first: other properties may override the defaults of the chosen SCG line.
pub(super) static COMPAT: &[PropertySpec] = &[
    PropertySpec::new(
        "weir.compat.scg",
        Kind::OneOf(&["3.1", "4.1", "4.2", "4.3", "5.0"]),
        Some("5.0"),
        "The line of Spring Cloud Gateway to behave like where its lines differ.",
        Usage::Sets(|s, v| s.compat.set_line(ScgLine::of(v.text()))),
    ),
    PropertySpec::new(
        "weir.compat.trailing-slash",
        Kind::Bool,
        Some("false"),
        "`Path=/a` also matches `/a/` (true up to the line 4.3).",
        Usage::Sets(|s, v| s.compat.trailing_slash = v.bool()),
    ),
    PropertySpec::new(
        "weir.compat.split-header-values",
        Kind::Bool,
        Some("true"),
        "The Header predicate tests every element of a comma-separated value (false for 3.1).",
        Usage::Sets(|s, v| s.compat.split_header_values = v.bool()),
    ),
    PropertySpec::new(
        "weir.compat.host-port",
        Kind::Bool,
        Some("true"),
        "The Host predicate sees the port of the Host header.",
        Usage::Sets(|s, v| s.compat.host_port = v.bool()),
    ),
    PropertySpec::new(
        "weir.compat.refused-status",
        Kind::Int(400, 599),
        Some("502"),
        "Status when the upstream refuses or breaks the connection, or what it answers is no HTTP; \
         Spring Cloud Gateway has 500.",
        Usage::Sets(|s, v| s.refused_status = v.short()),
    ),
    PropertySpec::new(
        "weir.compat.forwarded",
        Kind::OneOf(&["strip", "pass", "append"]),
        Some("strip"),
        "What becomes of `Forwarded` and `X-Forwarded-*` while `trusted-proxies` is not set: \
         removed (4.3.5+, 5.0.2+), passed on untouched (earlier 4.x), or appended to (3.1).",
        Usage::Sets(|s, v| v.text().clone_into(&mut s.compat.forwarded)),
    ),
];

/// Minimum and maximum size of a worker's read buffer.
const READ_BUFFER_BYTES: (u64, u64) = (4 << 10, 1 << 20);
/// Minimum and maximum size of a socket buffer.
const SOCKET_BUFFER_BYTES: (u64, u64) = (4 << 10, 256 << 20);

/// `weir.*`.
pub(super) static WEIR: &[PropertySpec] = &[
    PropertySpec::new(
        "weir.server.workers",
        Kind::Int(0, 1_024),
        Some("0"),
        "Threads that serve requests; 0 is one per core. Reactor Netty's `ioWorkerCount`.",
        Usage::SetsAtStart(|s, v| s.workers = v.count()),
    ),
    PropertySpec::new(
        "weir.server.acceptors",
        Kind::Int(0, 1_024),
        Some("0"),
        "Threads that only accept connections and hand them to the least loaded worker; 0 lets \
         each worker accept its own. Reactor Netty's `ioSelectCount`.",
        Usage::SetsAtStart(|s, v| s.acceptors = v.count()),
    ),
    PropertySpec::new(
        "weir.server.pinning",
        Kind::Bool,
        Some("false"),
        "Keeps each worker on one core, for a machine that does nothing else.",
        Usage::SetsAtStart(|s, v| s.pinning = v.bool()),
    ),
    PropertySpec::new(
        "weir.server.splice",
        Kind::Bool,
        Some("true"),
        "Has the system move large bodies from connection to connection without copying them \
         through the gateway, where their framing stays as it is. HAProxy's \
         `option splice-request` and `option splice-response`.",
        Usage::SetsAtStart(|s, v| s.splice = v.bool()),
    ),
    PropertySpec::new(
        "weir.server.backlog",
        Kind::Int(1, 1_048_576),
        Some("4096"),
        "Connections that may wait to be accepted, as far as the system allows. Netty's \
         `SO_BACKLOG`.",
        Usage::SetsAtStart(|s, v| s.backlog = u32::try_from(v.int()).unwrap_or(u32::MAX)),
    ),
    PropertySpec::new(
        "weir.server.defer-accept",
        Kind::Duration,
        Some("1s"),
        "How long the system keeps a new connection to itself at least while its client sends \
         nothing; it is accepted with its first bytes, which saves more than a quarter of what a \
         connection for one request costs. In whole seconds, rounded up; 0 accepts at once. \
         Netty's `TCP_DEFER_ACCEPT`, for which Spring Cloud Gateway has no property.",
        Usage::SetsAtStart(|s, v| s.defer_accept = v.duration()),
    ),
    PropertySpec::new(
        "weir.server.read-buffer-size",
        Kind::SizeBetween(READ_BUFFER_BYTES.0, READ_BUFFER_BYTES.1),
        Some("96KB"),
        "How much one read from a client or an upstream may bring: larger ones move large bodies \
         in fewer calls, smaller ones spare memory. Each worker has one such buffer for all its \
         connections, where Netty has one for each (`server.netty.initial-buffer-size`, and what \
         Reactor Netty's `HttpClient` allocates).",
        Usage::SetsAtStart(|s, v| s.read_buffer_bytes = bytes(v.size())),
    ),
    PropertySpec::new(
        "weir.server.receive-buffer-size",
        Kind::SizeBetween(SOCKET_BUFFER_BYTES.0, SOCKET_BUFFER_BYTES.1),
        None,
        "Bytes of a client that the system may hold until they are read, up to \
         `net.core.rmem_max`; unset lets the system adapt it to each connection. Netty's \
         `SO_RCVBUF`, for which Spring Cloud Gateway has no property.",
        Usage::SetsAtStart(|s, v| s.receive_buffer_bytes = Some(bytes(v.size()))),
    ),
    PropertySpec::new(
        "weir.server.send-buffer-size",
        Kind::SizeBetween(SOCKET_BUFFER_BYTES.0, SOCKET_BUFFER_BYTES.1),
        None,
        "Bytes for a client that the system may hold until they are acknowledged, up to \
         `net.core.wmem_max`; unset lets the system adapt it to each connection. Netty's \
         `SO_SNDBUF`, for which Spring Cloud Gateway has no property.",
        Usage::SetsAtStart(|s, v| s.send_buffer_bytes = Some(bytes(v.size()))),
    ),
    PropertySpec::new(
        "weir.server.unsent-low-water-mark",
        Kind::SizeBetween(SOCKET_BUFFER_BYTES.0, SOCKET_BUFFER_BYTES.1),
        Some("256KB"),
        "Bytes for a client that the system holds before it has sent them; a client that does not \
         read takes no more than this and what its own window lets through, where the system would \
         let megabytes gather. Netty's `TCP_NOTSENT_LOWAT`, for which Spring Cloud Gateway has no \
         property.",
        Usage::SetsAtStart(|s, v| s.unsent_bytes_max = u32::try_from(v.size()).unwrap_or(u32::MAX)),
    ),
    PropertySpec::new(
        "weir.server.connections-max",
        Kind::Int(1, 10_000_000),
        Some("100000"),
        "Most client connections at a time.",
        Usage::Sets(|s, v| s.connections_max = v.count()),
    ),
    PropertySpec::new(
        "weir.server.header-count-max",
        Kind::Int(1, 10_000),
        Some("128"),
        "Most header lines of a request; above is 431.",
        Usage::Sets(|s, v| s.head_limits.fields_max = v.count()),
    ),
    PropertySpec::new(
        "weir.server.body-bytes-max",
        Kind::DataSize,
        None,
        "Most bytes of a request body; above is 413. Per route: the RequestSize filter.",
        Usage::Sets(|s, v| s.body_bytes_max = Some(v.size())),
    ),
    PropertySpec::new(
        "weir.server.head-timeout",
        Kind::Duration,
        Some("10s"),
        "A request head must be complete so long after its first byte.",
        Usage::Sets(|s, v| s.head_timeout = v.duration()),
    ),
    PropertySpec::new(
        "weir.server.keep-alive-timeout",
        Kind::Duration,
        Some("75s"),
        "How long an idle client connection is kept.",
        Usage::Sets(|s, v| s.keep_alive_timeout = v.duration()),
    ),
    PropertySpec::new(
        "weir.server.keep-alive-requests-max",
        Kind::Int(1, i64::MAX),
        None,
        "Most requests of one client connection.",
        Usage::Sets(|s, v| s.keep_alive_requests_max = u64::try_from(v.int()).ok()),
    ),
    PropertySpec::new(
        "weir.server.progress-bytes-per-second-min",
        Kind::Int(0, i64::MAX),
        Some("100"),
        "Bodies slower than this over `weir.server.progress-window` end the exchange.",
        Usage::Sets(|s, v| {
            s.progress_bytes_per_second_min = u64::try_from(v.int()).unwrap_or_default();
        }),
    ),
    PropertySpec::new(
        "weir.server.progress-window",
        Kind::Duration,
        Some("30s"),
        "Over how long the rate of a body is taken.",
        Usage::Sets(|s, v| s.progress_window = v.duration()),
    ),
    PropertySpec::new(
        "weir.server.ambiguous-paths",
        Kind::OneOf(AmbiguousPaths::NAMES),
        Some("check"),
        "What becomes of a path that servers read in different ways (`%2f`, `%5c`, `%25`, `%3b`, \
         `%3f`, `%23`, `;`, `//`, a dot or blank at the end of a name): `check` answers 400 if \
         dot segments or a path of another route could be read into it, `refuse` always, `keep` \
         never. A route's `metadata.ambiguous-paths` goes before.",
        Usage::Sets(|s, v| {
            s.ambiguous_paths = AmbiguousPaths::of(v.text()).unwrap_or_default();
        }),
    ),
    PropertySpec::new(
        "weir.server.underscore-fields",
        Kind::OneOf(&["drop", "keep"]),
        Some("drop"),
        "What becomes of `Content_Length` and `Transfer_Encoding`, which some upstreams take for \
         the fields with hyphens.",
        Usage::Sets(|s, v| s.underscore_fields = v.text() == "keep"),
    ),
    PropertySpec::new(
        "weir.forward.via",
        Kind::Via,
        Some("false"),
        "Adds Via to the requests and responses that are passed on: `true` with a name of this \
         process alone (`1.1 weir-…`), a name with that one. A request that has the name already \
         is answered with 508, so gateways behind one another need different names. Where the \
         upstream's port is the gateway's own, requests have Via anyway.",
        Usage::Sets(|s, v| s.via = Via::parse(v.text()).unwrap_or_default()),
    ),
    PropertySpec::new(
        "weir.pool.queue-max",
        Kind::Int(0, 10_000_000),
        Some("10000"),
        "Requests that may wait for an upstream connection, per upstream.",
        Usage::Sets(|s, v| s.pool.queue_max = v.count()),
    ),
    PropertySpec::new(
        "weir.groups",
        Kind::Tree,
        None,
        "Groups of routes: a list of maps with `id`, `order`, `predicates`, `filters`, `uri` and \
         `metadata`, which all routes of the group share, and `routes`. A route elsewhere joins \
         with `group: <id>`. With equal order a group comes before routes without one; where no \
         route inside matches, the search goes on behind it.",
        Usage::Read,
    ),
    PropertySpec::new(
        "weir.store.path",
        Kind::Text,
        Some("weir-data"),
        "Directory of the routes made through the admin API.",
        Usage::SetsAtStart(|s, v| s.store_path = v.text().into()),
    ),
    PropertySpec::new(
        "weir.admin.port",
        Kind::Int(-1, 65_535),
        Some("9090"),
        "Port of the admin API on 127.0.0.1 while `management.server.port` is not set; 0 is any \
         free one, -1 none. The default is 9091 where `server.port` is 9090.",
        Usage::Sets(|s, v| s.management.own_port = v.int()),
    ),
    PropertySpec::new(
        "weir.admin.token",
        Kind::Secret,
        None,
        "Token that lets a peer that is not local change routes.",
        Usage::Sets(|s, v| s.admin.token = Some(Secret::new(v.text()))),
    ),
    PropertySpec::new(
        "weir.admin.tenant-tokens",
        Kind::Tree,
        None,
        "Tokens that are for the API definitions of some tenants alone: a list of \
         `{ token, tenants }`. With them, all of the admin API but health, info and metrics needs a \
         token or a local peer, to read too.",
        Usage::Read,
    ),
    PropertySpec::new(
        "weir.admin.hosts",
        Kind::List,
        None,
        "Names by which clients may address the admin API in Host, besides loopback names and its \
         address.",
        Usage::Sets(|s, v| s.admin.hosts = v.list().to_vec()),
    ),
    PropertySpec::new(
        "weir.admin.connections-max",
        Kind::Int(1, 100_000),
        Some("512"),
        "Most connections of the admin API at a time; more wait.",
        Usage::Sets(|s, v| s.admin.connections_max = v.count()),
    ),
    PropertySpec::new(
        "weir.admin.body-bytes-max",
        Kind::DataSize,
        Some("1MB"),
        "Longest body of one route sent to the admin API; above is 413.",
        Usage::Sets(|s, v| s.admin.body_bytes_max = bytes(v.size())),
    ),
    PropertySpec::new(
        "weir.admin.import-bytes-max",
        Kind::DataSize,
        Some("256MB"),
        "Longest body of many routes sent to the admin API at once; above is 413.",
        Usage::Sets(|s, v| s.admin.import_bytes_max = bytes(v.size())),
    ),
    PropertySpec::new(
        "weir.filters.*",
        Kind::Tree,
        None,
        "What a filter written in Java does, by its name: a list of weir's filters. Its arguments \
         are not looked at. A filter that checks who may pass needs one that does: an empty list \
         lets everybody pass.",
        Usage::Read,
    ),
    PropertySpec::new(
        "weir.predicates.*",
        Kind::Tree,
        None,
        "What a predicate written in Java tests, by its name: a list of weir's predicates.",
        Usage::Read,
    ),
    PropertySpec::new(
        "weir.request-uri.allow",
        Kind::List,
        None,
        "Link-local addresses that SetRequestUri and RequestHeaderToRequestUri may send requests \
         to, such as `169.254.1.2`; none otherwise, since machines in clouds get their \
         credentials from one.",
        Usage::Read,
    ),
    PropertySpec::new(
        "weir.key-resolvers.*",
        Kind::Text,
        None,
        "What a key resolver of RequestRateLimiter does, by the name of its Java bean: `ip`, \
         `header:N`, `query:N`, `cookie:N`, `host`, `principal`, `path` or `path:{v}`.",
        Usage::Read,
    ),
    PropertySpec::new(
        "weir.limits.*",
        Kind::Tree,
        None,
        "A limit that the filter Throttle uses by its name: `rate` (`500/s`, `30/min`, `0.5/h`), \
         `mode` (`pace`, which `bucket` means too, or `window`), `burst`, `warm-up`, `concurrency` (a number or `adaptive`), \
         `concurrency-min`, `concurrency-max`, `bandwidth`, `stream-bandwidth` (`10MB/s`), \
         `queue`, `queue-bytes`, `max-wait`, `order` (`fifo` or `fair`), `ageing`, `key` (`none`, `ip`, \
         `header:N`, `query:N`, `cookie:N`, `host`, `principal`, `path` or `path:{v}`), `per-key` \
         (`true` gives each key the limit for itself), `weights` by the text of a key, `cost` \
         (a number or `header:N`), `priority` (`header:N`), \
         `deadline` (`grpc-timeout` or `header:N`), `fields` (`refused`, `always` or `never`), \
         `enforce` (`true` or `false`).",
        Usage::Read,
    ),
    PropertySpec::new(
        "weir.mock",
        Kind::Tree,
        None,
        "API definitions that routes with `mock://NAME` are answered from: `apis` is a list of \
         files, folders, or `{ file, name, base-path, tenant }`; beside it `dynamic`, `seed`, `errors`, \
         `validate` (`enforce`, `report` or `off`), `delay` (a time, `{ from, to }` or \
         `{ median, sigma }`), `envelope` (`success`, `failure`, `failure-status`), `stateful`, \
         `overrides`, which may stand at one of `apis` too, for that one alone; and \
         `select-header`, and `callbacks.allow`, a list of servers that callbacks and webhooks may \
         be sent to (`http://127.0.0.1:9000`, `https://*.example.org`), none otherwise; and `tenant`, \
         which says where a request names its tenant: one of `header` (`X-Tenant`), `host` \
         (`{tenant}.mock.example`) and `path` (`/mock/{tenant}`), with `tenants-max`, and \
         `definitions-max` and `bytes-max` for each.",
        Usage::Read,
    ),
    PropertySpec::new(
        "weir.pipelines",
        Kind::Tree,
        None,
        "Listeners beside the gateway's own: a list, or a map by `id`. Each has `listen`, \
         `protocol` (`tcp`, `http`, `socks`, `dubbo` or `frame`), `upstream`, `balance`, \
         `slow-start`, `limit`, `timeouts`, `check`, `routes` and `proxy-protocol`; see the guide \
         on pipelines.",
        Usage::Read,
    ),
    PropertySpec::new(
        "weir.upstreams",
        Kind::Tree,
        None,
        "Upstreams by name, for `upstream://NAME`, and rules for services of `lb://NAME`. Each may \
         have `targets`, `balance`, `zone`, `check`, `outlier`, `panic-percent` and `slow-start`; \
         see the guide on discovery.",
        Usage::Read,
    ),
    PropertySpec::new(
        "weir.access-log.format",
        Kind::OneOf(&["common", "combined", "json"]),
        None,
        "Form of the lines; switches the access log on.",
        Usage::Sets(|s, v| {
            let format = match v.text() {
                "combined" => AccessLogFormat::Combined,
                "json" => AccessLogFormat::Json,
                _ => AccessLogFormat::Common,
            };
            s.access_log.get_or_insert_with(AccessLog::default).format = format;
        }),
    ),
    PropertySpec::new(
        "weir.access-log.path",
        Kind::Text,
        None,
        "File of the access log, standard output if unset; switches the access log on.",
        Usage::Sets(|s, v| {
            s.access_log.get_or_insert_with(AccessLog::default).path = Some(v.text().into());
        }),
    ),
    PropertySpec::new(
        "weir.access-log.bodies",
        Kind::SizeBetween(1, ACCESS_LOG_BODIES_BYTES_MAX),
        None,
        "Adds the header fields and bodies of what was exchanged with upstreams, each up to this \
         size; switches the access log on, as JSON whatever `format` says. Credentials are \
         masked, personal data is not. `weir mock access.log` answers from it.",
        Usage::Sets(|s, v| {
            let log = s.access_log.get_or_insert_with(AccessLog::default);
            log.bodies_max = Some(bytes(v.size()));
        }),
    ),
    PropertySpec::new(
        "weir.access-log.enabled",
        Kind::Bool,
        Some("false"),
        "Writes a line for each request; `false` switches off what the others switch on.",
        Usage::Sets(|s, v| match v.bool() {
            true => drop(s.access_log.get_or_insert_with(AccessLog::default)),
            false => s.access_log = None,
        }),
    ),
];

fn bytes(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}
