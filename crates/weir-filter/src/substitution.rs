//! A Java regular expression with its replacement, as arguments of filters.

use std::hash::{Hash, Hasher};

use weir_route::pattern::{JavaRegex, RegexCache, Replacement};
use weir_route::{ArgError, Args};

use crate::context::FilterError;

/// Replaces every match of an expression (`Matcher.replaceAll`). Equality compares the texts as
/// written.
#[derive(Clone, Debug)]
pub(crate) struct Substitution {
    regexp: Box<str>,
    replacement: Box<str>,
    method: Method,
}

#[derive(Clone, Debug)]
enum Method {
    Replace(JavaRegex, Replacement),
    /// The replacement is invalid, which SCG notices at the first match only. The expression
    /// consumes the whole of a text that has such a match.
    Fail(JavaRegex, Box<str>),
}

impl Substitution {
    /// Reads the arguments `regexp` and `replacement`; `$\` in the latter means `$`.
    ///
    /// # Errors
    /// Position and reason if the expression is invalid.
    pub(crate) fn new(args: &Args, regexes: &RegexCache) -> Result<Self, ArgError> {
        let regexp = args.filled("regexp")?;
        let replacement = unescaped(args.required("replacement")?);
        let regex = args.regex("regexp", regexes)?;
        let regex = regex.ok_or_else(|| ArgError::new("regexp", "`regexp` is blank"))?;
        let method = match Replacement::parse(&replacement, &regex) {
            Ok(replacement) => Method::Replace(regex, replacement),
            Err(error) => {
                let anywhere = format!("[\\s\\S]*?(?:{regexp})[\\s\\S]*");
                let regex = JavaRegex::new(&anywhere);
                let regex = regex.map_err(|error| ArgError::of_pattern("regexp", regexp, error))?;
                Method::Fail(regex, error.message.into())
            }
        };
        Ok(Self { regexp: regexp.into(), replacement: replacement.into(), method })
    }

    /// The expression as written.
    pub(crate) fn regexp(&self) -> &str {
        &self.regexp
    }

    /// The replacement, with `$\` read as `$`.
    pub(crate) fn replacement(&self) -> &str {
        &self.replacement
    }

    /// `text` with every match replaced.
    ///
    /// # Errors
    /// Too many steps, or an invalid replacement.
    pub(crate) fn apply(&self, text: &str) -> Result<String, FilterError> {
        let too_slow = |_| FilterError(format!("`{}` needs too many steps here", self.regexp));
        match &self.method {
            Method::Replace(regex, replacement) => {
                regex.replace_all(text, replacement).map_err(too_slow)
            }
            Method::Fail(regex, why) => match regex.full_match(text).map_err(too_slow)? {
                true => Err(FilterError(format!("`{}`: {why}", self.replacement))),
                false => Ok(text.to_owned()),
            },
        }
    }

    /// Reason for which every match will fail, if there is one.
    pub(crate) fn caution(&self) -> Option<String> {
        let Method::Fail(_, why) = &self.method else { return None };
        Some(format!("{why}: what matches `{}` fails with 500", self.regexp))
    }
}

/// Removes SCG's escape: `$\{name}` is written so that Spring's placeholders do not see `${name}`.
pub(crate) fn unescaped(replacement: &str) -> String {
    replacement.replace("$\\", "$")
}

impl PartialEq for Substitution {
    fn eq(&self, other: &Self) -> bool {
        self.regexp == other.regexp && self.replacement == other.replacement
    }
}

impl Eq for Substitution {}

impl Hash for Substitution {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.regexp.hash(state);
        self.replacement.hash(state);
    }
}
