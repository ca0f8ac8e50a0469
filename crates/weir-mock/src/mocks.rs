//! All served definitions.

use std::sync::Arc;

use serde_json::Value;

use crate::callback::callbacks;
use crate::definition::{Api, Operation};
use crate::mounted::{Mount, Mounted, host_name, prefix_of, told};
use crate::problem::Fault;
use crate::request::{Asked, Call, check, check_all_but_content, needs_content};
use crate::respond::{self, Matched, Options, Reply};
use crate::response::{Given, ResponseValidity, compare};
use crate::router::{Found, Index, Rank, Sought};
use crate::sorted::Sorted;
use crate::state::State;
use crate::validity::{Validity, WrongRequest};

/// A POST to it forgets what stateful definitions keep.
const RESET_PATH: &[u8] = b"/__weir/reset";

/// The maximum number of violations listed in a header.
const TOLD_MAX: usize = 10;

/// Definitions, and which of their operations a request belongs to. Copies share what they have in
/// common.
#[derive(Clone, Debug, Default)]
pub struct Mocks {
    /// In the order in which they are tried.
    mounted: Sorted<Rank, Arc<Mounted>>,
    /// The numbers of definitions by name, if they can be addressed by name.
    named: Option<Sorted<(Arc<str>, usize), ()>>,
    index: Index,
    /// The number of definitions that are bound to hosts.
    with_hosts: usize,
    /// The number of stateful definitions.
    with_state: usize,
    options: Options,
    /// The tenant that they belong to.
    tenant: Option<Arc<str>>,
    /// The fault of a request that none of them is for.
    nowhere: Fault,
}

/// An operation in a list.
#[derive(Clone, Debug)]
pub struct Listed<'m> {
    /// The API.
    pub api: &'m Api,
    /// The operation.
    pub operation: &'m Operation,
    /// The prefix of its paths; empty if there is none.
    pub base_path: &'m str,
}

/// The definition and operation of a request.
pub(crate) struct Target<'m> {
    pub api: &'m Api,
    pub operation: &'m Operation,
    pub values: Vec<(&'m str, String)>,
    mounted: &'m Mounted,
    at: usize,
}

impl Mocks {
    /// Serves `apis`, each below its own base path too. Where two have the same operation, the
    /// first one answers, unless the request names the API in the header of
    /// [`Options::select_header`].
    ///
    /// # Errors
    /// The path of an operation that is none.
    pub fn new(apis: Vec<Arc<Api>>, options: Options) -> Result<Self, String> {
        Self::mount(apis.into_iter().map(Mount::from).collect(), options)
    }

    /// Serves definitions as their mounts say.
    ///
    /// # Errors
    /// A path that is none, or an override that means nothing.
    pub fn mount(mounts: Vec<Mount>, options: Options) -> Result<Self, String> {
        let mounted = mounts.into_iter().map(|mount| Mounted::new(mount, &options).map(Arc::new));
        let is_named = options.select_header.is_some();
        Self::of_mounted(mounted.collect::<Result<_, _>>()?, options, is_named)
    }

    /// Serves definitions that were validated under these `options`; if `is_named`, each can also
    /// be addressed by name.
    ///
    /// # Errors
    /// More shapes of paths than are looked for.
    pub fn of_mounted(
        mounted: Vec<Arc<Mounted>>,
        options: Options,
        is_named: bool,
    ) -> Result<Self, String> {
        let named = is_named.then(Sorted::default);
        let mut mocks = Self { named, options, ..Self::default() };
        for (at, one) in mounted.into_iter().enumerate() {
            mocks.add(at, one)?;
        }
        Ok(mocks)
    }

    /// An empty set; definitions added by [`Self::put`] can be addressed by name.
    pub fn named(options: Options) -> Self {
        Self { named: Some(Sorted::default()), options, ..Self::default() }
    }

    /// The same definitions as those of `tenant`, if one is given; `nowhere` is the fault of a
    /// request that none of them is for.
    pub(crate) fn owned(self, tenant: Option<&str>, nowhere: Fault) -> Self {
        Self { tenant: tenant.map(Arc::from), nowhere, ..self }
    }

    /// The tenant that they belong to.
    pub(crate) fn tenant(&self) -> Option<&str> {
        self.tenant.as_deref()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.mounted.is_empty()
    }

    /// Adds a definition, or replaces the one with its name. Definitions added this way are tried
    /// in the order of their names. The cost does not depend on their number.
    ///
    /// # Errors
    /// More shapes of paths than are looked for. Then nothing has changed.
    pub fn put(&mut self, mounted: Arc<Mounted>) -> Result<(), String> {
        let before = self.remove(&mounted.api.name);
        let added = self.add(0, mounted);
        if let (Err(_), Some(before)) = (&added, before) {
            // It was accepted before, so it is accepted again.
            let _ = self.add(0, before);
        }
        added
    }

    /// Removes the definition `name`, which was added by [`Self::put`].
    pub fn remove(&mut self, name: &str) -> Option<Arc<Mounted>> {
        let rank = Rank { at: 0, name: name.into() };
        let gone = self.mounted.remove(&rank)?;
        self.index.remove(&rank, &gone.paths, &gone.prefixes());
        if let Some(named) = &mut self.named {
            named.remove(&(rank.name, rank.at));
        }
        self.with_hosts -= usize::from(!gone.hosts.is_empty());
        self.with_state -= usize::from(gone.state.is_some());
        Some(gone)
    }

    fn add(&mut self, at: usize, one: Arc<Mounted>) -> Result<(), String> {
        let rank = Rank { at, name: one.api.name.as_str().into() };
        let added = self.index.add(&rank, &one.paths, &one.prefixes());
        added.map_err(|why| told(&one.api, &why))?;
        self.with_hosts += usize::from(!one.hosts.is_empty());
        self.with_state += usize::from(one.state.is_some());
        if let Some(named) = &mut self.named {
            named.insert((Arc::clone(&rank.name), at), ());
        }
        self.mounted.insert(rank, one);
        Ok(())
    }

    /// The served operations, in the order of the definitions.
    pub fn operations(&self) -> impl Iterator<Item = Listed<'_>> {
        self.mounted.iter().flat_map(|(_, one)| {
            let Mounted { api, base_path, .. } = &**one;
            api.operations.iter().map(move |operation| Listed { api, operation, base_path })
        })
    }

    /// The definitions.
    pub fn apis(&self) -> impl Iterator<Item = &Arc<Api>> {
        self.mounted.iter().map(|(_, one)| &one.api)
    }

    /// A definition by its name, and how it is served.
    pub(crate) fn api(&self, name: &str) -> Option<(&Api, &Options)> {
        let mut all = self.mounted.iter().map(|(_, one)| one);
        all.find(|one| one.api.name == name).map(|one| (&*one.api, &one.options))
    }

    /// The answer to a request. `dice` is chance, for what is made without a seed; `now_ms` is the
    /// time in milliseconds since 1970.
    pub fn answer(&self, call: &Call<'_>, dice: u64, now_ms: i64) -> Reply {
        self.answer_as(None, call, dice, now_ms)
    }

    /// Answers from the definition `name` only, if one is given.
    pub(crate) fn answer_as(
        &self,
        name: Option<&str>,
        call: &Call<'_>,
        dice: u64,
        now_ms: i64,
    ) -> Reply {
        if respond::asks_why(call) {
            let document = self.explain_as(name, call, dice, now_ms).document();
            let fields = vec![("Content-Type".to_owned(), b"application/json".to_vec())];
            let body = document.to_string().into_bytes();
            let why = "asked what becomes of it".to_owned();
            return Reply { status: 200, fields, body, why, ..Reply::default() };
        }
        if self.with_state > 0 && call.method == b"POST" && call.path == RESET_PATH {
            self.reset(str::from_utf8(self.selected(name, call)).unwrap_or_default());
            return Reply { status: 204, why: "the state is reset".to_owned(), ..Reply::default() };
        }
        if !self.options.callbacks.is_empty()
            && let Some(fired) = self.fired(self.selected(name, call), call, dice, now_ms)
        {
            return self.told(fired.map_err(|fault| self.failed(fault)));
        }
        let target = self.target_of_call(name, call);
        self.told(target.and_then(|target| self.reply(&target, call, dice, now_ms)))
    }

    /// Validates a request: its head if `content` is absent, else the whole request.
    pub(crate) fn validity(
        &self,
        name: Option<&str>,
        call: &Call<'_>,
        content: Option<&[u8]>,
    ) -> Validity {
        let checked = self.target_of_call(name, call).and_then(|target| {
            let Target { api, operation, values, mounted, .. } = target;
            let checked = match content {
                Some(body) => check(operation, &values, &Call { body, ..*call }).map(drop),
                None => check_all_but_content(operation, &values, call),
            };
            let place = Some((api, operation));
            checked.map_err(|fault| Failed { fault, place, options: &mounted.options })?;
            Ok(content.is_none() && needs_content(operation, call))
        });
        let failed = match checked {
            Ok(true) => return Validity::NeedsContent,
            Ok(false) => return Validity::Sound,
            Err(failed) => failed,
        };
        let document = failed.fault.document();
        let first = document.get("validation").and_then(|all| all.as_array());
        let first = first.map(|all| all.iter().take(TOLD_MAX).cloned().collect::<Value>());
        let told = first.unwrap_or(document).to_string();
        Validity::Wrong(Box::new(WrongRequest { reply: self.told(Err(failed)), told }))
    }

    /// Validates a response of a service against the operation of the request.
    pub(crate) fn response_validity(
        &self,
        name: Option<&str>,
        call: &Call<'_>,
        given: &Given<'_>,
    ) -> ResponseValidity {
        match self.target_of_call(name, call) {
            Ok(Target { api, operation, .. }) => compare(api, operation, given),
            Err(_) => ResponseValidity::Unknown,
        }
    }

    /// Forgets what clients have written to the definition `name`; to all if it is empty.
    pub fn reset(&self, name: &str) {
        let meant = self.mounted.iter().map(|(_, one)| one);
        let meant = meant.filter(|one| name.is_empty() || one.api.name == name);
        meant.filter_map(|one| one.state.as_ref()).for_each(State::reset);
    }

    /// The name of the selected definition; empty if any may answer.
    fn selected<'c>(&self, name: Option<&'c str>, call: &Call<'c>) -> &'c [u8] {
        let header = self.options.select_header.as_deref();
        let header = header.and_then(|header| call.fields.get(header.as_bytes()));
        name.map(str::as_bytes).or(header).unwrap_or_default()
    }

    /// The definition and operation of a request, found by its path and by the name, the header or
    /// the host that selects a definition.
    pub(crate) fn target_of_call<'m>(
        &'m self,
        name: Option<&str>,
        call: &Call<'_>,
    ) -> Result<Target<'m>, Failed<'m>> {
        let failed = |fault| self.failed(fault);
        let name = self.selected(name, call);
        let method = String::from_utf8_lossy(call.method);
        let Some(sought) = Sought::new(call.path, call.query, &method) else {
            return Err(failed(self.nowhere.clone()));
        };
        match self.found(name, call, &sought) {
            Found::Operation { of: mounted, operation: at, values } => {
                let operation = mounted.api.operations.get(at);
                let operation = operation.ok_or_else(|| failed(self.nowhere.clone()))?;
                Ok(Target { api: &mounted.api, operation, values, mounted, at })
            }
            Found::Methods(methods) => Err(failed(Fault::NoMethod(methods))),
            Found::Nothing => Err(failed(self.nowhere.clone())),
        }
    }

    fn failed(&self, fault: Fault) -> Failed<'_> {
        Failed { fault, place: None, options: &self.options }
    }

    fn found<'m>(
        &'m self,
        name: &[u8],
        call: &Call<'_>,
        sought: &Sought<'_>,
    ) -> Found<'m, &'m Mounted> {
        if !name.is_empty() {
            return self.found_by_name(name, sought);
        }
        if self.with_hosts > 0 {
            let host = host_name(call.fields.get(b"host").unwrap_or_default());
            let own = self.found_by_path(&prefix_of(&host), sought);
            if matches!(own, Found::Operation { .. }) {
                return own;
            }
            let general = self.found_by_path(b"", sought);
            return if matches!(general, Found::Nothing) { own } else { general };
        }
        self.found_by_path(b"", sought)
    }

    fn found_by_path<'m>(&'m self, prefix: &[u8], sought: &Sought<'_>) -> Found<'m, &'m Mounted> {
        match or_get(sought, |sought| self.index.find(prefix, sought)) {
            Found::Operation { of, operation, values } => match self.mounted.get(of) {
                Some(of) => Found::Operation { of, operation, values },
                None => Found::Nothing,
            },
            Found::Methods(methods) => Found::Methods(methods),
            Found::Nothing => Found::Nothing,
        }
    }

    /// Among the definitions of this name alone.
    fn found_by_name<'m>(&'m self, name: &[u8], sought: &Sought<'_>) -> Found<'m, &'m Mounted> {
        let mut found = Found::Nothing;
        let Ok(name) = str::from_utf8(name) else { return found };
        let name: Arc<str> = name.into();
        let Some(named) = &self.named else { return found };
        for (own, at) in named.from(&(name.clone(), 0)) {
            if *own != name {
                break;
            }
            let Some(one) = self.mounted.get(&Rank { at: *at, name: name.clone() }) else { break };
            let own = or_get(sought, |sought| one.paths.find(sought)).of(|()| &**one);
            if !matches!(own, Found::Nothing) {
                found = own;
            }
            if matches!(found, Found::Operation { .. }) {
                break;
            }
        }
        found
    }

    pub(crate) fn reply<'m>(
        &self,
        target: &Target<'m>,
        call: &Call<'_>,
        dice: u64,
        now_ms: i64,
    ) -> Result<Reply, Failed<'m>> {
        let asked = Asked::new(call, &target.values);
        let Mounted { rules, options, state, .. } = target.mounted;
        let rule = rules.has(target.at).then(|| rules.find(target.at, &asked));
        let kept = state.as_ref().and_then(|state| Some((state, state.subject(target.at)?)));
        let matched = Matched {
            api: target.api,
            operation: target.operation,
            path_values: &target.values,
            call,
            options,
            rule: rule.flatten(),
            asked: &asked,
            kept,
            dice,
            now_ms,
        };
        let place = Some((target.api, target.operation));
        let failed = |fault| Failed { fault, place, options };
        let (reply, manner) = respond::answer(matched).map_err(failed)?;
        let mut reply = respond::wrapped(reply, options.envelope.as_ref());
        reply.callbacks = callbacks(&matched, &reply, manner);
        Ok(reply)
    }

    /// The answer, or what is told instead, in its envelope.
    pub(crate) fn told(&self, answered: Result<Reply, Failed<'_>>) -> Reply {
        let is_ours = answered.as_ref().map_or_else(|failed| failed.place.is_some(), |_| true);
        let mut reply = answered.unwrap_or_else(|Failed { fault, place, options }| {
            respond::fault(&fault, place, options.envelope.as_ref())
        });
        // The answer to a path that a tenant does not have is the same as for a tenant that does
        // not exist, so it does not name one.
        if let Some(tenant) = self.tenant.as_deref().filter(|_| is_ours) {
            reply.name_tenant(tenant);
        }
        reply
    }
}

/// The reason for the lack of an answer from a definition.
pub(crate) struct Failed<'m> {
    pub fault: Fault,
    place: Option<(&'m Api, &'m Operation)>,
    options: &'m Options,
}

/// The result of a look-up; HEAD also finds operations of GET, whose response is sent without its
/// body.
fn or_get<'m, T>(sought: &Sought<'_>, find: impl Fn(&Sought<'_>) -> Found<'m, T>) -> Found<'m, T> {
    match find(sought) {
        found @ Found::Operation { .. } => found,
        found => sought.of_head().map_or(found, |sought| find(&sought)),
    }
}
