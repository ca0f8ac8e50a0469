//! Problems of a route definition, each with the part that it concerns.

use std::fmt;

use weir_route::ArgError;

use crate::diagnostic::Code;

/// A part of a route definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The route as a whole.
    Route,
    /// `uri`.
    Uri,
    /// `predicates`.
    Predicates,
    /// One predicate, or one of its arguments.
    Predicate(usize, Option<String>),
    /// One filter, or one of its arguments.
    Filter(usize, Option<String>),
    /// One of `default-filters`, or one of its arguments.
    DefaultFilter(usize, Option<String>),
    /// An entry of `metadata`.
    Metadata(String),
    /// `group`.
    Group,
    /// A part of the route's group, by the group's id.
    OfGroup(String, Box<Part>),
}

impl fmt::Display for Part {
    /// As a path in the definition, such as `filters[0].args.status`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (list, at, arg) = match self {
            Self::Route => return f.write_str("route"),
            Self::Uri => return f.write_str("uri"),
            Self::Predicates => return f.write_str("predicates"),
            Self::Metadata(name) => return write!(f, "metadata.{name}"),
            Self::Group => return f.write_str("group"),
            Self::OfGroup(id, part) => return write!(f, "group '{id}': {part}"),
            Self::Predicate(at, arg) => ("predicates", at, arg),
            Self::Filter(at, arg) => ("filters", at, arg),
            Self::DefaultFilter(at, arg) => ("default-filters", at, arg),
        };
        write!(f, "{list}[{at}]")?;
        match arg {
            Some(arg) => write!(f, ".args.{arg}"),
            None => Ok(()),
        }
    }
}

/// A problem of a route definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Kind of problem.
    pub code: Code,
    /// Part of the definition.
    pub part: Part,
    /// Description: lower case, no full stop.
    pub message: String,
    /// A remedy.
    pub help: String,
    /// The property that solves it, as a line of YAML, if there is one.
    pub paste: Option<String>,
}

impl Problem {
    /// A problem with `part`.
    pub(crate) fn new(
        code: Code,
        part: Part,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { code, part, message: message.into(), help: help.into(), paste: None }
    }

    /// The same problem with the property that solves it.
    pub(crate) fn paste(mut self, line: impl Into<String>) -> Self {
        self.paste = Some(line.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.part, self.message, self.help)
    }
}

/// The problem of a rejected argument.
pub(super) fn argument(
    error: ArgError,
    name: &str,
    part: Part,
    declared: &[weir_route::ArgSpec],
) -> Problem {
    let help = error.help.unwrap_or_else(|| {
        let names: Vec<String> = declared.iter().map(|arg| format!("`{}`", arg.name)).collect();
        match names.is_empty() {
            true => format!("`{name}` takes no arguments"),
            false => format!("`{name}` takes {}", names.join(", ")),
        }
    });
    let paste = written_property(&help, &error.message).map(str::to_owned);
    let message = format!("{name}: {}", error.message);
    Problem { paste, ..Problem::new(Code::InvalidArgument, part, message, help) }
}

/// The weir property in `help` that defines a name in `message`.
fn written_property<'h>(help: &'h str, message: &str) -> Option<&'h str> {
    let mut written = help.split('`').skip(1).step_by(2);
    written.find(|text| {
        let name = text.split_once(": ").map_or("", |(key, _)| key).rsplit('.').next();
        let named = name.is_some_and(|name| message.contains(&format!("`{name}`")));
        text.starts_with("weir.") && named
    })
}

#[cfg(test)]
mod tests {
    use super::written_property;

    #[test]
    fn a_property_for_the_name_that_is_meant() {
        let help = "say what it does: `weir.key-resolvers.own: ip` (`ip` or `host`)";
        let found = written_property(help, "weir does not know what `own` means");
        assert_eq!(found, Some("weir.key-resolvers.own: ip"));
        assert_eq!(written_property(help, "`other` does not name a resolver"), None);
    }
}
