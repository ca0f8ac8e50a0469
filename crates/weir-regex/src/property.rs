//! Character properties in `\p{…}`, as in Java.

use super::class::Class;
use super::parse::ModeFlags;

type Ranges = &'static [(u32, u32)];

/// Names of sets of ASCII characters (Java: "POSIX character classes").
const POSIX: &[(&str, Ranges, &str)] = &[
    ("Lower", &[(0x61, 0x7a)], "\\p{Lowercase}"),
    ("Upper", &[(0x41, 0x5a)], "\\p{Uppercase}"),
    ("ASCII", &[(0, 0x7f)], "[\\x00-\\x7f]"),
    ("Alpha", &[(0x41, 0x5a), (0x61, 0x7a)], "\\p{Alphabetic}"),
    ("Digit", &[(0x30, 0x39)], "\\p{Nd}"),
    ("Alnum", &[(0x30, 0x39), (0x41, 0x5a), (0x61, 0x7a)], "[\\p{Alphabetic}\\p{Nd}]"),
    ("Punct", &[(0x21, 0x2f), (0x3a, 0x40), (0x5b, 0x60), (0x7b, 0x7e)], "\\p{P}"),
    ("Graph", &[(0x21, 0x7e)], "[^\\p{White_Space}\\p{Cc}\\p{Cn}]"),
    ("Print", &[(0x20, 0x7e)], "[[^\\p{White_Space}\\p{Cc}\\p{Cn}]\\p{Zs}]"),
    ("Blank", &[(0x20, 0x20), (9, 9)], "[\\p{Zs}\\t]"),
    ("Cntrl", &[(0, 0x1f), (0x7f, 0x7f)], "\\p{Cc}"),
    ("XDigit", &[(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)], "[\\p{Nd}\\p{Hex_Digit}]"),
    ("Space", &[(9, 0xd), (0x20, 0x20)], "\\p{White_Space}"),
];

/// Java's own names, and Unicode names for which the engines use another.
const NAMED: &[(&str, &str)] = &[
    ("javaLowerCase", "\\p{Lowercase}"),
    ("javaUpperCase", "\\p{Uppercase}"),
    ("javaAlphabetic", "\\p{Alphabetic}"),
    ("javaIdeographic", "\\p{Ideographic}"),
    ("javaTitleCase", "\\p{Lt}"),
    ("javaDigit", "\\p{Nd}"),
    ("javaDefined", "\\P{Cn}"),
    ("javaLetter", "\\p{L}"),
    ("javaLetterOrDigit", "[\\p{L}\\p{Nd}]"),
    ("javaSpaceChar", "\\p{Z}"),
    ("javaWhitespace", "[\\t-\\r\\x1c-\\x1f[\\p{Z}--[\\xa0\\x{2007}\\x{202f}]]]"),
    ("javaISOControl", "\\p{Cc}"),
    ("javaJavaIdentifierStart", "[\\p{L}\\p{Nl}\\p{Sc}\\p{Pc}]"),
    ("javaUnicodeIdentifierStart", "\\p{ID_Start}"),
    ("L1", "[\\x00-\\xff]"),
    ("all", "[\\x00-\\x{10ffff}]"),
    ("LD", "[\\p{L}\\p{Nd}]"),
    ("LC", "[\\p{Lu}\\p{Ll}\\p{Lt}]"),
    ("IsControl", "\\p{Cc}"),
    ("IsPunctuation", "\\p{P}"),
    ("IsDigit", "\\p{Nd}"),
    ("IsLetter", "\\p{L}"),
    ("IsTitlecase", "\\p{Lt}"),
    ("IsAssigned", "\\P{Cn}"),
    ("IsWhiteSpace", "\\p{White_Space}"),
];

/// Unicode blocks; names in lower case without blanks, `-` and `_`.
const BLOCKS: &[(&str, Ranges)] = &[
    ("basiclatin", &[(0, 0x7f)]),
    ("latin1supplement", &[(0x80, 0xff)]),
    ("latinextendeda", &[(0x100, 0x17f)]),
    ("latinextendedb", &[(0x180, 0x24f)]),
    ("greek", &[(0x370, 0x3ff)]),
    ("greekandcoptic", &[(0x370, 0x3ff)]),
    ("cyrillic", &[(0x400, 0x4ff)]),
    ("hebrew", &[(0x590, 0x5ff)]),
    ("arabic", &[(0x600, 0x6ff)]),
    ("thai", &[(0xe00, 0xe7f)]),
    ("generalpunctuation", &[(0x2000, 0x206f)]),
    ("cjksymbolsandpunctuation", &[(0x3000, 0x303f)]),
    ("hiragana", &[(0x3040, 0x309f)]),
    ("katakana", &[(0x30a0, 0x30ff)]),
    ("cjkunifiedideographsextensiona", &[(0x3400, 0x4dbf)]),
    ("cjkunifiedideographs", &[(0x4e00, 0x9fff)]),
    ("hangulsyllables", &[(0xac00, 0xd7af)]),
    ("halfwidthandfullwidthforms", &[(0xff00, 0xffef)]),
];

const CATEGORIES: &str = "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No Z Zs Zl Zp C Cc Cf Co Cn \
                          P Pd Ps Pe Pi Pf Pc S Sm Sc Sk So";

/// The set of `\p{name}` under `flags`; `None` if the name is unknown.
pub(super) fn property(name: &str, flags: ModeFlags) -> Option<Class> {
    if let Some((key, value)) = name.split_once('=') {
        return match key.to_ascii_lowercase().as_str() {
            "script" | "sc" => script(value),
            "block" | "blk" => block(value),
            "general_category" | "gc" => category(value, flags),
            _ => None,
        };
    }
    if let Some((_, ranges, unicode)) = POSIX.iter().find(|(posix, ..)| *posix == name) {
        return Some(match name {
            _ if flags.unicode_class => folded(name, (*unicode).to_owned(), flags),
            "Lower" | "Upper" if flags.ignore_case => Class::of(&[(0x41, 0x5a), (0x61, 0x7a)]),
            _ => Class::of(ranges),
        });
    }
    let same = |named: &str| match (named.strip_prefix("Is"), name.strip_prefix("Is")) {
        (Some(named), Some(name)) => named.eq_ignore_ascii_case(&name.replace('_', "")),
        _ => named == name,
    };
    if let Some((_, class)) = NAMED.iter().find(|(named, _)| same(named)) {
        return Some(folded(name, (*class).to_owned(), flags));
    }
    if let Some(name) = name.strip_prefix("In") {
        return block(name);
    }
    match name.strip_prefix("Is") {
        Some(name) => {
            binary(name, flags).or_else(|| category(name, flags)).or_else(|| script(name))
        }
        None => category(name, flags),
    }
}

fn block(name: &str) -> Option<Class> {
    let plain: String = name.chars().filter(|c| !" -_".contains(*c)).collect();
    let plain = plain.to_ascii_lowercase();
    BLOCKS.iter().find(|(block, _)| *block == plain).map(|(_, ranges)| Class::of(ranges))
}

fn category(name: &str, flags: ModeFlags) -> Option<Class> {
    if name == "Cs" {
        return Some(Class::of(&[]));
    }
    let known = CATEGORIES.split_ascii_whitespace().any(|category| category == name);
    known.then(|| folded(name, format!("\\p{{{name}}}"), flags))
}

/// Properties with the same meaning in Java and the engines.
fn binary(name: &str, flags: ModeFlags) -> Option<Class> {
    const SHARED: &[(&str, &str)] = &[
        ("alphabetic", "Alphabetic"),
        ("ideographic", "Ideographic"),
        ("lowercase", "Lowercase"),
        ("uppercase", "Uppercase"),
        ("hexdigit", "Hex_Digit"),
        ("joincontrol", "Join_Control"),
        ("noncharactercodepoint", "Noncharacter_Code_Point"),
        ("emoji", "Emoji"),
    ];
    let plain = name.replace('_', "").to_ascii_lowercase();
    let found = SHARED.iter().find(|(shared, _)| *shared == plain)?;
    Some(folded(found.1, format!("\\p{{{}}}", found.1), flags))
}

fn script(name: &str) -> Option<Class> {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let class = Class::property(&format!("sc={name}"));
    let mut text = String::new();
    class.write(&mut text);
    (plain && regex::Regex::new(&text).is_ok()).then_some(class)
}

/// Under `(?i)`, properties of case match letters of either case.
fn folded(name: &str, class: String, flags: ModeFlags) -> Class {
    const CASED: &[&str] = &["Lu", "Ll", "Lt"];
    const CASED_NAMES: &[&str] =
        &["Lower", "Upper", "Lowercase", "Uppercase", "javaLowerCase", "javaUpperCase"];
    let class = match name {
        _ if !flags.ignore_case => class,
        _ if CASED.contains(&name) => "[\\p{Lu}\\p{Ll}\\p{Lt}]".to_owned(),
        "javaTitleCase" | "IsTitlecase" => "[\\p{Lu}\\p{Ll}\\p{Lt}]".to_owned(),
        _ if CASED_NAMES.contains(&name) => "[\\p{Lowercase}\\p{Uppercase}\\p{Lt}]".to_owned(),
        _ => class,
    };
    Class::Property(class)
}
