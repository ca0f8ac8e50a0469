//! The paths of one definition.

use super::path::{Path, Shape, Sought};
use super::{Found, SHAPES_MAX};

/// All paths of a definition.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    /// The paths by key; those with the same key in the order of trial.
    all: Box<[Path]>,
    /// In the order in which they are tried.
    shapes: Box<[Shape]>,
}

impl Paths {
    /// Builds the table from paths as written, each with its method and operation. Among equal ones
    /// the first counts.
    ///
    /// # Errors
    /// A path that is none, or too many shapes.
    pub(crate) fn new<'p>(
        written: impl Iterator<Item = (String, &'p str, usize)>,
    ) -> Result<Self, String> {
        let parsed = written.map(|(path, method, operation)| Path::parse(&path, method, operation));
        let mut all = parsed.collect::<Result<Vec<_>, _>>()?;
        all.sort_by(|one, other| {
            one.key.cmp(&other.key).then_with(|| one.class().cmp(&other.class()))
        });
        let mut shapes: Vec<Shape> = all.iter().map(|path| path.shape).collect();
        shapes.sort_unstable();
        shapes.dedup();
        let of_one = shapes.chunk_by(|one, other| one.segments == other.segments);
        if let Some(first) = of_one.filter(|all| all.len() > SHAPES_MAX).find_map(|all| all.first())
        {
            return Err(too_many(first.segments));
        }
        Ok(Self { all: all.into(), shapes: shapes.into() })
    }

    /// The operation of a request.
    pub(crate) fn find(&self, sought: &Sought<'_>) -> Found<'_, ()> {
        let mut methods = Vec::new();
        let mut key = Vec::new();
        let from = self.shapes.partition_point(|shape| shape.segments < sought.segments());
        let shapes = self.shapes.iter().skip(from);
        for shape in shapes.take_while(|shape| shape.segments == sought.segments()) {
            sought.key(b"", shape.mask, &mut key);
            let from = self.all.partition_point(|path| *path.key < *key);
            let paths = self.all.iter().skip(from).take_while(|path| *path.key == *key);
            let found = sought.first_of(paths.map(|path| (path, ())), &mut methods);
            if let Some((path, of, values)) = found {
                return Found::Operation { of, operation: path.operation, values };
            }
        }
        if methods.is_empty() { Found::Nothing } else { Found::Methods(methods) }
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Path> {
        self.all.iter()
    }

    pub(super) fn get(&self, at: usize) -> Option<&Path> {
        self.all.get(at)
    }

    /// Their shapes, each once.
    pub(super) fn shapes(&self) -> &[Shape] {
        &self.shapes
    }
}

/// The error for a definition with more shapes than the router looks up.
pub(super) fn too_many(segments: usize) -> String {
    format!("there are more than {SHAPES_MAX} shapes of paths with {segments} segments")
}
