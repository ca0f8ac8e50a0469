//! Choices among given values: one, some, in another order, each in turn.

use serde_json::Value;

use super::basic::whole;
use super::evaluate::Evaluator;

pub(super) const NAMES: &[&str] = &["pick", "shuffle", "order"];

impl Evaluator<'_> {
    pub(super) fn choice(
        &mut self,
        name: &str,
        arguments: &[Value],
    ) -> Result<Option<Value>, String> {
        // `(["a", "b"])` or `("a", "b")`.
        let list = match arguments.first() {
            Some(Value::Array(list)) => list.as_slice(),
            _ => arguments,
        };
        let is_list = matches!(arguments.first(), Some(Value::Array(_)));
        let size = |at: usize| is_list.then(|| whole(arguments, at)).flatten();
        Ok(Some(match name {
            "pick" => match (size(1), size(2)) {
                (None, _) => {
                    let at = self.below(list.len() as u64);
                    let at = usize::try_from(at).unwrap_or(0);
                    list.get(at).cloned().unwrap_or(Value::Null)
                }
                (Some(low), high) => self.some(list, low, high.unwrap_or(low)),
            },
            "shuffle" => {
                let all = list.len() as i64;
                let low = size(1).unwrap_or(all);
                self.some(list, low, size(2).unwrap_or(low))
            }
            "order" => {
                let key = Value::Array(list.to_vec()).to_string();
                let counter = self.counters.entry(key).or_default();
                let at = counter.unsigned_abs() % (list.len() as u64).max(1);
                *counter = counter.wrapping_add(1);
                let at = usize::try_from(at).unwrap_or(0);
                list.get(at).cloned().unwrap_or(Value::Null)
            }
            _ => return Ok(None),
        }))
    }

    /// Between `low` and `high` of a list, in any order.
    fn some(&mut self, list: &[Value], low: i64, high: i64) -> Value {
        let count = usize::try_from(self.between(low, high)).unwrap_or(0).min(list.len());
        let mut all = list.to_vec();
        for at in 0..count {
            let left = (all.len() - at) as u64;
            let other = at + usize::try_from(self.below(left)).unwrap_or(0);
            all.swap(at, other);
        }
        all.truncate(count);
        Value::Array(all)
    }
}
