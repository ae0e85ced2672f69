//! TLS to PostgreSQL: the words of an address that say how, with the meaning that libpq gives them.

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use std::path::PathBuf;
use std::sync::Arc;
use tokio_postgres_rustls::MakeRustlsConnect;

/// How much of the server's certificate is checked (PostgreSQL 15 documentation, section 34.19.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    /// Nothing: who listens learns nothing, but anybody may be the server.
    Nothing,
    /// It was issued by an authority that is trusted.
    Authority,
    /// Also that it names the host of the address.
    Host,
}

/// What an address says of TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tls {
    check: Check,
    /// File of certificates of authorities; those of the system where there is none.
    authorities: Option<PathBuf>,
}

impl Tls {
    /// Takes `sslmode` and `sslrootcert` out of an address. What is left is for the client, which knows fewer modes.
    pub fn split(url: &str) -> Result<(Tls, String), String> {
        let Some((base, query)) = url.split_once('?') else {
            return Ok((Tls { check: Check::Nothing, authorities: None }, url.to_owned()));
        };
        let (mut mode, mut authorities, mut is_systems) = (None, None, false);
        let mut rest: Vec<String> = vec![];
        for option in query.split('&') {
            match option.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", "system")) => is_systems = true,
                Some(("sslrootcert", value)) => authorities = Some(PathBuf::from(plain(value)?)),
                Some((name @ ("sslcert" | "sslkey" | "sslcrl"), _)) => {
                    return Err(format!(
                        "{name} is not supported; a server that asks for a client's certificate cannot be used"
                    ));
                }
                _ => rest.push(option.to_owned()),
            }
        }
        let check = match mode {
            // As in libpq, an authority that is named is heeded, and those of the system prove nothing without the host.
            None if is_systems => Check::Host,
            Some(weak) if is_systems && weak != "verify-full" => {
                return Err(format!(
                    "sslrootcert=system with sslmode={weak}; write sslmode=verify-full"
                ));
            }
            Some("disable") if authorities.is_some() => {
                return Err("sslrootcert with sslmode=disable; leave one of them out".into());
            }
            None | Some("prefer" | "require") if authorities.is_some() => Check::Authority,
            None | Some("disable" | "prefer" | "require") => Check::Nothing,
            Some("verify-ca") => Check::Authority,
            Some("verify-full") => Check::Host,
            Some(other) => {
                return Err(format!(
                    "sslmode={other} is not supported; write disable, prefer, require, verify-ca or verify-full"
                ));
            }
        };
        match mode {
            Some("verify-ca" | "verify-full") => rest.push("sslmode=require".into()),
            Some(other) => rest.push(format!("sslmode={other}")),
            None if check == Check::Host => rest.push("sslmode=require".into()),
            None => {}
        }
        let left = match rest.is_empty() {
            true => base.to_owned(),
            false => format!("{base}?{}", rest.join("&")),
        };
        Ok((Tls { check, authorities }, left))
    }

    /// What connects in that way.
    pub fn connector(&self) -> Result<MakeRustlsConnect, String> {
        let provider = Arc::new(ring::default_provider());
        let judge = match self.check {
            Check::Nothing => None,
            Check::Authority | Check::Host => {
                let roots = Arc::new(self.roots()?);
                let built =
                    WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider));
                Some(built.build().map_err(|error| error.to_string())?)
            }
        };
        let verifier = Verifier { check: self.check, judge, provider: Arc::clone(&provider) };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(MakeRustlsConnect::new(config))
    }

    fn roots(&self) -> Result<RootCertStore, String> {
        let mut roots = RootCertStore::empty();
        match &self.authorities {
            Some(file) => {
                let place = file.display();
                let read =
                    CertificateDer::pem_file_iter(file).map_err(|e| format!("{place}: {e}"))?;
                for certificate in read {
                    let certificate = certificate.map_err(|error| format!("{place}: {error}"))?;
                    roots.add(certificate).map_err(|error| format!("{place}: {error}"))?;
                }
                if roots.is_empty() {
                    return Err(format!("{place}: no certificate in it (PEM is expected)"));
                }
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                if roots.is_empty() {
                    return Err("this host has no certificates of authorities; install \
                                ca-certificates or name a file: sslrootcert=FILE"
                        .into());
                }
            }
        }
        Ok(roots)
    }
}

/// A value of an address without its `%` escapes.
fn plain(value: &str) -> Result<String, String> {
    let mut bytes = vec![];
    let mut rest = value.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        bytes
            .push(byte.ok_or_else(|| format!("{value}: % is followed by two hexadecimal digits"))?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).map_err(|_| format!("{value}: not UTF-8"))
}

/// Judges a certificate as far as it was asked to.
#[derive(Debug)]
struct Verifier {
    check: Check,
    judge: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(judge) = &self.judge else { return Ok(ServerCertVerified::assertion()) };
        match judge.verify_server_cert(certificate, between, host, ocsp, now) {
            // The name is judged last.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.check == Check::Authority => Ok(ServerCertVerified::assertion()),
            judged => judged,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(url: &str) -> (Check, Option<String>, String) {
        let (tls, left) = Tls::split(url).unwrap();
        (tls.check, tls.authorities.map(|file| file.display().to_string()), left)
    }

    #[test]
    fn modes_are_those_of_libpq() {
        let base = "postgres://lab@db/x";
        let kept = |mode: &str| format!("{base}?sslmode={mode}");
        assert_eq!(split(base), (Check::Nothing, None, base.into()));
        for mode in ["disable", "prefer", "require"] {
            assert_eq!(split(&kept(mode)), (Check::Nothing, None, kept(mode)));
        }
        assert_eq!(split(&kept("verify-ca")), (Check::Authority, None, kept("require")));
        assert_eq!(
            split(
                "postgres://lab@db/x?sslrootcert=%2Fetc%2Fca.pem&sslmode=verify-full&connect_timeout=3"
            ),
            (
                Check::Host,
                Some("/etc/ca.pem".into()),
                format!("{base}?connect_timeout=3&sslmode=require")
            )
        );
        assert_eq!(
            split(&format!("{base}?sslmode=require&sslrootcert=ca.pem")),
            (Check::Authority, Some("ca.pem".into()), kept("require"))
        );
        assert_eq!(
            split(&format!("{base}?sslmode=prefer&sslrootcert=ca.pem")),
            (Check::Authority, Some("ca.pem".into()), kept("prefer"))
        );
        let system = split(&format!("{base}?sslrootcert=system"));
        assert_eq!(system, (Check::Host, None, kept("require")));
    }

    #[test]
    fn what_is_not_supported_is_named() {
        for (option, said) in [
            ("sslmode=allow", "write disable, prefer"),
            ("sslcert=me.pem", "sslcert is not supported"),
            ("sslrootcert=%2", "two hexadecimal digits"),
            ("sslrootcert=ca.pem&sslmode=disable", "leave one of them out"),
            ("sslrootcert=system&sslmode=require", "write sslmode=verify-full"),
        ] {
            let refused = Tls::split(&format!("postgres://db/x?{option}")).unwrap_err();
            assert!(refused.contains(said), "{refused}");
        }
    }
}
