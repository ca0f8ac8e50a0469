//! The only way for a filter to change the path: validated, canonical, and never outside its
//! prefix.

use smol_str::SmolStr;
use weir_route::Vars;
use weir_wire::http1::{LenientPath, PathError, canonical_path, lenient_path};

use crate::context::{FilterError, RequestContext, Verdict};
use crate::local_response::LocalResponse;
use crate::template::{Piece, Template, encode, variable};
use crate::uri::{AbsoluteUri, is_path_byte};

/// Replaces the path of the request by `path`, made by `filter`.
///
/// The received path is canonical, so dot segments in the new path were made by the filter from
/// client data (a decoded `%2F`, concatenated pieces). Resolving them would leave the prefix that
/// the filter sets, so such a request is answered with 400. The same holds if only a lenient server
/// would see dot segments that it did not see before (`..%2fx` made of `x..%2fx`). Doubled slashes
/// are joined as in SCG, unless the client sent some itself.
///
/// # Errors
/// The path does not start with `/` or is not valid; nothing is sent then.
pub(crate) fn replace_path(
    context: &mut RequestContext<'_>,
    filter: &str,
    path: &[u8],
) -> Result<Verdict, FilterError> {
    if context.head.path().first() != Some(&b'/') {
        // `*` of OPTIONS and the empty path of CONNECT cannot be edited.
        return Ok(Verdict::Continue);
    }
    if path.first() != Some(&b'/') {
        return Err(invalid(filter, path, "does not start with `/`"));
    }
    if context.head.set_plain_path(path) {
        return Ok(Verdict::Continue);
    }
    match canonical_path(path) {
        Ok(None) => {}
        Ok(Some(_)) | Err(PathError::AboveRoot) => return Ok(refused()),
        Err(PathError::Illegal) => return Err(invalid(filter, path, "is not a valid path")),
        Err(PathError::Nul) => return Err(invalid(filter, path, "has an encoded NUL")),
    }
    let climbs = |path: &[u8]| lenient_path(path) == LenientPath::Climbing;
    if climbs(path) && !climbs(context.head.path()) {
        return Ok(refused());
    }
    if has_doubled_slash(path) && !has_doubled_slash(context.head.path()) {
        context.head.set_path(&join_slashes(path));
    } else {
        context.head.set_path(path);
    }
    Ok(Verdict::Continue)
}

/// The response to a request whose path would leave the prefix that a filter sets.
fn refused() -> Verdict {
    Verdict::Respond(Box::new(LocalResponse { status: 400, ..LocalResponse::default() }))
}

fn invalid(filter: &str, path: &[u8], what: &str) -> FilterError {
    FilterError(format!("{filter} made the path `{}`, which {what}", path.escape_ascii()))
}

fn has_doubled_slash(path: &[u8]) -> bool {
    memchr::memmem::find(path, b"//").is_some()
}

fn join_slashes(path: &[u8]) -> Vec<u8> {
    let mut joined = Vec::with_capacity(path.len());
    for &byte in path {
        if byte != b'/' || joined.last() != Some(&b'/') {
            joined.push(byte);
        }
    }
    joined
}

/// A template for a path or its beginning (Spring class `UriTemplate`): values and text are
/// percent-encoded, a query or fragment in it is dropped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PathTemplate {
    text: SmolStr,
    /// There is nothing to replace or encode.
    is_path: bool,
}

impl PathTemplate {
    /// A template as written.
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.into(), is_path: text.bytes().all(is_path_byte) }
    }

    /// The template as written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The names of its variables.
    pub(crate) fn variables(&self) -> Vec<&str> {
        Template(&self.text).variables().collect()
    }

    /// Passes the path to `take`. Allocates only if there is something to replace or encode.
    ///
    /// # Errors
    /// A variable that is not set.
    pub(crate) fn expand(&self, vars: &Vars, take: impl FnOnce(&str)) -> Result<(), FilterError> {
        if self.is_path {
            take(&self.text);
            return Ok(());
        }
        let mut path = String::with_capacity(self.text.len() + 32);
        for piece in Template(&self.text).pieces() {
            match piece {
                Piece::Variable(name) => encode(variable(vars, name)?, is_path_byte, &mut path),
                Piece::Text(text) => {
                    let end = text.find(['?', '#']).unwrap_or(text.len());
                    encode(text.get(..end).unwrap_or_default(), is_path_byte, &mut path);
                    if end < text.len() {
                        break;
                    }
                }
            }
        }
        take(&path);
        Ok(())
    }

    /// Reason for which every request will fail, if there is one.
    pub(crate) fn caution(&self) -> Option<String> {
        let text = &self.text;
        let absolute = text.starts_with(['/', '{']);
        (!absolute).then(|| format!("`{text}` does not start with `/`: requests fail with 500"))
    }
}

/// Result of [`retarget`].
#[derive(Debug)]
pub(crate) enum Retargeted {
    /// The target is set, unless the verdict says otherwise.
    Done(Verdict),
    /// The text is not an absolute URI.
    Ignored,
    /// The scheme is not supported.
    UnknownScheme,
}

/// Sets the target, path and query of the request to the absolute URI `text`.
///
/// # Errors
/// The path contains an encoded NUL.
pub(crate) fn retarget(
    context: &mut RequestContext<'_>,
    filter: &str,
    text: &str,
) -> Result<Retargeted, FilterError> {
    let Some(uri) = AbsoluteUri::parse(text) else { return Ok(Retargeted::Ignored) };
    let Some(target) = uri.target() else { return Ok(Retargeted::UnknownScheme) };
    let path = if uri.path.is_empty() { "/" } else { uri.path };
    let verdict = replace_path(context, filter, path.as_bytes())?;
    context.head.set_query(uri.query.map(str::as_bytes));
    *context.target = Some(target);
    Ok(Retargeted::Done(verdict))
}

#[cfg(test)]
mod tests {
    use weir_route::Vars;

    use super::{PathTemplate, join_slashes};

    fn check(template: &str, expected: &str) {
        let mut vars = Vars::default();
        vars.set("a", "x y".to_owned());
        vars.set("b", "é%/?#&;".to_owned());
        let mut path = String::new();
        let result = PathTemplate::new(template).expand(&vars, |text| text.clone_into(&mut path));
        assert_eq!((result, &*path), (Ok(()), expected), "{template}");
    }

    #[test]
    fn templates_are_encoded() {
        check("/plain", "/plain");
        check("/{a}/{b}", "/x%20y/%C3%A9%25/%3F%23&;");
        check("/a b/ü//c", "/a%20b/%C3%BC//c");
        check("/a%20b", "/a%2520b");
        check("/new?x={a}", "/new");
        check("/{a}#{b}", "/x%20y");
    }

    #[test]
    fn slashes_are_joined() {
        assert_eq!(join_slashes(b"//a///b/"), b"/a/b/");
    }
}
