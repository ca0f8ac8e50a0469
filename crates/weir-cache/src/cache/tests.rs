//! Caching of responses: which ones, for which requests, and for how long.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use weir_wire::http1::{HeadLimits, Parsed, parse_request, parse_response};
use weir_wire::{RequestHead, ResponseHead};

use super::{Caches, Looked, ResponseCache};
use crate::{Asked, KeyParts, Lifetime, Stored, asked, key, lifetime};

const TTL_MS: u64 = 300_000;

fn request(text: &str) -> RequestHead {
    let mut head = RequestHead::default();
    let text = format!("{}\r\nHost: h\r\n\r\n", text.replace('\n', "\r\n"));
    let parsed = parse_request(text.as_bytes(), &mut head, &HeadLimits::default());
    assert!(matches!(parsed, Ok(Parsed::Complete { .. })), "{text}");
    head
}

fn response(text: &str) -> ResponseHead {
    let mut head = ResponseHead::default();
    let text = format!("{}\r\n\r\n", text.replace('\n', "\r\n"));
    let parsed = parse_response(text.as_bytes(), b"GET", &mut head, &HeadLimits::default());
    assert!(matches!(parsed, Ok(Parsed::Complete { .. })), "{text}");
    head
}

fn key_of(head: &RequestHead) -> Vec<u8> {
    key(&KeyParts { route: "r", target: "t:80", host: b"h" }, head)
}

/// Looks for `head`; a fetch is answered with `answer` at once, if it may be kept.
fn outcome(cache: &Arc<ResponseCache>, head: &RequestHead, answer: &str, now_ms: i64) -> String {
    let key = key_of(head);
    match cache.look(&key, head, asked(head, false) == Asked::Fresh, now_ms) {
        Looked::Hit(stored) => format!("hit {}", String::from_utf8_lossy(&stored.content)),
        Looked::Wait => "wait".to_owned(),
        Looked::Pass => "pass".to_owned(),
        Looked::Refresh(..) => "refresh".to_owned(),
        Looked::Fetch(flight) => {
            let (top, body) = answer.split_once("\n\n").unwrap_or((answer, ""));
            let top = response(top);
            match lifetime(&top, TTL_MS) {
                Some(life) => {
                    let stored = Stored::new(&top, body.as_bytes().to_vec(), life, now_ms);
                    flight.land(&key, head, stored);
                }
                None => flight.pass(now_ms),
            }
            "fetch".to_owned()
        }
    }
}

fn cache() -> Arc<ResponseCache> {
    Arc::new(ResponseCache::new("", 1 << 20))
}

#[test]
fn a_response_is_used_until_its_time_is_over() {
    let (cache, get) = (cache(), request("GET /a?b HTTP/1.1"));
    let answer = "HTTP/1.1 200 OK\nCache-Control: public, max-age=10\n\nx";
    let look = |now_ms| outcome(&cache, &get, answer, now_ms);
    assert_eq!([look(0), look(9_999), look(10_000)], ["fetch", "hit x", "fetch"]);
    let other = request("GET /a? HTTP/1.1");
    assert_eq!(outcome(&cache, &other, answer, 0), "fetch", "no query is not an empty one");
    let fresh = request("GET /a?b HTTP/1.1\nCache-Control: no-cache");
    assert_eq!(outcome(&cache, &fresh, answer, 1), "fetch");
    assert_eq!(cache.counts().hits, 1);
}

#[test]
fn who_may_share() {
    let cache = cache();
    let answer = "HTTP/1.1 200 OK\n\nx";
    for line in [
        "Authorization: a",
        "Authorization: b",
        "Cookie: s=1",
        "Cookie: s=2",
        "X-Forwarded-Host: evil",
        "X-Original-URL: /admin",
    ] {
        let head = request(&format!("GET / HTTP/1.1\n{line}"));
        assert_eq!(outcome(&cache, &head, answer, 0), "fetch", "{line}");
        assert_eq!(outcome(&cache, &head, answer, 0), "hit x", "{line}");
    }
    let plain = request("GET / HTTP/1.1\nX-Other: 1");
    assert_eq!(outcome(&cache, &plain, answer, 0), "fetch");
    assert_eq!(outcome(&cache, &request("GET / HTTP/1.1\nX-Other: 2"), answer, 0), "hit x");
}

#[test]
fn what_varies_is_kept_apart() {
    let cache = cache();
    let german = request("GET / HTTP/1.1\nAccept-Language: de");
    let english = request("GET / HTTP/1.1\nAccept-Language: en");
    let answer = |body: &str| format!("HTTP/1.1 200 OK\nVary: Accept-Language\n\n{body}");
    assert_eq!(outcome(&cache, &german, &answer("de"), 0), "fetch");
    assert_eq!(outcome(&cache, &english, &answer("en"), 0), "fetch");
    assert_eq!(outcome(&cache, &german, "", 0), "hit de");
    assert_eq!(outcome(&cache, &english, "", 0), "hit en");
}

#[test]
fn what_must_not_be_kept() {
    let check = |top: &str, kept: bool| {
        assert_eq!(lifetime(&response(top), TTL_MS).is_some(), kept, "{top}");
    };
    check("HTTP/1.1 200 OK", true);
    check("HTTP/1.1 301 Moved Permanently", true);
    for status in [206, 302, 304, 404, 500] {
        check(&format!("HTTP/1.1 {status} x"), false);
    }
    for line in [
        "Cache-Control: max-age=60, Private",
        "Cache-Control: no-store",
        "Cache-Control: no-cache",
        "Cache-Control: max-age=0",
        "Cache-Control: s-maxage=0, max-age=60",
        "Set-Cookie: a=b",
        "Vary: Accept, *",
        "Age: 60\nCache-Control: max-age=60",
    ] {
        check(&format!("HTTP/1.1 200 OK\n{line}"), false);
    }
    let check = |top: &str, has_body: bool, expected: Asked| {
        assert_eq!(asked(&request(top), has_body), expected, "{top}");
    };
    check("GET / HTTP/1.1", false, Asked::Any);
    check("GET / HTTP/1.1", true, Asked::Nothing);
    check("HEAD / HTTP/1.1", false, Asked::Nothing);
    check("POST / HTTP/1.1", false, Asked::Nothing);
    check("GET / HTTP/1.1\nRange: bytes=0-1", false, Asked::Nothing);
    check("GET / HTTP/1.1\nCache-Control: no-store", false, Asked::Nothing);
    check("GET / HTTP/1.1\nPragma: no-cache", false, Asked::Fresh);
}

#[test]
fn one_fetches_for_all_who_wait() {
    let (cache, head) = (cache(), request("GET / HTTP/1.1"));
    let key = key_of(&head);
    let Looked::Fetch(flight) = cache.look(&key, &head, false, 0) else { panic!("no fetch") };
    assert!(matches!(cache.look(&key, &head, false, 1), Looked::Wait));
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(cache.poll_landed(&key, &head, &mut context), Poll::Pending);
    let life = Lifetime { fresh_ms: 10, stale_ms: 0, stale_if_error_ms: 0 };
    let top = response("HTTP/1.1 200 OK");
    flight.land(&key, &head, Stored::new(&top, b"x".to_vec(), life, 1));
    assert_eq!(cache.poll_landed(&key, &head, &mut context), Poll::Ready(()));
    assert!(matches!(cache.look(&key, &head, false, 2), Looked::Hit(_)));
}

#[test]
fn a_fetch_that_is_given_up_lets_the_next_one_begin() {
    let (cache, head) = (cache(), request("GET / HTTP/1.1"));
    let key = key_of(&head);
    drop(cache.look(&key, &head, false, 0));
    let Looked::Fetch(_kept) = cache.look(&key, &head, false, 1) else { panic!("no fetch") };
    assert!(matches!(cache.look(&key, &head, false, 30_000), Looked::Wait));
    assert!(
        matches!(cache.look(&key, &head, false, 30_001), Looked::Fetch(_)),
        "it takes too long"
    );
}

#[test]
fn what_must_not_be_kept_is_not_waited_for() {
    let (cache, head) = (cache(), request("GET / HTTP/1.1"));
    let answer = "HTTP/1.1 200 OK\nSet-Cookie: a=b\n\nx";
    let look = |answer, now_ms| outcome(&cache, &head, answer, now_ms);
    assert_eq!(look(answer, 0), "fetch");
    let Looked::Fetch(flight) = cache.look(&key_of(&head), &head, false, 1) else {
        panic!("what comes next may be kept")
    };
    assert_eq!(
        [look(answer, 1), look(answer, 4_999), look(answer, 5_000)],
        ["pass", "pass", "wait"]
    );
    drop(flight);
    let good = "HTTP/1.1 200 OK\n\ny";
    assert_eq!(
        [look(answer, 6_000), look(good, 6_001), look(good, 6_002)],
        ["fetch", "fetch", "hit y"]
    );
}

#[test]
fn stale_responses_are_used_meanwhile_and_on_errors() {
    let (cache, head) = (cache(), request("GET / HTTP/1.1"));
    let line = "Cache-Control: max-age=10, stale-while-revalidate=10, stale-if-error=60";
    let answer = format!("HTTP/1.1 200 OK\n{line}\n\nx");
    assert_eq!(outcome(&cache, &head, &answer, 0), "fetch");
    let key = key_of(&head);
    let Looked::Refresh(stored, flight) = cache.look(&key, &head, false, 15_000) else {
        panic!("no refresh")
    };
    assert_eq!(stored.content, b"x", "at once");
    assert!(matches!(cache.look(&key, &head, false, 15_000), Looked::Hit(_)), "meanwhile");
    assert!(matches!(cache.look(&key, &head, false, 20_000), Looked::Wait), "no longer");
    let fallback = flight.fallback.as_ref().expect("the old one");
    assert!(fallback.is_usable_on_error(69_999) && !fallback.is_usable_on_error(70_000));
    assert_eq!((cache.counts().stale, cache.counts().misses), (2, 1));
}

#[test]
fn the_answer_tells_its_age() {
    let top = response(
        "HTTP/1.1 200 OK\nETag: W/\"1\"\nExpires: x\nPragma: y\nCache-Control: public,max-age=60",
    );
    let life = lifetime(&top, TTL_MS).expect("a life");
    let stored = Stored::new(&top, Vec::new(), life, 0);
    let mut head = ResponseHead::default();
    stored.write_to(&mut head, 10_500);
    let field = |name: &str| head.fields.get(name.as_bytes()).map(String::from_utf8_lossy);
    assert_eq!(field("age").as_deref(), Some("10"));
    assert_eq!(field("cache-control").as_deref(), Some("public,max-age=60"));
    assert_eq!((field("expires"), field("pragma")), (None, None));
    let known = |line: &str| stored.is_known_to(&request(&format!("GET / HTTP/1.1\n{line}")));
    assert!(known("If-None-Match: \"0\", \"1\"") && known("If-None-Match: *"));
    assert!(!known("If-None-Match: \"2\"") && !known("If-Modified-Since: x"));
}

#[test]
fn memory_is_bounded() {
    let cache = Arc::new(ResponseCache::new("", 100_000));
    let body = "x".repeat(cache.content_max() / 2);
    for n in 0..1_000 {
        let head = request(&format!("GET /{n} HTTP/1.1"));
        assert_eq!(outcome(&cache, &head, &format!("HTTP/1.1 200 OK\n\n{body}"), 0), "fetch");
        assert!(cache.counts().bytes <= 100_000, "{:?}", cache.counts());
    }
    assert!(cache.counts().entries > 5, "{:?}", cache.counts());
    cache.clear();
    assert_eq!(cache.counts().entries, 0);
}

#[test]
fn what_was_being_fetched_when_it_was_emptied_is_not_kept() {
    let (cache, head) = (cache(), request("GET / HTTP/1.1"));
    let key = key_of(&head);
    let Looked::Fetch(flight) = cache.look(&key, &head, false, 0) else { panic!("no fetch") };
    cache.clear();
    let life = Lifetime { fresh_ms: 10, stale_ms: 0, stale_if_error_ms: 0 };
    let top = response("HTTP/1.1 200 OK");
    flight.land(&key, &head, Stored::new(&top, b"old".to_vec(), life, 1));
    assert_eq!(outcome(&cache, &head, "HTTP/1.1 200 OK\n\nnew", 1), "fetch");
    assert_eq!(outcome(&cache, &head, "", 2), "hit new");
}

#[test]
fn caches_live_as_long_as_somebody_uses_them() {
    let caches = Caches::default();
    let one = caches.get("r", 10_000);
    assert!(Arc::ptr_eq(&one, &caches.get("r", 10_000)));
    assert!(!Arc::ptr_eq(&one, &caches.get("r", 20_000)), "another size is another cache");
    drop(one);
    assert!(caches.all().is_empty());
}
