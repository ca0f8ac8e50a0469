//! Many route definitions in little memory.

use weir_route::RouteDefinition;

/// Route definitions as JSON end to end: a parsed one takes several times the memory, and most are
/// kept only to be shown.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    json: Vec<u8>,
    /// Where the n-th definition ends.
    ends: Vec<usize>,
}

impl Definitions {
    /// Adds `definition` behind the others.
    pub fn push(&mut self, definition: &RouteDefinition) {
        let start = self.json.len();
        // A definition is made of texts and JSON values: writing it to memory cannot fail.
        if serde_json::to_writer(&mut self.json, definition).is_err() {
            self.json.truncate(start);
        }
        self.ends.push(self.json.len());
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The JSON of the n-th.
    pub fn json(&self, n: usize) -> Option<&[u8]> {
        let end = *self.ends.get(n)?;
        let start = n.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        self.json.get(start.unwrap_or(0)..end)
    }

    /// The n-th.
    pub fn get(&self, n: usize) -> Option<RouteDefinition> {
        serde_json::from_slice(self.json(n)?).ok()
    }

    /// All in order.
    pub fn iter(&self) -> impl Iterator<Item = RouteDefinition> + '_ {
        (0..self.len()).filter_map(|n| self.get(n))
    }

    /// Gives back memory kept for more.
    pub fn shrink_to_fit(&mut self) {
        self.json.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use weir_route::RouteDefinition;

    use super::Definitions;

    #[test]
    fn definitions_come_back_as_they_were() {
        let route = |id: &str| RouteDefinition {
            id: id.to_owned(),
            enabled: true,
            ..RouteDefinition::default()
        };
        let mut definitions = Definitions::default();
        let routes = [route("a"), route(""), route("c")];
        routes.iter().for_each(|route| definitions.push(route));
        assert_eq!(definitions.len(), 3);
        assert_eq!(definitions.iter().collect::<Vec<_>>(), routes);
        assert_eq!(definitions.get(1), Some(route("")));
        assert!(definitions.json(0).is_some_and(|json| json.starts_with(b"{\"id\":\"a\"")));
        assert_eq!(definitions.get(3), None);
    }
}
