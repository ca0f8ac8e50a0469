//! Look-ups of paths, in one definition and in many together.

use super::*;

const PATHS: &[&str] = &[
    "/pets",
    "/pets/",
    "/pets/{id}",
    "/pets/mine",
    "/{kind}/mine/{id}",
    "/{kind}/{name}/7",
    "/files/{Sid}.json",
    "/files/{name}",
    "/compare/{base}...{head}",
    "/search?type=a",
    "/search",
    "/caf%C3%A9/x",
];

fn rank(name: &str) -> Rank {
    Rank { at: 0, name: name.into() }
}

fn paths(written: &[(&str, &str)]) -> Arc<Paths> {
    let each = written.iter().enumerate();
    let each = each.map(|(at, (method, path))| ((*path).to_owned(), *method, at));
    Arc::new(Paths::new(each).expect("paths"))
}

/// The result of a request to `target`: `NAME OPERATION key=value…`, `405 METHOD…` or `404`.
fn found(index: &Index, prefix: &[u8], method: &str, target: &str) -> String {
    let (path, query) = target.split_once('?').map_or((target, None), |(p, q)| (p, Some(q)));
    let sought = Sought::new(path.as_bytes(), query.map(str::as_bytes), method).expect("a path");
    told(index.find(prefix, &sought).of(|rank| rank.name.to_string()))
}

fn told(found: Found<'_, String>) -> String {
    match found {
        Found::Operation { of, operation, values } => {
            let values = values.iter().map(|(name, value)| format!(" {name}={value}"));
            format!("{of} {operation}{}", values.collect::<String>())
        }
        Found::Methods(methods) => format!("405 {}", methods.join(" ")),
        Found::Nothing => "404".to_owned(),
    }
}

fn check(target: &str, expected: Option<(&str, &str)>) {
    let written: Vec<_> = PATHS.iter().map(|path| ("GET", *path)).collect();
    let own = paths(&written);
    let mut index = Index::default();
    index.add(&rank("s"), &own, &[b"p".to_vec()]).expect("few shapes");
    let expected = expected.map_or_else(
        || "404".to_owned(),
        |(path, values)| {
            let at = PATHS.iter().position(|own| *own == path).expect("it is there");
            format!("s {at} {values}").trim_end().to_owned()
        },
    );
    assert_eq!(found(&index, b"p", "GET", target), expected, "{target}");
    let (path, query) = target.split_once('?').map_or((target, None), |(p, q)| (p, Some(q)));
    let sought = Sought::new(path.as_bytes(), query.map(str::as_bytes), "GET").expect("a path");
    assert_eq!(told(own.find(&sought).of(|()| "s".to_owned())), expected, "{target} of one");
}

#[test]
fn the_most_concrete_path_wins() {
    check("/pets", Some(("/pets", "")));
    check("/pets/", Some(("/pets/", "")));
    check("/pets/7", Some(("/pets/{id}", "id=7")));
    check("/pets/a%2Fb", Some(("/pets/{id}", "id=a/b")));
    check("/pets/mine", Some(("/pets/mine", "")));
    check("/x/mine/7", Some(("/{kind}/mine/{id}", "kind=x id=7")));
    check("/x/y/7", Some(("/{kind}/{name}/7", "kind=x name=y")));
    check("/files/a.json", Some(("/files/{Sid}.json", "Sid=a")));
    check("/files/a.txt", Some(("/files/{name}", "name=a.txt")));
    check("/compare/main...dev", Some(("/compare/{base}...{head}", "base=main head=dev")));
    check("/search?type=a", Some(("/search?type=a", "")));
    check("/search?type=b", Some(("/search", "")));
    check("/caf%c3%a9/x", Some(("/caf%C3%A9/x", "")));
    check("/pets/7/8", None);
    check("/", None);
}

#[test]
fn other_methods_of_a_path_are_told() {
    let own = paths(&[("GET", "/a/{x}"), ("POST", "/a/{y}")]);
    let mut index = Index::default();
    index.add(&rank("a"), &own, &[Vec::new()]).expect("few shapes");
    assert_eq!(found(&index, b"", "PUT", "/a/1"), "405 GET POST");
    assert_eq!(found(&index, b"", "POST", "/a/1"), "a 1 y=1");
    assert_eq!(found(&index, b"other", "GET", "/a/1"), "404");
}

#[test]
fn shapes_without_end_are_refused() {
    let path = |n: u32| {
        let segments = (0..9).map(|at| if n & (1 << at) == 0 { "/a" } else { "/{b}" });
        (segments.collect::<String>(), "GET", 0)
    };
    let refused = Paths::new((0..512).map(path)).expect_err("refused");
    assert!(refused.contains("more than 256 shapes of paths with 9 segments"), "{refused}");
    let of_one = |n| Arc::new(Paths::new([path(n)].into_iter()).expect("a path"));
    let mut index = Index::default();
    for n in 0..256 {
        index.add(&rank(&n.to_string()), &of_one(n), &[Vec::new()]).expect("few shapes");
    }
    let refused = index.add(&rank("more"), &of_one(256), &[Vec::new()]).expect_err("refused");
    assert!(refused.contains("more than 256 shapes"), "{refused}");
    // A removed definition makes room for another.
    index.remove(&rank("7"), &of_one(7), &[Vec::new()]);
    index.add(&rank("more"), &of_one(256), &[Vec::new()]).expect("room");
}

#[test]
fn the_first_by_name_answers_and_the_next_one_when_it_is_gone() {
    let own = paths(&[("GET", "/a"), ("POST", "/a"), ("GET", "/{x}")]);
    let other = paths(&[("GET", "/a")]);
    let mut index = Index::default();
    index.add(&rank("b"), &own, &[Vec::new()]).expect("few shapes");
    let before = index.clone();
    index.add(&rank("a"), &other, &[Vec::new()]).expect("few shapes");
    index.add(&rank("c"), &other, &[Vec::new()]).expect("few shapes");
    assert_eq!(found(&index, b"", "GET", "/a"), "a 0");
    assert_eq!(found(&index, b"", "POST", "/a"), "b 1");
    assert_eq!(found(&before, b"", "GET", "/a"), "b 0");
    index.remove(&rank("a"), &other, &[Vec::new()]);
    assert_eq!(found(&index, b"", "GET", "/a"), "b 0");
    index.remove(&rank("b"), &own, &[Vec::new()]);
    assert_eq!(found(&index, b"", "GET", "/a"), "c 0");
    assert_eq!(found(&index, b"", "GET", "/z"), "404");
}
