//! Addresses in the web, under names that are reserved for examples where mock.js leaves the
//! choice.

use serde_json::Value;

use super::basic::text;
use super::evaluate::Evaluator;

pub(super) const NAMES: &[&str] = &["url", "protocol", "domain", "tld", "email", "ip"];

const PROTOCOLS: &[&str] = &["http", "https", "ftp", "ws", "wss", "mailto", "news", "telnet"];
const DOMAINS: &[&str] = &["com", "net", "org", "cn", "edu", "gov", "info", "io", "co", "top"];

impl Evaluator<'_> {
    pub(super) fn web(&mut self, name: &str, arguments: &[Value]) -> Result<Option<Value>, String> {
        let made = match name {
            "url" => {
                let protocol = match text(arguments, 0) {
                    Some(protocol) => protocol,
                    None => self.word_of(&["http", "https"]),
                };
                let host = match text(arguments, 1) {
                    Some(host) => host.to_owned(),
                    None => format!("{}.example.com", self.word()),
                };
                format!("{protocol}://{host}/{}", self.word())
            }
            "protocol" => self.word_of(PROTOCOLS).to_owned(),
            "domain" => {
                let word = self.word();
                match text(arguments, 0) {
                    Some(top) => format!("{word}.{top}"),
                    None => format!("{word}.example"),
                }
            }
            "tld" => self.word_of(DOMAINS).to_owned(),
            "email" => {
                let host = text(arguments, 0).unwrap_or("example.com");
                format!("{}.{}@{host}", self.word(), self.word())
            }
            "ip" => format!("192.0.2.{}", 1 + self.below(254)),
            _ => return Ok(None),
        };
        Ok(Some(Value::String(made)))
    }
}
