//! What `weir mock` prints at its start: each operation with a command line to try it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;

use serde_json::json;
use weir_mock::{MockSet, Mocks, SampleRequest, TenantForm};

use crate::output::counted;
use crate::routes::client::escaped;

/// The maximum number of operations, and of other lines about one set of definitions.
const SHOWN_MAX: usize = 200;

/// The served operations of each tenant and of none, and where they are; `may_hide` if nothing
/// tells equal ones of two definitions apart.
pub(super) fn text(set: &MockSet, address: SocketAddr, may_hide: bool) -> String {
    let mut out = String::new();
    let mut room = SHOWN_MAX;
    for (tenant, mocks) in set.all().filter(|(_, mocks)| !mocks.is_empty()) {
        let place = match (tenant, set.form()) {
            ("", _) => Some(Place::plain(address)),
            (_, Some(form)) => Some(Place::of(form, tenant, address)),
            (_, None) => None,
        };
        if !tenant.is_empty() {
            let _ = writeln!(out, "tenant {tenant}");
        }
        titles(&mut out, mocks);
        if may_hide {
            out += &hidden(mocks);
        }
        match place {
            Some(place) => lines(&mut out, mocks, &place, &mut room),
            None => {
                let _ = writeln!(
                    out,
                    "  warning: no request names this tenant; set `weir.mock.tenant` in --config, \
                     such as `{{ header: X-Tenant }}`"
                );
            }
        }
    }
    let count = set.all().flat_map(|(_, mocks)| mocks.operations()).count();
    if room == 0 && count > SHOWN_MAX {
        let _ = writeln!(out, "  … {} more", count - SHOWN_MAX);
    }
    let _ =
        writeln!(out, "{}; Ctrl-C stops\nlistening http {address}", counted(count, "operation"));
    out
}

/// The same as JSON.
pub(super) fn document(set: &MockSet, address: SocketAddr) -> String {
    let each = set.all().flat_map(|(tenant, mocks)| {
        mocks.operations().map(move |one| {
            let mut shown = json!({
                "api": one.api.name,
                "method": one.operation.method,
                "path": one.operation.path,
                "operationId": one.operation.id,
            });
            if !tenant.is_empty() {
                shown["tenant"] = tenant.into();
            }
            shown
        })
    });
    let all: Vec<_> = each.collect();
    format!("{}\n", json!({ "address": address.to_string(), "operations": all }))
}

/// Where requests reach the definitions of one tenant, or of none.
struct Place {
    /// Scheme, authority, and what is in front of each path.
    start: String,
    /// Options of curl, with a blank behind them.
    options: String,
}

impl Place {
    fn plain(address: SocketAddr) -> Self {
        Self { start: format!("http://{address}"), options: String::new() }
    }

    fn of(form: &TenantForm, tenant: &str, address: SocketAddr) -> Self {
        let Self { mut start, mut options } = Self::plain(address);
        match form {
            TenantForm::Header(name) => options = format!("-H '{name}: {tenant}' "),
            TenantForm::Host(before, after) => {
                options = format!("-H 'Host: {before}{tenant}{after}' ");
            }
            TenantForm::Path(before) => start.push_str(&format!("{before}{tenant}")),
        }
        Self { start, options }
    }
}

/// What the definitions are, with the warnings of each.
fn titles(out: &mut String, mocks: &Mocks) {
    for api in mocks.apis() {
        let _ = writeln!(out, "{} {} ({})", api.title, api.version, api.name);
        for warning in api.warnings.iter().take(SHOWN_MAX) {
            let _ = writeln!(out, "  warning: {warning}");
        }
    }
}

/// A command line for each operation, as many as there is `room` for, and for each webhook.
fn lines(out: &mut String, mocks: &Mocks, place: &Place, room: &mut usize) {
    let Place { start, options } = place;
    for one in mocks.operations().take(*room) {
        *room -= 1;
        let summary = match one.operation.summary.as_str() {
            "" => String::new(),
            text => format!("  # {text}"),
        };
        let start = format!("{start}{}", one.base_path);
        let line = command(&one.operation.method, &start, options, &one.operation.sample_request());
        let _ = writeln!(out, "  {line}{summary}");
    }
    for one in mocks.apis().flat_map(|api| &api.webhooks).take(SHOWN_MAX) {
        let url = format!("{start}/__weir/webhooks/{}?to=URL", escaped(&one.name));
        let why = "webhook; `--callbacks` allows servers";
        let _ = writeln!(out, "  curl -X POST {options}'{url}'  # {why}");
    }
}

/// Warnings of definitions with operations that an earlier one answers.
fn hidden(mocks: &Mocks) -> String {
    let mut first = BTreeMap::new();
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for one in mocks.operations() {
        let (api, operation) = (one.api.name.as_str(), one.operation);
        let of = *first.entry((&operation.method, &one.api.bases, &operation.path)).or_insert(api);
        if of != api {
            *counts.entry((api, of)).or_default() += 1;
        }
    }
    let each = counts.into_iter().map(|((api, of), count)| {
        let count = counted(count, "operation");
        format!(
            "warning: {count} of {api} have the method and path of others in {of}, which answers; \
             `--select-header` tells them apart\n"
        )
    });
    each.collect()
}

/// A command line for a POSIX shell that sends the request.
fn command(method: &str, start: &str, options: &str, sample: &SampleRequest) -> String {
    let mut line = match (method, &sample.body) {
        ("GET", None) | ("POST", Some(_)) => "curl ".to_owned(),
        ("HEAD", None) => "curl --head ".to_owned(),
        (method, _) => format!("curl -X {method} "),
    };
    line += options;
    for (name, value) in &sample.fields {
        let _ = write!(line, "-H {} ", quoted(&format!("{name}: {value}")));
    }
    if let Some(body) = &sample.body {
        let _ = write!(line, "-d {} ", quoted(body));
    }
    let mark = if sample.query.is_empty() { "" } else { "?" };
    line + &quoted(&format!("{start}{}{mark}{}", sample.path, sample.query))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_mock::{Api, MockSet, Mount, Options, TenantForm};

    use super::lines;
    use super::{Place, SHOWN_MAX};

    #[test]
    fn a_command_line_names_the_tenant_and_the_base_path() {
        let check = |form: Result<TenantForm, String>, expected: &str| {
            let text = "openapi: 3.1.0\npaths: { '/items/{id}': { get: { responses: {} } } }";
            let api = Api::read("shop", "shop", text, &|_: &str| Err("alone".to_owned()));
            let mut mount = Mount::from(Arc::new(api.expect("sound")));
            mount.base_path = Some("/v1".to_owned());
            let form = form.expect("a form");
            let mounts = vec![("acme".to_owned(), mount)];
            let set = MockSet::mount(mounts, &Options::default(), Some(form.clone()));
            let place = Place::of(&form, "acme", ([127, 0, 0, 1], 4010).into());
            let (mut out, mut room) = (String::new(), SHOWN_MAX);
            lines(&mut out, set.expect("sound").of("acme"), &place, &mut room);
            assert_eq!((out.trim(), room), (expected, SHOWN_MAX - 1), "{form}");
        };
        check(
            TenantForm::header("X-Tenant"),
            "curl -H 'X-Tenant: acme' 'http://127.0.0.1:4010/v1/items/1'",
        );
        check(
            TenantForm::host("{tenant}.mock.example"),
            "curl -H 'Host: acme.mock.example' 'http://127.0.0.1:4010/v1/items/1'",
        );
        check(
            TenantForm::path("/mock/{tenant}"),
            "curl 'http://127.0.0.1:4010/mock/acme/v1/items/1'",
        );
    }
}
