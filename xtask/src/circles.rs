//! Import cycles between files of one crate (`ARCHITECTURE.md`: data below, conduct above).
//!
//! A module declaration or a re-export is not an import: a name is resolved to the file that
//! defines it. Tests and macro bodies are ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};
use weir_testkit::tree::{files, root, shown};

/// The maximum length of a chain of re-exports.
const HOPS_MAX: usize = 16;

/// Every circle: its files, and the shortest way around.
pub fn findings() -> Vec<String> {
    let mut findings = Vec::new();
    for manifest in files(".", "toml").iter().filter(|path| path.ends_with("Cargo.toml")) {
        let Some(folder) = manifest.parent() else { continue };
        match Modules::read(&folder.join("src")) {
            Ok(modules) => findings.extend(circles(&modules.imports()).iter().map(|one| {
                format!("{} files import each other in a circle: {}", one.files, one.shortest)
            })),
            Err(error) => findings.push(format!("{error:#}")),
        }
    }
    findings
}

/// Files that all lead to each other.
struct Circle {
    files: usize,
    /// The shortest way around: `a -> b -> a`.
    shortest: String,
}

/// The modules of a crate by their paths; that of the root is empty.
#[derive(Default)]
struct Modules(BTreeMap<Vec<String>, Module>);

#[derive(Default)]
struct Module {
    file: String,
    /// The items defined here.
    items: BTreeSet<String>,
    /// The items that `use` imports here.
    uses: Vec<Brought>,
    /// Modules all of whose names are brought here.
    globs: Vec<Vec<String>>,
    /// Paths that the code uses.
    paths: BTreeSet<Vec<String>>,
}

struct Brought {
    name: String,
    path: Vec<String>,
    /// Whether others can reach it here, so that it may be a re-export only.
    is_public: bool,
}

impl Modules {
    fn read(sources: &Path) -> anyhow::Result<Self> {
        let mut modules = Self::default();
        let folder = sources.strip_prefix(root()).unwrap_or(sources).to_string_lossy();
        for path in files(&folder, "rs") {
            let relative = path.strip_prefix(sources)?.with_extension("");
            let mut name: Vec<_> =
                relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            if name.iter().any(|part| part == "tests") {
                continue;
            }
            if matches!(name.last().map(String::as_str), Some("mod" | "lib" | "main")) {
                name.pop();
            }
            // The binary of a crate with a library is left out.
            if !modules.0.contains_key(&name) {
                let text = std::fs::read_to_string(&path)?;
                modules.add(name, shown(&path), &text).with_context(|| shown(&path))?;
            }
        }
        Ok(modules)
    }

    fn add(&mut self, name: Vec<String>, file: String, text: &str) -> anyhow::Result<()> {
        let parsed = syn::parse_file(text)?;
        let mut module = Module { file, ..Module::default() };
        parsed.items.iter().for_each(|item| module.take(item));
        Scan(&mut module.paths).visit_file(&parsed);
        self.0.insert(name, module);
        Ok(())
    }

    /// The files that each file imports from.
    fn imports(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut imports = BTreeMap::new();
        for (name, module) in &self.0 {
            let used = module.uses.iter().filter(|brought| !brought.is_public);
            let ways = used.map(|brought| &brought.path).chain(&module.paths);
            let found = ways.filter_map(|way| self.resolve(name, way, 0));
            let others: BTreeSet<&str> = found.filter(|file| *file != module.file).collect();
            imports.insert(module.file.as_str(), others);
        }
        imports
    }

    /// The file that defines what `path` leads to from the module `from`; `None` outside of the
    /// crate.
    fn resolve(&self, from: &[String], path: &[String], hops: usize) -> Option<&str> {
        let (first, rest) = path.split_first()?;
        let here = self.0.get(from)?;
        let inside = |segment: &String| [from, std::slice::from_ref(segment)].concat();
        match first.as_str() {
            _ if hops > HOPS_MAX => None,
            "crate" => self.resolve_in(&[], rest, hops),
            "self" => self.resolve_in(from, rest, hops),
            "super" => self.resolve_in(from.split_last()?.1, rest, hops),
            _ if self.0.contains_key(&inside(first)) => self.resolve_in(&inside(first), rest, hops),
            _ if here.items.contains(first) => Some(&here.file),
            _ => {
                let brought = here.uses.iter().find(|brought| brought.name == *first)?;
                self.resolve(from, &[&brought.path, rest].concat(), hops + 1)
            }
        }
    }

    /// The file that `path` leads to from the module `at`.
    fn resolve_in(&self, at: &[String], path: &[String], hops: usize) -> Option<&str> {
        let here = self.0.get(at)?;
        let Some(first) = path.first() else { return Some(&here.file) };
        if first == "super" {
            return self.resolve(at, path, hops);
        }
        let found = self.resolve(at, path, hops);
        found.or_else(|| {
            let mut globs = here.globs.iter();
            globs.find_map(|glob| self.resolve(at, &[glob, path].concat(), hops + 1))
        })
    }
}

impl Module {
    fn take(&mut self, item: &Item) {
        let name = match item {
            Item::Const(item) => &item.ident,
            Item::Enum(item) => &item.ident,
            Item::Fn(item) => &item.sig.ident,
            Item::Static(item) => &item.ident,
            Item::Struct(item) => &item.ident,
            Item::Trait(item) => &item.ident,
            Item::Type(item) => &item.ident,
            Item::Union(item) => &item.ident,
            Item::Use(item) if !item.attrs.iter().any(is_test) => {
                let is_public = !matches!(item.vis, Visibility::Inherited);
                return self.bring(&item.tree, is_public, &mut Vec::new());
            }
            _ => return,
        };
        self.items.insert(name.to_string());
    }

    fn bring(&mut self, tree: &UseTree, is_public: bool, path: &mut Vec<String>) {
        let (name, end) = match tree {
            UseTree::Path(part) => {
                path.push(part.ident.to_string());
                self.bring(&part.tree, is_public, path);
                path.pop();
                return;
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.bring(tree, is_public, path));
            }
            UseTree::Glob(_) => return self.globs.push(path.clone()),
            UseTree::Name(one) => (one.ident.to_string(), one.ident.to_string()),
            UseTree::Rename(one) => (one.rename.to_string(), one.ident.to_string()),
        };
        let mut whole = path.clone();
        if end != "self" {
            whole.push(end);
        }
        let name = if name == "self" { path.last().cloned().unwrap_or_default() } else { name };
        self.uses.push(Brought { name, path: whole, is_public });
    }
}

/// Whether an attribute is `cfg(test)`.
fn is_test(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
}

/// Collects the paths that code uses.
struct Scan<'a>(&'a mut BTreeSet<Vec<String>>);

impl<'ast> Visit<'ast> for Scan<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            // Items in an inline module are resolved from that module.
            Item::Mod(_) => return,
            Item::Const(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Static(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !attributes.iter().any(is_test) {
            visit::visit_item(self, item);
        }
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.0.insert(path.segments.iter().map(|part| part.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }
}

/// Each set of files that all lead to each other.
fn circles(imports: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<Circle> {
    let reach: BTreeMap<&str, BTreeMap<&str, &str>> =
        imports.keys().map(|file| (*file, reached(imports, file))).collect();
    let mut told: BTreeSet<&str> = BTreeSet::new();
    let mut found = Vec::new();
    for (file, ways) in &reach {
        let together: Vec<&str> = ways
            .keys()
            .copied()
            .filter(|other| reach.get(other).is_some_and(|back| back.contains_key(file)))
            .collect();
        if together.is_empty() || told.contains(file) {
            continue;
        }
        told.extend(together.iter().copied());
        let around = together.iter().filter_map(|one| Some(way_back(reach.get(one)?, one)));
        let shortest = around.min_by_key(Vec::len).unwrap_or_default();
        found.push(Circle { files: together.len(), shortest: shortest.join(" -> ") });
    }
    found
}

/// The files reachable from `start`, each with its predecessor on a shortest path.
fn reached<'a>(
    imports: &BTreeMap<&'a str, BTreeSet<&'a str>>,
    start: &'a str,
) -> BTreeMap<&'a str, &'a str> {
    let (mut before, mut next) = (BTreeMap::new(), vec![start]);
    while !next.is_empty() {
        let mut further = Vec::new();
        for file in next {
            for other in imports.get(file).into_iter().flatten() {
                before.entry(*other).or_insert_with(|| {
                    further.push(*other);
                    file
                });
            }
        }
        next = further;
    }
    before
}

/// The way from `file` back to itself.
fn way_back<'a>(before: &BTreeMap<&'a str, &'a str>, file: &'a str) -> Vec<&'a str> {
    let mut way = vec![file];
    while let Some(one) = way.last().and_then(|last| before.get(last)) {
        way.push(one);
        if *one == file {
            break;
        }
    }
    way.reverse();
    way
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::{Modules, circles};

    #[test]
    fn no_files_import_each_other_in_a_circle() {
        assert_eq!(super::findings(), Vec::<String>::new());
    }

    /// The imports between the modules `sources`, given by name and text.
    fn check(sources: &[(&str, &str)], expected: &[&str]) {
        let mut modules = Modules::default();
        for (name, text) in sources {
            let path = name.split("::").filter(|part| !part.is_empty()).map(str::to_owned);
            modules.add(path.collect(), (*name).to_owned(), text).unwrap();
        }
        let found = circles(&modules.imports());
        assert_eq!(found.iter().map(|one| one.shortest.as_str()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_name_leads_to_the_file_that_defines_it() {
        let root = ("", "mod a; mod b; pub use b::B;");
        let b = ("b", "pub struct B;");
        check(&[root, ("a", "use crate::B;"), b], &[]);
        check(
            &[root, ("a", "use crate::B; pub struct A;"), ("b", "use super::a::A; pub struct B;")],
            &["a -> b -> a"],
        );
        check(
            &[
                root,
                ("a", "use super::b; fn f() { b::g() }"),
                ("b", "pub fn g() { super::a::f() }"),
            ],
            &["a -> b -> a"],
        );
        check(&[root, ("a", "pub fn f() {}"), ("b", "#[cfg(test)] use crate::a::f;")], &[]);
        check(
            &[("", "mod a; pub struct R; fn f() { a::g() }"), ("a", "use super::R; pub fn g() {}")],
            &[" -> a -> "],
        );
        check(
            &[
                ("", "mod a; pub use a::*;"),
                ("a", "pub mod c; pub struct A;"),
                ("a::c", "use crate::A;"),
            ],
            &[],
        );
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        assert!(Modules::default().add(Vec::new(), String::new(), "fn {").is_err());
        assert_eq!(circles(&BTreeMap::from([("a", BTreeSet::from(["b"]))])).len(), 0);
    }
}
