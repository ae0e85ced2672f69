//! Who may use the ports of whom: one authority signs a certificate for agents and one for testers, and each end
//! accepts nobody else.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tonic::transport::{Certificate, ClientTlsConfig, Identity, ServerTlsConfig};

/// The name in the certificate of agents: they are known by it whatever their hosts are called.
const AGENT_NAME: &str = "netanvil-agent";
const CONTROLLER_NAME: &str = "netanvil-controller";
const CA: &str = "ca.pem";
/// Clocks of hosts may differ by so much.
const BACKDATED: Duration = Duration::from_secs(24 * 3_600);

/// Why certificates could not be read or made.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// A file.
    #[error("{path}: {error}; `netanvil agent certificates DIR` makes certificates")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Making one failed.
    #[error("make a certificate: {0}")]
    Made(#[from] rcgen::Error),
}

/// One end's certificate, its key, and the authority that signs the other end's.
#[derive(Clone)]
pub struct Certificates {
    ca: String,
    certificate: String,
    key: String,
}

impl Certificates {
    /// An agent's, out of a folder.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn of_agent(folder: &Path) -> Result<Self, IdentityError> {
        Self::read(folder, "agent")
    }

    /// A tester's, out of a folder.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn of_controller(folder: &Path) -> Result<Self, IdentityError> {
        Self::read(folder, "controller")
    }

    fn read(folder: &Path, name: &str) -> Result<Self, IdentityError> {
        let read = |name: String| {
            let path = folder.join(name);
            fs::read_to_string(&path).map_err(|error| IdentityError::File { path, error })
        };
        Ok(Certificates {
            ca: read(CA.into())?,
            certificate: read(format!("{name}.pem"))?,
            key: read(format!("{name}.key"))?,
        })
    }

    pub(crate) fn server(&self) -> ServerTlsConfig {
        let identity = Identity::from_pem(&self.certificate, &self.key);
        ServerTlsConfig::new().identity(identity).client_ca_root(Certificate::from_pem(&self.ca))
    }

    pub(crate) fn client(&self) -> ClientTlsConfig {
        let identity = Identity::from_pem(&self.certificate, &self.key);
        let trusted = Certificate::from_pem(&self.ca);
        ClientTlsConfig::new().identity(identity).ca_certificate(trusted).domain_name(AGENT_NAME)
    }
}

/// How long certificates are good.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Validity {
    /// From then on.
    pub from: SystemTime,
    /// Until then.
    pub until: SystemTime,
}

impl Validity {
    /// From now on for so many days.
    pub fn of_days(days: u32) -> Self {
        let now = SystemTime::now();
        let span = Duration::from_secs(u64::from(days) * 24 * 3_600);
        Validity { from: now - BACKDATED, until: now + span }
    }
}

/// Makes an authority, and signs a certificate for agents and one for testers: `ca.pem`, `agent.pem`, `agent.key`,
/// `controller.pem`, `controller.key`. The authority's own key is not kept, so that nobody can sign a third one.
///
/// # Errors
/// If a file is there already, or cannot be written.
pub fn make_certificates(folder: &Path, validity: Validity) -> Result<Vec<PathBuf>, IdentityError> {
    let ca_key = KeyPair::generate()?;
    let mut ca = parameters("netanvil authority", validity)?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let ca_certificate = ca.self_signed(&ca_key)?.pem();
    let issuer = Issuer::new(ca, ca_key);
    fs::create_dir_all(folder)
        .map_err(|error| IdentityError::File { path: folder.into(), error })?;
    let mut written = vec![write(folder.join(CA), &ca_certificate)?];
    let ends = [
        ("agent", AGENT_NAME, ExtendedKeyUsagePurpose::ServerAuth),
        ("controller", CONTROLLER_NAME, ExtendedKeyUsagePurpose::ClientAuth),
    ];
    for (file, name, usage) in ends {
        let key = KeyPair::generate()?;
        let mut end = parameters(name, validity)?;
        end.extended_key_usages = vec![usage];
        end.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let certificate = end.signed_by(&key, &issuer)?;
        written.push(write(folder.join(format!("{file}.pem")), &certificate.pem())?);
        written.push(write(folder.join(format!("{file}.key")), &key.serialize_pem())?);
    }
    Ok(written)
}

fn parameters(name: &str, validity: Validity) -> Result<CertificateParams, rcgen::Error> {
    let mut parameters = CertificateParams::new(vec![name.to_owned()])?;
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters.not_before = validity.from.into();
    parameters.not_after = validity.until.into();
    Ok(parameters)
}

/// Never over another one: somebody may use it.
fn write(path: PathBuf, text: &str) -> Result<PathBuf, IdentityError> {
    let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    match file.and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => Ok(path),
        Err(error) => Err(IdentityError::File { path, error }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_made_once_and_read_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let written = make_certificates(folder.path(), Validity::of_days(1)).expect("certificates");
        assert_eq!(written.len(), 5);
        assert!(Certificates::of_agent(folder.path()).is_ok());
        assert!(Certificates::of_controller(folder.path()).is_ok());
        let again = make_certificates(folder.path(), Validity::of_days(1));
        assert!(again.expect_err("they are there").to_string().contains("ca.pem"));
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &fs::metadata(folder.path().join("agent.key")).expect("a file").permissions(),
        );
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_missing_certificate_says_how_it_is_made() {
        let error = Certificates::of_agent("/nonexistent".as_ref()).err().expect("none");
        assert!(error.to_string().contains("netanvil agent certificates"), "{error}");
    }
}
