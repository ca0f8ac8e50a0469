//! Settings of API definitions: parsed by `weir-mock`, reported with places in the configuration.

use serde_json::{Map, Number, Value};
use weir_mock::Settings;

use crate::fields::Fields;
use crate::source::Span;
use crate::spring::{Kind, Layers, Node, Scalar, key};

/// The settings among the fields of an object.
pub(super) fn settings(fields: &mut Fields<'_, '_>) -> Settings {
    let named = Settings::NAMES.iter().filter_map(|name| Some((*name, fields.node(name)?)));
    let named: Vec<(&str, Node<'_>)> = named.collect();
    let members =
        named.iter().map(|(name, node)| ((*name).to_owned(), value(fields.layers, *node)));
    let mut found = Vec::new();
    let settings = Settings::read(&Value::Object(members.collect()), &mut found);
    for misfit in found {
        let at = place(&named, &misfit.pointer).unwrap_or_else(|| fields.at());
        fields.wrong(at, misfit.message, misfit.help);
    }
    settings
}

/// A node as JSON, with Spring's placeholders resolved.
fn value(layers: &Layers<'_>, node: Node<'_>) -> Value {
    match node.kind() {
        Kind::List => node.children().map(|child| value(layers, child)).collect(),
        Kind::Map => {
            let each = node.children().map(|child| (child.key().to_owned(), value(layers, child)));
            Value::Object(each.collect::<Map<_, _>>())
        }
        Kind::Null | Kind::Scalar => match node.scalar().unwrap_or(Scalar::Null) {
            Scalar::Null => Value::Null,
            Scalar::Bool(truth) => Value::Bool(truth),
            Scalar::Int(number) => match (i64::try_from(number), u64::try_from(number)) {
                (Ok(number), _) => Value::from(number),
                (_, Ok(number)) => Value::from(number),
                _ => Value::from(number.to_string()),
            },
            Scalar::Float(number) => Number::from_f64(number).map_or(Value::Null, Value::Number),
            Scalar::Text(text) => Value::from(layers.resolve(&text).0.into_owned()),
        },
    }
}

/// Place of a JSON pointer, or of its nearest existing ancestor.
fn place(named: &[(&str, Node<'_>)], pointer: &str) -> Option<Span> {
    let mut parts = pointer.split('/').skip(1);
    let first = parts.next()?;
    let (_, mut node) = *named.iter().find(|(name, _)| *name == first)?;
    for part in parts {
        let part = part.replace("~1", "/").replace("~0", "~");
        let child = match node.kind() {
            Kind::List => part.parse().ok().and_then(|at| node.children().nth(at)),
            _ => node.children().find(|child| key::same(&part, child.key())),
        };
        match child {
            Some(child) => node = child,
            None => break,
        }
    }
    Some(node.key_span())
}
