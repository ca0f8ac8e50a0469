//! The URI variables that Host and Path predicates publish.

/// URI variables published by Host and Path predicates, in order of publication.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vars {
    list: Vec<(String, String)>,
}

impl Vars {
    /// Removes all variables but keeps the memory.
    pub fn clear(&mut self) {
        self.list.clear();
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Sets `name`, replacing an earlier value.
    pub fn set(&mut self, name: &str, value: String) {
        match self.list.iter_mut().find(|(n, _)| n == name) {
            Some(slot) => slot.1 = value,
            None => self.list.push((name.to_owned(), value)),
        }
    }

    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.list.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// All variables in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.list.iter().map(|(n, v)| (n.as_str(), v.as_str()))
    }
}
