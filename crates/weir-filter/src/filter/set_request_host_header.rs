//! SetRequestHostHeader: sends a configured Host to the upstream.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, required};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::styled::Styled;
use crate::template::Template;
use crate::uri::is_host_and_port;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "SetRequestHostHeader",
    doc: r#"Sends this Host to the upstream, whatever the client asked for and the route's uri says.

```yaml
predicates:
- Path=/{tenant}/**
filters:
- SetRequestHostHeader={tenant}.example
```
```http request
GET /blue/a HTTP/1.1
Host: gw.example
```
```http sent
GET /blue/a HTTP/1.1
Host: blue.example
```"#,
    args: &[required("host", ArgKind::Template, "The Host, with a port if needed.")],
    shortcut: Shortcut::Default,
    compatibility: Compatibility::Differs("a value that is no host is not sent: the request fails"),
    build,
};

/// Sends a configured Host to the upstream.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SetRequestHostHeader(Box<str>);

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let host = args.required("host")?;
    if Template(host).constant().is_some_and(|host| !is_host_and_port(host)) {
        return Err(ArgError::new("host", format!("`{host}` is not a host"))
            .help("write a name or address, with a port if needed: `example.org:8080`"));
    }
    Ok(Filter::SetRequestHostHeader(SetRequestHostHeader(host.into())))
}

impl Behaviour for SetRequestHostHeader {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn is_small(&self) -> bool {
        true
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        let template = Template(&self.0);
        match template.constant() {
            Some(host) => context.head.fields.set(b"Host", host.as_bytes()),
            None => {
                let host = template.expand(context.vars)?;
                if !is_host_and_port(&host) {
                    let shown = host.escape_debug();
                    return Err(FilterError(format!("{} made the host `{shown}`", SPEC.name)));
                }
                context.head.fields.set(b"Host", host.as_bytes());
            }
        }
        *context.preserve_host = true;
        Ok(Verdict::Continue)
    }

    fn variables(&self) -> Vec<&str> {
        Template(&self.0).variables().collect()
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.bare(&self.0)
    }

    fn explain(&self) -> String {
        format!("sends the Host `{}` to the upstream", self.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::{check_refused, check_request};

    #[test]
    fn only_hosts_are_sent() {
        let route = "predicates:\n- Path=/{v}\nfilters:\n- SetRequestHostHeader={v}.example:81";
        check_request(route, "GET /a HTTP/1.1", "GET /a HTTP/1.1\nHost: a.example:81");
        let error = "error: SetRequestHostHeader made the host `a b.example:81`";
        check_request(route, "GET /a%20b HTTP/1.1", error);
        check_refused("SetRequestHostHeader=a b", "host");
        check_refused("SetRequestHostHeader=a:b", "host");
    }
}
