//! Compiler from a syntax tree to the instructions of the small engine.

use super::{CharSet, GROUPS_MAX, Greed, LOOPS_MAX, Op, Place, Small};
use crate::ast::{Assert, Node};
use crate::class::{Class, RangeSet};

/// Maximum number of instructions of a program.
const OPS_MAX: usize = 200;

impl Small {
    /// Compiles `node` with groups up to number `groups`; `None` if this engine cannot match it.
    pub(crate) fn new(node: &Node, groups: usize) -> Option<Self> {
        if groups > GROUPS_MAX {
            return None;
        }
        let mut compiler = Compiler { next_slot: 2 * groups, ..Compiler::default() };
        compiler.compile(node)?;
        compiler.ops.push(Op::Done);
        (compiler.ops.len() <= OPS_MAX).then_some(())?;
        Some(Self {
            ops: compiler.ops.into(),
            text: compiler.text.into(),
            sets: compiler.sets.iter().map(|set| CharSet::of(set.ranges())).collect(),
            groups: u8::try_from(groups).ok()?,
            slots: u8::try_from(compiler.next_slot).ok()?,
            alone: node.needs_backtracking(),
        })
    }
}

/// A program under construction.
#[derive(Default)]
struct Compiler {
    ops: Vec<Op>,
    text: String,
    sets: Vec<RangeSet>,
    next_slot: usize,
    loops: usize,
}

impl Compiler {
    fn compile(&mut self, node: &Node) -> Option<()> {
        if self.ops.len() > OPS_MAX {
            return None;
        }
        match node {
            Node::Text(text) => self.literal(text)?,
            Node::Class(class) => {
                let set = self.set(class)?;
                self.ops.push(Op::Set(set));
            }
            Node::Concat(nodes) => nodes.iter().try_for_each(|node| self.compile(node))?,
            Node::Alternate(nodes) => self.alternate(nodes)?,
            Node::Group(number, node) => {
                let slot = u8::try_from(2 * (*number - 1)).ok()?;
                self.ops.push(Op::Save(slot));
                self.compile(node)?;
                self.ops.push(Op::Save(slot + 1));
            }
            Node::Repeat { node, min, max, greedy } => self.repeat(node, *min, *max, *greedy)?,
            Node::Assert(assert) => self.ops.push(Op::Place(place(*assert)?)),
            Node::Atomic(node) => self.atomic(node)?,
            Node::Look { ahead, negative, node } => {
                let (ahead, negative) = (*ahead, *negative);
                self.enclosed(node, |end| Op::Look { ahead, negative, end })?;
            }
            Node::Backref(group) => self.backref(*group, false)?,
            Node::Folded(node) => match **node {
                Node::Backref(group) => self.backref(group, true)?,
                _ => return None,
            },
        }
        Some(())
    }

    fn literal(&mut self, text: &str) -> Option<()> {
        if !text.is_empty() {
            let start = u16::try_from(self.text.len()).ok()?;
            self.text.push_str(text);
            let end = u16::try_from(self.text.len()).ok()?;
            self.ops.push(Op::Text { start, end });
        }
        Some(())
    }

    fn backref(&mut self, group: usize, fold: bool) -> Option<()> {
        let group = u8::try_from(group).ok().filter(|group| *group > 0)?;
        self.ops.push(Op::Backref { group, fold });
        Some(())
    }

    fn set(&mut self, class: &Class) -> Option<u8> {
        let Class::Ranges(ranges) = class else { return None };
        let at = self.sets.iter().position(|set| set == ranges).unwrap_or_else(|| {
            self.sets.push(ranges.clone());
            self.sets.len() - 1
        });
        u8::try_from(at).ok()
    }

    fn alternate(&mut self, nodes: &[Node]) -> Option<()> {
        let mut jumps = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            if at + 1 == nodes.len() {
                self.compile(node)?;
                break;
            }
            let split = self.reserve();
            self.compile(node)?;
            jumps.push(self.reserve());
            self.fill(split, |here| Op::Split { other: here, near: true })?;
        }
        jumps.into_iter().try_for_each(|jump| self.fill(jump, Op::Jump))
    }

    fn atomic(&mut self, node: &Node) -> Option<()> {
        if let Node::Repeat { node, min, max, greedy: true } = node
            && let Some(set) = self.single(node)
        {
            return self.repeat_set(set?, Greed::Possessive, *min, *max);
        }
        self.enclosed(node, |end| Op::Atomic { end })
    }

    /// Compiles `node` with its own `Done`, after an instruction that holds its end.
    fn enclosed(&mut self, node: &Node, make: impl FnOnce(u8) -> Op) -> Option<()> {
        let open = self.reserve();
        self.compile(node)?;
        self.ops.push(Op::Done);
        self.fill(open, make)
    }

    fn repeat(&mut self, node: &Node, min: u32, max: Option<u32>, greedy: bool) -> Option<()> {
        if let Some(set) = self.single(node) {
            let greed = if greedy { Greed::Greedy } else { Greed::Lazy };
            return self.repeat_set(set?, greed, min, max);
        }
        for _ in 0..min {
            self.compile(node)?;
        }
        let Some(max) = max else { return self.repeat_for_ever(node, greedy) };
        let mut splits = Vec::new();
        for _ in min..max {
            splits.push(self.reserve());
            self.compile(node)?;
        }
        let fill = |split| self.fill(split, |here| Op::Split { other: here, near: greedy });
        splits.into_iter().try_for_each(fill)
    }

    fn repeat_for_ever(&mut self, node: &Node, greedy: bool) -> Option<()> {
        let split = self.reserve();
        let slot = if can_be_empty(node) { Some(self.loop_slot()?) } else { None };
        self.ops.extend(slot.map(Op::Save));
        self.compile(node)?;
        let stuck = slot.map(|_| self.reserve());
        self.ops.push(Op::Jump(u8::try_from(split).ok()?));
        if let (Some(slot), Some(stuck)) = (slot, stuck) {
            self.fill(stuck, |exit| Op::LeaveIfStuck { slot, exit })?;
        }
        self.fill(split, |here| Op::Split { other: here, near: greedy })
    }

    fn loop_slot(&mut self) -> Option<u8> {
        self.loops += 1;
        (self.loops <= LOOPS_MAX).then_some(())?;
        self.next_slot += 1;
        u8::try_from(self.next_slot - 1).ok()
    }

    fn repeat_set(&mut self, set: u8, greed: Greed, min: u32, max: Option<u32>) -> Option<()> {
        let bounded = |count: u32| u16::try_from(count).ok().filter(|count| *count < u16::MAX);
        let min = bounded(min)?;
        let max = match max {
            Some(max) => bounded(max)?,
            None => u16::MAX,
        };
        self.ops.push(Op::Repeat { set, greed, min, max });
        Some(())
    }

    /// The set of a node that is one character; `Some(None)` if the program has too many sets.
    fn single(&mut self, node: &Node) -> Option<Option<u8>> {
        match node {
            Node::Class(class) => Some(self.set(class)),
            Node::Text(text) => {
                let mut chars = text.chars();
                let (Some(char), None) = (chars.next(), chars.next()) else { return None };
                Some(self.set(&Class::of_chars(&[char])))
            }
            _ => None,
        }
    }

    /// Reserves a slot for an instruction that depends on the next ones.
    fn reserve(&mut self) -> usize {
        self.ops.push(Op::Done);
        self.ops.len() - 1
    }

    /// Fills a reserved slot with an instruction that refers to the next one.
    fn fill(&mut self, at: usize, make: impl FnOnce(u8) -> Op) -> Option<()> {
        let here = u8::try_from(self.ops.len()).ok()?;
        *self.ops.get_mut(at)? = make(here);
        Some(())
    }
}

fn place(assert: Assert) -> Option<Place> {
    Some(match assert {
        Assert::Start => Place::Start,
        Assert::End => Place::End,
        Assert::FinalEnd { unix } => Place::FinalEnd { unix },
        Assert::LineStart { unix } => Place::LineStart { unix },
        Assert::LineEnd { unix } => Place::LineEnd { unix },
        Assert::WordBoundary { unicode: false } => Place::WordBoundary(true),
        Assert::NotWordBoundary { unicode: false } => Place::WordBoundary(false),
        Assert::WordBoundary { unicode: true } | Assert::NotWordBoundary { unicode: true } => {
            return None;
        }
        Assert::PreviousEnd => Place::SearchStart,
    })
}

/// Whether `node` can match the empty text.
fn can_be_empty(node: &Node) -> bool {
    match node {
        Node::Text(text) => text.is_empty(),
        Node::Class(_) => false,
        Node::Concat(nodes) => nodes.iter().all(can_be_empty),
        Node::Alternate(nodes) => nodes.iter().any(can_be_empty),
        Node::Group(_, node) | Node::Atomic(node) | Node::Folded(node) => can_be_empty(node),
        Node::Repeat { node, min, .. } => *min == 0 || can_be_empty(node),
        Node::Look { .. } | Node::Backref(_) | Node::Assert(_) => true,
    }
}
