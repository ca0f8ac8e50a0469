//! Other traffic than small answers on a few connections: headers, bodies, chunks, many
//! connections, pipelining.

use super::Plan;
use crate::peers::client::wrk::{Body, Extra, script};
use crate::peers::compare::{Compared, Per};
use crate::peers::report::{Report, Table};
use crate::peers::shapes::Shape;
use crate::peers::stats::Spread;
use crate::peers::subject::Peer;

/// One kind of traffic.
struct Kind {
    name: &'static str,
    connections: usize,
    extra: Extra,
    per: Per,
}

const MEGABYTE: usize = 1 << 20;

fn kinds() -> Vec<Kind> {
    let get = Extra::default;
    let answer = |size: &str| Extra { fields: format!("X-Answer: {size}\r\n"), ..get() };
    let post = |body| Extra { body, ..get() };
    let kind = |name, extra, per| Kind { name, connections: 64, extra, per };
    let mut both = answer("16384,chunked");
    both.body = Body::Chunked(16_384);
    vec![
        kind("1 KB of headers", Extra { fields: browser(), ..get() }, Per::Request),
        kind("16 KB down", answer("16384"), Per::Megabyte(16_384)),
        kind("1 MB down", answer("1048576"), Per::Megabyte(MEGABYTE)),
        kind("16 KB up", post(Body::Length(16_384)), Per::Megabyte(16_384)),
        kind("1 MB up", post(Body::Length(MEGABYTE)), Per::Megabyte(MEGABYTE)),
        kind("16 KB chunked, both ways", both, Per::Megabyte(32_768)),
        Kind { connections: 1000, ..kind("1,000 connections", get(), Per::Request) },
        kind("16 GETs pipelined", Extra { pipelined: 16, ..get() }, Per::Request),
    ]
}

/// Field lines as a browser sends them, 1 KB together.
fn browser() -> String {
    let lines = [
        "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) \
         Chrome/126.0.0.0 Safari/537.36",
        "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
        "Accept-Language: en-GB,en;q=0.9,de;q=0.8,fr;q=0.7",
        "Accept-Encoding: gzip, deflate, br, zstd",
        "Cache-Control: max-age=0",
        "Referer: https://shop.example.org/catalogue/shoes?colour=red&size=43&page=2",
        "Sec-Ch-Ua: \"Not/A)Brand\";v=\"8\", \"Chromium\";v=\"126\", \"Google Chrome\";v=\"126\"",
        "Sec-Ch-Ua-Mobile: ?0",
        "Sec-Ch-Ua-Platform: \"Linux\"",
        "Sec-Fetch-Dest: document",
        "Sec-Fetch-Mode: navigate",
        "Sec-Fetch-Site: same-origin",
        "Sec-Fetch-User: ?1",
        "Upgrade-Insecure-Requests: 1",
        "Dnt: 1",
        "If-None-Match: W/\"5f2b-18c7a1e4d30\"",
    ];
    let mut text: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
    let cookie = "Cookie: session=";
    let left = 1024usize.saturating_sub(text.len() + cookie.len() + 2);
    text.push_str(&format!("{cookie}{}\r\n", "a1b2c3d4".repeat(left / 8 + 1).split_at(left).0));
    text
}

pub(super) fn run(plan: &Plan<'_>, report: &mut Report) -> anyhow::Result<()> {
    let mut fleet = plan.fleet(&[Peer::Weir, Peer::Nginx, Peer::Haproxy, Peer::Forwarder])?;
    let names: Vec<String> = fleet.running.iter().map(|running| running.name.clone()).collect();
    let head =
        ["", "unit", &*names[0], &*names[1], &*names[2], &*names[3], "weir to nginx", "errors"];
    let mut table = Table::new("Other traffic: CPU per request or per megabyte", &head);
    for kind in kinds() {
        let patterns = Shape::Exact.patterns();
        let lua = script("gateway.test", &patterns, plan.routes, &kind.extra);
        let seconds = plan.seconds.min(4);
        let rounds = plan.rounds.min(5);
        let compared =
            Compared::of(plan.bench, rounds, &mut fleet.running, kind.name, |running| {
                plan.bench.wrk(running, kind.connections, &lua, seconds)
            })?;
        let unit = if kind.per == Per::Request { "µs/request" } else { "ms/MB" };
        let mut row = vec![kind.name.to_owned(), unit.to_owned()];
        for at in 0..names.len() {
            let cpu = Spread::of(compared.cpu(at, kind.per));
            row.push(cpu.map(|cpu| cpu.show(2)).unwrap_or_default());
        }
        let ratio = compared.ratio(0, 1).map(|ratio| ratio.show(2)).unwrap_or_default();
        super::summarise(report, &format!("{}, CPU to nginx", kind.name), ratio.clone(), "≤ 1.00");
        row.push(ratio);
        row.push(compared.errors());
        table.row(row);
        report.samples.insert(kind.name.to_owned(), compared.json());
    }
    table.note("64 connections unless said otherwise; a megabyte is 10⁶ bytes of bodies.");
    table.note("Goal: weir never behind nginx (ratio ≤ 1.00).");
    report.tables.push(table);
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_browser_sends_a_kilobyte() {
        assert_eq!(super::browser().len(), 1024);
    }
}
