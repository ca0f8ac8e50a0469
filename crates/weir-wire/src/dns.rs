//! Questions for SRV records and their answers (RFC 1035 section 4, RFC 2782): as much of DNS as
//! service discovery needs. Called by `weir-control`, which has the sockets.

/// Longest name as text (RFC 1035 section 2.3.4).
const NAME_MAX: usize = 253;
/// Longest label.
const LABEL_MAX: usize = 63;
/// Records of one answer that are taken at most.
const RECORDS_MAX: usize = 4_096;
/// Type of a SRV record, and of the start of a zone of authority.
const SRV: u16 = 33;
const SOA: u16 = 6;
/// The Internet.
const CLASS_IN: u16 = 1;

/// A name that cannot be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DnsNameError;

/// Why bytes are no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DnsError {
    /// The message is truncated, or a name in it is malformed.
    Malformed,
    /// The message answers another query.
    NotAnswer,
}

/// A server's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsAnswer {
    /// Whether it is incomplete, so that the query must be repeated over TCP.
    pub is_truncated: bool,
    /// 0 is good, 3 is NXDOMAIN, 2 is SERVFAIL (RFC 1035 section 4.1.1).
    pub code: u8,
    /// The SRV records.
    pub records: Vec<SrvRecord>,
    /// How long an answer without records may be cached, in seconds (RFC 2308 section 5).
    pub negative_ttl_s: Option<u32>,
}

/// An SRV record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SrvRecord {
    /// The lowest comes first.
    pub priority: u16,
    /// Share within a priority.
    pub weight: u16,
    /// Port.
    pub port: u16,
    /// Host, in lower case, without the last dot; empty if there is no service.
    pub target: String,
    /// Time to live, in seconds.
    pub ttl_s: u32,
}

/// Appends the query for the SRV records of `name` to `out`.
///
/// # Errors
/// `name` is not a valid name.
pub fn srv_question(id: u16, name: &str, out: &mut Vec<u8>) -> Result<(), DnsNameError> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_label = |label: &str| !label.is_empty() && label.len() <= LABEL_MAX && label.is_ascii();
    if name.len() > NAME_MAX || !name.split('.').all(is_label) {
        return Err(DnsNameError);
    }
    out.extend_from_slice(&id.to_be_bytes());
    // Recursion is wanted; one question.
    out.extend_from_slice(&[1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    for label in name.split('.') {
        out.push(u8::try_from(label.len()).map_err(|_| DnsNameError)?);
        out.extend_from_slice(label.as_bytes());
    }
    out.push(0);
    out.extend_from_slice(&SRV.to_be_bytes());
    out.extend_from_slice(&CLASS_IN.to_be_bytes());
    Ok(())
}

/// Reads the answer to the question for the SRV records of `name` with this id.
///
/// # Errors
/// The bytes are no answer to it.
pub fn srv_answer(id: u16, name: &str, bytes: &[u8]) -> Result<DnsAnswer, DnsError> {
    let mut reader = Reader { bytes, at: 0 };
    let (own_id, flags) = (reader.short()?, reader.short()?);
    let (questions, answers) = (reader.short()?, reader.short()?);
    let (authorities, _) = (reader.short()?, reader.short()?);
    if own_id != id || flags & 0x8000 == 0 || questions != 1 {
        return Err(DnsError::NotAnswer);
    }
    let asked = reader.name()?;
    let is_same = asked.eq_ignore_ascii_case(name.strip_suffix('.').unwrap_or(name));
    if !is_same || reader.short()? != SRV || reader.short()? != CLASS_IN {
        return Err(DnsError::NotAnswer);
    }
    let mut answer = DnsAnswer {
        is_truncated: flags & 0x0200 != 0,
        code: (flags & 0xf) as u8,
        records: Vec::new(),
        negative_ttl_s: None,
    };
    if answer.is_truncated {
        return Ok(answer);
    }
    for n in 0..usize::from(answers) + usize::from(authorities) {
        let _owner = reader.name()?;
        let (kind, class, ttl_s) = (reader.short()?, reader.short()?, reader.long()?);
        let length = usize::from(reader.short()?);
        let end = reader.at + length;
        let is_answer = n < usize::from(answers);
        if (kind, class, is_answer) == (SRV, CLASS_IN, true) && answer.records.len() < RECORDS_MAX {
            let (priority, weight) = (reader.short()?, reader.short()?);
            let (port, target) = (reader.short()?, reader.name()?.to_ascii_lowercase());
            answer.records.push(SrvRecord { priority, weight, port, target, ttl_s });
        }
        if (kind, class, is_answer) == (SOA, CLASS_IN, false) {
            let (_server, _mailbox) = (reader.name()?, reader.name()?);
            for _serial_refresh_retry_expire in 0..4 {
                reader.long()?;
            }
            answer.negative_ttl_s = Some(reader.long()?.min(ttl_s));
        }
        if reader.at > end || end > bytes.len() {
            return Err(DnsError::Malformed);
        }
        reader.at = end;
    }
    Ok(answer)
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> Result<u8, DnsError> {
        let byte = *self.bytes.get(self.at).ok_or(DnsError::Malformed)?;
        self.at += 1;
        Ok(byte)
    }

    fn short(&mut self) -> Result<u16, DnsError> {
        Ok(u16::from_be_bytes([self.byte()?, self.byte()?]))
    }

    fn long(&mut self) -> Result<u32, DnsError> {
        Ok(u32::from(self.short()?) << 16 | u32::from(self.short()?))
    }

    /// A name, whose rest may be elsewhere before it (RFC 1035 section 4.1.4).
    fn name(&mut self) -> Result<String, DnsError> {
        let mut name = String::new();
        let mut end = None;
        loop {
            let start = self.at;
            let length = self.byte()?;
            match length {
                0 => break,
                1..=63 => {
                    let until = self.at + usize::from(length);
                    let label = self.bytes.get(self.at..until).ok_or(DnsError::Malformed)?;
                    let is_plain = |byte: &u8| byte.is_ascii_graphic() && *byte != b'.';
                    if !label.iter().all(is_plain) {
                        return Err(DnsError::Malformed);
                    }
                    if !name.is_empty() {
                        name.push('.');
                    }
                    name.extend(label.iter().map(|byte| char::from(*byte)));
                    if name.len() > NAME_MAX {
                        return Err(DnsError::Malformed);
                    }
                    self.at = until;
                }
                192..=255 => {
                    let to = usize::from(length & 0x3f) << 8 | usize::from(self.byte()?);
                    // Only backwards, so that it comes to an end.
                    if to >= start {
                        return Err(DnsError::Malformed);
                    }
                    end.get_or_insert(self.at);
                    self.at = to;
                }
                _ => return Err(DnsError::Malformed),
            }
        }
        self.at = end.unwrap_or(self.at);
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "_http._tcp.orders.example";

    /// An answer with this code, and records with compressed names.
    fn answer(flags: u16, records: &[(u16, u16, u16, u32)], soa: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        srv_question(7, NAME, &mut bytes).expect("a name");
        bytes[2..4].copy_from_slice(&flags.to_be_bytes());
        bytes[6..8].copy_from_slice(&(records.len() as u16).to_be_bytes());
        bytes[9] = u8::from(soa);
        for (priority, weight, port, ttl_s) in records {
            bytes.extend_from_slice(&[0xc0, 12, 0, 33, 0, 1]);
            bytes.extend_from_slice(&ttl_s.to_be_bytes());
            // `A`, then a pointer to the name behind `_http._tcp.` in the question.
            let target = [1, b'A', 0xc0, 23];
            bytes.extend_from_slice(&[0, 10]);
            for part in [priority, weight, port] {
                bytes.extend_from_slice(&part.to_be_bytes());
            }
            bytes.extend_from_slice(&target);
        }
        if soa {
            bytes.extend_from_slice(&[0xc0, 30, 0, 6, 0, 1, 0, 0, 0, 60, 0, 22, 0, 0]);
            for number in [1_u32, 2, 3, 4, 30] {
                bytes.extend_from_slice(&number.to_be_bytes());
            }
        }
        bytes
    }

    #[test]
    fn records_are_read() {
        let bytes = answer(0x8180, &[(1, 5, 8080, 30), (2, 0, 81, 60)], false);
        let found = srv_answer(7, "_HTTP._tcp.orders.example.", &bytes).expect("an answer");
        let record = |priority, weight, port, ttl_s| SrvRecord {
            priority,
            weight,
            port,
            target: "a.orders.example".to_owned(),
            ttl_s,
        };
        assert_eq!(found.records, [record(1, 5, 8080, 30), record(2, 0, 81, 60)]);
        assert_eq!((found.code, found.is_truncated, found.negative_ttl_s), (0, false, None));
        for cut in 0..bytes.len() {
            assert_eq!(srv_answer(7, NAME, &bytes[..cut]), Err(DnsError::Malformed), "{cut}");
        }
    }

    #[test]
    fn what_there_is_not_is_told_from_what_failed() {
        let none = srv_answer(7, NAME, &answer(0x8183, &[], true)).expect("an answer");
        assert_eq!((none.code, none.negative_ttl_s), (3, Some(30)));
        let failed = srv_answer(7, NAME, &answer(0x8182, &[], false)).expect("an answer");
        assert_eq!((failed.code, failed.negative_ttl_s), (2, None));
        let part = srv_answer(7, NAME, &answer(0x8380, &[], false)).expect("an answer");
        assert!(part.is_truncated);
    }

    #[test]
    fn what_answers_another_question_is_no_answer() {
        let bytes = answer(0x8180, &[], false);
        assert_eq!(srv_answer(8, NAME, &bytes), Err(DnsError::NotAnswer));
        assert_eq!(srv_answer(7, "_x._tcp.a", &bytes), Err(DnsError::NotAnswer));
        assert_eq!(srv_answer(7, NAME, &answer(0x0100, &[], false)), Err(DnsError::NotAnswer));
        // A name that leads to itself.
        let mut circle = answer(0x8180, &[(1, 1, 1, 1)], false);
        let at = circle.len() - 2;
        circle[at + 1] = at as u8;
        assert_eq!(srv_answer(7, NAME, &circle), Err(DnsError::Malformed));
    }

    #[test]
    fn names() {
        let check = |name: &str, good: bool| {
            assert_eq!(srv_question(1, name, &mut Vec::new()).is_ok(), good, "{name}");
        };
        check("_http._tcp.a", true);
        check("_http._tcp.a.", true);
        check("", false);
        check("a..b", false);
        check("é", false);
        check(&"a".repeat(64), false);
        check(&"a.".repeat(128), false);
    }
}
