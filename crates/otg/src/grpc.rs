//! The same API over gRPC: service `otg.Openapi` of the specification.
//!
//! Messages are read by the descriptor that is pinned beside the JSON specification, and become the JSON that REST
//! takes: one check, one engine, the same errors. An error's text is the model's `Error` as JSON, as the specification
//! asks for.

use crate::engine::Engine;
use crate::error::Refused;
use crate::schema::unpack;
use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::post;
use prost_reflect::prost::Message;
use prost_reflect::prost::bytes::Buf;
use prost_reflect::{
    DescriptorPool, DynamicMessage, MethodDescriptor, ReflectMessage, SerializeOptions,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;
use tokio_stream::StreamExt;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::server::Grpc;
use tonic::{Code, Status, Streaming};

/// Field numbers and types, as `spec/extract_grpc.py` has taken them out; packed.
const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors"));
const SERVICE: &str = "otg.Openapi";
/// A longer message is refused before it is read; REST has the same limit.
const MESSAGE_MAX: usize = 32 << 20;
/// A message of a stream of answers is no longer: half of what clients take by default.
const CHUNK_BYTES: usize = 2 << 20;

static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(&unpack(DESCRIPTORS)[..]).expect("the descriptors are in the package")
});

/// The methods of the service, to be merged with the paths of REST.
pub fn router(engine: Engine) -> Router {
    let service = POOL.get_service_by_name(SERVICE).expect("the descriptors have the service");
    let routes = service.methods().map(|method| {
        (
            format!("/{SERVICE}/{}", method.name()),
            post(move |state, request| serve(method, state, request)),
        )
    });
    let router = routes.fold(Router::new(), |router, (path, handler)| router.route(&path, handler));
    router.with_state(engine)
}

/// What a client streams its request in, and has its answer streamed in.
fn is_data(message: &prost_reflect::MessageDescriptor) -> bool {
    message.name() == "Data"
}

async fn serve(
    method: MethodDescriptor,
    State(engine): State<Engine>,
    request: Request,
) -> Response {
    let codec = Messages { input: method.input() };
    let mut grpc = Grpc::new(codec).max_decoding_message_size(MESSAGE_MAX);
    let (from_client, from_server) = (method.is_client_streaming(), method.is_server_streaming());
    let call = Call { engine, method };
    let response = match (from_client, from_server) {
        (true, _) => grpc.client_streaming(call, request).await,
        (_, true) => grpc.server_streaming(call, request).await,
        _ => grpc.unary(call, request).await,
    };
    response.map(axum::body::Body::new)
}

/// One call.
#[derive(Clone)]
struct Call {
    engine: Engine,
    method: MethodDescriptor,
}

impl Call {
    /// Ports are opened and trials are ended by calls that take their time: not on a thread that serves others.
    async fn answer(self, request: DynamicMessage) -> Result<DynamicMessage, Status> {
        let answered = tokio::task::spawn_blocking(move || self.call(&request)).await;
        answered.map_err(|failed| Status::internal(format!("netanvil failed: {failed}")))?
    }

    /// The method's request holds one message, and so does its answer: `SetConfigRequest { config }`.
    fn call(&self, request: &DynamicMessage) -> Result<DynamicMessage, Status> {
        let inner = request.descriptor().fields().next();
        let body = inner.map_or(Ok(Value::Null), |field| {
            match request.get_field(&field).as_message() {
                Some(message) => json_of(message),
                None => Ok(Value::Object(Map::new())),
            }
        })?;
        self.engine_answer(body)
    }

    fn engine_answer(&self, body: Value) -> Result<DynamicMessage, Status> {
        let engine = &self.engine;
        let answer = match self.operation() {
            "SetConfig" => value(engine.set_config(body)),
            "GetConfig" => Ok(engine.config()),
            "UpdateConfig" => value(engine.update_config(body)),
            "AppendConfig" => value(engine.append_config(body)),
            "DeleteConfig" => value(engine.delete_config(body)),
            "SetControlState" => value(engine.control_state(body)),
            "SetControlAction" => value(engine.control_action(body)),
            "GetMetrics" => value(engine.metrics(body)),
            "GetStates" => value(engine.states(body)),
            "GetVersion" => value(Ok(engine.version())),
            "GetCapture" => return self.capture(engine.capture(body)),
            other => {
                Err(Refused { code: 501, errors: vec![format!("netanvil has no method {other}")] })
            }
        };
        let answer = answer.map_err(|refused| status(&refused))?;
        match is_data(&self.method.output()) {
            // The message itself, in pieces.
            true => self.bytes(message_of(&self.streamed()?, answer)?.encode_to_vec()),
            false => self.wrapped(answer),
        }
    }

    /// The method's name without `stream`, which only says how its message comes.
    fn operation(&self) -> &str {
        let name = self.method.name();
        name.strip_prefix("stream").unwrap_or(name)
    }

    /// What the answer of a method with a streamed answer is.
    fn streamed(&self) -> Result<prost_reflect::MessageDescriptor, Status> {
        let name = match self.operation() {
            "GetConfig" => "otg.Config",
            "GetMetrics" => "otg.MetricsResponse",
            "GetStates" => "otg.StatesResponse",
            other => {
                return Err(Status::unimplemented(format!("netanvil does not stream {other}")));
            }
        };
        POOL.get_message_by_name(name).ok_or_else(|| Status::internal(format!("no message {name}")))
    }

    fn wrapped(&self, answer: Value) -> Result<DynamicMessage, Status> {
        let output = self.method.output();
        let field =
            output.fields().next().ok_or_else(|| Status::internal("an answer without a field"))?;
        message_of(&output, json!({ field.name(): answer }))
    }

    fn capture(&self, captured: Result<Vec<u8>, Refused>) -> Result<DynamicMessage, Status> {
        self.bytes(captured.map_err(|refused| status(&refused))?)
    }

    /// Bytes in the one field that an answer has for them.
    fn bytes(&self, bytes: Vec<u8>) -> Result<DynamicMessage, Status> {
        let output = self.method.output();
        let name = if is_data(&output) { "datum" } else { "response_bytes" };
        let mut message = DynamicMessage::new(output);
        let set = message.try_set_field_by_name(name, prost_reflect::Value::Bytes(bytes.into()));
        set.map_err(|error| Status::internal(error.to_string()))?;
        Ok(message)
    }
}

type Answer<T> = std::pin::Pin<Box<dyn Future<Output = Result<tonic::Response<T>, Status>> + Send>>;
type Pieces = tokio_stream::Iter<std::vec::IntoIter<Result<DynamicMessage, Status>>>;

impl tonic::server::UnaryService<DynamicMessage> for Call {
    type Response = DynamicMessage;
    type Future = Answer<DynamicMessage>;

    fn call(&mut self, request: tonic::Request<DynamicMessage>) -> Self::Future {
        let call = self.clone();
        Box::pin(async move { Ok(tonic::Response::new(call.answer(request.into_inner()).await?)) })
    }
}

/// A long request in pieces, such as a large configuration.
impl tonic::server::ClientStreamingService<DynamicMessage> for Call {
    type Response = DynamicMessage;
    type Future = Answer<DynamicMessage>;

    fn call(&mut self, request: tonic::Request<Streaming<DynamicMessage>>) -> Self::Future {
        let call = self.clone();
        Box::pin(async move {
            let mut pieces = request.into_inner();
            let mut whole = vec![];
            while let Some(piece) = pieces.next().await {
                whole.extend_from_slice(&bytes_of(&piece?)?);
                if whole.len() > MESSAGE_MAX {
                    let what = format!("the request is longer than {MESSAGE_MAX} bytes");
                    return Err(status(&Refused { code: 413, errors: vec![what] }));
                }
            }
            let name = match call.operation() {
                "SetConfig" => "otg.Config",
                "SetControlState" => "otg.ControlState",
                _ => "otg.ControlAction",
            };
            let kind = POOL.get_message_by_name(name).ok_or_else(|| Status::internal(name))?;
            let message =
                DynamicMessage::decode(kind, &whole[..]).map_err(|error| unreadable(&error))?;
            let body = json_of(&message)?;
            let answered = tokio::task::spawn_blocking(move || call.engine_answer(body)).await;
            let answer = answered
                .map_err(|failed| Status::internal(format!("netanvil failed: {failed}")))??;
            Ok(tonic::Response::new(answer))
        })
    }
}

impl tonic::server::ServerStreamingService<DynamicMessage> for Call {
    type Response = DynamicMessage;
    type ResponseStream = Pieces;
    type Future = Answer<Pieces>;

    fn call(&mut self, request: tonic::Request<DynamicMessage>) -> Self::Future {
        let call = self.clone();
        Box::pin(async move {
            let whole = bytes_of(&call.clone().answer(request.into_inner()).await?)?;
            let pieces: Result<Vec<_>, Status> =
                whole.chunks(CHUNK_BYTES).map(|piece| call.bytes(piece.to_vec())).collect();
            let pieces: Vec<_> = pieces?.into_iter().map(Ok).collect();
            Ok(tonic::Response::new(tokio_stream::iter(pieces)))
        })
    }
}

fn bytes_of(data: &DynamicMessage) -> Result<Vec<u8>, Status> {
    let datum = data.get_field_by_name("datum");
    let bytes = datum.as_ref().and_then(|datum| datum.as_bytes());
    bytes.map(|bytes| bytes.to_vec()).ok_or_else(|| Status::internal("data without a datum"))
}

fn value<T: Serialize>(answer: Result<T, Refused>) -> Result<Value, Refused> {
    let failed = |error: serde_json::Error| Refused { code: 500, errors: vec![error.to_string()] };
    answer.and_then(|answer| serde_json::to_value(answer).map_err(failed))
}

/// As the clients' own libraries write JSON: names as in the specification, 64-bit integers as text.
fn json_of(message: &DynamicMessage) -> Result<Value, Status> {
    let unknown: Vec<String> =
        message.unknown_fields().map(|field| field.number().to_string()).collect();
    if !unknown.is_empty() {
        let what = format!(
            "the request: {} has no field of number {}",
            message.descriptor().name(),
            unknown.join(", ")
        );
        return Err(status(&Refused::request(vec![what])));
    }
    let options =
        SerializeOptions::new().use_proto_field_name(true).stringify_64_bit_integers(true);
    let value = message.serialize_with_options(serde_json::value::Serializer, &options);
    value.map_err(|error| status(&Refused::request(vec![format!("the request: {error}")])))
}

fn message_of(
    kind: &prost_reflect::MessageDescriptor,
    value: Value,
) -> Result<DynamicMessage, Status> {
    let message = DynamicMessage::deserialize(kind.clone(), value);
    message.map_err(|error| Status::internal(format!("netanvil failed: {error}")))
}

/// The text is the model's error as JSON.
fn status(refused: &Refused) -> Status {
    let code = match refused.code {
        400 => Code::InvalidArgument,
        404 => Code::NotFound,
        409 => Code::FailedPrecondition,
        413 => Code::ResourceExhausted,
        422 => Code::Aborted,
        501 => Code::Unimplemented,
        _ => Code::Internal,
    };
    Status::new(code, serde_json::to_string(&refused.body()).unwrap_or_default())
}

fn unreadable(error: &dyn std::fmt::Display) -> Status {
    status(&Refused::request(vec![format!(
        "the request is no message of the specification: {error}"
    )]))
}

/// Messages by their descriptors.
#[derive(Clone)]
struct Messages {
    input: prost_reflect::MessageDescriptor,
}

impl Codec for Messages {
    type Encode = DynamicMessage;
    type Decode = DynamicMessage;
    type Encoder = Writer;
    type Decoder = Reader;

    fn encoder(&mut self) -> Writer {
        Writer
    }

    fn decoder(&mut self) -> Reader {
        Reader(self.input.clone())
    }
}

struct Writer;

impl Encoder for Writer {
    type Item = DynamicMessage;
    type Error = Status;

    fn encode(&mut self, message: DynamicMessage, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        message.encode(into).map_err(|error| Status::internal(error.to_string()))
    }
}

struct Reader(prost_reflect::MessageDescriptor);

impl Decoder for Reader {
    type Item = DynamicMessage;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<DynamicMessage>, Status> {
        let bytes = from.copy_to_bytes(from.remaining());
        DynamicMessage::decode(self.0.clone(), bytes).map(Some).map_err(|error| unreadable(&error))
    }
}
