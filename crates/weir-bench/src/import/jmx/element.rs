//! Elements of a JMeter plan: pairs of an element and the `hashTree` below it, and properties by
//! name. Nothing unknown gets past [`Element::properties`].

use anyhow::{bail, ensure};
use roxmltree::Node;

/// An element with its name and place.
#[derive(Clone, Copy)]
pub(super) struct Element<'a>(Node<'a, 'a>);

/// The properties of an element, all of them known.
pub(super) struct Properties<'a>(Vec<Node<'a, 'a>>);

/// A named value of an argument list.
pub(super) struct Argument {
    pub(super) name: String,
    pub(super) value: String,
}

/// The kinds of property there are.
const KINDS: [&str; 7] =
    ["stringProp", "boolProp", "intProp", "longProp", "floatProp", "elementProp", "collectionProp"];

impl<'a> Element<'a> {
    pub(super) fn of(node: Node<'a, 'a>) -> Self {
        Self(node)
    }

    pub(super) fn name(&self) -> &'a str {
        self.0.tag_name().name()
    }

    /// The name given by the author.
    pub(super) fn label(&self) -> &'a str {
        self.0.attribute("testname").unwrap_or(self.name())
    }

    /// `line 12: ThreadGroup "users"`.
    pub(super) fn place(&self) -> String {
        let line = self.0.document().text_pos_at(self.0.range().start).row;
        format!("line {line}: {} \"{}\"", self.name(), self.label())
    }

    /// # Errors
    /// When it is another element.
    pub(super) fn is(&self, name: &str) -> anyhow::Result<()> {
        ensure!(self.name() == name, "{}: it is not understood", self.place());
        Ok(())
    }

    /// The trees of the root element.
    ///
    /// # Errors
    /// When it holds something else.
    pub(super) fn trees(&self) -> anyhow::Result<Vec<Self>> {
        let mut trees = Vec::new();
        for node in self.0.children().filter(Node::is_element) {
            Self(node).is("hashTree")?;
            trees.push(Self(node));
        }
        Ok(trees)
    }

    /// Elements of a tree, each with the tree below it, if there is one. Disabled ones are left
    /// out, as JMeter does.
    pub(super) fn pairs(&self) -> Vec<(Self, Option<Self>)> {
        let mut pairs: Vec<(Self, Option<Self>)> = Vec::new();
        let mut before: Option<Node<'a, 'a>> = None;
        for node in self.0.children().filter(Node::is_element) {
            if node.tag_name().name() == "hashTree" {
                if let (Some(owner), Some(last)) = (before, pairs.last_mut())
                    && last.0.0 == owner
                {
                    last.1 = Some(Self(node));
                }
                before = None;
                continue;
            }
            before = Some(node);
            if node.attribute("enabled") != Some("false") {
                pairs.push((Self(node), None));
            }
        }
        pairs
    }

    /// Its properties.
    ///
    /// # Errors
    /// For a property that is not among `known`, or that has another value than the one given
    /// (empty always counts as that).
    pub(super) fn properties(
        &self,
        known: &[(&str, Option<&str>)],
    ) -> anyhow::Result<Properties<'a>> {
        let mut all = Vec::new();
        for node in self.0.children().filter(Node::is_element) {
            let kind = node.tag_name().name();
            let name = node.attribute("name").unwrap_or_default();
            let place = || {
                let line = node.document().text_pos_at(node.range().start).row;
                format!("line {line}: {} of {} \"{}\"", name, self.name(), self.label())
            };
            ensure!(KINDS.contains(&kind), "{}: <{kind}> is not understood", place());
            let Some((_, only)) = known.iter().find(|(known, _)| *known == name) else {
                ensure!(
                    name == "Arguments.arguments" && known.is_empty(),
                    "{}: it is not understood",
                    place()
                );
                all.push(node);
                continue;
            };
            let text = node.text().unwrap_or_default().trim();
            if let Some(only) = only
                && !text.is_empty()
                && text != *only
            {
                bail!("{}: only '{only}' is taken, not '{text}'", place());
            }
            all.push(node);
        }
        Ok(Properties(all))
    }
}

impl<'a> Properties<'a> {
    fn node(&self, name: &str) -> Option<Node<'a, 'a>> {
        self.0.iter().find(|node| node.attribute("name") == Some(name)).copied()
    }

    /// Its text; empty if absent.
    pub(super) fn text(&self, name: &str) -> String {
        let text = self.node(name).and_then(|node| node.text()).unwrap_or_default();
        text.trim().to_owned()
    }

    /// # Errors
    /// When it is not a whole number.
    pub(super) fn number(&self, name: &str) -> anyhow::Result<Option<u64>> {
        match self.text(name).as_str() {
            "" => Ok(None),
            text => match text.parse() {
                Ok(number) => Ok(Some(number)),
                Err(_) => bail!("{name}: '{text}' is not a whole number"),
            },
        }
    }

    /// # Errors
    /// When it is not a number of milliseconds.
    pub(super) fn milliseconds(&self, name: &str) -> anyhow::Result<f64> {
        match self.text(name).as_str() {
            "" => Ok(0.0),
            text => match text.parse::<f64>() {
                Ok(number) if number >= 0.0 && number.is_finite() => Ok(number),
                _ => bail!("{name}: '{text}' is not a number of milliseconds"),
            },
        }
    }

    pub(super) fn element(&self, name: &str) -> Option<Element<'a>> {
        self.node(name).map(Element)
    }

    /// The elements of a collection.
    pub(super) fn items(&self, name: &str) -> Vec<Element<'a>> {
        let nodes = self.node(name).into_iter().flat_map(|node| node.children());
        nodes.filter(Node::is_element).map(Element).collect()
    }

    /// The texts of a collection.
    pub(super) fn strings(&self, name: &str) -> Vec<String> {
        let items = self.items(name).into_iter();
        items.map(|item| item.0.text().unwrap_or_default().to_owned()).collect()
    }

    /// A list of arguments, as an element or as a collection.
    ///
    /// # Errors
    /// For something unknown in it.
    pub(super) fn arguments(&self, name: &str) -> anyhow::Result<Vec<Argument>> {
        let Some(node) = self.node(name) else { return Ok(Vec::new()) };
        let items = match node.tag_name().name() {
            "collectionProp" => self.items(name),
            _ => Element(node).properties(&[])?.items("Arguments.arguments"),
        };
        let mut arguments = Vec::new();
        for item in items {
            let properties = item.properties(&[
                ("Argument.name", None),
                ("Argument.value", None),
                ("Argument.metadata", Some("=")),
                ("Argument.desc", None),
                ("HTTPArgument.always_encode", None),
                ("HTTPArgument.use_equals", Some("true")),
                ("HTTPArgument.content_type", None),
            ])?;
            let (name, value) =
                (properties.text("Argument.name"), properties.text("Argument.value"));
            arguments.push(Argument { name, value });
        }
        Ok(arguments)
    }
}
