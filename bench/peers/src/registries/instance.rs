//! Instances of a service: they answer each request with their port.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, TcpListener, TcpStream};

/// Starts an instance that lasts as long as this process; its port.
pub(super) fn start(address: IpAddr) -> anyhow::Result<u16> {
    let listener = TcpListener::bind((address, 0))?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream, port));
        }
    });
    Ok(port)
}

fn serve(mut stream: TcpStream, port: u16) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    loop {
        // The requests have no bodies.
        while !lines.next()?.ok()?.is_empty() {}
        let body = port.to_string();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all((head + &body).as_bytes()).ok()?;
    }
}
