//! Implication between sets of predicates.

use crate::pattern::path::SegmentShape;
use crate::pattern::{HostPattern, Label, PathPattern, Segment};
use crate::predicate::{Key, Predicate};
use crate::route::Route;

/// Whether `wide` matches every request that `narrow` matches. `false` if this is not certain.
pub(crate) fn covers<T>(wide: &Route<T>, narrow: &Route<T>) -> bool {
    let of_narrow = narrow.all_predicates();
    wide.all_predicates().all(|wide| of_narrow.clone().any(|narrow| implied(wide, narrow)))
}

/// Whether `wide` holds whenever `narrow` does.
fn implied(wide: &Predicate, narrow: &Predicate) -> bool {
    if wide.weight().is_some() {
        return false;
    }
    match (wide.key(), narrow.key()) {
        (Some(Key::Path(wide)), Some(Key::Path(narrow))) => {
            let plain = wide.iter().all(|pattern| !has_regex(pattern));
            let covered = |n: &PathPattern| wide.iter().any(|w| path_covers(w, n));
            same_paths(wide, narrow) || (plain && narrow.iter().all(covered))
        }
        (Some(Key::Host(wide)), Some(Key::Host(narrow))) => {
            let plain = wide.iter().all(|w| !w.labels().any(|l| matches!(l, Label::Shape(_))));
            let covered = |n: &HostPattern| wide.iter().any(|w| host_covers(w, n));
            plain && narrow.iter().all(covered)
        }
        (Some(Key::Methods(wide)), Some(Key::Methods(narrow))) => {
            narrow.iter().all(|method| wide.contains(method))
        }
        (Some(Key::RemoteAddr(wide)), Some(Key::RemoteAddr(narrow))) => {
            narrow.iter().all(|n| wide.iter().any(|w| w.contains(n)))
        }
        (
            Some(Key::Client { nets: wide, proxies }),
            Some(Key::Client { nets: narrow, proxies: theirs }),
        ) => proxies == theirs && narrow.iter().all(|n| wide.iter().any(|w| w.contains(n))),
        _ => same(wide, narrow),
    }
}

/// Whether two predicates are equal in text and options.
fn same(a: &Predicate, b: &Predicate) -> bool {
    let switches = match (a, b) {
        (Predicate::Header(a), Predicate::Header(b)) => a.splits() == b.splits(),
        _ => true,
    };
    switches && a.to_string() == b.to_string()
}

fn same_paths(a: &[PathPattern], b: &[PathPattern]) -> bool {
    let same = |(a, b): (&PathPattern, &PathPattern)| {
        a.text() == b.text() && a.tolerates_trailing_slash() == b.tolerates_trailing_slash()
    };
    a.len() == b.len() && a.iter().zip(b).all(same)
}

/// A regular expression can fail, which skips its route.
fn has_regex(pattern: &PathPattern) -> bool {
    let regex = |segment| matches!(segment, Segment::Shape(SegmentShape::Regex { .. }));
    pattern.segments().any(regex)
}

/// Whether `wide`, which has no regular expression, matches every path that `narrow` matches.
fn path_covers(wide: &PathPattern, narrow: &PathPattern) -> bool {
    if !narrow.can_match() {
        return true;
    }
    let mut theirs = narrow.segments();
    let (wide_len, narrow_len) = (wide.segments().count(), narrow.segments().count());
    for (at, ours) in wide.segments().enumerate() {
        if matches!(ours, Segment::Rest { .. }) {
            // A rest at the end matches any remaining segments; a rest at the start is compared by
            // text alone.
            return wide
                .segments()
                .next_back()
                .is_some_and(|last| matches!(last, Segment::Rest { .. }));
        }
        let Some(theirs) = theirs.next() else { return false };
        let covered = match (ours, theirs) {
            (Segment::Literal(ours), Segment::Literal(theirs)) => ours == theirs,
            (Segment::One { .. }, Segment::Literal(theirs)) => !theirs.is_empty(),
            // A last `*` also matches an empty segment: only another last `*` covers that.
            (Segment::One { variable }, Segment::One { variable: theirs }) => {
                let may_be_empty = theirs.is_none() && at + 1 == narrow_len;
                !may_be_empty || variable.is_none() && at + 1 == wide_len
            }
            (Segment::One { .. }, Segment::Shape(_)) => true,
            (Segment::Shape(shape), Segment::Literal(theirs)) => shape.accepts(theirs) == Ok(true),
            _ => false,
        };
        if !covered {
            return wide.text() == narrow.text() && slashes(wide, narrow);
        }
    }
    wide.can_match() && theirs.next().is_none() && slashes(wide, narrow)
}

fn slashes(wide: &PathPattern, narrow: &PathPattern) -> bool {
    wide.tolerates_trailing_slash() || !narrow.tolerates_trailing_slash()
}

/// Whether `wide`, which has no shapes, matches every host that `narrow` matches: equal labels, or
/// equal last labels behind `**`.
fn host_covers(wide: &HostPattern, narrow: &HostPattern) -> bool {
    if wide.includes_port() != narrow.includes_port() {
        return false;
    }
    let mut theirs = narrow.labels().rev();
    let mut ours = wide.labels().rev();
    while let Some(label) = ours.next() {
        let covered = match (label, theirs.next()) {
            (Label::Many, _) => return ours.next().is_none(),
            (Label::Literal(ours), Some(Label::Literal(theirs))) => ours == theirs,
            (Label::One { .. }, Some(Label::Literal(theirs))) => !theirs.is_empty(),
            (Label::One { .. }, Some(Label::One { .. })) => true,
            _ => false,
        };
        if !covered {
            return false;
        }
    }
    theirs.next().is_none()
}
