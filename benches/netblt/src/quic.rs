//! A QUIC transfer by quinn: from memory to memory, over one stream, acknowledged by a byte.

use crate::Failure;
use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig, VarInt};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

pub const PORT: u16 = 20_031;
const NAME: &str = "quic.test";
/// More than any path here holds: no window is to slow it down.
const WINDOW_BYTES: u32 = 16 << 20;
/// Likewise; but it must also arrive after the last second, at a rate that may be that of CUBIC with losses.
const SEND_WINDOW_BYTES: u64 = 3 << 20;

fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport
        .stream_receive_window(WINDOW_BYTES.into())
        .receive_window(VarInt::from_u32(2 * WINDOW_BYTES))
        .send_window(SEND_WINDOW_BYTES);
    Arc::new(transport)
}

/// One thread each: both ends share two processors with nobody else.
fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

/// Takes a connection and all of its stream. Leaves its certificate in a file.
pub fn serve(certificate: &Path) -> Result<(), Failure> {
    let signed = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    std::fs::write(certificate, signed.cert.der())?;
    let key = PrivatePkcs8KeyDer::from(signed.signing_key.serialize_der());
    block_on(async {
        let mut config = ServerConfig::with_single_cert(vec![signed.cert.into()], key.into())?;
        config.transport_config(transport());
        let endpoint = Endpoint::server(config, (Ipv4Addr::UNSPECIFIED, PORT).into())?;
        println!("serving");
        let connection = endpoint.accept().await.ok_or("nobody came")?.await?;
        let (mut back, mut stream) = connection.accept_bi().await?;
        while stream.read_chunk(usize::MAX, true).await?.is_some() {}
        back.write_all(b"k").await?;
        back.finish()?;
        connection.closed().await;
        Ok(())
    })
}

/// Sends until so many bytes, or so many seconds, are over; prints the bytes, and the seconds from the
/// first packet until all is acknowledged by the other program.
pub fn send(
    certificate: &Path,
    address: SocketAddr,
    bytes: u64,
    seconds: f64,
) -> Result<(), Failure> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(std::fs::read(certificate)?))?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(transport());
    block_on(async {
        let endpoint = Endpoint::client((Ipv4Addr::UNSPECIFIED, 0).into())?;
        let started = Instant::now();
        let connection = endpoint.connect_with(config, address, NAME)?.await?;
        let (mut stream, mut back) = connection.open_bi().await?;
        let chunk = vec![7; 1 << 16];
        let mut sent = 0;
        while sent < bytes && started.elapsed().as_secs_f64() < seconds {
            let piece = chunk.len().min((bytes - sent) as usize);
            stream.write_all(&chunk[..piece]).await?;
            sent += piece as u64;
        }
        stream.finish()?;
        back.read_to_end(1).await?;
        println!("{sent} {}", started.elapsed().as_secs_f64());
        connection.close(0u32.into(), b"");
        endpoint.wait_idle().await;
        Ok(())
    })
}
