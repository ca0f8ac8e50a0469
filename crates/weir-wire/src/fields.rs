//! Header fields as an editable list over the bytes they arrived in.
//!
//! Order and case of names survive; an edit appends its bytes behind the received ones, so no field
//! owns memory of its own and a reused [`Fields`] allocates nothing in steady state.

use std::ops::Range;

use crate::syntax::{is_field_value, is_same_name, is_token, put};

/// A range of bytes in the text of a [`Fields`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Length in bytes.
    pub len: u32,
}

impl Span {
    /// The bytes of this span within `text`; empty if it does not lie inside.
    pub fn of(self, text: &[u8]) -> &[u8] {
        text.get(self.range()).unwrap_or_default()
    }

    fn range(self) -> Range<usize> {
        let start = self.start as usize;
        start..start + self.len as usize
    }
}

/// A header field line.
#[derive(Clone, Copy, Debug)]
struct Field {
    /// Field name as received or set, case kept.
    name: Span,
    /// Field value without surrounding blanks.
    value: Span,
    /// The set of the one name.
    sort: NameSet,
}

/// Names that may be among some fields, 64 sorts of them told apart by length and ends: enough to
/// find at once that most of the fields one looks for are not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NameSet(u64);

impl NameSet {
    /// The set of one name, of any case.
    pub const fn of(name: &[u8]) -> Self {
        let (Some(first), Some(last)) = (name.first(), name.last()) else { return Self(1) };
        // Letters differ from their other case in one bit, which is dropped with the upper ones.
        // The factors keep the fields that end at a hop apart from those in common use.
        let sort = (*first & 31) as usize + (*last & 31) as usize * 4 + name.len() * 25;
        Self(1 << (sort & 63))
    }

    /// Both together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the sets may share a name. `false` is certain.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// A header field as it is written, `name: value CRLF`, checked once to be written often.
#[derive(Clone, Copy, Debug)]
pub struct FieldLine<'a> {
    text: &'a [u8],
    name_len: u32,
}

impl<'a> FieldLine<'a> {
    /// A line whose first `name_len` bytes are a token and whose value has no control byte: the
    /// caller must have checked that.
    pub fn new(text: &'a [u8], name_len: usize) -> Self {
        let line = Self { text, name_len: name_len as u32 };
        debug_assert!(
            is_token(line.name())
                && text
                    .get(name_len..)
                    .and_then(|rest| rest.strip_prefix(b": ")?.strip_suffix(b"\r\n"))
                    .is_some_and(is_field_value),
            "{}",
            text.escape_ascii()
        );
        line
    }

    fn name(self) -> &'a [u8] {
        self.text.get(..self.name_len as usize).unwrap_or_default()
    }
}

/// An ordered, editable list of header field lines (RFC 9110 section 5).
#[derive(Clone, Debug, Default)]
pub struct Fields {
    pub(crate) text: Vec<u8>,
    list: Vec<Field>,
    /// The names in `list`, and some that were.
    names: NameSet,
    unsound: bool,
}

impl Fields {
    /// Forgets all fields and text, keeping the memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.list.clear();
        self.names = NameSet::default();
        self.unsound = false;
    }

    /// Whether all edits can be sent: names were tokens and values had no CR, LF, NUL or other
    /// control byte. A head that is not sound must not be written to a connection.
    pub fn is_sound(&self) -> bool {
        !self.unsound
    }

    /// Records whether an edit can be sent.
    pub(crate) fn require(&mut self, sound: bool) {
        self.unsound |= !sound;
    }

    /// Number of field lines.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is no field line.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Appends `bytes` to the text and returns their span.
    pub fn intern(&mut self, bytes: &[u8]) -> Span {
        let start = self.text.len() as u32;
        put(&mut self.text, bytes);
        Span { start, len: bytes.len() as u32 }
    }

    /// Appends `bytes` and the bytes of `span` to the text and returns the span of both.
    pub(crate) fn intern_before(&mut self, bytes: &[u8], span: Span) -> Span {
        let Span { start, len } = self.intern(bytes);
        self.text.extend_from_within(span.range());
        Span { start, len: len + span.len }
    }

    /// Adds a field whose name and value already lie in the text (see [`Fields::intern`]).
    #[inline(never)]
    pub fn push_spans(&mut self, name: Span, value: Span) {
        let sort = NameSet::of(name.of(&self.text));
        self.names = self.names.with(sort);
        self.list.push(Field { name, value, sort });
    }

    /// Whether a line may have one of these names. `false` is certain.
    pub fn may_have(&self, names: NameSet) -> bool {
        self.names.meets(names)
    }

    /// The bytes of `span`.
    pub fn slice(&self, span: Span) -> &[u8] {
        span.of(&self.text)
    }

    /// All field lines in order as (name, value).
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&[u8], &[u8])> + Clone {
        self.list.iter().map(|field| (field.name.of(&self.text), field.value.of(&self.text)))
    }

    /// The lines whose names may be among `names`, in order as (name, value): a few others too.
    pub fn among(&self, names: NameSet) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
        let list = if self.may_have(names) { self.list.as_slice() } else { &[] };
        list.iter()
            .filter(move |field| field.sort.meets(names))
            .map(|field| (field.name.of(&self.text), field.value.of(&self.text)))
    }

    /// The values of every line called `name` (any case), in order.
    pub fn get_all<'a>(&'a self, name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + Clone {
        let named = move |other: &[u8]| is_same_name(other, name);
        self.among(NameSet::of(name)).filter(move |(other, _)| named(other)).map(|(_, value)| value)
    }

    /// The value of the first line called `name` (any case).
    #[inline]
    pub fn get(&self, name: &[u8]) -> Option<&[u8]> {
        let sort = NameSet::of(name);
        if self.may_have(sort) { self.first(name, sort) } else { None }
    }

    #[inline(never)]
    fn first(&self, name: &[u8], sort: NameSet) -> Option<&[u8]> {
        let named = |other: &[u8]| is_same_name(other, name);
        self.among(sort).find(|(other, _)| named(other)).map(|(_, value)| value)
    }

    /// Whether there is a field called `name` (in any case).
    pub fn contains(&self, name: &[u8]) -> bool {
        self.get(name).is_some()
    }

    /// Appends a line at the end.
    pub fn append(&mut self, name: &[u8], value: &[u8]) {
        self.require(is_token(name) && is_field_value(value));
        let (name, value) = self.intern_line(name, value);
        self.push_spans(name, value);
    }

    /// Appends a line that is known to be sound, written as `name: value CRLF`.
    pub fn append_line(&mut self, line: FieldLine<'_>) {
        let (name, value) = self.intern_written(line);
        self.push_spans(name, value);
    }

    /// Appends a line to the text, and returns the spans of its parts.
    fn intern_written(&mut self, line: FieldLine<'_>) -> (Span, Span) {
        let (Span { start, len }, name_len) = (self.intern(line.text), line.name_len);
        let name = Span { start, len: name_len };
        (name, Span { start: start + name_len + 2, len: len.saturating_sub(name_len + 4) })
    }

    /// Appends a line to the text in the form to be written, and returns the spans of its parts.
    fn intern_line(&mut self, name: &[u8], value: &[u8]) -> (Span, Span) {
        let name = self.intern(name);
        self.intern(b": ");
        let value = self.intern(value);
        self.intern(b"\r\n");
        (name, value)
    }

    /// Adds the lines of `others`, in their order, in front of all others.
    pub fn prepend_all(&mut self, others: &Self) {
        self.require(others.is_sound());
        for (name, value) in others.iter() {
            let (name, value) = self.intern_line(name, value);
            self.push_spans(name, value);
        }
        self.list.rotate_right(others.list.len());
    }

    /// Replaces all lines called `name` by one: at the place of the first, or at the end.
    pub fn set(&mut self, name: &[u8], value: &[u8]) {
        self.require(is_token(name) && is_field_value(value));
        let (new_name, new_value) = self.intern_line(name, value);
        self.set_spans(name, new_name, new_value);
    }

    /// As [`Fields::set`], with a line that is known to be sound.
    pub fn set_line(&mut self, line: FieldLine<'_>) {
        let (new_name, new_value) = self.intern_written(line);
        self.set_spans(line.name(), new_name, new_value);
    }

    fn set_spans(&mut self, name: &[u8], new_name: Span, new_value: Span) {
        let text = &self.text;
        let sort = NameSet::of(name);
        let mut found = 0;
        if self.names.meets(sort) {
            for field in &mut self.list {
                let old_name = field.name.of(text);
                if field.sort == sort && is_same_name(old_name, name) {
                    // Its line is in one piece then.
                    if old_name == new_name.of(text) {
                        field.name = new_name;
                    }
                    field.value = new_value;
                    found += 1;
                }
            }
        }
        match found {
            0 => self.push_spans(new_name, new_value),
            1 => {}
            _ => self.keep_first(name),
        }
    }

    fn keep_first(&mut self, name: &[u8]) {
        let mut seen = false;
        self.retain(|other, _| {
            let same = is_same_name(other, name);
            let keep = !same || !seen;
            seen |= same;
            keep
        });
    }

    /// Removes all lines called `name` (any case); returns whether there were any.
    pub fn remove(&mut self, name: &[u8]) -> bool {
        self.retain_among(NameSet::of(name), |n, _| !is_same_name(n, name))
    }

    /// Keeps the lines for which `keep(name, value)` holds; returns whether any was removed.
    pub fn retain(&mut self, mut keep: impl FnMut(&[u8], &[u8]) -> bool) -> bool {
        let before = self.list.len();
        let text = &self.text;
        self.list.retain(|field| keep(field.name.of(text), field.value.of(text)));
        self.list.len() != before
    }

    /// Removes the lines whose names may be among `names` and for which `keep(name, value)` does
    /// not hold; returns whether any was removed.
    pub fn retain_among(
        &mut self,
        names: NameSet,
        mut keep: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> bool {
        if !self.may_have(names) {
            return false;
        }
        let before = self.list.len();
        let text = &self.text;
        self.list.retain(|field| {
            !field.sort.meets(names) || keep(field.name.of(text), field.value.of(text))
        });
        self.list.len() != before
    }

    /// Rewrites values in place: `edit` returns the new value of a line, or `None` to leave it.
    pub fn rewrite(&mut self, mut edit: impl FnMut(&[u8], &[u8]) -> Option<Vec<u8>>) {
        for at in 0..self.list.len() {
            let Some(field) = self.list.get(at).copied() else { continue };
            let new = edit(field.name.of(&self.text), field.value.of(&self.text));
            let Some(new) = new else { continue };
            self.require(is_field_value(&new));
            let value = self.intern(&new);
            if let Some(field) = self.list.get_mut(at) {
                field.value = value;
            }
        }
    }

    /// Writes every line as `name: value CRLF` to `out`, and the empty line behind them.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        self.write_behind(0..0, out);
    }

    /// [`Fields::write_to`] behind another line, which lies at `lead` of the text as it is written.
    #[inline]
    pub(crate) fn write_behind(&self, lead: Range<usize>, out: &mut Vec<u8>) {
        // Lines that lie in the text as they are written, one behind the other, go in one piece.
        let mut run = lead;
        for field in &self.list {
            let line = self.line(field);
            match &line {
                Some(line) if line.start == run.end => run.end = line.end,
                _ => {
                    self.put_run(run, out);
                    run = line.clone().unwrap_or_default();
                }
            }
            if line.is_none() {
                for part in [field.name.of(&self.text), b": ", field.value.of(&self.text), b"\r\n"]
                {
                    put(out, part);
                }
            }
        }
        let end = run.end;
        if !run.is_empty() && self.text.get(end..end + 2) == Some(b"\r\n") {
            return self.put_run(run.start..end + 2, out);
        }
        self.put_run(run, out);
        out.extend_from_slice(b"\r\n");
    }

    fn put_run(&self, run: Range<usize>, out: &mut Vec<u8>) {
        if !run.is_empty() {
            put(out, self.text.get(run).unwrap_or_default());
        }
    }

    /// The range of `span` in the text with its line end, if a line end follows it.
    pub(crate) fn ended(&self, span: Span) -> Option<Range<usize>> {
        let Range { start, end } = span.range();
        (self.text.get(end..end + 2) == Some(b"\r\n")).then_some(start..end + 2)
    }

    /// The range of `field`'s line in the text, if it is stored there in the form to be written.
    fn line(&self, field: &Field) -> Option<Range<usize>> {
        let (name, value) = (field.name.range(), field.value.range());
        let is_written = name.end + 2 == value.start
            && self.text.get(name.end..value.start) == Some(b": ")
            && self.text.get(value.end..value.end + 2) == Some(b"\r\n");
        is_written.then_some(name.start..value.end + 2)
    }
}

#[cfg(test)]
mod tests {
    use super::{FieldLine, Fields, NameSet, Span};

    fn check(edit: impl FnOnce(&mut Fields), expected: &str) {
        let mut fields = Fields::default();
        fields.append(b"Host", b"a");
        fields.append(b"X-A", b"1");
        fields.append(b"x-a", b"2");
        fields.append(b"Accept", b"*/*");
        edit(&mut fields);
        let mut out = Vec::new();
        fields.write_to(&mut out);
        let lines = String::from_utf8_lossy(&out).replace("\r\n", "|");
        assert_eq!(lines, format!("{expected}|"));
    }

    #[test]
    fn edits_keep_order_and_case() {
        check(|_| {}, "Host: a|X-A: 1|x-a: 2|Accept: */*|");
        check(|f| f.append(b"x-A", b"3"), "Host: a|X-A: 1|x-a: 2|Accept: */*|x-A: 3|");
        let mut others = Fields::default();
        others.append(b"A", b"3");
        check(|f| f.prepend_all(&others), "A: 3|Host: a|X-A: 1|x-a: 2|Accept: */*|");
        check(|f| f.set(b"x-a", b"9"), "Host: a|X-A: 9|Accept: */*|");
        check(|f| f.set(b"Host", b"b"), "Host: b|X-A: 1|x-a: 2|Accept: */*|");
        check(|f| f.set(b"New", b""), "Host: a|X-A: 1|x-a: 2|Accept: */*|New: |");
        check(|f| assert!(f.remove(b"X-a")), "Host: a|Accept: */*|");
        check(
            |f| f.rewrite(|n, v| (n == b"x-a").then(|| [v, b"!"].concat())),
            "Host: a|X-A: 1|x-a: 2!|Accept: */*|",
        );
    }

    #[test]
    fn lines_as_they_are_written_act_as_name_and_value() {
        let line = |text| FieldLine::new(text, 3);
        let all = "Host: a|X-A: 1|x-a: 2|Accept: */*|";
        check(|f| f.append_line(line(b"x-A: \r\n")), &format!("{all}x-A: |"));
        check(|f| f.append_line(line(b"x-b: y z\r\n")), &format!("{all}x-b: y z|"));
        check(|f| f.set_line(line(b"x-A: y\r\n")), "Host: a|X-A: y|Accept: */*|");
        check(|f| f.set_line(line(b"x-b: y\r\n")), &format!("{all}x-b: y|"));
    }

    #[test]
    fn lines_are_written_alike_wherever_their_bytes_lie() {
        let mut fields = Fields::default();
        let text = b"A: 1\r\nB:2\r\nC:  3 \r\nD:\r\nE: 5\r\nF: 6\r\n";
        fields.intern(text);
        for (name, value, len) in [(0, 3, 1), (6, 8, 1), (11, 15, 1), (19, 0, 0), (23, 26, 1)] {
            fields.push_spans(Span { start: name, len: 1 }, Span { start: value, len });
        }
        [(b"G", &b"7"[..]), (b"H", b"")].iter().for_each(|(n, v)| fields.append(*n, v));
        fields.remove(b"a");
        let mut others = Fields::default();
        (0..2).for_each(|_| others.append(b"I", b"9"));
        fields.prepend_all(&others);
        let mut out = Vec::new();
        fields.write_to(&mut out);
        let expected = "I: 9|I: 9|B: 2|C: 3|D: |E: 5|G: 7|H: ||";
        assert_eq!(String::from_utf8_lossy(&out).replace("\r\n", "|"), expected);
    }

    #[test]
    fn sets_of_names_ignore_case_and_miss_nothing() {
        let mut both = NameSet::default();
        for name in [&b"Host"[..], b"x-a", b"", b"A", b"transfer-ENCODING", b"_", b"~"] {
            assert_eq!(NameSet::of(name), NameSet::of(&name.to_ascii_uppercase()));
            assert!(!both.meets(NameSet::of(name)), "the sample has no names of one sort");
            both = both.with(NameSet::of(name));
            assert!(both.meets(NameSet::of(&name.to_ascii_lowercase())));
        }
    }

    #[test]
    fn only_lines_that_may_be_named_are_asked() {
        let named = NameSet::of(b"x-A");
        let first = |name: &[u8], value: &[u8]| name == b"X-A" && value == b"1";
        let all = "Host: a|X-A: 1|x-a: 2|Accept: */*|";
        check(
            |f| assert!(f.retain_among(named, |n, v| !first(n, v))),
            "Host: a|x-a: 2|Accept: */*|",
        );
        check(|f| assert!(!f.retain_among(NameSet::of(b"none"), |_, _| false)), all);
        check(
            |f| {
                let names: Vec<_> = f.among(named).map(|(name, _)| name).collect();
                assert!(names.starts_with(&[b"X-A", b"x-a"]) && !names.contains(&&b"Host"[..]));
            },
            all,
        );
    }

    #[test]
    fn lookups_ignore_case() {
        let mut fields = Fields::default();
        fields.append(b"X-A", b"1");
        fields.append(b"x-a", b"2");
        fields.append(b"X-B", b"3");
        assert_eq!(fields.get(b"x-A"), Some(&b"1"[..]));
        assert_eq!(fields.get_all(b"X-a").collect::<Vec<_>>(), [b"1", b"2"]);
        assert!(!fields.contains(b"x"));
        assert_eq!((fields.len(), fields.is_empty()), (3, false));
        fields.clear();
        assert_eq!((fields.len(), fields.is_empty(), fields.get(b"x-a")), (0, true, None));
    }
}
