use std::error::Error as StdError;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    AlertDescription, CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme,
};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsFault {
    #[error("expired")]
    Expired,
    #[error("not valid yet")]
    NotYetValid,
    #[error("for another host")]
    WrongHost,
    #[error("self-signed")]
    SelfSigned,
    #[error("of an unknown authority")]
    UnknownAuthority,
    /// The issuer of the last certificate was not sent and is not a trusted root.
    #[error("without its issuer's certificate")]
    IncompleteChain,
    #[error("revoked")]
    Revoked,
    #[error("unusable")]
    Unusable,
    #[error("no common version or cipher")]
    NothingInCommon,
    #[error("refused by the server")]
    Refused,
    #[error("no TLS")]
    NotTls,
    #[error("other")]
    Other,
}

impl TlsFault {
    /// The TLS fault behind the error of a request; `None` for other errors. An I/O error wraps the TLS
    /// error without returning it from `source`.
    pub fn behind(error: &(dyn StdError + 'static)) -> Option<Self> {
        if let Some(error) = error.downcast_ref::<Error>() {
            return Some(Self::of(error));
        }
        let inside = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        inside
            .and_then(|inside| Self::behind(inside))
            .or_else(|| error.source().and_then(Self::behind))
    }

    fn of(error: &Error) -> Self {
        match error {
            Error::InvalidCertificate(error) => Self::of_certificate(error),
            Error::PeerIncompatible(_)
            | Error::AlertReceived(
                AlertDescription::ProtocolVersion | AlertDescription::InsufficientSecurity,
            ) => Self::NothingInCommon,
            Error::AlertReceived(_) => Self::Refused,
            Error::InvalidMessage(_) => Self::NotTls,
            _ => Self::Other,
        }
    }

    fn of_certificate(error: &CertificateError) -> Self {
        use CertificateError::*;
        match error {
            Expired | ExpiredContext { .. } => Self::Expired,
            NotValidYet | NotValidYetContext { .. } => Self::NotYetValid,
            NotValidForName | NotValidForNameContext { .. } => Self::WrongHost,
            Revoked => Self::Revoked,
            UnknownIssuer => Self::UnknownAuthority,
            Other(OtherError(found)) => {
                found.downcast_ref::<Self>().copied().unwrap_or(Self::Unusable)
            }
            _ => Self::Unusable,
        }
    }
}

/// Verifies like rustls. For a chain without a trusted root, it also determines the reason.
#[derive(Debug)]
pub struct ExplainingVerifier {
    pub inner: Arc<WebPkiServerVerifier>,
    pub algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for ExplainingVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.inner.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        verified.map_err(|error| match error {
            Error::InvalidCertificate(
                CertificateError::UnknownIssuer | CertificateError::Other(_),
            ) => {
                let fault = match is_self_signed(end_entity, &self.algorithms, now) {
                    true => TlsFault::SelfSigned,
                    false => end_of_chain(end_entity, intermediates).unwrap_or(TlsFault::Unusable),
                };
                Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(fault))))
            }
            error => error,
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Equal subject and issuer are not enough, because some authorities use one name for all certificates.
fn is_self_signed(
    der: &CertificateDer<'_>,
    algorithms: &WebPkiSupportedAlgorithms,
    now: UnixTime,
) -> bool {
    let (Ok(certificate), Ok(anchor)) =
        (EndEntityCert::try_from(der), anchor_from_trusted_cert(der))
    else {
        return false;
    };
    let (anchors, usage) = ([anchor], KeyUsage::server_auth());
    let verified =
        certificate.verify_for_usage(algorithms.all, &anchors, &[], now, usage, None, None);
    let is_named_so = certificate.issuer() == certificate.subject();
    let is_signed_so = match verified {
        Ok(_) => true,
        Err(error) => matches!(
            error,
            webpki::Error::CaUsedAsEndEntity
                | webpki::Error::CertExpired { .. }
                | webpki::Error::CertNotValidYet { .. }
                | webpki::Error::RequiredEkuNotFoundContext(_)
        ),
    };
    is_named_so && is_signed_so
}

/// The fault at the end of the chain that a server sent; `None` if its certificate cannot be parsed.
fn end_of_chain(leaf: &CertificateDer<'_>, sent: &[CertificateDer<'_>]) -> Option<TlsFault> {
    let leaf = EndEntityCert::try_from(leaf).ok()?;
    let sent = sent.iter().filter_map(|der| EndEntityCert::try_from(der).ok()).collect::<Vec<_>>();
    let mut last = &leaf;
    // At most as many certificates as were sent, so that the loop ends if they name each other in a circle.
    for _ in 0..=sent.len() {
        match sent.iter().find(|issuer| issuer.subject() == last.issuer()) {
            None => return Some(TlsFault::IncompleteChain),
            Some(root) if root.issuer() == root.subject() => break,
            Some(issuer) => last = issuer,
        }
    }
    Some(TlsFault::UnknownAuthority)
}
