//! The filters of one route in the order in which they run.

use std::fmt;
use std::sync::Arc;

use crate::content::{OnContent, Side, decoded};
use crate::context::{FilterError, RequestContext, ResponseContext, Verdict};
use crate::filter::{
    CircuitBreaker, Compress, Filter, LocalResponseCache, Mirror, MockFallback, Retry,
    ValidateResponse,
};
use crate::question::Answer;

/// Maximum length of a filter's text that is stored inline.
const TEXT_INLINE_MAX: usize = 38;

/// A filter and its order: entries are sorted by it, ties keep the order written. `Display` prints
/// as SCG's actuator: `[[AddRequestHeader X = 'Bar'], order = 1]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChainEntry {
    /// 1-based number within its list, or the filter's own order.
    pub order: i32,
    /// The filter.
    pub filter: Filter,
}

/// The filters of a route, with default filters merged in, and properties of them that every
/// request needs. A few small filters are stored in the route itself; others are shared by routes
/// with equal filters (`docs/decisions/0012-route-layout.md`).
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

/// Storage of a chain's entries.
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
    /// Maximum number of filters in a chain that is not worth sharing.
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
    /// concatenated (default first) and stably sorted by number; a filter's own order overrides its
    /// number (scg.md 1.4).
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

    /// The shared allocation of the filters, if the chain has one.
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

    /// Whether a filter handles failures of the upstream: [`Chain::breaker`], [`Chain::retry`].
    pub fn has_policy(&self) -> bool {
        self.has_policy
    }

    /// Whether a filter changes the content of requests.
    pub fn edits_request(&self) -> bool {
        self.edits_request
    }

    /// Whether response bodies may have to be buffered: [`Chain::edits`].
    pub fn takes_response(&self) -> bool {
        self.takes_response
    }

    /// Whether any filter changes content of this type (the value of Content-Type) on this side.
    pub fn edits(&self, side: Side, content_type: &[u8]) -> bool {
        self.editors(side).any(|editor| editor.takes(content_type))
    }

    /// Returns the edited content. `content` came with these values of Content-Type and
    /// Content-Encoding; the result has no coding and at most `max` bytes.
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

    /// The circuit breaker; the first if there are several.
    pub fn breaker(&self) -> Option<&CircuitBreaker> {
        self.entries.iter().find_map(|entry| match &entry.filter {
            Filter::CircuitBreaker(breaker) => Some(breaker),
            _ => None,
        })
    }

    /// The response cache; the last if there are several, as for [`Chain::retry`].
    pub fn cache(&self) -> Option<&LocalResponseCache> {
        self.entries.iter().rev().find_map(|entry| match &entry.filter {
            Filter::LocalResponseCache(cache) => Some(cache),
            _ => None,
        })
    }

    /// The Mirror filter; the last if there are several.
    pub fn mirror(&self) -> Option<&Mirror> {
        self.entries.iter().rev().find_map(|entry| match &entry.filter {
            Filter::Mirror(mirror) => Some(mirror),
            _ => None,
        })
    }

    /// The MockFallback filter; the last if there are several.
    pub fn mock_fallback(&self) -> Option<&MockFallback> {
        self.entries.iter().rev().find_map(|entry| match &entry.filter {
            Filter::MockFallback(fallback) => Some(fallback),
            _ => None,
        })
    }

    /// The ValidateResponse filter; the last if there are several.
    pub fn validate_response(&self) -> Option<&ValidateResponse> {
        self.entries.iter().rev().find_map(|entry| match &entry.filter {
            Filter::ValidateResponse(compares) => Some(compares),
            _ => None,
        })
    }

    /// The Compress filter; the last if there are several.
    pub fn compress(&self) -> Option<&Compress> {
        if !self.compresses {
            return None;
        }
        self.entries.iter().rev().find_map(|entry| match &entry.filter {
            Filter::Compress(compress) => Some(compress),
            _ => None,
        })
    }

    /// The retry policy; the last if there are several, so that the route's own overrides a default
    /// one.
    pub fn retry(&self) -> Option<&Retry> {
        self.entries.iter().rev().find_map(|entry| match &entry.filter {
            Filter::Retry(retry) => Some(retry),
            _ => None,
        })
    }

    /// Maximum request content in bytes (RequestSize). The filter itself checks Content-Length; the
    /// server counts bodies without that field and answers
    /// [`request_too_large`](crate::filter::request_too_large).
    pub fn request_size_max(&self) -> Option<u64> {
        if !self.limits_content {
            return None;
        }
        self.entries.iter().filter_map(|entry| entry.filter.request_size_max()).min()
    }

    /// Estimated memory in bytes of the entries outside the chain itself. The text of a filter is
    /// assumed to be as long as SCG's actuator prints it, and to be stored inline if it is short.
    pub fn bytes(&self) -> usize {
        let text = |entry: &ChainEntry| {
            let shown = entry.filter.to_string().len();
            let len = shown.saturating_sub(entry.filter.spec().name.len() + "[ = '']".len());
            if len > TEXT_INLINE_MAX { len } else { 0 }
        };
        let texts: usize = self.entries.iter().map(text).sum();
        self.shared().map_or(0, |entries| size_of_val(&**entries)) + texts
    }

    /// Runs the request side in order until a filter responds or fails. `ran` is set to the number
    /// of filters that have run, where the response side starts. It is 0 if no filter has a
    /// response side, or if a filter responds itself: in SCG such a response is sent before the
    /// response side of any filter runs. If the verdict is to wait, `ran` is the filter to resume
    /// from.
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

    /// Resumes the request side at filter number `from`, the value of `ran` after
    /// [`Verdict::Admit`] or [`Verdict::Ask`], once the limit admits the request or
    /// [`Chain::answered`] returned [`Verdict::Continue`].
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

    /// Passes the answer to the filter before number `from`, which asked. `ran` is set as by
    /// [`Chain::request`].
    ///
    /// # Errors
    /// The filter fails for this request.
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

    /// Runs the response side of the first `ran` filters in reverse order.
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
