//! The tester's end of a connection to an agent: a thread that passes messages on until the connection ends.

use crate::codec::{Json, UNREADABLE};
use crate::message::{self, MESSAGE_MAX, Reply, Request};
use crate::serve::{ALIVE_WITHIN, ASK_ALIVE_EVERY, METHOD};
use crate::{Certificates, DEFAULT_PORT};
use ports::clock;
use std::error::Error;
use std::net::Ipv6Addr;
use std::sync::mpsc::Sender;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{Status, Streaming};

/// How long a host may take to answer at all.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// `lab-b` as `lab-b:8719`.
pub(crate) fn address_of(host: &str) -> String {
    if host.parse::<Ipv6Addr>().is_ok() {
        return format!("[{host}]:{DEFAULT_PORT}");
    }
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    match has_port && !host.ends_with(']') {
        true => host.into(),
        false => format!("{host}:{DEFAULT_PORT}"),
    }
}

/// Connects, says on `begun` what came of it, and passes messages on. Gives the reason why it ended.
pub(crate) fn conduct(
    address: &str,
    certificates: &Certificates,
    to_agent: UnboundedReceiver<Request>,
    begun: &Sender<Result<(), String>>,
    take: impl FnMut(Reply, u64),
) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = begun.send(Err(error.to_string()));
            return error.to_string();
        }
    };
    runtime.block_on(async {
        match connect(address, certificates, to_agent).await {
            Ok(replies) => {
                let _ = begun.send(Ok(()));
                pump(replies, take).await
            }
            Err(why) => {
                let _ = begun.send(Err(why.clone()));
                why
            }
        }
    })
}

async fn connect(
    address: &str,
    certificates: &Certificates,
    to_agent: UnboundedReceiver<Request>,
) -> Result<Streaming<Reply>, String> {
    let explained = |error: &(dyn Error + 'static)| explain(address, &chain(error));
    let endpoint = Endpoint::from_shared(format!("https://{address}"))
        .and_then(|endpoint| endpoint.tls_config(certificates.client()))
        .map_err(|error| explained(&error))?
        .connect_timeout(CONNECT_WITHIN)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(ASK_ALIVE_EVERY)
        .keep_alive_timeout(ALIVE_WITHIN)
        .keep_alive_while_idle(true);
    let channel: Channel = endpoint.connect().await.map_err(|error| explained(&error))?;
    let mut grpc = tonic::client::Grpc::new(channel)
        .max_decoding_message_size(MESSAGE_MAX)
        .max_encoding_message_size(MESSAGE_MAX);
    grpc.ready().await.map_err(|error| explained(&error))?;
    let requests = tonic::Request::new(UnboundedReceiverStream::new(to_agent));
    let codec = Json::<Request, Reply>::reading(message::read_reply);
    let replies = grpc.streaming(requests, PathAndQuery::from_static(METHOD), codec).await;
    Ok(replies.map_err(|status| explained(&status))?.into_inner())
}

async fn pump(mut replies: Streaming<Reply>, mut take: impl FnMut(Reply, u64)) -> String {
    loop {
        match replies.message().await {
            Ok(Some(reply)) => take(reply, clock::now().as_ns()),
            Ok(None) => return "the agent has ended the session".into(),
            Err(status) => return why_cut(&status),
        }
    }
}

fn why_cut(status: &Status) -> String {
    let said = chain(status);
    let remedy = match said.contains(UNREADABLE) {
        true => "; install the same version of netanvil on both hosts",
        false => "",
    };
    format!("the connection to its agent was cut: {said}{remedy}")
}

/// What an error says, and what is behind it.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut said = vec![error.to_string()];
    let mut source = error.source();
    while let Some(error) = source {
        let text = error.to_string();
        if !said.iter().any(|before| before.contains(&text)) {
            said.push(text);
        }
        source = error.source();
    }
    said.join(": ")
}

/// A failure to connect, with what to do about it.
fn explain(address: &str, said: &str) -> String {
    const MAKE: &str = "make new ones: netanvil agent certificates DIR, and copy DIR to both hosts";
    let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    if says(&["refused"]) {
        return format!(
            "no agent listens on {address}; start one on {host}: netanvil agent --listen ..."
        );
    }
    if says(&["lookup", "dns", "Name or service"]) {
        return format!(
            "there is no host {host}; name a host whose agent lends the port, or a kind of port: {}",
            ports::PortType::names().join(", ")
        );
    }
    if says(&["expired", "Expired"]) {
        return format!("a certificate has expired, the agent's or this end's ({said}); {MAKE}");
    }
    if says(&["NotValidYet", "not valid yet"]) {
        return format!("a certificate is not valid yet ({said}); set the clocks of both hosts");
    }
    let other = [
        "UnknownIssuer",
        "UnknownCA",
        "UnknownCa",
        "BadSignature",
        "DecryptError",
        "BadCertificate",
    ];
    if says(&other) || says(&["InvalidPurpose", "CertificateRequired", "invalid peer certificate"])
    {
        return format!(
            "the certificates of the two ends are not of one authority ({said}); use those of one folder on both, or {MAKE}"
        );
    }
    if says(&["timed out", "deadline", "unreachable", "elapsed"]) {
        return format!(
            "{address} cannot be reached ({said}); check the address, the network and its firewall"
        );
    }
    format!("{address}: {said}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_port_has_the_agents() {
        for (host, address) in [
            ("lab-b", "lab-b:8719"),
            ("lab-b:9000", "lab-b:9000"),
            ("10.0.0.1", "10.0.0.1:8719"),
            ("fd00::1", "[fd00::1]:8719"),
            ("[fd00::1]", "[fd00::1]:8719"),
            ("[fd00::1]:9000", "[fd00::1]:9000"),
        ] {
            assert_eq!(address_of(host), address);
        }
    }

    #[test]
    fn each_failure_has_its_remedy() {
        let of = |said: &str| explain("lab-b:8719", said);
        assert!(
            of("transport error: Connection refused (os error 111)")
                .contains("netanvil agent --listen")
        );
        assert!(of("invalid peer certificate: Expired").contains("certificates DIR"));
        assert!(of("invalid peer certificate: UnknownIssuer").contains("one authority"));
        assert!(of("something").contains("lab-b:8719: something"));
    }
}
