//! EditResponseBody: changes the bodies of responses.

use weir_route::{ArgError, ArgSpec, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, optional};
use crate::body_edit::{ARGS, BodyEdit};
use crate::content::{OnContent, Side};
use crate::context::FilterError;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "EditResponseBody",
    doc: r#"Changes the body of a response: removes, renames and sets JSON attributes by JSON pointer, and
replaces texts in any type. It replaces ModifyResponseBody in Java. The body is buffered, and decoded
from gzip, deflate and br; it is sent without coding. A filter of weir's own.

```yaml
filters:
- name: EditResponseBody
  args:
    remove: /password
```
```http request
GET / HTTP/1.1
```
```http sent
GET / HTTP/1.1
```"#,
    args: &ALL,
    shortcut: Shortcut::Positions(0),
    compatibility: Compatibility::Own,
    build,
};

const ALL: [ArgSpec; 4] = {
    let [a, b, c, d] = ARGS;
    [
        optional(a.0, a.1, None, a.2),
        optional(b.0, b.1, None, b.2),
        optional(c.0, c.1, None, c.2),
        optional(d.0, d.1, None, d.2),
    ]
};

/// Changes the bodies of responses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EditResponseBody(Box<BodyEdit>);

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    Ok(Filter::EditResponseBody(EditResponseBody(Box::new(BodyEdit::of(args)?))))
}

impl OnContent for EditResponseBody {
    fn side(&self) -> Side {
        Side::Response
    }

    fn takes(&self, content_type: &[u8]) -> bool {
        self.0.takes(content_type)
    }

    fn edit(&self, content: Vec<u8>) -> Result<Vec<u8>, FilterError> {
        self.0.apply(content)
    }
}

impl Behaviour for EditResponseBody {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn on_content(&self) -> Option<&dyn OnContent> {
        Some(self)
    }

    fn explain(&self) -> String {
        format!("in the body of responses: {}", self.0.explain())
    }
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::check_refused;

    #[test]
    fn nonsense_is_refused_with_a_remedy() {
        check_refused("name: EditResponseBody", "remove");
        check_refused("name: EditResponseBody\n  args:\n    remove: password", "remove");
        check_refused("name: EditResponseBody\n  args:\n    set.password: x", "set");
    }
}
