//! Parameters in every style, one line a case: what is declared, what is sent, what it is read as.
//!
//! A parameter is declared with `const`: the request is right only if its text is read as exactly
//! that value. The texts are those of OpenAPI 3.1, "Style Examples".

mod asked;

use asked::mocks;
use serde_json::{Value, json};

const STRING: &str = r#""blue""#;
const ARRAY: &str = r#"["blue","black","brown"]"#;
const OBJECT: &str = r#"{"R":100,"G":200,"B":150}"#;

/// A schema that `value` alone fits.
fn only(value: &Value) -> Value {
    match value {
        Value::Array(_) => {
            json!({ "type": "array", "items": { "type": "string" }, "const": value })
        }
        Value::Object(members) => {
            let each = members.keys().map(|key| (key.clone(), json!({ "type": "integer" })));
            let properties: serde_json::Map<String, Value> = each.collect();
            json!({ "type": "object", "properties": properties, "const": value })
        }
        _ => json!({ "type": "string", "const": value }),
    }
}

/// The status of a request that has `text` where `place` says.
fn sent(document: &Value, place: &str, text: &str) -> (u16, String) {
    let path = if place == "path" { format!("/p/{text}") } else { "/p/x".to_owned() };
    let target = if place == "query" { format!("{path}?{text}") } else { path };
    let field = match place {
        "header" => vec![format!("color: {text}")],
        "cookie" => vec![format!("cookie: {text}")],
        _ => Vec::new(),
    };
    let fields: Vec<&str> = field.iter().map(String::as_str).collect();
    let asked = mocks(&document.to_string()).ask(&format!("GET {target}"), &fields, "");
    (asked.status, asked.text())
}

/// `place style explode value text`, blanks between them.
fn lines(table: &str) -> impl Iterator<Item = Vec<&str>> {
    table.lines().map(|line| line.split_whitespace().collect())
}

const STYLES: &str = "
        path   simple         false S blue
        path   simple         true  S blue
        path   simple         false A blue,black,brown
        path   simple         true  A blue,black,brown
        path   simple         false O R,100,G,200,B,150
        path   simple         true  O R=100,G=200,B=150
        path   label          false S .blue
        path   label          true  S .blue
        path   label          false A .blue,black,brown
        path   label          true  A .blue.black.brown
        path   label          false O .R,100,G,200,B,150
        path   label          true  O .R=100.G=200.B=150
        path   matrix         false S ;color=blue
        path   matrix         true  S ;color=blue
        path   matrix         false A ;color=blue,black,brown
        path   matrix         true  A ;color=blue;color=black;color=brown
        path   matrix         false O ;color=R,100,G,200,B,150
        path   matrix         true  O ;R=100;G=200;B=150
        query  form           false S color=blue
        query  form           true  S color=blue
        query  form           false A color=blue,black,brown
        query  form           true  A color=blue&color=black&color=brown
        query  form           false O color=R,100,G,200,B,150
        query  form           true  O R=100&G=200&B=150
        query  spaceDelimited false A color=blue%20black%20brown
        query  spaceDelimited true  A color=blue&color=black&color=brown
        query  spaceDelimited false O color=R%20100%20G%20200%20B%20150
        query  pipeDelimited  false A color=blue%7Cblack%7Cbrown
        query  pipeDelimited  true  A color=blue&color=black&color=brown
        query  pipeDelimited  false O color=R%7C100%7CG%7C200%7CB%7C150
        query  deepObject     true  O color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150
        query  deepObject     false O color[R]=100&color[G]=200&color[B]=150
        header simple         false S blue
        header simple         true  S blue
        header simple         false A blue,black,brown
        header simple         true  A blue,black,brown
        header simple         false O R,100,G,200,B,150
        header simple         true  O R=100,G=200,B=150
        cookie form           false S color=blue
        cookie form           true  S color=blue
        cookie form           false A color=blue,black,brown
        cookie form           false O color=R,100,G,200,B,150";

#[test]
fn every_style_of_openapi_3() {
    for line in lines(STYLES).filter(|line| !line.is_empty()) {
        let [place, style, explode, kind, text] = line.as_slice() else { panic!("{line:?}") };
        let value = match *kind {
            "S" => STRING,
            "A" => ARRAY,
            _ => OBJECT,
        };
        let value: Value = serde_json::from_str(value).expect("JSON");
        let path = if *place == "path" { "/p/{color}" } else { "/p/x" };
        let document = |value: &Value| {
            let parameter = json!({ "name": "color", "in": place, "required": true,
                "style": style, "explode": *explode == "true", "schema": only(value) });
            json!({ "openapi": "3.1.0", "info": { "title": "t", "version": "1" },
                "paths": { path: { "get": { "parameters": [parameter],
                    "responses": { "204": { "description": "d" } } } } } })
        };
        let (status, told) = sent(&document(&value), place, text);
        assert_eq!(status, 204, "{line:?}: {told}");
        let other = match &value {
            Value::Array(_) => json!(["blue", "black"]),
            Value::Object(_) => json!({ "R": 100, "G": 200, "B": 1 }),
            _ => json!("red"),
        };
        let (status, told) = sent(&document(&other), place, text);
        assert_eq!(status, 422, "{line:?} is read as {other}: {told}");
    }
}

#[test]
fn every_collection_format_of_swagger_2() {
    let table = "
        path   csv   blue,black,brown
        path   ssv   blue%20black%20brown
        path   tsv   blue%09black%09brown
        path   pipes blue%7Cblack%7Cbrown
        query  csv   color=blue,black,brown
        query  ssv   color=blue%20black%20brown
        query  tsv   color=blue%09black%09brown
        query  pipes color=blue%7Cblack%7Cbrown
        query  multi color=blue&color=black&color=brown
        query  -     color=blue,black,brown
        header csv   blue,black,brown
        header pipes blue|black|brown
        header -     blue,black,brown";
    for line in lines(table).filter(|line| !line.is_empty()) {
        let [place, format, text] = line.as_slice() else { panic!("{line:?}") };
        let path = if *place == "path" { "/p/{color}" } else { "/p/x" };
        let document = |count: u32| {
            let mut parameter = json!({ "name": "color", "in": place, "required": true,
                "type": "array", "minItems": count, "maxItems": count,
                "items": { "type": "string", "enum": ["blue", "black", "brown"] } });
            if *format != "-" {
                parameter["collectionFormat"] = json!(format);
            }
            json!({ "swagger": "2.0", "info": { "title": "t", "version": "1" },
                "paths": { path: { "get": { "parameters": [parameter],
                    "responses": { "204": { "description": "d" } } } } } })
        };
        let (status, told) = sent(&document(3), place, text);
        assert_eq!(status, 204, "{line:?}: {told}");
        assert_eq!(sent(&document(2), place, text).0, 422, "{line:?}");
    }
}

#[test]
fn an_empty_text_is_an_empty_object_or_array() {
    for (kind, status) in [("object", 204), ("array", 204), ("integer", 422)] {
        for (style, explode) in [("form", false), ("pipeDelimited", false)] {
            let parameter = json!({ "name": "color", "in": "query", "style": style,
                "explode": explode, "schema": { "type": kind } });
            let document = json!({ "openapi": "3.1.0", "info": { "title": "t", "version": "1" },
                "paths": { "/p/x": { "get": { "parameters": [parameter],
                    "responses": { "204": { "description": "d" } } } } } });
            let (found, told) = sent(&document, "query", "color=");
            assert_eq!(found, status, "{kind} {style}: {told}");
        }
    }
}
