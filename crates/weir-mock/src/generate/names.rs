//! Realistic values by the name of a field.

use super::chinese;
use crate::chance::Chance;

pub(crate) const FIRST: &[&str] =
    &["Ada", "Ben", "Carla", "David", "Elena", "Farid", "Grace", "Hugo", "Ines"];
pub(crate) const LAST: &[&str] =
    &["Ames", "Baker", "Costa", "Diaz", "Evans", "Fischer", "Garcia", "Haas"];
const CITIES: &[&str] = &["Lisbon", "Nairobi", "Osaka", "Porto", "Quito", "Riga", "Seoul", "Turin"];
const COUNTRIES: &[&str] = &["Portugal", "Kenya", "Japan", "Ecuador", "Latvia", "Italy", "Canada"];
const STREETS: &[&str] = &["Mill Lane", "Harbour Road", "Station Street", "Oak Avenue"];
const COMPANIES: &[&str] = &["Northwind Ltd", "Acme Corp", "Globex GmbH", "Initech Inc"];
const WORDS: &[&str] =
    &["river", "quiet", "bridge", "amber", "signal", "harvest", "stone", "linen", "orbit", "cedar"];
const COLORS: &[&str] = &["red", "green", "blue", "amber", "teal", "violet"];
pub(crate) const FAMILY: &[&str] = &["王", "李", "张", "刘", "陈", "杨", "赵", "黄", "周", "吴"];
pub(crate) const GIVEN: &[&str] =
    &["伟", "芳", "娜", "敏", "静", "丽", "强", "磊", "洋", "艳", "勇", "杰"];

/// A text for a field whose name suggests its content.
pub(super) fn text(name: &str, chance: Chance, place: &str, n: u64) -> Option<String> {
    let plain: String =
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let pick = |list: &'static [&'static str], at: u64| {
        chance.pick(place, n + at, list).unwrap_or_default()
    };
    let has = |part: &str| plain.contains(part);
    let ends = |part: &str| plain.ends_with(part);
    Some(match plain.as_str() {
        "" => return None,
        "idcard" | "idno" | "identityno" | "身份证" | "身份证号" => {
            chinese::resident_id(chance, place, n)
        }
        "uscc" | "creditcode" | "社会信用代码" => chinese::credit_code(chance, place, n),
        _ if has("bankcard") || has("cardno") || has("cardnumber") || has("银行卡") => {
            chinese::card(chance, place, n)
        }
        _ if has("phone") || has("mobile") || ends("tel") || has("手机") || has("电话") => {
            chinese::mobile(chance, place, n)
        }
        "姓名" | "cname" => format!("{}{}", pick(FAMILY, 0), pick(GIVEN, 1)),
        _ if has("email") || ends("mail") => {
            format!("{}.{}@example.com", pick(FIRST, 0), pick(LAST, 1)).to_lowercase()
        }
        "firstname" | "givenname" => pick(FIRST, 0).to_owned(),
        "lastname" | "surname" | "familyname" => pick(LAST, 0).to_owned(),
        "username" | "login" | "nickname" => {
            format!("{}{}", pick(FIRST, 0), chance.below(place, n + 1, 100)).to_lowercase()
        }
        _ if has("company") || has("organization") => pick(COMPANIES, 0).to_owned(),
        _ if has("city") => pick(CITIES, 0).to_owned(),
        _ if has("country") => pick(COUNTRIES, 0).to_owned(),
        _ if has("street") || has("address") => {
            format!("{} {}", 1 + chance.below(place, n, 200), pick(STREETS, 1))
        }
        _ if ends("zip") || has("postcode") || has("postalcode") => {
            format!("{:05}", chance.below(place, n, 100_000))
        }
        _ if has("avatar") || has("image") || has("photo") || has("picture") => {
            format!("https://example.com/images/{}.png", chance.below(place, n, 1000))
        }
        _ if ends("url") || ends("uri") || ends("link") || ends("href") => {
            format!("https://example.com/{}", pick(WORDS, 0))
        }
        _ if has("color") || has("colour") => pick(COLORS, 0).to_owned(),
        "name" | "fullname" | "author" | "owner" => format!("{} {}", pick(FIRST, 0), pick(LAST, 1)),
        _ if has("description") || has("content") || has("comment") || has("message") => {
            sentence(chance, place, n, 8)
        }
        _ if has("title") || has("subject") || has("summary") => sentence(chance, place, n, 3),
        _ => return None,
    })
}

/// Least and greatest number for a field of this name.
pub(super) fn number(name: &str) -> Option<(i64, i64)> {
    let plain: String =
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    Some(match plain.as_str() {
        "age" => (18, 90),
        "year" => (1990, 2030),
        "month" => (1, 12),
        "day" => (1, 28),
        "port" => (1024, 65_535),
        "percent" | "percentage" | "progress" => (0, 100),
        "quantity" | "count" | "size" | "stock" => (1, 50),
        _ if plain.ends_with("id") => (1, 100_000),
        _ if plain.ends_with("timestamp") => (1_700_000_000, 1_800_000_000),
        _ => return None,
    })
}

/// Words, the first one with a capital.
pub(super) fn sentence(chance: Chance, place: &str, n: u64, count: u64) -> String {
    let words = (0..count).map(|at| chance.pick(place, n + 100 + at, WORDS).unwrap_or("word"));
    let text = words.collect::<Vec<_>>().join(" ");
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// One word.
pub(super) fn word(chance: Chance, place: &str, n: u64) -> String {
    chance.pick(place, n, WORDS).unwrap_or("word").to_owned()
}
