//! TLS to other servers: which certificates are believed.

use std::sync::{Arc, LazyLock};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

/// TLS that believes the authorities in the PEM text `pem`.
pub(crate) fn tls_of(pem: &[u8]) -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() {
        return Err("it holds no certificate".to_owned());
    }
    connector(roots)
}

fn connector(roots: RootCertStore) -> Result<TlsConnector, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let config = config.with_root_certificates(roots).with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// The same as [`tls`] for servers that are to speak HTTP/2 (RFC 7301, `h2`).
pub(super) fn tls_of_http2() -> Result<&'static TlsConnector, String> {
    static CONNECTOR: LazyLock<Result<TlsConnector, String>> = LazyLock::new(|| {
        let mut config = ClientConfig::clone(tls()?.config());
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(TlsConnector::from(Arc::new(config)))
    });
    CONNECTOR.as_ref().map_err(Clone::clone)
}

/// TLS by the certificates that the system trusts (or `SSL_CERT_FILE` names), read once.
pub(crate) fn tls() -> Result<&'static TlsConnector, String> {
    static CONNECTOR: LazyLock<Result<TlsConnector, String>> = LazyLock::new(|| {
        let found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            let why = found.errors.first().map(ToString::to_string).unwrap_or_default();
            return Err(format!(
                "the system trusts no certificate authority; install ca-certificates, or name a \
                 file with SSL_CERT_FILE ({why})"
            ));
        }
        connector(roots)
    });
    CONNECTOR.as_ref().map_err(Clone::clone)
}
