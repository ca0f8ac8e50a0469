//! RemoveJsonAttributesResponseBody: removes attributes from JSON responses.

use std::fmt;

use serde_json::Value;
use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, optional, required};
use crate::content::{OnContent, Side, is_json};
use crate::context::FilterError;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "RemoveJsonAttributesResponseBody",
    doc: r#"Takes attributes out of the JSON object that a response is; with `true` as the last value
out of every object inside of it, too. Only `application/json` is changed. A body that is no JSON, or
longer than `spring.http.codecs.max-in-memory-size`, is answered 500.

```yaml
filters:
- RemoveJsonAttributesResponseBody=id,color
```
```http request
GET / HTTP/1.1
```
```http sent
GET / HTTP/1.1
```"#,
    args: &[
        required("fieldList", ArgKind::List, "Names of attributes."),
        optional("deleteRecursively", ArgKind::Bool, Some("false"), "In nested objects, too."),
    ],
    shortcut: Shortcut::GatherListTailFlag,
    compatibility: Compatibility::Same,
    build,
};

/// Removes attributes from JSON responses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RemoveJsonAttributesResponseBody {
    names: Vec<String>,
    deep: bool,
}

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let names = args.list("fieldList").iter().map(|name| name.trim().to_owned()).collect();
    let deep = args.bool("deleteRecursively")?.unwrap_or(false);
    let filter = RemoveJsonAttributesResponseBody { names, deep };
    Ok(Filter::RemoveJsonAttributesResponseBody(filter))
}

impl RemoveJsonAttributesResponseBody {
    fn clean(&self, value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.retain(|name, _| !self.names.contains(name));
                if self.deep {
                    map.values_mut().for_each(|inner| self.clean(inner));
                }
            }
            Value::Array(list) if self.deep => list.iter_mut().for_each(|one| self.clean(one)),
            _ => {}
        }
    }
}

impl OnContent for RemoveJsonAttributesResponseBody {
    fn side(&self) -> Side {
        Side::Response
    }

    fn takes(&self, content_type: &[u8]) -> bool {
        is_json(content_type)
    }

    fn edit(&self, content: Vec<u8>) -> Result<Vec<u8>, FilterError> {
        let parsed = serde_json::from_slice(&content);
        let mut value: Value =
            parsed.map_err(|_| FilterError("Failed to process JSON of response body.".into()))?;
        self.clean(&mut value);
        Ok(value.to_string().into_bytes())
    }
}

impl Behaviour for RemoveJsonAttributesResponseBody {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn on_content(&self) -> Option<&dyn OnContent> {
        Some(self)
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.plain("fieldList", format_args!("[{}]", self.names.join(", ")))?;
        styled.plain("deleteRecursively", self.deep)
    }

    fn explain(&self) -> String {
        let depth = if self.deep { ", at any depth" } else { "" };
        format!("takes {} out of JSON responses{depth}", self.names.join(", "))
    }
}
