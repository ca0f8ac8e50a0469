//! Inserts the results of imports into the documents.

use std::path::PathBuf;

use super::{Content, Fetched, Import, ImportedFile, Imports, Location, Outcome};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::source::Source;
use crate::spring::Documents;

impl Imports {
    /// Processes the outcome of `import`.
    pub(crate) fn answer(&mut self, import: &Import, outcome: Outcome, documents: &mut Documents) {
        match outcome {
            Outcome::Files(files) if files.is_empty() => missing(import, documents),
            Outcome::Files(files) => {
                for (n, source) in (0..).zip(files) {
                    let rank = import.rank.below(n);
                    if !import.is_variant {
                        let path = PathBuf::from(&*source.name);
                        let file = ImportedFile { path, rank: rank.clone(), at: import.at };
                        self.files.push(file);
                    }
                    documents.add_at(source, &rank, false);
                }
            }
            Outcome::Parts(parts) => take(import, parts, documents),
            Outcome::Remembered(parts, why) => {
                let message = format!("{}: {why}; its last answer serves", import.location);
                let help = "see to the server; weir asks it again at each reload";
                report(import, Severity::Warning, message, help, documents);
                take(import, parts, documents);
            }
            Outcome::Failed(why) => {
                let severity = match import.optional {
                    true => Severity::Warning,
                    false => Severity::Error,
                };
                let message = format!("{}: {why}", import.location);
                report(import, severity, message, remedy(import), documents);
            }
            Outcome::NotRead => {
                self.unread.push(import.location.to_string());
                let message = format!("{} is not read here", import.location);
                let help = "`weir check --online` reads it, and `weir run` does";
                let problem = Diagnostic::new(Code::ImportUnread, message).help(help);
                documents.report(placed(import, problem));
            }
        }
    }
}

fn take(import: &Import, parts: Vec<Fetched>, documents: &mut Documents) {
    let is_remote = matches!(import.location, Location::Server(_));
    for (n, part) in (0..).zip(parts) {
        let level = if part.is_specific { import.specific } else { import.rank.level };
        let rank = import.rank.at(level).below(n);
        match part.content {
            Content::Text(text, format) => {
                documents.add_at(Source::new(&part.name, text, format), &rank, is_remote);
            }
            Content::Pairs(pairs) => documents.add_pairs(&part.name, &pairs, &rank, is_remote),
        }
    }
}

fn missing(import: &Import, documents: &mut Documents) {
    if import.is_variant {
        return;
    }
    let severity = if import.optional { Severity::Note } else { Severity::Error };
    let message = format!("{} is not there", import.location);
    report(import, severity, message, remedy(import), documents);
}

fn remedy(import: &Import) -> &'static str {
    match &import.location {
        Location::Server(server) => server.remedy(),
        _ if import.optional => "nothing needs doing: it is optional",
        _ => "put it there, mend the location, or write `optional:` before it",
    }
}

fn report(
    import: &Import,
    severity: Severity,
    message: String,
    help: &str,
    documents: &mut Documents,
) {
    let problem = Diagnostic::new(Code::ImportFailed, message).severity(severity).help(help);
    documents.report(placed(import, problem));
}

fn placed(import: &Import, problem: Diagnostic) -> Diagnostic {
    let has_login = matches!(&import.location, Location::Server(server) if server.has_login());
    let problem = problem.secret(has_login);
    match import.at {
        Some(at) => problem.at(at),
        None => problem,
    }
}
