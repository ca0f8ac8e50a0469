//! Route definitions from JSON, with every problem of their shape named at once.
//!
//! Takes what SCG's clients send: shortcut strings or `{"name", "args"}`, numbers where text is
//! meant, unknown keys (left out); and MongoDB's extended JSON as `mongoexport` writes it
//! (`_id.$oid`, `_class`, `$numberInt`).

use serde_json::{Map, Value};
use weir_control::Problem;
use weir_route::{NamedArgs, RouteDefinition, ShortcutError, parse_shortcut};

/// Reads a definition.
///
/// # Errors
/// Every problem of its shape. Whether predicates, filters and their arguments make sense is found
/// when it is compiled.
pub fn read_definition(json: &Value) -> Result<RouteDefinition, Vec<Problem>> {
    let Value::Object(fields) = json else {
        return Err(vec![
            Problem::new("", format!("{} where a route is expected", kind(json)))
                .help(r#"write {"id": …, "uri": …, "predicates": […], "filters": […]}"#),
        ]);
    };
    let mut problems = Vec::new();
    let definition = RouteDefinition {
        id: read_id(fields, &mut problems),
        uri: read_text(fields, "uri", &mut problems),
        predicates: read_list(fields, "predicates", false, &mut problems),
        filters: read_list(fields, "filters", true, &mut problems),
        metadata: read_metadata(fields, &mut problems),
        order: read_order(fields, &mut problems),
        enabled: read_enabled(fields, &mut problems),
        group: read_text(fields, "group", &mut problems),
    };
    if problems.is_empty() { Ok(definition) } else { Err(problems) }
}

/// `id`, or MongoDB's `_id`.
fn read_id(fields: &Map<String, Value>, problems: &mut Vec<Problem>) -> String {
    if fields.get("id").is_some_and(|id| !id.is_null()) {
        return read_text(fields, "id", problems);
    }
    match fields.get("_id") {
        Some(Value::Object(wrapped)) => match wrapped.get("$oid") {
            Some(Value::String(oid)) => oid.clone(),
            _ => {
                problems.push(Problem::new("_id", "neither text nor {\"$oid\": …}"));
                String::new()
            }
        },
        _ => read_text(fields, "_id", problems),
    }
}

fn read_text(fields: &Map<String, Value>, key: &str, problems: &mut Vec<Problem>) -> String {
    match fields.get(key).map(plain) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text,
        Some(Value::Number(number)) => number.to_string(),
        Some(other) => {
            problems.push(Problem::new(key, format!("{} where text is expected", kind(&other))));
            String::new()
        }
    }
}

fn read_order(fields: &Map<String, Value>, problems: &mut Vec<Problem>) -> i32 {
    let value = fields.get("order").map(plain).unwrap_or_default();
    let number = match &value {
        Value::Null => Some(0),
        // A number of JavaScript or MongoDB may be written with a fraction of zero.
        Value::Number(number) => number
            .as_i64()
            .or_else(|| number.as_f64().filter(|n| n.fract() == 0.0).map(|n| n as i64))
            .and_then(|n| i32::try_from(n).ok()),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.unwrap_or_else(|| {
        let message = format!("`{value}` is not a whole number of 32 bits");
        problems.push(Problem::new("order", message));
        0
    })
}

fn read_enabled(fields: &Map<String, Value>, problems: &mut Vec<Problem>) -> bool {
    match fields.get("enabled") {
        None | Some(Value::Null) => true,
        Some(Value::Bool(enabled)) => *enabled,
        Some(other) => {
            problems.push(Problem::new("enabled", format!("`{other}` is neither true nor false")));
            true
        }
    }
}

fn read_metadata(fields: &Map<String, Value>, problems: &mut Vec<Problem>) -> Map<String, Value> {
    match fields.get("metadata") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(metadata)) => {
            metadata.iter().map(|(key, value)| (key.clone(), plain(value))).collect()
        }
        Some(other) => {
            let message = format!("{} where an object is expected", kind(other));
            problems.push(Problem::new("metadata", message));
            Map::new()
        }
    }
}

fn read_list(
    fields: &Map<String, Value>,
    key: &str,
    bare: bool,
    problems: &mut Vec<Problem>,
) -> Vec<NamedArgs> {
    let list = match fields.get(key) {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Array(list)) => list,
        Some(other) => {
            problems.push(Problem::new(key, format!("{} where a list is expected", kind(other))));
            return Vec::new();
        }
    };
    let mut read = Vec::with_capacity(list.len());
    for (n, element) in list.iter().enumerate() {
        match read_named(element, &format!("{key}[{n}]"), bare) {
            Ok(named) => read.push(named),
            Err(problem) => problems.push(problem),
        }
    }
    read
}

fn read_named(element: &Value, at: &str, bare: bool) -> Result<NamedArgs, Problem> {
    match element {
        Value::String(text) => parse_shortcut(text, bare).map_err(|error| match error {
            ShortcutError::NoEquals => Problem::new(at, format!("`{text}` has no `=`"))
                .help(format!("write {text}= with its arguments behind it")),
            ShortcutError::NoName => Problem::new(at, format!("`{text}` has no name")),
        }),
        Value::Object(fields) => {
            let Some(Value::String(name)) = fields.get("name") else {
                return Err(Problem::new(format!("{at}.name"), "the name is missing"));
            };
            let mut args = Vec::new();
            match fields.get("args") {
                None | Some(Value::Null) => {}
                Some(Value::Object(written)) => {
                    for (key, value) in written {
                        flatten(key, value, &mut args);
                    }
                }
                Some(other) => {
                    let message = format!("{} where an object is expected", kind(other));
                    return Err(Problem::new(format!("{at}.args"), message));
                }
            }
            Ok(NamedArgs { name: name.into(), args: args.into_iter().collect() })
        }
        other => Err(Problem::new(at, format!("{} is not a definition", kind(other)))
            .help(r#"write "Name=args" or {"name": …, "args": {…}}"#)),
    }
}

/// Arguments are text: numbers are written out, lists and objects become numbered and dotted keys.
fn flatten(key: &str, value: &Value, args: &mut Vec<(String, Value)>) {
    match plain(value) {
        Value::Null => {}
        Value::String(text) => {
            args.push((key.to_owned(), Value::String(text)));
        }
        Value::Array(list) => {
            for (n, element) in list.iter().enumerate() {
                flatten(&format!("{key}.{n}"), element, args);
            }
        }
        Value::Object(fields) => {
            for (inner, value) in &fields {
                flatten(&format!("{key}.{inner}"), value, args);
            }
        }
        scalar => {
            args.push((key.to_owned(), Value::String(scalar.to_string())));
        }
    }
}

/// A value without MongoDB's type wrappers.
fn plain(value: &Value) -> Value {
    let Value::Object(fields) = value else { return value.clone() };
    let mut entries = fields.iter();
    match (entries.next(), entries.next()) {
        (Some((key, Value::String(text))), None) => match key.as_str() {
            "$numberInt" | "$numberLong" | "$numberDouble" => {
                serde_json::from_str(text).unwrap_or_else(|_| value.clone())
            }
            "$oid" => Value::String(text.clone()),
            _ => value.clone(),
        },
        _ => value.clone(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::read_definition;

    fn check(json: &str, expected: &str) {
        let json = serde_json::from_str(json).expect("json");
        let definition = read_definition(&json).expect("a definition");
        // Broken over lines to be read; the keys have to come in this order.
        let expected: serde_json::Value = serde_json::from_str(expected).expect("json");
        assert_eq!(serde_json::to_string(&definition).expect("json"), expected.to_string());
    }

    fn check_refused(json: &str, expected: &[&str]) {
        let json = serde_json::from_str(json).expect("json");
        let problems = read_definition(&json).expect_err("must be refused");
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems, expected);
    }

    #[test]
    fn what_clients_send_is_read() {
        check(
            r#"{"uri":"http://x","predicates":["Path=/a, /b"],"nonsense":1,"filters":null}"#,
            r#"{"id":"","predicates":[{"name":"Path","args":{"_genkey_0":"/a","_genkey_1":"/b"}}],
                "filters":[],"uri":"http://x","metadata":{},"order":0,"enabled":true}"#,
        );
        check(
            r#"{"id":7,"uri":"http://x","order":"3","enabled":false,
                "filters":["PreserveHostHeader",{"name":"Retry","args":{"retries":3,"on":true,
                "statuses":["BAD_GATEWAY"],"backoff":{"factor":2.5},"none":null}}]}"#,
            r#"{"id":"7","predicates":[],"filters":[{"name":"PreserveHostHeader","args":{}},
                {"name":"Retry","args":{"retries":"3","on":"true","statuses.0":"BAD_GATEWAY",
                "backoff.factor":"2.5"}}],
                "uri":"http://x","metadata":{},"order":3,"enabled":false}"#,
        );
    }

    #[test]
    fn extended_json_of_mongodb_is_read() {
        check(
            r#"{"_id":{"$oid":"60c4f055588bca06132e44cb"},
                "predicates":[{"name":"Path","args":{"_genkey_0":"/1999"}}],
                "uri":"http://localhost:9999","metadata":{"n":{"$numberLong":"5"}},
                "order":{"$numberInt":"1"},"_class":"com.example.MongoRouteDefinition"}"#,
            r#"{"id":"60c4f055588bca06132e44cb",
                "predicates":[{"name":"Path","args":{"_genkey_0":"/1999"}}],"filters":[],
                "uri":"http://localhost:9999","metadata":{"n":5},"order":1,"enabled":true}"#,
        );
        check(
            r#"{"_id":"plain","order":1.0,"uri":"http://x"}"#,
            r#"{"id":"plain","predicates":[],"filters":[],"uri":"http://x","metadata":{},
                "order":1,"enabled":true}"#,
        );
    }

    #[test]
    fn every_problem_is_named_with_its_place() {
        check_refused(
            r#"{"uri":[],"predicates":["Path","=x",5],"filters":{"name":"X"},"metadata":[],
                "order":1.5,"enabled":"maybe"}"#,
            &[
                "uri: a list where text is expected",
                "predicates[0]: `Path` has no `=` (write Path= with its arguments behind it)",
                "predicates[1]: `=x` has no name",
                "predicates[2]: a number is not a definition \
                 (write \"Name=args\" or {\"name\": …, \"args\": {…}})",
                "filters: an object where a list is expected",
                "metadata: a list where an object is expected",
                "order: `1.5` is not a whole number of 32 bits",
                "enabled: `\"maybe\"` is neither true nor false",
            ],
        );
        check_refused(
            r#"{"filters":[{"args":{}},{"name":"X","args":[]}]}"#,
            &[
                "filters[0].name: the name is missing",
                "filters[1].args: a list where an object is expected",
            ],
        );
    }
}
