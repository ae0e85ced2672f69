//! Messages as JSON in the frames of gRPC.

use bytes::{Buf, BufMut};
use serde::Serialize;
use std::marker::PhantomData;
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};

/// What is said of a message that cannot be read, which is why it may be another version's.
pub(crate) const UNREADABLE: &str = "a message that this version does not read";

/// Reads one kind of message.
pub(crate) type Read<T> = fn(&[u8]) -> Result<T, String>;

/// Writes messages of one kind and reads those of another.
pub(crate) struct Json<Written, Got> {
    read: Read<Got>,
    written: PhantomData<fn(Written)>,
}

impl<Written, Got> Json<Written, Got> {
    pub fn reading(read: Read<Got>) -> Self {
        Json { read, written: PhantomData }
    }
}

impl<Written: Serialize + Send + 'static, Got: Send + 'static> Codec for Json<Written, Got> {
    type Encode = Written;
    type Decode = Got;
    type Encoder = Writer<Written>;
    type Decoder = Reader<Got>;

    fn encoder(&mut self) -> Writer<Written> {
        Writer(PhantomData)
    }
    fn decoder(&mut self) -> Reader<Got> {
        Reader(self.read)
    }
}

pub(crate) struct Writer<T>(PhantomData<fn(T)>);

impl<T: Serialize + Send + 'static> Encoder for Writer<T> {
    type Item = T;
    type Error = Status;

    fn encode(&mut self, message: T, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        let bytes = serde_json::to_vec(&message);
        into.put_slice(&bytes.map_err(|error| Status::internal(error.to_string()))?);
        Ok(())
    }
}

pub(crate) struct Reader<T>(Read<T>);

impl<T> Decoder for Reader<T> {
    type Item = T;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<T>, Status> {
        let bytes = from.copy_to_bytes(from.remaining());
        (self.0)(&bytes)
            .map(Some)
            .map_err(|what| Status::invalid_argument(format!("{UNREADABLE}: {what}")))
    }
}
