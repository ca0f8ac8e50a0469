//! Methods of gRPC services: JSON to encoded requests, responses to JSON (protobuf's JSON, as
//! Java's `JsonFormat`), and the HTTP equivalents of gRPC statuses.

use std::hash::{Hash, Hasher};
use std::io;
use std::sync::Arc;

use prost_reflect::prost::Message as _;
use prost_reflect::{
    DescriptorPool, DynamicMessage, MethodDescriptor, SerializeOptions, ServiceDescriptor,
};

use crate::descriptors::DescriptorSet;

/// Maximum size of a response's JSON in bytes.
const JSON_BYTES_MAX: usize = 16 << 20;

/// A unary method.
#[derive(Clone, Debug)]
pub(crate) struct GrpcMethod {
    method: MethodDescriptor,
    path: Arc<str>,
    /// Hash of the descriptor set that contains it.
    digest: u64,
}

impl PartialEq for GrpcMethod {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest && self.path == other.path
    }
}

impl Eq for GrpcMethod {}

impl Hash for GrpcMethod {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.path.hash(state);
    }
}

/// A problem: the argument, the message, and the remedy.
type Wrong = (&'static str, String, String);

impl GrpcMethod {
    /// The method `method` of the service `service`, whose package may be omitted if the name is
    /// unambiguous.
    pub(crate) fn find(set: &DescriptorSet, service: &str, method: &str) -> Result<Self, Wrong> {
        let service = find_service(&set.pool, service)?;
        let Some(found) = service.methods().find(|one| one.name() == method) else {
            let names = listed(service.methods().map(|one| one.name().to_owned()));
            let message = format!("{} has no method `{method}`", service.full_name());
            return Err(("method", message, format!("it has {names}")));
        };
        if found.is_client_streaming() || found.is_server_streaming() {
            let message = format!("`{method}` streams messages, and JSON here is one message");
            let help = "name a method with one request and one response".to_owned();
            return Err(("method", message, help));
        }
        let path = format!("/{}/{}", service.full_name(), found.name());
        Ok(Self { method: found, path: path.into(), digest: set.digest })
    }

    /// `/package.Service/Method`.
    pub(crate) fn path(&self) -> &Arc<str> {
        &self.path
    }

    /// Encodes the request `json`.
    ///
    /// # Errors
    /// It is not JSON, or not JSON of this message.
    pub(crate) fn request(&self, json: &[u8]) -> Result<Vec<u8>, String> {
        let mut source = serde_json::Deserializer::from_slice(json);
        let message = DynamicMessage::deserialize(self.method.input(), &mut source);
        let message = message.and_then(|message| source.end().map(|()| message));
        let name = || self.method.input().full_name().to_owned();
        let message = message.map_err(|error| format!("this is no {}: {error}", name()))?;
        Ok(message.encode_to_vec())
    }

    /// Decodes a response to JSON. Fields with the default value are omitted.
    ///
    /// # Errors
    /// It is not an encoded message of this type, or its JSON is too long.
    pub(crate) fn response(&self, encoded: &[u8]) -> Result<Vec<u8>, String> {
        let wrong = |error: &dyn std::fmt::Display| {
            format!("the response is no {}: {error}", self.method.output().full_name())
        };
        let message = DynamicMessage::decode(self.method.output(), encoded);
        let message = message.map_err(|error| wrong(&error))?;
        let mut writer = serde_json::Serializer::new(Bounded(Vec::new()));
        let result = message.serialize_with_options(&mut writer, &SerializeOptions::new());
        result.map_err(|error| wrong(&error))?;
        Ok(writer.into_inner().0)
    }
}

/// A buffer of at most [`JSON_BYTES_MAX`] bytes: even a short message may have long JSON, for
/// example because it encodes enum values by number.
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len().saturating_add(bytes.len()) > JSON_BYTES_MAX {
            let message = format!("its JSON is longer than {JSON_BYTES_MAX} bytes");
            return Err(io::Error::other(message));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn find_service(pool: &DescriptorPool, name: &str) -> Result<ServiceDescriptor, Wrong> {
    if let Some(service) = pool.get_service_by_name(name) {
        return Ok(service);
    }
    let mut called = pool.services().filter(|service| service.name() == name);
    match (called.next(), called.next()) {
        (Some(service), None) => Ok(service),
        (Some(one), Some(other)) => {
            let message = format!("`{name}` is {} and {}", one.full_name(), other.full_name());
            Err(("service", message, "write it with its package".to_owned()))
        }
        (None, _) => {
            let names = listed(pool.services().map(|service| service.full_name().to_owned()));
            let message = format!("the descriptor set has no service `{name}`");
            Err(("service", message, format!("it has {names}")))
        }
    }
}

/// Existing names, for an error message; at most 20.
fn listed(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.take(20).map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// The name of a gRPC status, and the equivalent HTTP status (`google/rpc/code.proto`).
pub(crate) fn status_of(code: u32) -> (&'static str, u16) {
    match code {
        1 => ("CANCELLED", 499),
        3 => ("INVALID_ARGUMENT", 400),
        4 => ("DEADLINE_EXCEEDED", 504),
        5 => ("NOT_FOUND", 404),
        6 => ("ALREADY_EXISTS", 409),
        7 => ("PERMISSION_DENIED", 403),
        8 => ("RESOURCE_EXHAUSTED", 429),
        9 => ("FAILED_PRECONDITION", 400),
        10 => ("ABORTED", 409),
        11 => ("OUT_OF_RANGE", 400),
        12 => ("UNIMPLEMENTED", 501),
        13 => ("INTERNAL", 500),
        14 => ("UNAVAILABLE", 503),
        15 => ("DATA_LOSS", 500),
        16 => ("UNAUTHENTICATED", 401),
        _ => ("UNKNOWN", 500),
    }
}
