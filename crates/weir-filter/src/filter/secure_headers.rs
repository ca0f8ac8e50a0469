//! SecureHeaders: adds common security headers.

use std::fmt;
use std::sync::Arc;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, OnResponse, optional};
use crate::context::{FilterError, ResponseContext};
use crate::header::check_value;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "SecureHeaders",
    doc: r#"Adds security headers to the response, each only if the upstream did not send it.

The properties `spring.cloud.gateway.server.webflux.filter.secure-headers.*` change values for all
routes (`frame-options: SAMEORIGIN`), switch headers off (`disable: x-frame-options`) and on
(`enable: permissions-policy`). Arguments of a route win over them; once a route has an `enable`,
`disable` or `permissionsPolicy` of its own, the lists of the properties do not count for it.

```yaml
filters:
- name: SecureHeaders
  args:
    disable: content-security-policy,strict-transport-security
    frameOptionsHeaderValue: SAMEORIGIN
```
```http request
GET / HTTP/1.1
```
```http answer
HTTP/1.1 200 OK
referrer-policy: origin
```
```http response
HTTP/1.1 200 OK
referrer-policy: origin
X-Xss-Protection: 1 ; mode=block
X-Frame-Options: SAMEORIGIN
X-Content-Type-Options: nosniff
X-Download-Options: noopen
X-Permitted-Cross-Domain-Policies: none
```"#,
    args: &[
        optional("enable", ArgKind::List, None, "Headers to switch on: `permissions-policy`."),
        optional("disable", ArgKind::List, None, "Headers to switch off, by their names."),
        optional("permissionsPolicy", ArgKind::Text, None, "Value of Permissions-Policy."),
        optional("xssProtectionHeaderValue", ArgKind::Text, None, "Value of X-Xss-Protection."),
        optional(
            "strictTransportSecurityHeaderValue",
            ArgKind::Text,
            None,
            "Value of Strict-Transport-Security.",
        ),
        optional("frameOptionsHeaderValue", ArgKind::Text, None, "Value of X-Frame-Options."),
        optional(
            "contentTypeOptionsHeaderValue",
            ArgKind::Text,
            None,
            "Value of X-Content-Type-Options.",
        ),
        optional("referrerPolicyHeaderValue", ArgKind::Text, None, "Value of Referrer-Policy."),
        optional(
            "contentSecurityPolicyHeaderValue",
            ArgKind::Text,
            None,
            "Value of Content-Security-Policy.",
        ),
        optional("downloadOptionsHeaderValue", ArgKind::Text, None, "Value of X-Download-Options."),
        optional(
            "permittedCrossDomainPoliciesHeaderValue",
            ArgKind::Text,
            None,
            "Value of X-Permitted-Cross-Domain-Policies.",
        ),
    ],
    shortcut: Shortcut::Positions(0),
    compatibility: Compatibility::Same,
    build,
};

/// A header with its property, argument and default.
struct Preset {
    header: &'static str,
    property: &'static str,
    arg: &'static str,
    value: &'static str,
    /// Whether it is added by default.
    on: bool,
}

const fn preset(
    header: &'static str,
    property: &'static str,
    arg: &'static str,
    value: &'static str,
) -> Preset {
    Preset { header, property, arg, value, on: true }
}

/// In the order in which they are added (SCG class `SecureHeadersProperties`).
static PRESETS: &[Preset] = &[
    preset(
        "X-Xss-Protection",
        "xss-protection-header",
        "xssProtectionHeaderValue",
        "1 ; mode=block",
    ),
    preset(
        "Strict-Transport-Security",
        "strict-transport-security",
        "strictTransportSecurityHeaderValue",
        "max-age=631138519",
    ),
    preset("X-Frame-Options", "frame-options", "frameOptionsHeaderValue", "DENY"),
    preset(
        "X-Content-Type-Options",
        "content-type-options",
        "contentTypeOptionsHeaderValue",
        "nosniff",
    ),
    preset("Referrer-Policy", "referrer-policy", "referrerPolicyHeaderValue", "no-referrer"),
    preset(
        "Content-Security-Policy",
        "content-security-policy",
        "contentSecurityPolicyHeaderValue",
        "default-src 'self' https:; font-src 'self' https: data:; img-src 'self' https: data:; \
         object-src 'none'; script-src https:; style-src 'self' https: 'unsafe-inline'",
    ),
    preset("X-Download-Options", "download-options", "downloadOptionsHeaderValue", "noopen"),
    preset(
        "X-Permitted-Cross-Domain-Policies",
        "permitted-cross-domain-policies",
        "permittedCrossDomainPoliciesHeaderValue",
        "none",
    ),
    Preset {
        header: "Permissions-Policy",
        property: "permissions-policy",
        arg: "permissionsPolicy",
        value: "accelerometer=(), ambient-light-sensor=(), autoplay=(), battery=(), camera=(), \
                cross-origin-isolated=(), display-capture=(), document-domain=(), \
                encrypted-media=(), execution-while-not-rendered=(), \
                execution-while-out-of-viewport=(), fullscreen=(), geolocation=(), gyroscope=(), \
                keyboard-map=(), magnetometer=(), microphone=(), midi=(), navigation-override=(), \
                payment=(), picture-in-picture=(), publickey-credentials-get=(), \
                screen-wake-lock=(), sync-xhr=(), usb=(), web-share=(), xr-spatial-tracking=()",
        on: false,
    },
];

/// Adds security headers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SecureHeaders(Arc<[(&'static str, Box<str>)]>);

fn build(args: &Args, options: &FilterOptions) -> Result<Filter, ArgError> {
    let own = ["enable", "disable", "permissionsPolicy"].iter().any(|arg| args.is_written(arg));
    let list = |name: &str| {
        let of_route = args.list(name).join(",");
        let written = if own { of_route } else { property(options, name).join(",") };
        written.split(',').map(|name| name.trim().to_ascii_lowercase()).collect::<Vec<_>>()
    };
    let (enabled, disabled) = (list("enable"), list("disable"));
    let mut headers = Vec::new();
    for preset in PRESETS {
        let own = args.text(preset.arg);
        let is_named = |list: &[String]| list.iter().any(|n| preset.header.eq_ignore_ascii_case(n));
        if is_named(&disabled) || !(preset.on || is_named(&enabled)) {
            continue;
        }
        let global = property(options, preset.property).last().copied();
        let value = own.or(global).unwrap_or(preset.value);
        check_value(preset.arg, value)?;
        headers.push((preset.header, Box::from(value)));
    }
    Ok(Filter::SecureHeaders(SecureHeaders(headers.into())))
}

/// The configured values of a property.
fn property<'a>(options: &'a FilterOptions, name: &str) -> Vec<&'a str> {
    let named = options.secure_headers.iter().filter(|(key, _)| key == name);
    named.map(|(_, value)| value.as_str()).collect()
}

impl Behaviour for SecureHeaders {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn on_response(&self) -> Option<&dyn OnResponse> {
        Some(self)
    }

    fn style(&self, _: &mut Styled<'_, '_>) -> fmt::Result {
        Ok(())
    }

    fn explain(&self) -> String {
        let names: Vec<_> = self.0.iter().map(|(name, _)| *name).collect();
        format!("adds to the response what it lacks of {}", names.join(", "))
    }
}

impl OnResponse for SecureHeaders {
    fn response(&self, context: &mut ResponseContext<'_>) -> Result<(), FilterError> {
        let fields = &mut context.head.fields;
        for (name, value) in self.0.iter() {
            if !fields.contains(name.as_bytes()) {
                fields.append(name.as_bytes(), value.as_bytes());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::PRESETS;
    use crate::filter::FilterOptions;
    use crate::test_exchange::TestExchange;

    fn check(args: &[&str], global: &[(&str, &str)], expected: &dyn Fn(&str) -> Option<String>) {
        let mut route = "- name: SecureHeaders\n  args:\n".to_owned();
        for arg in args {
            route += &format!("    {arg}\n");
        }
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let secure_headers = global.iter().map(own).collect();
        let options = FilterOptions { secure_headers, ..FilterOptions::default() };
        let response =
            TestExchange::with_options(&route, &options).run("GET / HTTP/1.1", "").response;
        let mut lines = vec!["HTTP/1.1 200 OK".to_owned()];
        for preset in PRESETS {
            lines.extend(expected(preset.header).map(|v| format!("{}: {v}", preset.header)));
        }
        assert_eq!(response.as_deref(), Some(&*lines.join("\n")), "{args:?} {global:?}");
    }

    fn preset(header: &str) -> Option<String> {
        let found = PRESETS.iter().find(|preset| preset.header == header && preset.on);
        found.map(|preset| preset.value.to_owned())
    }

    fn without<'n>(names: &'n [&str]) -> impl Fn(&str) -> Option<String> + 'n {
        |header| preset(header).filter(|_| !names.contains(&header))
    }

    #[test]
    fn presets() {
        check(&[], &[], &preset);
    }

    #[test]
    fn arguments_of_the_route() {
        check(
            &["disable: x-frame-options, STRICT-transport-security"],
            &[],
            &without(&["X-Frame-Options", "Strict-Transport-Security"]),
        );
        let all =
            |header: &str| PRESETS.iter().find(|p| p.header == header).map(|p| p.value.to_owned());
        check(&["enable: permissions-policy"], &[], &all);
        check(&["frame-options-header-value: SAMEORIGIN"], &[], &|header| match header {
            "X-Frame-Options" => Some("SAMEORIGIN".to_owned()),
            _ => preset(header),
        });
        check(&["enable: permissions-policy", "permissions-policy: x=()"], &[], &|header| {
            match header {
                "Permissions-Policy" => Some("x=()".to_owned()),
                _ => preset(header),
            }
        });
    }

    #[test]
    fn settings_for_all_routes() {
        let global = [("disable", "x-frame-options"), ("referrer-policy", "origin")];
        let changed = |header: &str| match header {
            "Referrer-Policy" => Some("origin".to_owned()),
            _ => preset(header),
        };
        check(&[], &global, &|header| changed(header).filter(|_| header != "X-Frame-Options"));
        check(&["disable: referrer-policy"], &global, &without(&["Referrer-Policy"]));
        check(&["enable: x-frame-options"], &global, &changed);
    }
}
