//! FaultInjection: delays some requests, and fails some.

use std::fmt;

use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, optional};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::local_response::LocalResponse;
use crate::question::{Answer, Question};
use crate::share::Share;
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "FaultInjection",
    doc: r#"Delays a share of requests and answers a share with an error, to test how clients behave. A
filter of weir's own.

```yaml
filters:
- name: FaultInjection
  args:
    abortStatus: 503
    abortPercent: 100
```
```http request
GET / HTTP/1.1
```
```http response
HTTP/1.1 503 Service Unavailable
X-Weir-Fault: abort
```"#,
    args: &[
        optional("delay", ArgKind::Duration, None, "How long a request is held back."),
        optional("delayPercent", ArgKind::Text, Some("100"), "The share of requests, 0 to 100."),
        optional("abortStatus", ArgKind::Status, None, "Status that a request is answered with."),
        optional("abortPercent", ArgKind::Text, Some("100"), "The share of requests, 0 to 100."),
    ],
    shortcut: Shortcut::Positions(0),
    compatibility: Compatibility::Own,
    build,
};

/// Delays some requests, and fails some.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FaultInjection {
    delay_ms: u64,
    delayed: Share,
    status: u16,
    aborted: Share,
}

fn build(args: &Args, _: &FilterOptions) -> Result<Filter, ArgError> {
    let (delayed, aborted) = (Share::of(args, "delayPercent")?, Share::of(args, "abortPercent")?);
    let delay = args.duration("delay")?.map(|time| time.as_millis());
    let status = args.status("abortStatus")?;
    if delay.is_none() && status.is_none() {
        return Err(ArgError::new("delay", "there is no fault")
            .help("write `delay: 100ms`, `abortStatus: 503`, or both"));
    }
    Ok(Filter::FaultInjection(FaultInjection {
        delay_ms: delay.map_or(0, |ms| u64::try_from(ms).unwrap_or(u64::MAX)),
        delayed: if delay.is_some() { delayed } else { Share::NONE },
        status: status.unwrap_or_default(),
        aborted: if status.is_some() { aborted } else { Share::NONE },
    }))
}

impl FaultInjection {
    fn abort(&self, context: &RequestContext<'_>) -> Verdict {
        // Independent of the bits that decided on the delay.
        if !self.aborted.takes(context.dice >> 32) {
            return Verdict::Continue;
        }
        let fields = vec![("X-Weir-Fault".to_owned(), b"abort".to_vec())];
        let status = self.status;
        Verdict::Respond(Box::new(LocalResponse { status, fields, body: Vec::new() }))
    }
}

impl Behaviour for FaultInjection {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        if self.delayed.takes(context.dice & u64::from(u32::MAX)) {
            return Ok(Verdict::Ask(Box::new(Question::Pause(self.delay_ms))));
        }
        Ok(self.abort(context))
    }

    fn answered(
        &self,
        context: &mut RequestContext<'_>,
        _: Answer,
    ) -> Result<Verdict, FilterError> {
        Ok(self.abort(context))
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.plain("delay", format_args!("{}ms", self.delay_ms))?;
        styled.plain("delayPercent", self.delayed)?;
        styled.plain("abortStatus", self.status)?;
        styled.plain("abortPercent", self.aborted)
    }

    fn explain(&self) -> String {
        let mut does = Vec::new();
        if self.delayed != Share::NONE {
            let (share, ms) = (self.delayed, self.delay_ms);
            does.push(format!("holds {share} % of requests back for {ms} ms"));
        }
        if self.aborted != Share::NONE {
            does.push(format!("answers {} % with {}", self.aborted, self.status));
        }
        if does.is_empty() { "does nothing".to_owned() } else { does.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use crate::test_exchange::check_refused;

    #[test]
    fn nonsense_is_refused_with_a_remedy() {
        check_refused("name: FaultInjection", "delay");
        let with = |arg: &str| format!("name: FaultInjection\n  args:\n    delay: 1s\n    {arg}");
        check_refused(&with("delayPercent: 101"), "delayPercent");
        check_refused(&with("abortPercent: few"), "abortPercent");
    }
}
