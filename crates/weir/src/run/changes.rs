//! What a reload did to pipelines, for the log.

use std::fmt;
use std::sync::Arc;

use weir_control::Control;
use weir_limit::LimitSettings;
use weir_snapshot::Pipeline;

/// Names of pipelines in one log line; more are left to the level `debug`.
const NAMES_MAX: usize = 10;

/// The pipelines of one moment.
pub(super) struct Pipelines(Vec<(Arc<Pipeline>, Option<LimitSettings>)>);

impl Pipelines {
    /// Those that are in force.
    pub(super) fn of(control: &Control) -> Self {
        let valves = control.limits().all();
        let limit = |pipeline: &Pipeline| {
            let name = pipeline.limit_name.as_deref()?;
            valves.iter().find(|valve| valve.name() == name).map(|valve| valve.settings())
        };
        let all = control.published().load_full();
        Self(all.pipelines.iter().map(|one| (Arc::clone(one), limit(one))).collect())
    }

    /// What has changed since `before`; `None` if there is no pipeline and was none.
    pub(super) fn since(&self, before: &Self) -> Option<Changes> {
        let mut changes = Changes::default();
        for (pipeline, limit) in &self.0 {
            let old = before.0.iter().find(|(old, _)| old.id == pipeline.id);
            let names = match old {
                None => &mut changes.added,
                Some((old, own)) if old.is_like(pipeline) && own == limit => &mut changes.stayed,
                Some(_) => &mut changes.changed,
            };
            names.push(pipeline.id.clone());
        }
        let is_gone = |id: &str| !self.0.iter().any(|(new, _)| new.id == id);
        let old = before.0.iter().map(|(old, _)| old.id.clone());
        changes.removed.extend(old.filter(|id| is_gone(id)));
        (self.0.len() + before.0.len() > 0).then_some(changes)
    }
}

/// Names of pipelines, by what became of them.
#[derive(Debug, Default)]
pub(super) struct Changes {
    added: Vec<String>,
    changed: Vec<String>,
    removed: Vec<String>,
    stayed: Vec<String>,
}

impl Changes {
    fn parts(&self) -> [(&'static str, &[String]); 4] {
        [
            ("added", &self.added),
            ("changed", &self.changed),
            ("removed", &self.removed),
            ("unchanged", &self.stayed),
        ]
    }

    /// Logs the names that the line of a reload does not have.
    pub(super) fn log_names(&self) {
        for (what, names) in self.parts() {
            if !names.is_empty() {
                tracing::debug!("pipelines {what}: {}", names.join(", "));
            }
        }
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = self.added.len() + self.changed.len() + self.removed.len();
        for (at, (what, names)) in self.parts().into_iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{} {what}", names.len())?;
            if what != "unchanged" && !names.is_empty() && named <= NAMES_MAX {
                write!(f, " ({})", names.join(", "))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Changes, NAMES_MAX};

    #[test]
    fn few_are_named() {
        let names = |count: usize| (0..count).map(|n| format!("p{n}")).collect::<Vec<_>>();
        let few =
            Changes { added: names(2), removed: names(1), stayed: names(30), ..Changes::default() };
        let expected = "2 added (p0, p1), 0 changed, 1 removed (p0), 30 unchanged";
        assert_eq!(few.to_string(), expected);
        let many = Changes { changed: names(NAMES_MAX + 1), ..Changes::default() };
        assert_eq!(many.to_string(), "0 added, 11 changed, 0 removed, 0 unchanged");
    }
}
