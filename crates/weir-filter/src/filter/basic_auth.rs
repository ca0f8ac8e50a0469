//! BasicAuth: admits requests with the name and password of a user.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use weir_auth::{Checked, Claims, Users, basic};
use weir_route::{ArgError, ArgKind, Args, Compatibility, Shortcut, Spec};

use super::{Behaviour, Build, Filter, FilterOptions, optional};
use crate::context::{FilterError, RequestContext, Verdict};
use crate::local_response::LocalResponse;
use crate::question::{Answer, Question};
use crate::styled::Styled;

/// See [`SPEC`]'s `doc`.
pub static SPEC: Spec<Build> = Spec {
    name: "BasicAuth",
    doc: r#"Admits requests with user and password of one of `weir.users` (HTTP Basic authentication);
others get 401. The user identifies the client for `Authorize`, and for limits with `key: principal`.
User and password do not go to the upstream. Write passwords as bcrypt hashes (`htpasswd -nB user`);
each is checked on another thread, and the result is cached. A filter of weir's own.

```yaml
filters:
- BasicAuth=staff
```
```http request
GET / HTTP/1.1
Authorization: Basic YWxpY2U6Z3Vlc3NlZA==
```
```http response
HTTP/1.1 401 Unauthorized
WWW-Authenticate: Basic realm="staff", charset="UTF-8"
```"#,
    args: &[
        optional("realm", ArgKind::Text, Some("weir"), "What the browser tells it is for."),
        optional("users", ArgKind::List, None, "Admitted users; all of `weir.users` by default."),
        optional("forward", ArgKind::Bool, Some("false"), "`true` sends them to the upstream."),
    ],
    shortcut: Shortcut::Positions(1),
    compatibility: Compatibility::Own,
    build,
};

/// Admits requests with the name and password of a user.
#[derive(Clone, Debug)]
pub struct BasicAuth(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    realm: String,
    only: Vec<String>,
    forward: bool,
    users: Arc<Users>,
}

impl PartialEq for BasicAuth {
    fn eq(&self, other: &Self) -> bool {
        let what = |own: &Self| (own.0.realm.clone(), own.0.only.clone(), own.0.forward);
        let same = Arc::ptr_eq(&self.0.users, &other.0.users);
        what(self) == what(other) && (same || self.0.users.is_empty() && other.0.users.is_empty())
    }
}

impl Eq for BasicAuth {}

impl Hash for BasicAuth {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.0.realm, &self.0.only, self.0.forward).hash(state);
    }
}

fn build(args: &Args, options: &FilterOptions) -> Result<Filter, ArgError> {
    let realm = args.text("realm").unwrap_or("weir").to_owned();
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if !realm.bytes().all(is_plain) {
        return Err(
            ArgError::new("realm", "it cannot be quoted").help("write letters, digits and blanks")
        );
    }
    let only: Vec<String> = args.list("users").iter().map(|name| name.trim().to_owned()).collect();
    if let Some(name) = only.iter().find(|name| !options.users.contains(name)) {
        // Without any users, the filter is built for the reference or a self-test.
        if !options.users.is_empty() {
            return Err(ArgError::new("users", format!("there is no user `{name}`"))
                .help(format!("add `weir.users.{name}: \"$2y$…\"`")));
        }
    }
    let forward = args.bool("forward")?.unwrap_or(false);
    let users = Arc::clone(&options.users);
    Ok(Filter::BasicAuth(BasicAuth(Arc::new(Inner { realm, only, forward, users }))))
}

impl BasicAuth {
    fn given(context: &RequestContext<'_>) -> Option<(String, String)> {
        basic(std::str::from_utf8(context.head.fields.get(b"authorization")?).ok()?)
    }

    fn pass(&self, context: &mut RequestContext<'_>, user: &str) -> Verdict {
        *context.claims = Some(Arc::new(Claims::of_principal(user, Vec::new())));
        if !self.0.forward {
            context.head.fields.remove(b"authorization");
        }
        Verdict::Continue
    }

    fn refuse(&self) -> Verdict {
        let scheme = format!("Basic realm=\"{}\", charset=\"UTF-8\"", self.0.realm);
        let fields = vec![("WWW-Authenticate".to_owned(), scheme.into_bytes())];
        Verdict::Respond(Box::new(LocalResponse { status: 401, fields, body: Vec::new() }))
    }
}

impl Behaviour for BasicAuth {
    fn spec(&self) -> &'static Spec<Build> {
        &SPEC
    }

    fn tells_who(&self) -> bool {
        true
    }

    fn asks_who(&self) -> bool {
        true
    }

    fn request(&self, context: &mut RequestContext<'_>) -> Result<Verdict, FilterError> {
        let Some((user, password)) = Self::given(context) else { return Ok(self.refuse()) };
        if !self.0.only.is_empty() && !self.0.only.contains(&user) {
            return Ok(self.refuse());
        }
        Ok(match self.0.users.check(&user, &password, context.now_ms) {
            Checked::Right => self.pass(context, &user),
            Checked::Wrong => self.refuse(),
            Checked::Ask(hash) => {
                let client = context.peer.ip();
                Verdict::Ask(Box::new(Question::Password { hash, password, client }))
            }
        })
    }

    fn answered(
        &self,
        context: &mut RequestContext<'_>,
        answer: Answer,
    ) -> Result<Verdict, FilterError> {
        let given = Self::given(context).filter(|(user, _)| self.0.users.contains(user));
        Ok(match (answer, given) {
            (Answer::Password(true), Some((user, password))) => {
                self.0.users.remember(&user, &password, context.now_ms);
                self.pass(context, &user)
            }
            (Answer::Nobody(_), _) => {
                let fields = vec![("Retry-After".to_owned(), b"1".to_vec())];
                Verdict::Respond(Box::new(LocalResponse { status: 503, fields, body: Vec::new() }))
            }
            _ => self.refuse(),
        })
    }

    fn style(&self, styled: &mut Styled<'_, '_>) -> fmt::Result {
        styled.text("realm", &self.0.realm)
    }

    fn explain(&self) -> String {
        match self.0.only.as_slice() {
            [] => "lets requests pass that bring a user's password".to_owned(),
            only => format!("lets requests pass that bring the password of {}", only.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_auth::Users;

    use crate::filter::FilterOptions;
    use crate::test_exchange::{TestExchange, check_refused};

    #[test]
    fn users_come_in() {
        let mut users = Users::default();
        users.add("alice", "guessed").expect("a password");
        users.add("bob", "guessed").expect("a password");
        let options = FilterOptions { users: Arc::new(users), ..FilterOptions::default() };
        let sent = |filters: &str, user: &str| {
            let trial = TestExchange::with_options(filters, &options);
            let head = format!("GET / HTTP/1.1\nAuthorization: Basic {user}");
            trial.run(&head, "HTTP/1.1 200 OK").sent
        };
        let (alice, bob) = ("YWxpY2U6Z3Vlc3NlZA==", "Ym9iOmd1ZXNzZWQ=");
        let pass = Some("GET / HTTP/1.1".to_owned());
        assert_eq!(sent("- BasicAuth=staff\n- Authorize=authenticated", alice), pass);
        let only = "- name: BasicAuth\n  args:\n    users: bob";
        assert_eq!((sent(only, alice), sent(only, bob)), (None, pass));
        assert_eq!(sent("- BasicAuth=staff", "YWxpY2U6eA=="), None);
        let kept = sent("- name: BasicAuth\n  args:\n    forward: true", alice);
        assert!(kept.is_some_and(|sent| sent.contains("Authorization")));
    }

    #[test]
    fn a_realm_that_cannot_be_quoted_is_refused() {
        check_refused("name: BasicAuth\n  args:\n    realm: a\"b", "realm");
    }
}
