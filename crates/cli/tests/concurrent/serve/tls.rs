//! Beyond loopback: TLS, and a token with every request.

use super::client::{Reply, reply, text};
use super::server::Server;
use crate::common::{Scratch, sh};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;

const TOKEN: &str = "0123456789abcdefghij";

fn ask(
    certificate: &CertificateDer<'static>,
    port: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Reply {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions");
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let connection = ClientConnection::new(Arc::new(config), name).expect("a client");
    let mut stream = StreamOwned::new(
        connection,
        TcpStream::connect(format!("127.0.0.1:{port}")).expect("a connection"),
    );
    let method = if body.is_empty() { "GET" } else { "POST" };
    let head = text(&format!("localhost:{port}"), method, path, headers, body.len());
    stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(body.as_bytes()))
        .expect("sent");
    reply(stream)
}

#[test]
fn beyond_loopback_nothing_is_told_without_the_token() {
    let scratch = Scratch::new();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    scratch.file("cert.pem", &made.cert.pem());
    scratch.file("key.pem", &made.signing_key.serialize_pem());
    let token = scratch.file("token", &format!("{TOKEN}\n"));
    sh(&format!("chmod 600 {}", token.display()));
    let server = Server::listening(
        &scratch,
        "--listen 0.0.0.0:0 --tls-cert cert.pem --tls-key key.pem --token-file token",
    );
    assert!(server.url.starts_with("https://0.0.0.0:"), "{}", server.url);
    let port = server.address.rsplit(':').next().unwrap();
    let certificate = made.cert.der();
    let get = |path: &str, headers: &[(&str, &str)]| ask(certificate, port, path, headers, "");
    for path in [
        "/api/state",
        "/metrics",
        "/compare?before=a&after=b",
        "/runs/a/report.html",
        "/api/runs/a/events",
    ] {
        let none = get(path, &[]);
        assert_eq!(none.status, 401, "{path}");
        assert!(
            none.text().contains("no token") && none.text().contains("--token-file"),
            "{}",
            none.text()
        );
        assert_eq!(none.header("www-authenticate"), Some("Bearer"));
        let wrong = get(path, &[("Authorization", "Bearer 0123456789abcdefghi")]);
        assert!(
            wrong.status == 401 && wrong.text().contains("wrong token"),
            "{path}: {}",
            wrong.text()
        );
    }
    let json = ("Content-Type", "application/json");
    let start = "{\"command\": \"run --sim router\"}";
    assert_eq!(ask(certificate, port, "/api/runs", &[json], start).status, 401);
    let bearer = format!("Bearer {TOKEN}");
    assert_eq!(
        get("/api/state", &[("Authorization", &bearer)]).json()["runs"],
        serde_json::json!([])
    );
    // The page logs in, and is known by a cookie from then on.
    assert_eq!(get("/", &[]).status, 200);
    assert_eq!(ask(certificate, port, "/api/login", &[json], "{\"token\": \"wrong\"}").status, 401);
    let known =
        ask(certificate, port, "/api/login", &[json], &format!("{{\"token\": \"{TOKEN}\"}}"));
    let cookie = known.header("set-cookie").expect("a cookie").to_owned();
    assert!(
        cookie.contains("HttpOnly")
            && cookie.contains("SameSite=Strict")
            && cookie.contains("Secure"),
        "{cookie}"
    );
    let pair = cookie.split(';').next().unwrap();
    assert_eq!(get("/api/state", &[("Cookie", pair)]).status, 200);
    assert_eq!(get("/api/state", &[("Cookie", "netanvil=guess")]).status, 401);
    // Another site would send the cookie along; it is refused for what it is.
    let origin = [("Cookie", pair), ("Origin", "https://evil.example")];
    assert_eq!(get("/api/state", &origin).status, 403);
    // Plain HTTP gets no answer.
    let mut plain = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    plain.write_all(b"GET /api/state HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut got = vec![];
    let _ = std::io::Read::read_to_end(&mut plain, &mut got);
    assert!(
        !String::from_utf8_lossy(&got).contains("HTTP/1.1"),
        "{}",
        String::from_utf8_lossy(&got)
    );
}

#[test]
fn files_that_are_no_certificate_are_named() {
    let scratch = Scratch::new();
    scratch.file("cert.pem", "no certificate\n");
    scratch.file("key.pem", "no key\n");
    let refused = scratch.run("serve --tls-cert cert.pem --tls-key key.pem").expect(2);
    assert!(
        refused.stderr.contains("cert.pem") && refused.stderr.contains("help: "),
        "{}",
        refused.stderr
    );
    let refused = scratch.run("serve --tls-cert none.pem --tls-key key.pem").expect(2);
    assert!(refused.stderr.contains("none.pem"), "{}", refused.stderr);
}
