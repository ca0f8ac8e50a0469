//! Compilation of all routes of a configuration, on the reading thread or on a second one that the
//! caller provides.

use std::sync::Arc;
use std::sync::mpsc::{channel, sync_channel};

use weir_route::Route;
use weir_route::index::{Change, Index};
use weir_snapshot::RouteTarget;

use crate::check::Checks;
use crate::definitions::Definitions;
use crate::diagnostic::Diagnostic;
use crate::loaded::Loaded;
use crate::routes::{self, Written};

/// Minimum number of bytes of the texts for a second thread.
const BYTES_FOR_THREAD_MIN: usize = 1 << 20;
/// Number of routes per message to the other thread.
const CHUNK: usize = 64;
/// Maximum number of messages in its queue.
const CHUNKS_MAX: usize = 8;

/// Numbers from [`Loaded::check`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Number of routes, including disabled and rejected ones.
    pub routes: usize,
    /// Number of routes without a distinguishing key, which are tried one by one.
    pub scanned: usize,
    /// Number of pipelines without errors.
    pub pipelines: usize,
}

/// Compiled routes with their definitions.
#[derive(Debug, Default)]
pub struct Compiled {
    /// Routes in definition order.
    pub routes: Vec<Arc<Route<RouteTarget>>>,
    /// Definitions by position; includes disabled and rejected routes.
    pub definitions: Definitions,
}

impl Loaded {
    /// Compiles every route and reports all problems: used at the start of the gateway. The routes
    /// may serve only if [`Loaded::is_refused`] is still false.
    pub fn compile(&mut self) -> Compiled {
        let mut problems = Vec::new();
        let mut checks = Checks::new(self, &mut problems);
        let is_long = self.documents.sources.bytes() >= BYTES_FOR_THREAD_MIN;
        let beside = is_long.then(|| self.compile_beside(&mut checks, &mut problems)).flatten();
        let mut compiled = beside.unwrap_or_else(|| self.compile_here(&mut checks, &mut problems));
        checks.finish(&mut problems);
        self.diagnostics.append(&mut problems);
        compiled.definitions.shrink_to_fit();
        compiled
    }

    fn compile_here(&self, checks: &mut Checks, problems: &mut Vec<Diagnostic>) -> Compiled {
        let mut compiled = Compiled::default();
        routes::each(&self.layers(), &self.directory, problems, |written, problems| {
            compiled.routes.extend(checks.route(&written, problems));
            compiled.definitions.push(&written.definition);
        });
        compiled
    }

    /// The same with two threads: one reads routes and keeps their definitions, the other compiles
    /// them. `None`, without any effect, if there is no second thread.
    fn compile_beside(
        &self,
        checks: &mut Checks,
        problems: &mut Vec<Diagnostic>,
    ) -> Option<Compiled> {
        let layers = self.layers();
        let mut definitions = Definitions::default();
        let mut found = Vec::new();
        let mut routes = Vec::new();
        let (sender, receiver) = sync_channel::<Vec<Written<'_>>>(CHUNKS_MAX);
        // Buffers are returned to the thread that allocated them, which is cheaper for the
        // allocator.
        let (done, used) = channel::<Vec<Written<'_>>>();
        // Each function owns its ends, so that the other function ends if it panics.
        let (mut sender, mut receiver) = (Some(sender), Some((receiver, done)));
        let mut compiling = || {
            let Some((receiver, done)) = receiver.take() else { return };
            for chunk in receiver {
                routes.extend(chunk.iter().filter_map(|written| checks.route(written, &mut found)));
                // Fails only if the other thread has panicked.
                let _ = done.send(chunk);
            }
        };
        let mut reading = || {
            let Some(sender) = sender.take() else { return };
            let mut chunk = Vec::with_capacity(CHUNK);
            routes::each(&layers, &self.directory, problems, |written, _| {
                definitions.push(&written.definition);
                chunk.push(written);
                if chunk.len() == CHUNK {
                    // Fails only if the other thread has panicked; the panic then continues here.
                    let _ = sender.send(std::mem::replace(&mut chunk, Vec::with_capacity(CHUNK)));
                    used.try_iter().for_each(drop);
                }
            });
            let _ = sender.send(chunk);
        };
        if !(self.documents.beside)(&mut compiling, &mut reading) {
            return None;
        }
        problems.append(&mut found);
        Some(Compiled { routes, definitions })
    }

    /// As [`Loaded::compile`], with slower checks: routes that can never match, and routes that are
    /// tried one by one.
    pub fn check(&mut self) -> Checked {
        let mut problems = Vec::new();
        let mut count = 0;
        let mut checks = Checks::new(self, &mut problems);
        let mut compiled = Vec::new();
        routes::each(&self.layers(), &self.directory, &mut problems, |written, problems| {
            compiled.extend(checks.route(&written, problems));
            count += 1;
        });
        let all = compiled.into_iter().map(Change::Put).collect();
        let index = Index::default().apply_with(all, self.documents.beside);
        checks.shadows(&index, &self.documents.sources, &mut problems);
        checks.forwards(&index, &mut problems);
        let scanned = checks.scanned(&index, &mut problems);
        checks.finish(&mut problems);
        self.diagnostics.append(&mut problems);
        Checked { routes: count, scanned, pipelines: self.compiler.pipelines().len() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Checks, Compiled, Diagnostic, Loaded};
    use crate::loaded::Loader;
    use crate::source::{Format, Source};
    use crate::spring::on_a_thread;

    type Compile = fn(&Loaded, &mut Checks, &mut Vec<Diagnostic>) -> Compiled;

    /// Routes with their positions, definitions, and findings in the order of the text.
    fn outcome(text: &str, compile: Compile) -> (Vec<(String, u64)>, usize, Vec<String>) {
        let mut loader = Loader::new(Vec::new(), &[], Vec::new()).with_thread(on_a_thread);
        loader.add(Source::new("application.yml", text, Format::Yaml));
        let mut loaded = loader.load();
        let mut problems = Vec::new();
        let mut checks = Checks::new(&loaded, &mut problems);
        let compiled = compile(&loaded, &mut checks, &mut problems);
        checks.finish(&mut problems);
        loaded.diagnostics.append(&mut problems);
        loaded.sort_findings();
        let routes = compiled.routes.iter().map(|route| (route.id.to_string(), route.position));
        let findings = loaded.diagnostics.iter().map(|finding| finding.message.clone());
        (routes.collect(), compiled.definitions.len(), findings.collect())
    }

    #[test]
    fn two_threads_compile_what_one_does() {
        let mut text = "spring.cloud.gateway.server.webflux:\n  routes:\n".to_owned();
        for n in 0..2_000 {
            let predicate = match n % 97 {
                0 => "Paht=/x",
                1 => "Path=/{a",
                _ => "Path=/x",
            };
            let id = n - n % 50 / 49;
            text += &format!(
                "  - {{ id: r{id}, uri: \"http://h\", predicates: [ \"{predicate}\" ] }}\n"
            );
        }
        let here = outcome(&text, Loaded::compile_here);
        assert!(
            here == outcome(&text, |loaded, checks, problems| {
                loaded.compile_beside(checks, problems).unwrap()
            })
        );
        assert_eq!((here.0.len(), here.1), (2_000 - 42, 2_000));
        assert!(here.2.iter().any(|message| message.contains("duplicate id")), "{:?}", here.2);
    }
}
