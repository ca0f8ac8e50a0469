//! Checks of pages: the README's length, and links without a target.

use std::path::{Path, PathBuf};

use weir_testkit::tree::root;

/// The limit of the README's length: a README is for newcomers, and details belong into a guide.
const README_LINES_MAX: usize = 120;

/// Everything wrong with the pages.
pub fn findings() -> Vec<String> {
    let mut findings = Vec::new();
    for path in pages(root()) {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let shown = weir_testkit::tree::shown(&path);
        let lines = text.lines().count();
        if shown == "README.md" && lines > README_LINES_MAX {
            findings.push(format!("{shown}: {lines} lines, {README_LINES_MAX} allowed"));
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        for link in links(&text) {
            if !folder.join(link).exists() {
                findings.push(format!("{shown}: the link `{link}` leads nowhere"));
            }
        }
    }
    findings
}

/// Every Markdown file that is not under `target` or a hidden folder.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') || name == "target" {
            continue;
        }
        if path.is_dir() {
            found.extend(pages(&path));
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
    found
}

/// Relative links of a page, without their fragments.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| {
        let link = rest.split([')', ' ', '\n']).next()?;
        let link = link.split('#').next().unwrap_or_default();
        let is_ours = !link.is_empty() && !link.contains("://") && !link.starts_with("mailto:");
        is_ours.then_some(link)
    })
}

#[cfg(test)]
mod tests {
    use super::{findings, links};

    #[test]
    fn pages_are_sound() {
        assert_eq!(findings(), Vec::<String>::new());
    }

    #[test]
    fn links_are_found() {
        let text = "[a](b.md) ![x](i/p.svg) [c](https://h/x) [d](#here) [e](f.md#part)";
        assert_eq!(links(text).collect::<Vec<_>>(), ["b.md", "i/p.svg", "f.md"]);
    }
}
