//! The clients that generate load, and their reports.
//!
//! Throughput comes from wrk: a closed loop written by others, which cannot be suspected to favour
//! weir. Where wrk saturates its core before the proxy does, the closed loop of `weir bench`, which
//! needs less CPU, is reported beside it (decision 0026). Latency at a fixed rate comes from `weir
//! bench`: wrk has no open loop, and counts latency from when it sent instead of from when it
//! should have sent. Both are pinned to the client's core; what they use is not in the proxy's CPU.

pub mod ab;
pub mod bench;
pub mod probe;
pub mod wrk;

/// A client's counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Counted {
    /// Complete answers.
    pub requests: u64,
    /// Answers with a status that is no success, timeouts, and connections that broke.
    pub errors: u64,
    /// Requests per second by the client's own clock.
    pub rate: f64,
}

/// Field lines as a browser sends them, 1 KB together.
pub fn browser() -> String {
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

#[cfg(test)]
mod tests {
    #[test]
    fn a_browser_sends_a_kilobyte() {
        assert_eq!(super::browser().len(), 1024);
    }
}
