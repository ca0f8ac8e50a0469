//! Cost of the codec per proxied message.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use weir_wire::http1::{
    BodyDecoder, BodyKind, HeadLimits, canonical_path, parse_request, parse_response, write_chunk,
};
use weir_wire::{RequestHead, ResponseHead};

/// A request of `wrk`.
const SMALL: &str = "GET /mock/1999 HTTP/1.1\r\nHost: 127.0.0.1:8888\r\n\r\n";

/// A request of a browser.
const BROWSER: &str = "GET /api/v1/users/42/orders?page=3&size=20 HTTP/1.1\r\n\
    Host: api.example.com\r\n\
    User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n\
    Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
    Accept-Language: en-US,en;q=0.5\r\n\
    Accept-Encoding: gzip, deflate, br, zstd\r\n\
    Referer: https://www.example.com/shop/basket\r\n\
    Connection: keep-alive\r\n\
    Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; consent=yes\r\n\
    Sec-Fetch-Dest: document\r\n\
    Sec-Fetch-Mode: navigate\r\n\
    Sec-Fetch-Site: same-site\r\n\r\n";

const RESPONSE: &str = "HTTP/1.1 200 OK\r\n\
    Content-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 3\r\n\
    Date: Tue, 01 Jul 2025 00:00:00 GMT\r\n\r\n";

fn heads(criterion: &mut Criterion) {
    let limits = HeadLimits::default();
    let mut group = criterion.benchmark_group("head");
    for (name, text) in [("request/small", SMALL), ("request/browser", BROWSER)] {
        let mut head = RequestHead::default();
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| parse_request(black_box(text.as_bytes()), &mut head, &limits));
        });
    }
    let mut head = ResponseHead::default();
    group.throughput(Throughput::Bytes(RESPONSE.len() as u64));
    group.bench_function("response", |bencher| {
        bencher.iter(|| parse_response(black_box(RESPONSE.as_bytes()), b"GET", &mut head, &limits));
    });
    let mut head = RequestHead::default();
    let parsed = parse_request(BROWSER.as_bytes(), &mut head, &limits);
    assert!(parsed.is_ok());
    let mut out = Vec::new();
    group.bench_function("write", |bencher| {
        bencher.iter(|| {
            out.clear();
            black_box(&head).write_to(&mut out);
        });
    });
    group.finish();
}

fn paths(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("canonical_path");
    for path in ["/mock/1999", "/api/v1/users/42/orders", "/a.b/%7Ec", "/a/./b/../c"] {
        group.bench_function(path, |bencher| {
            bencher.iter(|| canonical_path(black_box(path.as_bytes())));
        });
    }
    group.finish();
}

fn bodies(criterion: &mut Criterion) {
    let mut text = Vec::new();
    for _ in 0..16 {
        write_chunk(&mut text, &[b'x'; 1000]);
    }
    let mut decoder = BodyDecoder::new(BodyKind::Chunked);
    let mut group = criterion.benchmark_group("body");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("chunked", |bencher| {
        bencher.iter(|| {
            decoder.restart(BodyKind::Chunked);
            let mut rest = black_box(text.as_slice());
            while let Ok(step) = decoder.step(rest) {
                rest = rest.get(step.consumed..).unwrap_or_default();
                if step.consumed == 0 {
                    break;
                }
            }
        });
    });
    group.finish();
}

criterion_group!(benches, heads, paths, bodies);
criterion_main!(benches);
