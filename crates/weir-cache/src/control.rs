//! Directives of Cache-Control (RFC 9111 section 5.2).

use weir_wire::Fields;

/// The directives of all Cache-Control fields.
pub(crate) struct Directives<'a> {
    lines: Vec<&'a [u8]>,
}

impl<'a> Directives<'a> {
    pub fn of(fields: &'a Fields) -> Self {
        Self { lines: fields.get_all(b"cache-control").collect() }
    }

    /// Name and value, without quotes around the value.
    fn each(&self) -> impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)> + '_ {
        let parts = self.lines.iter().flat_map(|line| line.split(|byte| *byte == b','));
        parts.map(|part| {
            let part = part.trim_ascii();
            match part.iter().position(|byte| *byte == b'=') {
                Some(at) => {
                    let (name, value) = part.split_at(at);
                    let value = value.get(1..).unwrap_or_default().trim_ascii();
                    (name.trim_ascii(), Some(unquoted(value)))
                }
                None => (part, None),
            }
        })
    }

    /// Whether the directive is present, with or without a value.
    pub fn has(&self, name: &str) -> bool {
        self.each().any(|(own, _)| own.eq_ignore_ascii_case(name.as_bytes()))
    }

    /// The seconds of a directive; 0 where they are no number, which is the safe reading.
    pub fn seconds(&self, name: &str) -> Option<u64> {
        let mut found = self.each().filter(|(own, _)| own.eq_ignore_ascii_case(name.as_bytes()));
        let (_, value) = found.next()?;
        let text = std::str::from_utf8(value.unwrap_or_default()).unwrap_or_default();
        Some(text.parse().unwrap_or(0))
    }
}

fn unquoted(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use weir_wire::Fields;

    use super::Directives;

    #[test]
    fn directives() {
        let mut fields = Fields::default();
        fields.append(b"Cache-Control", b"Public , max-age=\"60\"");
        fields.append(b"cache-control", b"s-maxage=x,no-cache=set-cookie");
        let directives = Directives::of(&fields);
        assert!(
            directives.has("public") && directives.has("no-cache") && !directives.has("private")
        );
        assert_eq!(directives.seconds("max-age"), Some(60));
        assert_eq!(directives.seconds("s-maxage"), Some(0));
        assert_eq!(directives.seconds("stale-if-error"), None);
    }
}
