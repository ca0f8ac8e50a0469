//! JsonToGrpc: calls a gRPC method with the JSON of a request.

use std::fmt;
use std::sync::Arc;

use serde_json::json;
use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, optional, required};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::grpc::{GrpcMethod, status_of};
use crate::local_response::LocalResponse;
use crate::question::{Answer, GrpcCall, GrpcReply, Question};
use crate::styled::Styled;

/// The filter's name: its routes may lead to servers that only the control plane can call.
pub const JSON_TO_GRPC: &str = "JsonToGrpc";

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: JSON_TO_GRPC,
    doc: r#"Calls a unary gRPC method of the route's server with the JSON body of a request, and
answers with its response as JSON. The route's uri is `https://host:port` for TLS with HTTP/2, `http://…`
for HTTP/2 without TLS, or `lb://…`. A body that is not as the method has it is answered with 400;
an error of the method with 500, or with the status that says the same in HTTP if `mapStatus` is
true. No header field of the request goes to the method. It acts last of the filters of its route,
and none of them sees its response.

```yaml
filters:
- name: JsonToGrpc
  args:
    protoDescriptor: classpath:hello.pb
    service: HelloService
    method: hello
```
```http request
POST /hello HTTP/1.1
Content-Type: application/json
```
```http sent
POST /hello HTTP/1.1
Content-Type: application/json
```"#,
    args: &[
        required("service", ArgKind::Text, "The service, with or without its package."),
        required("method", ArgKind::Text, "The method."),
        required(
            "protoDescriptor",
            ArgKind::Text,
            "The file that `protoc --include_imports --descriptor_set_out=FILE` wrote: \
             `classpath:FILE` beside the configuration; `file:FILE` where \
             `json-to-grpc.valid-proto-descriptor-prefixes` allows it.",
        ),
        optional("protoFile", ArgKind::Text, None, "Not read, as in Spring Cloud Gateway 5."),
        optional(
            "mapStatus",
            ArgKind::Bool,
            Some("false"),
            "An error of the method is answered with its HTTP status and a JSON body with `code`, \
             `status` and `message`. Of weir's own.",
        ),
    ],
    shortcut: Shortcut::Positions(3),
    compatibility: Compatibility::Differs(
        "it acts behind the other filters of its route, not in front of them; `http://` is HTTP/2 \
         without TLS; a wrong body is 400; the call ends at `response-timeout`, else after 60 s",
    ),
    build,
};

/// Calls a gRPC method with the JSON of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JsonToGrpc(Arc<Inner>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct Inner {
    service: String,
    name: String,
    location: String,
    maps_status: bool,
    /// `None` where there is no configuration.
    method: Option<GrpcMethod>,
}

fn build(args: &Args, options: &FilterOptions) -> Result<Filter, ArgError> {
    let text = |arg| args.required(arg).map(|text| text.trim().to_owned());
    let (service, name, location) = (text("service")?, text("method")?, text("protoDescriptor")?);
    // Read, so that it is not taken for a mistake.
    let _ = args.text("protoFile");
    let maps_status = args.bool("mapStatus")?.unwrap_or(false);
    let refused =
        |(arg, message, help): (&str, String, String)| ArgError::new(arg, message).help(help);
    let method = match &options.descriptors {
        Some(descriptors) => {
            let set = descriptors.find(&location);
            let set = set.map_err(|(message, help)| refused(("protoDescriptor", message, help)))?;
            Some(GrpcMethod::find(&set, &service, &name).map_err(refused)?)
        }
        None => None,
    };
    let inner = Inner { service, name, location, maps_status, method };
    Ok(Filter::JsonToGrpc(JsonToGrpc(Arc::new(inner))))
}

impl JsonToGrpc {
    fn reply(&self, method: &GrpcMethod, reply: GrpcReply) -> Result<Verdict, FilterError> {
        match reply {
            GrpcReply::Message(message) => {
                let body = method.response(&message).map_err(FilterError)?;
                Ok(respond(200, "application/json", body))
            }
            GrpcReply::Status { code, message } if self.0.maps_status => {
                let (name, status) = status_of(code);
                let body = json!({ "code": code, "status": name, "message": message });
                Ok(respond(status, "application/json", body.to_string().into_bytes()))
            }
            GrpcReply::Status { code, message } => {
                let (name, _) = status_of(code);
                Err(FilterError(format!("{} answered {name}: {message}", method.path())))
            }
            GrpcReply::Late => Err(FilterError(format!("{}: no answer in time", method.path()))),
            GrpcReply::Unreached(why) | GrpcReply::Broken(why) => {
                Err(FilterError(format!("{}: {why}", method.path())))
            }
        }
    }
}

fn respond(status: u16, content_type: &str, body: Vec<u8>) -> Verdict {
    let fields = vec![("Content-Type".to_owned(), content_type.as_bytes().to_vec())];
    Verdict::Respond(Box::new(LocalResponse { status, fields, body }))
}

/// The client's request is wrong.
fn wrong(status: u16, why: &str) -> Verdict {
    let document = json!({ "type": "about:blank", "status": status, "detail": why });
    respond(status, "application/problem+json", document.to_string().into_bytes())
}

impl Behaviour for JsonToGrpc {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn own_order(&self) -> Option<i32> {
        // In the place of the upstream, behind all that guards it. SCG has it at -2, so that its
        // limits and guards act when the method has been called.
        Some(10_100)
    }

    fn request(&self, _: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        Ok(match self.0.method {
            Some(_) => Verdict::Ask(Box::new(Question::Content)),
            None => Verdict::Continue,
        })
    }

    fn answered(&self, _: &mut RequestContext<'_>, answer: Answer) -> Result<Verdict, FilterError> {
        let Some(method) = &self.0.method else { return Ok(Verdict::Continue) };
        Ok(match answer {
            Answer::Content(json) => match method.request(&json) {
                Ok(message) => Verdict::Ask(Box::new(Question::Grpc(GrpcCall {
                    path: Arc::clone(method.path()),
                    message,
                    ..GrpcCall::default()
                }))),
                Err(why) => wrong(400, &why),
            },
            Answer::ContentTooLong(max) => wrong(
                413,
                &format!(
                    "the body is longer than {max} bytes (spring.http.codecs.max-in-memory-size)"
                ),
            ),
            Answer::Grpc(reply) => return self.reply(method, reply),
            Answer::Nobody(why) => wrong(415, &why),
            other => return Err(FilterError(format!("this is no answer: {other:?}"))),
        })
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text("service", &self.0.service)?;
        styled.text("method", &self.0.name)?;
        styled.text("protoDescriptor", &self.0.location)
    }

    fn explain(&self) -> String {
        let (service, name) = (&self.0.service, &self.0.name);
        let path = self.0.method.as_ref().map(|method| &**method.path());
        let path = path.map_or_else(|| format!("/{service}/{name}"), str::to_owned);
        format!("calls the gRPC method {path} with the JSON body, and answers with its response")
    }
}
