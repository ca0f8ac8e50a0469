//! EditRequestBody: changes the bodies of requests.

use weir_route::{ArgError, ArgSpec, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, optional};
use crate::body_edit::{ARGS, BodyEdit};
use crate::content::{OnContent, Side};
use crate::context::FilterError;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "EditRequestBody",
    doc: r#"Changes the body of a request: removes, renames and sets JSON attributes by JSON pointer, and
replaces texts in any type. It replaces ModifyRequestBody in Java. The body is buffered, and decoded
from gzip, deflate and br; it is sent without coding. A filter of weir's own.

```yaml
filters:
- name: EditRequestBody
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

/// Changes the bodies of requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EditRequestBody(Box<BodyEdit>);

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    Ok(Filter::EditRequestBody(EditRequestBody(Box::new(BodyEdit::of(args)?))))
}

impl OnContent for EditRequestBody {
    fn side(&self) -> Side {
        Side::Request
    }

    fn takes(&self, content_type: &[u8]) -> bool {
        self.0.takes(content_type)
    }

    fn edit(&self, content: Vec<u8>) -> Result<Vec<u8>, FilterError> {
        self.0.apply(content)
    }
}

impl Behaviour for EditRequestBody {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn on_content(&self) -> Option<&dyn OnContent> {
        Some(self)
    }

    fn explain(&self) -> String {
        format!("in the body of requests: {}", self.0.explain())
    }
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::check_refused;

    #[test]
    fn nonsense_is_refused_with_a_remedy() {
        check_refused("name: EditRequestBody", "remove");
        check_refused("name: EditRequestBody\n  args:\n    remove: password", "remove");
        check_refused("name: EditRequestBody\n  args:\n    set.password: x", "set");
    }
}
