//! The filters of one route in the order they run.

use std::fmt;
use std::sync::Arc;

use crate::content::{OnContent, Side, decoded};
use crate::context::{FilterError, RequestContext, ResponseContext, Verdict};
use crate::filter::{
    CircuitBreaker, Compress, Filter, LocalResponseCache, Mirror, MockFallback, Retry,
    ValidateResponse,
};
use crate::question::Answer;

/// Texts of filters up to this length lie in the filter itself.
const TEXT_INLINE_MAX: usize = 38;

/// A filter with its place: `order` sorts, ties keep the order written. Text is that of SCG's
/// actuator: `[[AddRequestHeader X = 'Bar'], order = 1]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChainEntry {
    /// 1-based number within its list, or the filter's own order.
    pub order: i32,
    /// The filter.
    pub filter: Filter,
}

/// The filters of a route, default filters merged in, and what every request must know of them. A
/// few small ones lie in the route itself, others are shared by routes with equal filters
/// (`docs/decisions/0012-route-layout.md`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Chain {
    entries: Entries,
    needs_vars: bool,
    acts_on_response: bool,
    limits_content: bool,
    has_policy: bool,
    edits_request: bool,
    takes_response: bool,
    compresses: bool,
}

/// Where the entries of a chain are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
enum Entries {
    #[default]
    None,
    One([ChainEntry; 1]),
    Two([ChainEntry; 2]),
    Shared(Arc<[ChainEntry]>),
}

impl std::ops::Deref for Entries {
    type Target = [ChainEntry];

    #[inline]
    fn deref(&self) -> &[ChainEntry] {
        match self {
            Self::None => &[],
            Self::One(entries) => entries,
            Self::Two(entries) => entries,
            Self::Shared(entries) => entries,
        }
    }
}

impl From<Vec<ChainEntry>> for Entries {
    fn from(entries: Vec<ChainEntry>) -> Self {
        if !entries.iter().all(|entry| entry.filter.is_small()) {
            return Self::Shared(entries.into());
        }
        let entries = match <[_; 2]>::try_from(entries) {
            Ok(two) => return Self::Two(two),
            Err(entries) => entries,
        };
        match <[_; 1]>::try_from(entries) {
            Ok(one) => Self::One(one),
            Err(none) if none.is_empty() => Self::None,
            Err(many) => Self::Shared(many.into()),
        }
    }
}

impl From<Arc<[ChainEntry]>> for Chain {
    fn from(entries: Arc<[ChainEntry]>) -> Self {
        Self::of(Entries::Shared(entries))
    }
}

impl Chain {
    /// Filters of a chain that is not worth sharing, at most.
    pub const FEW: usize = 2;

    fn of(entries: Entries) -> Self {
        let any = |has: fn(&Filter) -> bool| entries.iter().any(|entry| has(&entry.filter));
        let edits_request = any(|filter| filter.edits(Side::Request));
        Self {
            needs_vars: any(|filter| !filter.variables().is_empty()),
            acts_on_response: any(Filter::acts_on_response),
            limits_content: any(|filter| filter.request_size_max().is_some()),
            has_policy: edits_request || any(Filter::is_policy),
            edits_request,
            compresses: any(|filter| matches!(filter, Filter::Compress(_))),
            takes_response: any(Filter::takes_response),
            entries,
        }
    }

    /// Merges default and route filters as SCG does: each list is numbered from 1, the lists are
    /// concatenated (default first) and stably sorted by number, own orders kept (scg.md 1.4).
    pub fn merge(defaults: Vec<Filter>, own: Vec<Filter>) -> Self {
        let mut entries: Vec<_> = numbered(defaults).chain(numbered(own)).collect();
        entries.sort_by_key(|entry| entry.order);
        let mut path_changes = false;
        for entry in &mut entries {
            entry.filter.place_after(path_changes);
            path_changes |= entry.filter.changes_path();
        }
        Self::of(entries.into())
    }

    /// The filters in request order.
    pub fn entries(&self) -> &[ChainEntry] {
        &self.entries
    }

    /// The filters, where other routes can share them.
    pub fn shared(&self) -> Option<&Arc<[ChainEntry]>> {
        match &self.entries {
            Entries::Shared(entries) => Some(entries),
            Entries::None | Entries::One(_) | Entries::Two(_) => None,
        }
    }

    /// Whether any filter reads URI variables, so that matching must publish them.
    pub fn needs_vars(&self) -> bool {
        self.needs_vars
    }

    /// Whether it says what to do when the upstream fails: [`Chain::breaker`], [`Chain::retry`].
    pub fn has_policy(&self) -> bool {
        self.has_policy
    }

    /// Whether a filter changes the content of requests.
    pub fn edits_request(&self) -> bool {
        self.edits_request
    }

    /// Whether responses may have to be collected: [`Chain::edits`].
    pub fn takes_response(&self) -> bool {
        self.takes_response
    }

    /// Whether any filter changes content of this type (the value of Content-Type) on this side.
    pub fn edits(&self, side: Side, content_type: &[u8]) -> bool {
        self.editors(side).any(|editor| editor.takes(content_type))
    }

    /// The content in place of `content`, which came with these values of Content-Type and
    /// Content-Encoding and goes on without coding: at most `max` bytes of it.
    ///
    /// # Errors
    /// The first filter that fails, or content that cannot be decoded.
    pub fn edit(
        &self,
        side: Side,
        (content_type, encoding): (&[u8], &[u8]),
        content: Vec<u8>,
        max: usize,
    ) -> Result<Vec<u8>, FilterError> {
        let content = decoded(encoding, content, max)?;
        let apply = |content, editor: &dyn OnContent| match editor.takes(content_type) {
            true => editor.edit(content),
            false => Ok(content),
        };
        match side {
            Side::Request => self.editors(side).try_fold(content, apply),
            Side::Response => self.editors(side).rev().try_fold(content, apply),
        }
    }

    fn editors(&self, side: Side) -> impl DoubleEndedIterator<Item = &dyn OnContent> {
        let all = self.entries.iter().filter_map(|entry| entry.filter.on_content());
        all.filter(move |editor| editor.side() == side)
    }

    /// The breaker between its route and the upstream; the first one of several.
    pub fn breaker(&self) -> Option<&CircuitBreaker> {
        self.entries.iter().find_map(|entry| match &entry.filter {
            Filter::CircuitBreaker(breaker) => Some(breaker),
            _ => None,
        })
    }

    /// What keeps responses of its route; the last one counts, as for [`Chain::retry`].
    pub fn cache(&self) -> Option<&LocalResponseCache> {
        self.entries.iter().rev().find_map(|entry| match &entry.filter {
            Filter::LocalResponseCache(cache) => Some(cache),
            _ => None,
        })
    }

    /// What copies requests of its route; the last one counts.
    pub fn mirror(&self) -> Option<&Mirror> {
        self.entries.iter().rev().find_map(|entry| match &entry.filter {
            Filter::Mirror(mirror) => Some(mirror),
            _ => None,
        })
    }

    /// What answers instead of an upstream that lacks something; the last one counts.
    pub fn mock_fallback(&self) -> Option<&MockFallback> {
        self.entries.iter().rev().find_map(|entry| match &entry.filter {
            Filter::MockFallback(fallback) => Some(fallback),
            _ => None,
        })
    }

    /// What compares responses of its route with a definition; the last one counts.
    pub fn validate_response(&self) -> Option<&ValidateResponse> {
        self.entries.iter().rev().find_map(|entry| match &entry.filter {
            Filter::ValidateResponse(compares) => Some(compares),
            _ => None,
        })
    }

    /// What compresses responses of its route; the last one counts.
    pub fn compress(&self) -> Option<&Compress> {
        if !self.compresses {
            return None;
        }
        self.entries.iter().rev().find_map(|entry| match &entry.filter {
            Filter::Compress(compress) => Some(compress),
            _ => None,
        })
    }

    /// When a request of its route is sent again; the last one counts, which is the route's own
    /// where there is a default one.
    pub fn retry(&self) -> Option<&Retry> {
        self.entries.iter().rev().find_map(|entry| match &entry.filter {
            Filter::Retry(retry) => Some(retry),
            _ => None,
        })
    }

    /// Most bytes of content a request may have (RequestSize). The filter itself looks at
    /// Content-Length; the server counts bodies without one and answers
    /// [`request_too_large`](crate::filter::request_too_large).
    pub fn request_size_max(&self) -> Option<u64> {
        if !self.limits_content {
            return None;
        }
        self.entries.iter().filter_map(|entry| entry.filter.request_size_max()).min()
    }

    /// About how much memory the entries take that do not lie in the chain itself, in bytes: what
    /// filters keep of texts is taken to be as long as SCG's actuator shows it, and to lie in the
    /// entry if it is short.
    pub fn bytes(&self) -> usize {
        let text = |entry: &ChainEntry| {
            let shown = entry.filter.to_string().len();
            let len = shown.saturating_sub(entry.filter.spec().name.len() + "[ = '']".len());
            if len > TEXT_INLINE_MAX { len } else { 0 }
        };
        let texts: usize = self.entries.iter().map(text).sum();
        self.shared().map_or(0, |entries| size_of_val(&**entries)) + texts
    }

    /// Runs the request side in order until a filter responds or fails. `ran` is set to how many
    /// filters have run: the response side starts from there. It is 0 where no filter has one, and
    /// when a filter responds itself, since in SCG such a response is on its way before the
    /// response side of any filter runs. Of a request that has to be admitted first it is the
    /// filter to go on with.
    ///
    /// # Errors
    /// The first filter that fails.
    pub fn request(
        &self,
        context: &mut RequestContext<'_>,
        ran: &mut usize,
    ) -> Result<Verdict, FilterError> {
        self.resume(0, context, ran)
    }

    /// Goes on with the request side at filter number `from`, as [`Verdict::Admit`] or
    /// [`Verdict::Ask`] left it in `ran`, once the request may pass the limit or
    /// [`Chain::answered`] has said [`Verdict::Continue`].
    ///
    /// # Errors
    /// The first filter that fails.
    pub fn resume(
        &self,
        from: usize,
        context: &mut RequestContext<'_>,
        ran: &mut usize,
    ) -> Result<Verdict, FilterError> {
        *ran = 0;
        for (at, entry) in self.entries.iter().enumerate().skip(from) {
            match entry.filter.request(context)? {
                Verdict::Continue => {}
                Verdict::Respond(response) => return Ok(Verdict::Respond(response)),
                waiting @ (Verdict::Admit(_) | Verdict::Ask(_)) => {
                    *ran = at + 1;
                    return Ok(waiting);
                }
            }
        }
        *ran = if self.acts_on_response { self.entries.len() } else { 0 };
        Ok(Verdict::Continue)
    }

    /// Gives the filter in front of number `from` the answer to what it asked. `ran` is set as by
    /// [`Chain::request`].
    ///
    /// # Errors
    /// What the filter cannot do for this request.
    pub fn answered(
        &self,
        from: usize,
        context: &mut RequestContext<'_>,
        answer: Answer,
        ran: &mut usize,
    ) -> Result<Verdict, FilterError> {
        *ran = 0;
        let asked = from.checked_sub(1).and_then(|at| self.entries.get(at));
        let Some(entry) = asked else { return Ok(Verdict::Continue) };
        let verdict = entry.filter.answered(context, answer)?;
        if let Verdict::Admit(_) | Verdict::Ask(_) = verdict {
            *ran = from;
        }
        Ok(verdict)
    }

    /// Runs the response side of the first `ran` filters, last one first.
    ///
    /// # Errors
    /// The first filter that fails.
    pub fn response(
        &self,
        context: &mut ResponseContext<'_>,
        ran: usize,
    ) -> Result<(), FilterError> {
        if ran == 0 {
            return Ok(());
        }
        let ran = self.entries.get(..ran).unwrap_or(&self.entries);
        ran.iter().rev().try_for_each(|entry| entry.filter.response(context))
    }
}

fn numbered(filters: Vec<Filter>) -> impl Iterator<Item = ChainEntry> {
    (1..)
        .zip(filters)
        .map(|(number, filter)| ChainEntry { order: filter.own_order().unwrap_or(number), filter })
}

impl fmt::Display for ChainEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, order = {}]", self.filter, self.order)
    }
}

#[cfg(test)]
mod tests;
