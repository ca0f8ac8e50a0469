//! The kinds of findings: one ordered list that is also their reference.

use super::Severity;

/// Category of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// A mistake in the configuration.
    Mistake,
    /// Works, but not exactly as Spring Cloud Gateway does it.
    Deviation,
    /// Spring Cloud Gateway can do it, weir cannot.
    Unsupported,
}

impl Category {
    /// Lower-case name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mistake => "mistake",
            Self::Deviation => "deviation",
            Self::Unsupported => "unsupported",
        }
    }
}

macro_rules! codes {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident = $text:literal, $category:ident, $severity:ident;
    )+) => {
        /// What kind of finding; the text is stable.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Code {
            /// Every code in the order of the reference.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The stable text.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }

            /// What it means, for the reference.
            pub fn doc(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($doc,)+).trim_ascii_start(),)+
                }
            }

            /// Its category.
            pub fn category(self) -> Category {
                match self {
                    $(Self::$name => Category::$category,)+
                }
            }

            /// Its usual severity.
            pub fn severity(self) -> Severity {
                match self {
                    $(Self::$name => Severity::$severity,)+
                }
            }
        }
    };
}

codes! {
    /// The text is no YAML.
    YamlSyntax = "yaml-syntax", Mistake, Error;
    /// A YAML tag that means nothing in a Spring configuration.
    YamlTag = "yaml-tag", Mistake, Error;
    /// The text is no JSON.
    JsonSyntax = "json-syntax", Mistake, Error;
    /// The text is no ini file of pipelines.
    IniSyntax = "ini-syntax", Mistake, Error;
    /// The file is larger than weir reads.
    TooLarge = "too-large", Mistake, Error;
    /// Nested deeper than weir reads.
    TooDeep = "too-deep", Mistake, Error;
    /// YAML aliases that expand without end.
    AliasTooLarge = "alias-too-large", Mistake, Error;
    /// A key that is there twice in one map.
    DuplicateKey = "duplicate-key", Mistake, Error;
    /// `[0]`, `[2]`: an element number is missing.
    ListGap = "list-gap", Mistake, Error;
    /// `spring.config.activate.on-profile` is no profile expression.
    ProfileExpression = "profile-expression", Mistake, Error;
    /// What the configuration imports cannot be read.
    ImportFailed = "import-failed", Mistake, Error;
    /// An import that this command does not read.
    ImportUnread = "import-unread", Mistake, Note;
    /// `--set` without `=`.
    SetSyntax = "set-syntax", Mistake, Error;
    /// Placeholders that refer to each other in a circle, or expand without end.
    PlaceholderLoop = "placeholder-loop", Mistake, Error;
    /// A placeholder without a value and without a default.
    PlaceholderUnknown = "placeholder-unknown", Mistake, Warning;
    /// A `{cipher}` value that cannot be decrypted.
    CipherUnreadable = "cipher-unreadable", Mistake, Error;
    /// A property that nobody knows.
    UnknownProperty = "unknown-property", Mistake, Warning;
    /// A property that is known, but somewhere else.
    MisplacedProperty = "misplaced-property", Mistake, Warning;
    /// A value that its property cannot take.
    InvalidValue = "invalid-value", Mistake, Error;
    /// A proxy that everybody could use, were it not kept to this machine.
    OpenProxy = "open-proxy", Mistake, Warning;
    /// A whole list replaced by one of higher priority.
    ListReplaced = "list-replaced", Mistake, Warning;
    /// A value that YAML changes before the gateway sees it.
    ValueRewritten = "value-rewritten", Mistake, Note;
    /// A part of a route that has the wrong shape.
    RouteShape = "route-shape", Mistake, Error;
    /// Two routes with one id.
    DuplicateRoute = "duplicate-route", Mistake, Warning;
    /// Two groups with one id.
    DuplicateGroup = "duplicate-group", Mistake, Error;
    /// A route that names a group which is not there.
    UnknownGroup = "unknown-group", Mistake, Error;
    /// A group in which no route of the files is.
    EmptyGroup = "empty-group", Mistake, Warning;
    /// A route that can never match, since an earlier one takes all it would.
    ShadowedRoute = "shadowed-route", Mistake, Warning;
    /// A route or a breaker leads to a path within the gateway that no route takes.
    ForwardAstray = "forward-astray", Mistake, Warning;
    /// Routes that no key tells apart: each request that gets there tries them one by one.
    ScannedRoutes = "scanned-routes", Mistake, Note;
    /// The uri of a route is missing or wrong.
    InvalidUri = "invalid-uri", Mistake, Error;
    /// A predicate that does not exist.
    UnknownPredicate = "unknown-predicate", Unsupported, Error;
    /// An argument of a predicate or filter is missing or wrong.
    InvalidArgument = "invalid-argument", Mistake, Error;
    /// A route without predicates.
    NoPredicates = "no-predicates", Mistake, Error;
    /// A predicate or filter that `predicate.<name>.enabled=false` or its like has switched off.
    SwitchedOff = "switched-off", Mistake, Error;
    /// A cross-origin configuration that cannot be.
    InvalidCors = "invalid-cors", Mistake, Error;
    /// A cross-origin configuration under which no origin is allowed.
    CorsGrantsNothing = "cors-grants-nothing", Mistake, Warning;
    /// A trusted-proxies expression that cannot be.
    InvalidProxies = "invalid-proxies", Mistake, Error;
    /// A text that looks like one of a known mistake; it loads all the same.
    Suspicious = "suspicious", Mistake, Warning;
    /// A filter that weir does not have, most often one written in Java.
    UnknownFilter = "unknown-filter", Unsupported, Error;
    /// A filter of Spring Cloud Gateway that weir does not have yet.
    FilterLater = "filter-later", Unsupported, Error;
    /// A Spring expression, which weir never evaluates.
    SpringExpression = "spring-expression", Unsupported, Error;
    /// A kind of uri that weir does not serve yet.
    UriUnsupported = "uri-unsupported", Unsupported, Error;
    /// A property of Spring Cloud Gateway that weir does not follow.
    PropertyUnsupported = "property-unsupported", Unsupported, Warning;
    /// A service that neither the configuration nor a registry can list: its routes answer 503, and
    /// the locator makes none.
    NoInstances = "no-instances", Unsupported, Warning;
    /// The old prefix is honoured; Spring Cloud Gateway 4.3 and later ignore it.
    OldPrefix = "old-prefix", Deviation, Note;
    /// Routes of the other server, Spring Cloud Gateway Server MVC, run as those of WebFlux.
    MvcPrefix = "mvc-prefix", Deviation, Note;
    /// A predicate that differs in a detail.
    PredicateDiffers = "predicate-differs", Deviation, Note;
    /// A filter that differs in a detail.
    FilterDiffers = "filter-differs", Deviation, Note;
    /// A route without id gets a stable one, under Spring Cloud Gateway a random one.
    GeneratedId = "generated-id", Deviation, Note;
    /// A setting that weir reads differently from Spring.
    SettingDiffers = "setting-differs", Deviation, Note;
}

/// The reference of all findings, as Markdown.
pub fn findings_reference() -> String {
    let mut out = String::from(
        "# Findings\n\n\
         Generated from the codes in `weir-config`; do not edit.\n\n\
         The codes are stable: `weir check --json` gives them as `code`.\n\n\
         | code | category | severity | what it means |\n|---|---|---|---|\n",
    );
    for code in Code::ALL {
        let row = [
            format!("`{}`", code.as_str()),
            code.category().as_str().to_owned(),
            code.severity().as_str().to_owned(),
            code.doc().replace('|', "\\|"),
        ];
        out.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Code, findings_reference};

    #[test]
    fn codes_are_unique_and_documented() {
        for (at, code) in Code::ALL.iter().enumerate() {
            assert!(!code.doc().is_empty());
            assert!(code.as_str().bytes().all(|b| b.is_ascii_lowercase() || b == b'-'));
            let later = Code::ALL.get(at + 1..).unwrap_or_default();
            assert!(later.iter().all(|other| other.as_str() != code.as_str()), "{code:?}");
        }
    }

    #[test]
    fn the_reference_has_a_row_for_each() {
        let rows = findings_reference().lines().filter(|line| line.starts_with("| `")).count();
        assert_eq!(rows, Code::ALL.len());
    }
}
