//! A fixture file, in the format of the recorder's README.

use std::path::{Path, PathBuf};

use crate::message::{Block, to_text};

/// A configuration, and the exchanges with a gateway that runs it.
#[derive(Debug, Default)]
pub struct CaseFile {
    /// Path below `cases`, such as `filters/retry.txt`.
    pub name: String,
    /// Sections that set the gateway up, with their titles: `config`, `file`, `profile`,
    /// `env`, `with`.
    pub sections: Vec<(String, Vec<String>)>,
    /// The message of the recorded gateway when it refused to start.
    pub start_failure: Option<Vec<String>>,
    pub cases: Vec<Case>,
}

/// A titled sequence of exchanges.
#[derive(Debug)]
pub struct Case {
    pub title: String,
    pub exchanges: Vec<Exchange>,
}

/// One request, the upstream's answers, and the recording.
#[derive(Debug, Default)]
pub struct Exchange {
    /// The text after `-- request`.
    pub options: String,
    pub request: Vec<String>,
    pub answers: Vec<Vec<String>>,
    pub got: Vec<Vec<String>>,
    pub responses: Vec<Vec<String>>,
}

impl CaseFile {
    /// Reads the file `name` below `root`.
    ///
    /// # Panics
    /// If it cannot be read, holds a block that no reader knows, or two cases of one title.
    pub fn read(root: &Path, name: &str) -> Self {
        let bytes = std::fs::read(root.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut file = Self { name: name.to_owned(), ..Self::default() };
        let mut ignored = Vec::new();
        let mut place = Place::Ignored;
        for line in to_text(&bytes).split('\n') {
            match file.enter(line) {
                Some(next) => place = next,
                None => file.lines_at(place).unwrap_or(&mut ignored).push(line.to_owned()),
            }
        }
        file
    }

    /// Whether the file needs `feature`, by a section `with redis, security`.
    pub fn wants(&self, feature: &str) -> bool {
        let lists = self.sections.iter().filter_map(|(title, _)| title.strip_prefix("with "));
        lists.flat_map(|list| list.split(',')).any(|name| name.trim() == feature)
    }

    /// Opens the block that `line` begins; `None` if it begins none.
    fn enter(&mut self, line: &str) -> Option<Place> {
        if let Some(title) = line.strip_prefix("---- case ") {
            let title = title.trim().to_owned();
            let is_new = self.cases.iter().all(|case| case.title != title);
            assert!(is_new, "{}: two cases are called {title:?}", self.name);
            self.cases.push(Case { title, exchanges: Vec::new() });
            return Some(Place::Ignored);
        }
        if line.starts_with("---- start fails") {
            self.start_failure = Some(Vec::new());
            return Some(Place::StartFailure);
        }
        if let Some(title) = line.strip_prefix("---- ") {
            self.sections.push((title.trim().to_owned(), Vec::new()));
            return Some(Place::Section);
        }
        let title = line.strip_prefix("-- ")?.trim();
        let case = self.cases.last_mut()?;
        if let Some(options) = title.strip_prefix("request") {
            case.exchanges.push(Exchange { options: options.to_owned(), ..Exchange::default() });
            return Some(Place::Request);
        }
        let exchange = case.exchanges.last_mut()?;
        let (blocks, place) = match title {
            "upstream answers" => (&mut exchange.answers, Place::Answer),
            "upstream got" => (&mut exchange.got, Place::Got),
            "response" => (&mut exchange.responses, Place::Response),
            _ => panic!("{}: unknown block {line:?}", self.name),
        };
        blocks.push(Vec::new());
        Some(place)
    }

    fn lines_at(&mut self, place: Place) -> Option<&mut Vec<String>> {
        let exchange = self.cases.last_mut().and_then(|case| case.exchanges.last_mut());
        match place {
            Place::Ignored => None,
            Place::StartFailure => self.start_failure.as_mut(),
            Place::Section => self.sections.last_mut().map(|(_, lines)| lines),
            Place::Request => exchange.map(|exchange| &mut exchange.request),
            Place::Answer => exchange?.answers.last_mut(),
            Place::Got => exchange?.got.last_mut(),
            Place::Response => exchange?.responses.last_mut(),
        }
    }
}

impl Exchange {
    /// The recorded requests at the upstream.
    pub fn recorded_requests(&self) -> Vec<Block> {
        let nothing = |block: &Block| matches!(block, Block::Note(note) if note == "(nothing)");
        let blocks = self.got.iter().map(|lines| Block::from_lines(lines));
        blocks.filter(|block| !nothing(block)).collect()
    }

    /// The recorded responses at the client.
    pub fn recorded_responses(&self) -> Vec<Block> {
        self.responses.iter().map(|lines| Block::from_lines(lines)).collect()
    }
}

/// The block that lines belong to.
#[derive(Clone, Copy)]
enum Place {
    Ignored,
    StartFailure,
    Section,
    Request,
    Answer,
    Got,
    Response,
}

/// The names of all fixture files below `root`, sorted.
pub fn names(root: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut directories = vec![root.to_path_buf()];
    while let Some(directory) = directories.pop() {
        let entries = std::fs::read_dir(&directory).expect("the directory of the cases");
        for path in entries.map(|entry| entry.expect("an entry").path()) {
            match path.extension() {
                _ if path.is_dir() => directories.push(path),
                Some(ending) if ending == "txt" => names.push(below(root, &path)),
                _ => {}
            }
        }
    }
    names.sort();
    names
}

fn below(root: &Path, path: &Path) -> String {
    let path: PathBuf = path.strip_prefix(root).expect("a path below the root").into();
    path.to_str().expect("a name in UTF-8").to_owned()
}
