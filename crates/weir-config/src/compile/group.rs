//! Compilation of route groups, and the group of a route.

use std::borrow::Cow;
use std::sync::Arc;

use weir_route::predicate::BuildContext;
use weir_route::{Predicates, RouteDefinition, RouteGroup};

use super::compiler::{Compiler, List};
use super::metadata::timeouts;
use super::problem::{Part, Problem};
use super::shared::{Group, Groups};
use crate::diagnostic::Code;
use crate::value;

impl Compiler {
    /// Compiles `definitions`, in the order written, with unique ids.
    pub(super) fn groups(&self, definitions: Vec<RouteDefinition>) -> Groups {
        let numbered = (0..).zip(definitions);
        numbered.map(|(n, group)| (group.id.clone(), self.new_group(n, group))).collect()
    }

    fn new_group(&self, place: u32, definition: RouteDefinition) -> Group {
        let mut problems = Vec::new();
        let context = BuildContext { options: &self.options.predicates, route_id: &definition.id };
        let mut predicates = Predicates::with_capacity(definition.predicates.len());
        for (at, named) in definition.predicates.iter().enumerate() {
            let Some(built) = self.predicate(at, named, &context, &mut problems) else { continue };
            if built.weight().is_some() {
                let message = "a group cannot have a weight: it is not what a request draws";
                let help = "give the routes in it a Weight each";
                let part = Part::Predicate(at, None);
                problems.push(Problem::new(Code::InvalidArgument, part, message, help));
            }
            predicates.push(built);
        }
        self.filters(&definition.filters, List::Own, &mut problems);
        if !definition.uri.is_empty() {
            let is_called = self.calls_grpc(&definition.filters);
            self.upstream(&definition.uri, is_called, &mut problems);
        }
        timeouts(&definition.metadata, &mut problems);
        self.ambiguous_paths(&definition.metadata, &mut problems);
        self.cors(&definition, None, &mut problems);
        let standing = |predicates| {
            let (id, order) = (definition.id.as_str().into(), definition.order);
            Arc::new(RouteGroup { id, order, place, predicates })
        };
        let (shared, place) = (standing(predicates), standing(Predicates::default()));
        Group { shared, place, problems, definition }
    }

    /// The group of `definition`.
    ///
    /// # Errors
    /// Problems of the group: it does not exist, or does not compile.
    pub(super) fn group(
        &self,
        definition: &RouteDefinition,
    ) -> Result<Option<&Group>, Vec<Problem>> {
        let id = definition.group.as_str();
        if id.is_empty() {
            return Ok(None);
        }
        let Some(group) = self.groups.get(id) else {
            let help = match value::nearest(id, self.groups.keys().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "groups stand below `weir.groups` in the configuration".to_owned(),
            };
            let message = format!("there is no group `{id}`");
            return Err(vec![Problem::new(Code::UnknownGroup, Part::Group, message, help)]);
        };
        if group.problems.is_empty() {
            return Ok(Some(group));
        }
        let of_group = |problem: &Problem| Problem {
            part: Part::OfGroup(id.to_owned(), Box::new(problem.part.clone())),
            ..problem.clone()
        };
        Err(group.problems.iter().map(of_group).collect())
    }

    /// The group `id`.
    pub(crate) fn group_called(&self, id: &str) -> Option<&Group> {
        self.groups.get(id)
    }

    /// The effective definition: `definition` merged with its group, if it has one.
    pub fn effective<'d>(&self, definition: &'d RouteDefinition) -> Cow<'d, RouteDefinition> {
        match self.groups.get(&definition.group) {
            Some(group) => Cow::Owned(group.expand(definition)),
            None => Cow::Borrowed(definition),
        }
    }
}
