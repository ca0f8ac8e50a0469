//! Signature algorithms of JSON Web Signatures (RFC 7518 section 3.1, RFC 8037 section 3.1).

/// An algorithm that a token may be signed with. `none` is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// HMAC with SHA-256.
    Hs256,
    /// HMAC with SHA-384.
    Hs384,
    /// HMAC with SHA-512.
    Hs512,
    /// RSA PKCS #1 v1.5 with SHA-256.
    Rs256,
    /// RSA PKCS #1 v1.5 with SHA-384.
    Rs384,
    /// RSA PKCS #1 v1.5 with SHA-512.
    Rs512,
    /// RSA PSS with SHA-256.
    Ps256,
    /// RSA PSS with SHA-384.
    Ps384,
    /// RSA PSS with SHA-512.
    Ps512,
    /// ECDSA over P-256 with SHA-256.
    Es256,
    /// ECDSA over P-384 with SHA-384.
    Es384,
    /// ECDSA over P-521 with SHA-512.
    Es512,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Hs256,
        Self::Hs384,
        Self::Hs512,
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
        Self::Es256,
        Self::Es384,
        Self::Es512,
        Self::EdDsa,
    ];

    /// The algorithm that `alg` names, in the spelling of the RFC. `Ed25519` (RFC 9864) is the
    /// new name of `EdDSA` with such a key.
    pub fn from_name(name: &str) -> Option<Self> {
        if name == "Ed25519" {
            return Some(Self::EdDsa);
        }
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// Its name in `alg`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hs256 => "HS256",
            Self::Hs384 => "HS384",
            Self::Hs512 => "HS512",
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Es512 => "ES512",
            Self::EdDsa => "EdDSA",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Algorithm;

    #[test]
    fn names_are_read_back() {
        for algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::from_name(algorithm.name()), Some(algorithm));
        }
        for name in ["none", "None", "rs256", "ES256K", ""] {
            assert_eq!(Algorithm::from_name(name), None, "{name}");
        }
        assert_eq!(Algorithm::from_name("Ed25519"), Some(Algorithm::EdDsa));
    }
}
