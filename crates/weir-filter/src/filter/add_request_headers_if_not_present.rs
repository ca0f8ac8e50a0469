//! AddRequestHeadersIfNotPresent: adds headers that the client did not send.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, required};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::header::{FieldTemplate, all_blank};
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "AddRequestHeadersIfNotPresent",
    doc: r#"Adds headers whose name the request does not have yet, or has with blank values only.

Values of one name belong together: either all are added or none.

```yaml
predicates:
- Path=/{v}
filters:
- AddRequestHeadersIfNotPresent=X-One:1, X-Two:{v}, X-Two:again
```
```http request
GET /a HTTP/1.1
X-One: mine
```
```http sent
GET /a HTTP/1.1
X-One: mine
X-Two: a
X-Two: again
```"#,
    args: &[required("keyValues", ArgKind::List, "Headers, each as `name:value`.")],
    shortcut: Shortcut::GatherList,
    compatibility: Compatibility::Differs(
        "a value may have colons, and headers are added in the order written: SCG adds names in \
         the order of a hash table",
    ),
    build,
};

/// Adds headers that the client did not send.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AddRequestHeadersIfNotPresent(Box<[FieldTemplate]>);

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let arg = "keyValues";
    let mut fields = Vec::new();
    for text in args.list(arg) {
        let (name, value) = text.split_once(':').ok_or_else(|| {
            ArgError::new(arg, format!("`{text}` has no colon")).help("write `name:value`")
        })?;
        fields.push(FieldTemplate::new((arg, name.trim()), (arg, value.trim()))?);
    }
    if fields.is_empty() {
        return Err(ArgError::new(arg, "no header is given").help("write `name:value`"));
    }
    Ok(Filter::AddRequestHeadersIfNotPresent(AddRequestHeadersIfNotPresent(fields.into())))
}

impl Behaviour for AddRequestHeadersIfNotPresent {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        let fields = &mut context.head.fields;
        let mut rest = &*self.0;
        let mut seen: Vec<&str> = Vec::new();
        while let Some((first, tail)) = rest.split_first() {
            let name = first.name();
            if !seen.contains(&name) && all_blank(fields.get_all(name.as_bytes())) {
                for field in rest.iter().filter(|field| field.name() == name) {
                    field.append_to(fields, context.vars)?;
                }
            }
            seen.push(name);
            rest = tail;
        }
        Ok(Verdict::Continue)
    }

    fn variables(&self) -> Vec<&str> {
        self.0.iter().flat_map(|field| field.value().variables()).collect()
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        self.0.iter().try_for_each(|field| styled.text(field.name(), field.value().0))
    }

    fn explain(&self) -> String {
        let lines: Vec<_> =
            self.0.iter().map(|f| format!("`{}: {}`", f.name(), f.value().0)).collect();
        format!("adds to the request what it lacks of {}", lines.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::{check_refused, check_request};

    #[test]
    fn names_are_added_if_absent_or_blank() {
        let check = |given: &str, expected: &str| {
            let route = "- AddRequestHeadersIfNotPresent=X-One:1, X-Two:v, X-Two:again";
            let get = "GET / HTTP/1.1";
            check_request(route, &format!("{get}{given}"), &format!("{get}{expected}"));
        };
        check("", "\nX-One: 1\nX-Two: v\nX-Two: again");
        check("\nX-Two: mine", "\nX-Two: mine\nX-One: 1");
        check("\nX-One:", "\nX-One: \nX-One: 1\nX-Two: v\nX-Two: again");
        check("\nx-one: 1\nx-two: 2", "\nx-one: 1\nx-two: 2");
    }

    #[test]
    fn values_may_have_colons() {
        let route = "- AddRequestHeadersIfNotPresent=X-Url:http://a:80/";
        check_request(route, "GET / HTTP/1.1", "GET / HTTP/1.1\nX-Url: http://a:80/");
        check_refused("AddRequestHeadersIfNotPresent=X-One", "keyValues");
        check_refused("AddRequestHeadersIfNotPresent=:1", "keyValues");
        check_refused("AddRequestHeadersIfNotPresent=", "keyValues");
    }
}
