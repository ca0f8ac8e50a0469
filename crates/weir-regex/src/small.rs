//! A small backtracking engine for common expressions of gateways: `/api/(?<rest>.*)`, `\d+`,
//! `(?!internal).*`.
//!
//! It interprets a few instructions and backtracks as Java does. A program takes some hundred bytes
//! and a microsecond or two to compile; an automaton takes 20 KB and 100 µs. In exchange it has a
//! step limit: beyond it, [`Steps`] tells the caller to use another engine.

mod char_set;
mod compile;
mod place;

use super::engine::Spans;
use char_set::CharSet;
use place::{Place, char_at};

/// Maximum number of capturing groups of a program.
const GROUPS_MAX: usize = 16;

/// Maximum number of loops whose body can match the empty text.
const LOOPS_MAX: usize = 8;

/// Slots of a match: starts and ends of the groups from 1 on, then starts of loop rounds.
const SLOTS_MAX: usize = 2 * GROUPS_MAX + LOOPS_MAX;

/// The limit of steps was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Steps;

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Small {
    ops: Box<[Op]>,
    /// All literal texts, concatenated.
    text: Box<str>,
    sets: Box<[CharSet]>,
    groups: u8,
    slots: u8,
    /// No automaton can replace this engine.
    alone: bool,
}

/// How a repetition of one character backtracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Greed {
    /// As many as possible, then fewer.
    Greedy,
    /// As few as possible, then more.
    Lazy,
    /// As many as possible, without backtracking.
    Possessive,
}

/// An instruction. Instructions are numbered by `u8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    /// This range of [`Small::text`].
    Text { start: u16, end: u16 },
    /// One character of a set.
    Set(u8),
    /// A repetition of one character of a set; a `max` of `u16::MAX` is unbounded.
    Repeat { set: u8, greed: Greed, min: u16, max: u16 },
    /// Tries the next instruction first, then the one at `other`; in reverse order if not `near`.
    Split { other: u8, near: bool },
    /// Continues at another instruction.
    Jump(u8),
    /// Stores the position in a slot.
    Save(u8),
    /// Leaves a loop if the round, which began at the position in `slot`, matched the empty text.
    LeaveIfStuck { slot: u8, exit: u8 },
    /// A back-reference to a group, ignoring ASCII case if `fold`.
    Backref { group: u8, fold: bool },
    /// The instructions up to `end`, as an atomic group.
    Atomic { end: u8 },
    /// A look-ahead or look-behind over the instructions up to `end`.
    Look { ahead: bool, negative: bool, end: u8 },
    /// An assertion about the position.
    Place(Place),
    /// The end of a match, or of the instructions of `Atomic` and `Look`.
    Done,
}

impl Small {
    /// Whether all of `text` matches.
    pub(super) fn is_full_match(&self, text: &str) -> Result<bool, Steps> {
        Run::new(self, text, Some(text.len()), 0).matches_at(0)
    }

    /// The groups, if all of `text` matches.
    pub(super) fn full_captures(&self, text: &str) -> Result<Option<Spans>, Steps> {
        let mut run = Run::new(self, text, Some(text.len()), 0);
        Ok(run.matches_at(0)?.then(|| run.spans(0)))
    }

    /// The groups of the first match at or after byte `start`; adds its steps to `spent`.
    pub(super) fn captures_at(
        &self,
        text: &str,
        start: usize,
        spent: &mut usize,
    ) -> Result<Option<Spans>, Steps> {
        let mut run = Run::new(self, text, None, start);
        let steps = run.steps;
        let found = self.search(&mut run, text, start);
        *spent += steps - run.steps;
        found
    }

    fn search(
        &self,
        run: &mut Run<'_, '_>,
        text: &str,
        start: usize,
    ) -> Result<Option<Spans>, Steps> {
        let mut at = start;
        while let Some(rest) = text.get(at..) {
            match self.ops.first() {
                Some(Op::Place(Place::Start)) if at > 0 => return Ok(None),
                Some(Op::Text { start, end }) => {
                    let literal = self.literal(*start, *end);
                    match memchr::memmem::find(rest.as_bytes(), literal.as_bytes()) {
                        Some(found) => at += found,
                        None => return Ok(None),
                    }
                }
                _ => {}
            }
            if run.matches_at(at)? {
                return Ok(Some(run.spans(at)));
            }
            at += char_at(text, at).map_or(1, char::len_utf8);
        }
        Ok(None)
    }

    /// Whether the step limit is final, because no automaton can match this expression.
    pub(super) fn is_alone(&self) -> bool {
        self.alone
    }

    fn literal(&self, start: u16, end: u16) -> &str {
        self.text.get(usize::from(start)..usize::from(end)).unwrap_or_default()
    }

    fn set_has(&self, set: u8, char: char) -> bool {
        self.sets.get(usize::from(set)).is_some_and(|set| set.has(char))
    }
}

/// An entry of the backtracking stack.
#[derive(Clone, Copy, Debug)]
enum Retry {
    /// Try another branch.
    Branch { op: usize, at: usize },
    /// A greedy repetition that ended at `at` may end earlier, but not before `low`.
    Shrink { op: usize, low: usize, at: usize },
    /// A lazy repetition that ended at `at` may match up to `left` more.
    Grow { op: usize, at: usize, left: u16 },
    /// Restore the previous content of a slot.
    Slot { slot: u8, place: usize },
}

const NOWHERE: usize = usize::MAX;

/// Result of an instruction.
enum Step {
    /// Continue with this instruction at this position.
    Go(usize, usize),
    /// The match is complete and ends here.
    Done(usize),
    /// No match on this path.
    Fail,
}

impl Step {
    fn go_if(holds: bool, op: usize, at: usize) -> Self {
        if holds { Self::Go(op, at) } else { Self::Fail }
    }
}

/// The state of a search.
struct Run<'p, 't> {
    small: &'p Small,
    text: &'t str,
    /// Required end of the match, if any.
    goal: Option<usize>,
    /// Start of the search.
    from: usize,
    slots: [usize; SLOTS_MAX],
    end: usize,
    retries: Vec<Retry>,
    steps: usize,
    /// Number of `Atomic` and `Look` that enclose the current instruction.
    depth: usize,
}

impl<'p, 't> Run<'p, 't> {
    fn new(small: &'p Small, text: &'t str, goal: Option<usize>, from: usize) -> Self {
        let steps = if small.alone { crate::limits::STEPS_MAX } else { 1_024 + 16 * text.len() };
        let slots = [NOWHERE; SLOTS_MAX];
        Self { small, text, goal, from, slots, end: 0, retries: Vec::new(), steps, depth: 0 }
    }

    fn spans(&self, start: usize) -> Spans {
        let groups = usize::from(self.small.groups);
        let mut spans = Vec::with_capacity(groups + 1);
        spans.push(Some((start, self.end)));
        spans.extend(self.slots.chunks_exact(2).take(groups).map(|slots| match slots {
            [start, end] if *start != NOWHERE && *end != NOWHERE => Some((*start, *end)),
            _ => None,
        }));
        spans
    }

    /// Whether a match starts at byte `start`; sets its end and slots.
    fn matches_at(&mut self, start: usize) -> Result<bool, Steps> {
        let slots = usize::from(self.small.slots);
        self.slots.iter_mut().take(slots).for_each(|slot| *slot = NOWHERE);
        self.retries.clear();
        let end = self.run(0, start)?;
        self.end = end.unwrap_or_default();
        Ok(end.is_some())
    }

    /// Runs from instruction `op` at byte `at` to its `Done`, and returns the position there.
    /// Backtracking entries of this run stay on the stack.
    fn run(&mut self, mut op: usize, mut at: usize) -> Result<Option<usize>, Steps> {
        let base = self.retries.len();
        loop {
            self.spend(1)?;
            match self.step(op, at)? {
                Step::Go(next, place) => (op, at) = (next, place),
                Step::Done(end) => return Ok(Some(end)),
                Step::Fail => match self.retry(base)? {
                    Some(next) => (op, at) = next,
                    None => return Ok(None),
                },
            }
        }
    }

    /// [`Run::run`] for the instructions of an `Atomic` or a `Look`, with their own goal.
    fn run_inside(
        &mut self,
        op: usize,
        at: usize,
        goal: Option<usize>,
    ) -> Result<Option<usize>, Steps> {
        let outer = std::mem::replace(&mut self.goal, goal);
        self.depth += 1;
        let found = self.run(op, at)?;
        self.depth -= 1;
        self.goal = outer;
        Ok(found)
    }

    fn spend(&mut self, steps: usize) -> Result<(), Steps> {
        let left = self.steps.checked_sub(steps);
        self.steps = left.unwrap_or_default();
        left.map(drop).ok_or(Steps)
    }

    /// Executes one instruction.
    fn step(&mut self, op: usize, at: usize) -> Result<Step, Steps> {
        let next = op + 1;
        let Some(current) = self.small.ops.get(op) else { return Ok(Step::Fail) };
        Ok(match *current {
            Op::Text { start, end } => {
                let literal = self.small.literal(start, end);
                let rest = self.text.get(at..).unwrap_or_default();
                Step::go_if(rest.starts_with(literal), next, at + literal.len())
            }
            Op::Set(set) => match char_at(self.text, at) {
                Some(char) => {
                    Step::go_if(self.small.set_has(set, char), next, at + char.len_utf8())
                }
                None => Step::Fail,
            },
            Op::Repeat { set, greed, min, max } => {
                return self.repeat(next, at, set, greed, (min, max));
            }
            Op::Split { other, near } => {
                let other = usize::from(other);
                let (first, second) = if near { (next, other) } else { (other, next) };
                self.retries.push(Retry::Branch { op: second, at });
                Step::Go(first, at)
            }
            Op::Jump(op) => Step::Go(op.into(), at),
            Op::Save(slot) => {
                self.save(slot, at);
                Step::Go(next, at)
            }
            Op::LeaveIfStuck { slot, exit } => {
                let stuck = self.slots.get(usize::from(slot)) == Some(&at);
                Step::Go(if stuck { exit.into() } else { next }, at)
            }
            Op::Backref { group, fold } => self.backref(next, at, group, fold),
            Op::Atomic { end } => {
                let base = self.retries.len();
                let found = self.run_inside(next, at, None)?;
                self.commit(base);
                found.map_or(Step::Fail, |at| Step::Go(end.into(), at))
            }
            Op::Look { ahead, negative, end } => {
                let holds = self.look(next, at, ahead, negative)?;
                Step::go_if(holds, end.into(), at)
            }
            Op::Place(place) => Step::go_if(place.is_at(self.text, at, self.from), next, at),
            Op::Done if self.goal.is_some_and(|goal| goal != at) => Step::Fail,
            Op::Done => Step::Done(at),
        })
    }

    fn save(&mut self, slot: u8, at: usize) {
        if let Some(place) = self.slots.get_mut(usize::from(slot)) {
            // Without backtracking entries, nothing has to be restored.
            if self.depth > 0 || !self.retries.is_empty() {
                self.retries.push(Retry::Slot { slot, place: *place });
            }
            *place = at;
        }
    }

    /// Drops alternatives above `base`, but keeps slots to restore.
    fn commit(&mut self, base: usize) {
        let mut at = 0;
        self.retries.retain(|retry| {
            at += 1;
            at <= base || matches!(retry, Retry::Slot { .. })
        });
    }

    /// Undoes everything above `base`.
    fn undo(&mut self, base: usize) {
        while self.retries.len() > base {
            if let Some(Retry::Slot { slot, place }) = self.retries.pop()
                && let Some(slot) = self.slots.get_mut(usize::from(slot))
            {
                *slot = place;
            }
        }
    }

    fn look(&mut self, op: usize, at: usize, ahead: bool, negative: bool) -> Result<bool, Steps> {
        let base = self.retries.len();
        let goal = if ahead { None } else { Some(at) };
        let mut found = self.run_inside(op, at, goal)?;
        let mut start = at;
        while !ahead && found.is_none() {
            let before = self.text.get(..start).and_then(|text| text.chars().next_back());
            let Some(char) = before else { break };
            start -= char.len_utf8();
            found = self.run_inside(op, start, goal)?;
        }
        if negative {
            self.undo(base);
        } else {
            self.commit(base);
        }
        Ok(found.is_some() != negative)
    }

    fn backref(&self, next: usize, at: usize, group: u8, fold: bool) -> Step {
        let first = 2 * (usize::from(group) - 1);
        let (Some(start), Some(end)) = (self.slots.get(first), self.slots.get(first + 1)) else {
            return Step::Fail;
        };
        let Some(wanted) = self.text.get(*start..*end) else { return Step::Fail };
        let Some(found) = self.text.get(at..at + wanted.len()) else { return Step::Fail };
        let same = found == wanted || (fold && found.eq_ignore_ascii_case(wanted));
        Step::go_if(same, next, at + wanted.len())
    }

    fn repeat(
        &mut self,
        next: usize,
        at: usize,
        set: u8,
        greed: Greed,
        (min, max): (u16, u16),
    ) -> Result<Step, Steps> {
        let wanted = if greed == Greed::Lazy { min } else { max };
        let (taken, end, low) = self.take(set, at, min, wanted);
        self.spend(usize::from(taken))?;
        if taken < min {
            return Ok(Step::Fail);
        }
        match greed {
            // Fewer characters would not reach the goal either.
            Greed::Greedy if low < end && !self.is_last(next) => {
                self.retries.push(Retry::Shrink { op: next, low, at: end });
            }
            Greed::Lazy if min < max => {
                let left = if max == u16::MAX { max } else { max - min };
                self.retries.push(Retry::Grow { op: next, at: end, left });
            }
            Greed::Greedy | Greed::Lazy | Greed::Possessive => {}
        }
        Ok(Step::Go(next, end))
    }

    /// Whether no instruction from `op` on consumes text, so that only the goal is left to check.
    fn is_last(&self, op: usize) -> bool {
        let mut rest = self.small.ops.iter().skip(op);
        self.goal.is_some() && rest.find(|op| !matches!(op, Op::Save(_))) == Some(&Op::Done)
    }

    /// Consumes up to `max` characters of `set` from `at` on. Returns their number, the end, and
    /// the position after the first `min` of them.
    fn take(&self, set: u8, at: usize, min: u16, max: u16) -> (u16, usize, usize) {
        let Some(set) = self.small.sets.get(usize::from(set)) else { return (0, at, at) };
        let (mut taken, mut end, mut low) = (0_u16, at, at);
        let bytes = self.text.as_bytes();
        while taken != max || max == u16::MAX {
            let width = match bytes.get(end) {
                Some(byte) if byte.is_ascii() && set.has_ascii(*byte) => 1,
                Some(byte) if !byte.is_ascii() => match char_at(self.text, end) {
                    Some(char) if set.has(char) => char.len_utf8(),
                    _ => break,
                },
                _ => break,
            };
            end += width;
            if taken < min {
                low = end;
            }
            taken = taken.saturating_add(1);
        }
        (taken, end, low)
    }

    /// Resumes the latest alternative above `base`.
    fn retry(&mut self, base: usize) -> Result<Option<(usize, usize)>, Steps> {
        while self.retries.len() > base
            && let Some(retry) = self.retries.pop()
        {
            self.spend(1)?;
            match retry {
                Retry::Branch { op, at } => return Ok(Some((op, at))),
                Retry::Slot { slot, place } => {
                    if let Some(slot) = self.slots.get_mut(usize::from(slot)) {
                        *slot = place;
                    }
                }
                Retry::Shrink { op, low, at } => {
                    let run = self.text.get(low..at).unwrap_or_default();
                    let Some((by, _)) = run.char_indices().next_back() else { continue };
                    if by > 0 {
                        self.retries.push(Retry::Shrink { op, low, at: low + by });
                    }
                    return Ok(Some((op, low + by)));
                }
                Retry::Grow { op, at, left } => {
                    let Some(end) = self.grow(op, at) else { continue };
                    match left {
                        u16::MAX => self.retries.push(Retry::Grow { op, at: end, left }),
                        0 | 1 => {}
                        _ => self.retries.push(Retry::Grow { op, at: end, left: left - 1 }),
                    }
                    return Ok(Some((op, end)));
                }
            }
        }
        Ok(None)
    }

    /// The position after one more character of the repetition before `op`.
    fn grow(&self, op: usize, at: usize) -> Option<usize> {
        let Some(Op::Repeat { set, .. }) = self.small.ops.get(op.checked_sub(1)?) else {
            return None;
        };
        let char = char_at(self.text, at)?;
        self.small.set_has(*set, char).then_some(at + char.len_utf8())
    }
}
