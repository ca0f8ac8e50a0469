//! Asks definitions as the gateway does.
#![allow(dead_code, reason = "each test file uses a part")]

use std::sync::Arc;

use weir_mock::{Api, Call, Mocks, Options, ReadErrors, Reply};
use weir_wire::Fields;

pub fn api(text: &str) -> Result<Api, ReadErrors> {
    let none = |file: &str| Err(format!("there is no {file}"));
    Api::read("api", "file", text, &none)
}

pub struct Served(pub Mocks);

pub fn mocks(text: &str) -> Served {
    let api = api(text).unwrap_or_else(|error| panic!("{error}"));
    Served(Mocks::new(vec![Arc::new(api)], Options::default()).expect("paths"))
}

pub struct Asked(Reply);

impl std::ops::Deref for Asked {
    type Target = Reply;
    fn deref(&self) -> &Reply {
        &self.0
    }
}

impl Asked {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.body).into_owned()
    }

    pub fn field(&self, name: &str) -> Option<&str> {
        let found = self.0.fields.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.and_then(|(_, value)| std::str::from_utf8(value).ok())
    }
}

impl Served {
    pub fn apis(&self) -> Vec<Arc<Api>> {
        self.0.apis().cloned().collect()
    }

    /// The answer to `METHOD target`, with fields as `name: value` and a body.
    pub fn ask(&self, line: &str, fields: &[&str], body: &str) -> Asked {
        with_call(line, fields, body, |call| Asked(self.0.answer(call, 7, 1_700_000_000_000)))
    }
}

pub fn with_call<T>(line: &str, fields: &[&str], body: &str, f: impl FnOnce(&Call<'_>) -> T) -> T {
    let (method, target) = line.split_once(' ').expect("a method and a target");
    let (path, query) = target.split_once('?').map_or((target, None), |(p, q)| (p, Some(q)));
    let mut all = Fields::default();
    for field in fields {
        let (name, value) = field.split_once(": ").expect("a field");
        all.append(name.as_bytes(), value.as_bytes());
    }
    f(&Call {
        method: method.as_bytes(),
        path: path.as_bytes(),
        prefix: b"",
        query: query.map(str::as_bytes),
        fields: &all,
        body: body.as_bytes(),
    })
}
