//! Texts as Spring encrypts them: `{cipher}` values of configurations (Spring class
//! `Encryptors.text`): AES in CBC mode under a key that PBKDF2 makes of a pass phrase and a salt.

use std::num::NonZeroU32;

use aws_lc_rs::cipher::{AES_256, DecryptionContext, PaddedBlockDecryptingKey, UnboundCipherKey};
use aws_lc_rs::pbkdf2::{self, PBKDF2_HMAC_SHA1};

/// Iterations of PBKDF2, as Spring has them.
const ITERATIONS: NonZeroU32 = NonZeroU32::MIN.saturating_add(1023);
/// Length in bytes of a block, and of the initialization vector in front of a text.
const BLOCK_BYTES: usize = 16;

/// Decrypts texts under one pass phrase and salt.
pub struct TextCipher {
    key: [u8; 32],
}

impl std::fmt::Debug for TextCipher {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("TextCipher(AES-256)")
    }
}

impl TextCipher {
    /// Derives the key of `pass_phrase` and `salt`, which is in hexadecimal digits; `None` if it
    /// is not.
    pub fn new(pass_phrase: &str, salt: &str) -> Option<Self> {
        let salt = bytes_of_hex(salt)?;
        let mut key = [0; 32];
        pbkdf2::derive(PBKDF2_HMAC_SHA1, ITERATIONS, &salt, pass_phrase.as_bytes(), &mut key);
        Some(Self { key })
    }

    /// The plain text of `hex`; `None` if that was not encrypted under this key. A wrong key goes
    /// unnoticed for one text in about 256: the mode does not authenticate.
    pub fn decrypt(&self, hex: &str) -> Option<String> {
        let bytes = bytes_of_hex(hex.trim())?;
        let (vector, rest) = bytes.split_first_chunk::<BLOCK_BYTES>()?;
        let key = UnboundCipherKey::new(&AES_256, &self.key).ok()?;
        let key = PaddedBlockDecryptingKey::cbc_pkcs7(key).ok()?;
        let mut text = rest.to_vec();
        let plain = key.decrypt(&mut text, DecryptionContext::Iv128((*vector).into())).ok()?;
        String::from_utf8(plain.to_vec()).ok()
    }
}

fn bytes_of_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| char::from(c).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?));
    if rest.is_empty() { bytes.collect() } else { None }
}

#[cfg(test)]
mod tests {
    use super::TextCipher;

    /// Texts that `org.springframework.security.crypto.encrypt.Encryptors` 6.4.5 has encrypted.
    #[test]
    fn what_spring_encrypted_is_read() {
        for (key, salt, plain, encrypted) in [
            (
                "key",
                "deadbeef",
                "s3cret",
                "9dd7885e7e380746f63027e0a7efb89a4813e7a68bca4ad4613f6a3a135c10e7",
            ),
            (
                "pass phrase ü",
                "0123456789abcdef",
                "päss: wörd",
                "ee76483bca5d7cf6640c7949451f8057bf3fd80aa926ba1b4a2ff660ea72101f",
            ),
            (
                "key",
                "deadbeef",
                "",
                "3f10780898376cc57f21b304b13d62875b63890dd30176c1b68bfa7d80009dc4",
            ),
        ] {
            let cipher = TextCipher::new(key, salt).expect("a salt");
            assert_eq!(cipher.decrypt(encrypted).as_deref(), Some(plain));
            let other = TextCipher::new("another", salt).expect("a salt");
            assert_ne!(other.decrypt(encrypted).as_deref(), Some(plain));
            for bad in
                ["", "12", "xyz", &encrypted[2..], &encrypted[..32], &format!("{encrypted}é")]
            {
                assert_eq!(cipher.decrypt(bad), None, "{bad}");
            }
        }
        assert!(TextCipher::new("key", "no hex").is_none());
        assert!(TextCipher::new("key", "abc").is_none());
    }
}
