//! Access to the API server: its address, the token, and the authority that signs its certificate.
//!
//! Kubernetes replaces the files of a service account while a pod runs, so they are read again for
//! each request.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::header::AUTHORIZATION;
use tokio_rustls::TlsConnector;
use weir_snapshot::Kubernetes as Settings;

use crate::http::{Ask, Failure, Looked, tls_of};

/// A longer file is none of a service account.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The API server.
pub(super) struct Api {
    settings: Settings,
    pub bytes_max: usize,
    /// The PEM text that was read last, and the connector built from it.
    tls: Mutex<Option<(Vec<u8>, TlsConnector)>>,
}

impl Api {
    pub fn new(settings: &Settings, bytes_max: usize) -> Self {
        Self { settings: settings.clone(), bytes_max, tls: Mutex::new(None) }
    }

    /// The URL of `path`, which begins with a slash.
    pub fn url(&self, path: &str) -> Looked<String> {
        if let Some(url) = &self.settings.url {
            return Ok(format!("{}{path}", url.trim_end_matches('/')));
        }
        let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
        let host = variable("KUBERNETES_SERVICE_HOST").ok_or_else(|| {
            Failure::Unreachable(
                "KUBERNETES_SERVICE_HOST is not set, so weir runs in no pod; set \
                 spring.cloud.kubernetes.client.master-url"
                    .to_owned(),
            )
        })?;
        let host = if host.contains(':') { format!("[{host}]") } else { host };
        let port = variable("KUBERNETES_SERVICE_PORT").unwrap_or_else(|| "443".to_owned());
        Ok(format!("https://{host}:{port}{path}"))
    }

    /// A request with the credentials of now.
    pub fn ask<'u>(&self, url: &'u str, timeout: Duration) -> Looked<Ask<'u>> {
        let mut ask = Ask::get(url, timeout, self.bytes_max);
        let token = match &self.settings.token {
            Some(token) => Some(token.expose().to_owned()),
            None => self.account("token")?,
        };
        let token = token.filter(|token| !token.trim().is_empty());
        ask.headers.extend(token.map(|token| (AUTHORIZATION, format!("Bearer {}", token.trim()))));
        if url.starts_with("https:") {
            ask.tls = self.tls()?;
        }
        Ok(ask)
    }

    /// The namespaces to read; the empty name is all of them.
    pub fn namespaces(&self) -> Looked<Vec<String>> {
        let settings = &self.settings;
        if settings.all_namespaces {
            return Ok(vec![String::new()]);
        }
        if !settings.namespaces.is_empty() {
            let mut names = settings.namespaces.clone();
            names.sort();
            names.dedup();
            return Ok(names);
        }
        let own = match &settings.namespace {
            Some(name) => Some(name.clone()),
            None => self.account("namespace")?,
        };
        let own = own.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        Ok(vec![own.unwrap_or_else(|| "default".to_owned())])
    }

    fn account(&self, name: &str) -> Looked<Option<String>> {
        let path = Path::new(&self.settings.account).join(name);
        let text = read(&path)?;
        Ok(text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// The trusted authorities; `None` without a file: those of the system.
    fn tls(&self) -> Looked<Option<TlsConnector>> {
        let path = match &self.settings.ca_file {
            Some(path) => PathBuf::from(path),
            None => Path::new(&self.settings.account).join("ca.crt"),
        };
        let Some(pem) = read(&path)? else {
            return match &self.settings.ca_file {
                Some(path) => Err(Failure::Unreachable(format!("there is no file {path}"))),
                None => Ok(None),
            };
        };
        let mut known = self.tls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, tls)) = known.as_ref().filter(|(before, _)| *before == pem) {
            return Ok(Some(tls.clone()));
        }
        let wrong = |why: String| Failure::Unreachable(format!("{}: {why}", path.display()));
        let tls = tls_of(&pem).map_err(wrong)?;
        *known = Some((pem, tls.clone()));
        Ok(Some(tls))
    }
}

/// The content of a file; `None` if there is none.
fn read(path: &Path) -> Looked<Option<Vec<u8>>> {
    let wrong = |error: std::io::Error| {
        Failure::Unreachable(format!("{} cannot be read: {error}", path.display()))
    };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(wrong(error)),
    };
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(wrong)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_account_are_read_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = Settings {
            account: folder.path().display().to_string(),
            url: Some("http://h:1/".to_owned()),
            ..Settings::default()
        };
        let api = Api::new(&settings, 1);
        assert_eq!(api.url("/api").expect("a URL"), "http://h:1/api");
        assert_eq!(api.namespaces().expect("namespaces"), ["default"]);
        let token = || {
            let ask = api.ask("http://h/", Duration::ZERO).expect("a request");
            ask.headers.into_iter().find(|(name, _)| name == AUTHORIZATION).map(|(_, text)| text)
        };
        assert_eq!(token(), None);
        for text in ["one\n", "two"] {
            std::fs::write(folder.path().join("token"), text).expect("a file");
            assert_eq!(token(), Some(format!("Bearer {}", text.trim())));
        }
        std::fs::write(folder.path().join("namespace"), "shop").expect("a file");
        assert_eq!(api.namespaces().expect("namespaces"), ["shop"]);
    }

    /// A self-signed certificate for 127.0.0.1, and its key, in PEM; `None` without the program
    /// that makes them.
    fn certificate() -> Option<(Vec<u8>, Vec<u8>)> {
        let folder = tempfile::tempdir().expect("a folder");
        let made = std::process::Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
            .args(["-nodes", "-keyout", "key", "-out", "certificate", "-days", "2"])
            .args(["-subj", "/CN=api", "-addext", "subjectAltName=IP:127.0.0.1"])
            .args(["-addext", "basicConstraints=critical,CA:FALSE"])
            .current_dir(folder.path())
            .output();
        let output = made.inspect_err(|error| eprintln!("left out: openssl: {error}")).ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let file = |name: &str| std::fs::read(folder.path().join(name)).expect("a file");
        Some((file("certificate"), file("key")))
    }

    /// A server with TLS that answers every request with 200.
    async fn secure_server(certificate: &[u8], key: &[u8]) -> u16 {
        use rustls::pki_types::pem::PemObject as _;
        use rustls::pki_types::{CertificateDer, PrivateKeyDer};
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let config = rustls::ServerConfig::builder_with_provider(provider.into())
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(
                vec![CertificateDer::from_pem_slice(certificate).expect("a certificate")],
                PrivateKeyDer::from_pem_slice(key).expect("a key"),
            );
        let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(config.expect("TLS")));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A client that rejects the certificate closes the connection.
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
            }
        });
        port
    }

    #[tokio::test]
    async fn the_server_is_believed_by_the_authority_of_the_moment() {
        let (Some((own, key)), Some((other, _))) = (certificate(), certificate()) else { return };
        let port = secure_server(&own, &key).await;
        let folder = tempfile::tempdir().expect("a folder");
        let account = folder.path().display().to_string();
        let api = Api::new(&Settings { account, ..Settings::default() }, 1_024);
        let url = format!("https://127.0.0.1:{port}/");
        for (pem, is_believed) in [(&other, false), (&own, true), (&other, false)] {
            std::fs::write(folder.path().join("ca.crt"), pem).expect("a file");
            let ask = api.ask(&url, Duration::from_secs(10)).expect("a request");
            let answer = ask.send().await;
            assert_eq!(answer.is_ok_and(|answer| answer.status == 200), is_believed);
        }
    }

    #[test]
    fn an_authority_that_is_none_is_told_with_its_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let account = folder.path().display().to_string();
        let api = Api::new(&Settings { account, ..Settings::default() }, 1);
        assert!(api.ask("https://h/", Duration::ZERO).expect("a request").tls.is_none());
        std::fs::write(folder.path().join("ca.crt"), "nothing").expect("a file");
        let failure = api.ask("https://h/", Duration::ZERO).err().expect("a failure").to_string();
        assert!(failure.contains("ca.crt: it holds no certificate"), "{failure}");
        let file = Some("/nowhere/ca".to_owned());
        let api = Api::new(&Settings { ca_file: file, ..Settings::default() }, 1);
        let failure = api.ask("https://h/", Duration::ZERO).err().expect("a failure").to_string();
        assert!(failure.contains("there is no file /nowhere/ca"), "{failure}");
    }
}
