//! Values as XML, as the `xml` objects of their schemas say.

use serde_json::Value;

use super::text::text_of;
use crate::definition::{Documents, Place, Schema};

/// The maximum depth of nested elements.
const DEPTH_MAX: usize = 128;

/// A document.
pub(super) fn write(schema: Option<&Schema>, value: &Value) -> String {
    let none = Documents::default();
    let documents = schema.map_or(&none, |schema| schema.source().documents());
    let place = schema.map(|schema| schema.source().place().clone());
    // A reference names the root element, where nothing else does.
    let reference = place.as_ref().and_then(|place| documents.value(place)?.get("$ref")?.as_str());
    let named = reference.and_then(|text| text.rsplit('/').next()).unwrap_or("root").to_owned();
    let place = place.and_then(|place| documents.follow(place).ok()).map(|(place, _)| place);
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>");
    Writer { documents, out: &mut out }.element(&named, place.as_ref(), value, 0);
    out
}

struct Writer<'a> {
    documents: &'a Documents,
    out: &'a mut String,
}

impl Writer<'_> {
    fn element(&mut self, name: &str, place: Option<&Place>, value: &Value, depth: usize) {
        if depth > DEPTH_MAX {
            return;
        }
        let own = xml(self.documents, place);
        let text = |key: &str| own.and_then(|own| own.get(key)).and_then(Value::as_str);
        let name = text("name").unwrap_or(name);
        let prefix = text("prefix").map(|prefix| format!("{prefix}:")).unwrap_or_default();
        let name = format!("{prefix}{}", clean(name));
        self.out.push_str(&format!("<{name}"));
        if let Some(namespace) = text("namespace") {
            let colon = prefix.strip_suffix(':').map(|p| format!(":{p}")).unwrap_or_default();
            self.out.push_str(&format!(" xmlns{colon}=\"{}\"", escape(namespace)));
        }
        let Value::Object(members) = value else {
            self.out.push('>');
            match value {
                Value::Array(all) => {
                    let items = place.map(|place| place.at("items"));
                    let items = self.follow(items);
                    for one in all {
                        self.element("item", items.as_ref(), one, depth + 1);
                    }
                }
                scalar => self.out.push_str(&escape(&text_of(scalar))),
            }
            self.out.push_str(&format!("</{name}>"));
            return;
        };
        let mut inner = Vec::new();
        for (key, member) in members {
            let at = self.property(place, key);
            let is_attribute = xml(self.documents, at.as_ref())
                .is_some_and(|own| own.get("attribute") == Some(&Value::Bool(true)));
            if is_attribute {
                let shown =
                    xml(self.documents, at.as_ref()).and_then(|own| own.get("name")?.as_str());
                let shown = clean(shown.unwrap_or(key));
                let text = escape(&text_of(member));
                self.out.push_str(&format!(" {shown}=\"{text}\""));
            } else {
                inner.push((key, at, member));
            }
        }
        self.out.push('>');
        for (key, at, member) in inner {
            self.member(key, at.as_ref(), member, depth);
        }
        self.out.push_str(&format!("</{name}>"));
    }

    /// A property that is an element, or as many as its array has.
    fn member(&mut self, key: &str, at: Option<&Place>, member: &Value, depth: usize) {
        let Value::Array(all) = member else { return self.element(key, at, member, depth + 1) };
        let own = xml(self.documents, at);
        let wrapper = own.and_then(|own| own.get("name")?.as_str()).unwrap_or(key);
        let is_wrapped = own.is_some_and(|own| own.get("wrapped") == Some(&Value::Bool(true)));
        let items = self.follow(at.map(|place| place.at("items")));
        if is_wrapped {
            self.out.push_str(&format!("<{}>", clean(wrapper)));
        }
        for one in all {
            self.element(key, items.as_ref(), one, depth + 2);
        }
        if is_wrapped {
            self.out.push_str(&format!("</{}>", clean(wrapper)));
        }
    }

    fn property(&self, place: Option<&Place>, key: &str) -> Option<Place> {
        self.follow(place.map(|place| place.at("properties").at(key)))
    }

    fn follow(&self, place: Option<Place>) -> Option<Place> {
        self.documents.follow(place?).ok().map(|(place, _)| place)
    }
}

fn xml<'a>(documents: &'a Documents, place: Option<&Place>) -> Option<&'a Value> {
    documents.value(place?)?.get("xml")
}

fn clean(name: &str) -> String {
    let legal = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut out: String = name.chars().map(|c| if legal(c) { c } else { '_' }).collect();
    if !out.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        out.insert(0, '_');
    }
    out
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
