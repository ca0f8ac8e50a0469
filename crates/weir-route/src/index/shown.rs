//! What a request shows in a dimension: the other half of the rule in [`super::dim`].

use std::net::IpAddr;

use weir_wire::Fields;

use super::dim::{Dim, IPV4, IPV6, header, leading_bits, pair};
use super::hash::Hash;
use super::piece::{self, Place, Subject};
use crate::predicate::{
    cookie_octets, cookie_values, cookies, forwarded_client, header_line_texts, header_texts,
    header_values, query_octets, query_parameters, query_values,
};
use crate::request::Request;

impl Dim {
    /// Calls `visit` with every key that `request` shows here; `sizes` are those that are demanded.
    #[inline]
    pub(crate) fn show(
        &self,
        request: &Request<'_>,
        hash: &Hash,
        sizes: &[u16],
        mut visit: impl FnMut(u64),
    ) {
        let parts = request.parts;
        match self {
            Dim::Path => visit(hash.text(parts.path.text().as_bytes())),
            Dim::Length => visit(hash.number(parts.path.len() as u128, 0)),
            Dim::Segment { at, from_end } => {
                let at = place(*at, *from_end, parts.path.len());
                if let Some(text) = at.and_then(|at| parts.path.get(at)) {
                    visit(hash.text(text.as_bytes()));
                }
            }
            Dim::Host { port } => visit(hash.text(parts.host.text(*port).as_bytes())),
            Dim::Label { at, from_end, port } => {
                let at = place(*at, *from_end, parts.host.len());
                if let Some(text) = at.and_then(|at| parts.host.label(at, *port)) {
                    visit(hash.text(text.as_bytes()));
                }
            }
            Dim::Method => visit(hash.text(request.head.method())),
            Dim::Piece { of, place } => show_pieces(of, *place, request, hash, sizes, &mut visit),
            Dim::Peer => show_networks(request.peer, hash, sizes, visit),
            Dim::Client { proxies } => {
                if let Some(client) = forwarded_client(request, *proxies) {
                    show_networks(client, hash, sizes, visit);
                }
            }
            _ => self.show_values(request, hash, &mut visit),
        }
    }

    fn show_values(&self, request: &Request<'_>, hash: &Hash, visit: &mut impl FnMut(u64)) {
        let fields = &request.head.fields;
        match self {
            Dim::Header { name, split } => {
                header_texts(fields, name, *split, |value| {
                    visit(hash.text(value));
                    false
                });
            }
            Dim::AnyHeader { split } => show_all_headers(fields, *split, hash, visit),
            Dim::Query { name } => {
                for value in query_octets(request.head.query(), name).flatten() {
                    visit(hash.text(&value));
                }
            }
            Dim::AnyQuery => {
                for (name, value) in query_parameters(request.head.query()) {
                    if let Some(value) = value {
                        visit(pair(name.as_bytes(), &*value, hash));
                    }
                }
            }
            Dim::Cookie { name } => {
                for value in cookie_octets(fields, name) {
                    visit(hash.text(value));
                }
            }
            Dim::AnyCookie => {
                for (name, value) in cookies(fields) {
                    visit(pair(name.as_bytes(), value, hash));
                }
            }
            Dim::Path
            | Dim::Length
            | Dim::Segment { .. }
            | Dim::Host { .. }
            | Dim::Label { .. }
            | Dim::Method
            | Dim::Piece { .. }
            | Dim::Client { .. }
            | Dim::Peer => {}
        }
    }
}

fn show_all_headers(fields: &Fields, split: bool, hash: &Hash, visit: &mut impl FnMut(u64)) {
    for (name, line) in fields.iter() {
        header_line_texts(line, split, &mut |value| {
            header(name, value, hash).into_iter().for_each(&mut *visit);
            false
        });
    }
}

fn show_pieces(
    of: &Subject,
    place: Place,
    request: &Request<'_>,
    hash: &Hash,
    sizes: &[u16],
    visit: &mut impl FnMut(u64),
) {
    let parts = request.parts;
    let fields = &request.head.fields;
    let mut show = |text: &str| piece::show(text, place, hash, sizes, visit);
    match of {
        Subject::Segment { at, from_end } => {
            let at = self::place(*at, *from_end, parts.path.len());
            at.and_then(|at| parts.path.get(at)).into_iter().for_each(show);
        }
        Subject::Label { at, from_end, port } => {
            let at = self::place(*at, *from_end, parts.host.len());
            at.and_then(|at| parts.host.label(at, *port)).into_iter().for_each(show);
        }
        Subject::Header { name, split } => {
            header_values(fields, name, *split, |value| {
                show(value);
                false
            });
        }
        Subject::Query { name } => {
            query_values(request.head.query(), name).flatten().for_each(|value| show(&value));
        }
        Subject::Cookie { name } => cookie_values(fields, name).for_each(show),
    }
}

fn place(at: u16, from_end: bool, len: usize) -> Option<usize> {
    let at = usize::from(at);
    if from_end { len.checked_sub(at + 1) } else { Some(at) }
}

fn show_networks(peer: IpAddr, hash: &Hash, sizes: &[u16], mut visit: impl FnMut(u64)) {
    let peer = peer.to_canonical();
    let family = if peer.is_ipv6() { IPV6 } else { IPV4 };
    for size in sizes.iter().filter(|size| (**size >= IPV6) == peer.is_ipv6()) {
        let bits = (size - family) as u8;
        visit(hash.number(leading_bits(peer, bits), *size));
    }
}
