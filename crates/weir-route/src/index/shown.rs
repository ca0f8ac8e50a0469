//! Keys that a request shows in a dimension: the other half of the rule in [`super::dim`].

use std::net::IpAddr;

use weir_wire::{Fields, NameSet};

use super::dim::{Dim, IPV4, IPV6, Place, Subject, header, leading_bits, pair};
use super::hash::Hash;
use super::piece;
use crate::pattern::PathSegments;
use crate::predicate::{
    cookie_octets, cookie_values, cookies, forwarded_client, header_line_texts, header_texts,
    header_values, query_octets, query_parameters, query_values,
};
use crate::request::Request;

/// Keys that a request shows in a dimension, where they are cheap to compute.
pub(crate) enum Shown {
    Nothing,
    Key(u64),
    /// Keys that [`Dim::show_several`] computes; possibly none.
    Several,
}

impl Dim {
    /// The key of `request` in this dimension, if it shows at most one, as in most dimensions.
    #[inline]
    pub(crate) fn only(&self, request: &Request<'_>, hash: &Hash) -> Shown {
        let parts = request.parts;
        let text = match self {
            Dim::Path | Dim::Length | Dim::Segment { .. } => {
                return self.only_path(&parts.path, hash);
            }
            Dim::Host { port } => parts.host.text(*port),
            Dim::Label { at, from_end, port } => {
                let at = place(*at, *from_end, parts.host.len());
                let Some(text) = at.and_then(|at| parts.host.label(at, *port)) else {
                    return Shown::Nothing;
                };
                text
            }
            Dim::Method => return Shown::Key(hash.text(request.head.method())),
            Dim::Header { name, .. }
                if !request.head.fields.may_have(NameSet::of(name.as_bytes())) =>
            {
                return Shown::Nothing;
            }
            Dim::Cookie { .. } if !request.head.fields.may_have(NameSet::of(b"cookie")) => {
                return Shown::Nothing;
            }
            Dim::Query { .. } if request.head.query().is_none() => return Shown::Nothing,
            _ => return Shown::Several,
        };
        Shown::Key(hash.text(text.as_bytes()))
    }

    /// [`Dim::only`] of a request of which only the path is known; [`Shown::Several`] if that is
    /// not enough.
    #[inline]
    pub(crate) fn only_path(&self, path: &PathSegments, hash: &Hash) -> Shown {
        let text = match self {
            Dim::Path => Some(path.text()),
            Dim::Length => return Shown::Key(hash.number(path.len() as u128, 0)),
            Dim::Segment { at, from_end } => {
                place(*at, *from_end, path.len()).and_then(|at| path.get(at))
            }
            _ => return Shown::Several,
        };
        text.map_or(Shown::Nothing, |text| Shown::Key(hash.text(text.as_bytes())))
    }

    /// Calls `visit` with every key that `request` shows in this dimension, for the demanded
    /// `sizes`.
    pub(crate) fn show(
        &self,
        request: &Request<'_>,
        hash: &Hash,
        sizes: &[u16],
        mut visit: impl FnMut(u64),
    ) {
        match self.only(request, hash) {
            Shown::Nothing => {}
            Shown::Key(key) => visit(key),
            Shown::Several => self.show_several(request, hash, sizes, &mut visit),
        }
    }

    /// [`Dim::show`] for dimensions in which a request may show several keys.
    pub(crate) fn show_several(
        &self,
        request: &Request<'_>,
        hash: &Hash,
        sizes: &[u16],
        visit: &mut impl FnMut(u64),
    ) {
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
            Dim::Piece { of, place } => show_pieces(of, *place, request, hash, sizes, visit),
            Dim::Peer => show_networks(request.peer, hash, sizes, visit),
            Dim::Client { proxies } => {
                if let Some(client) = forwarded_client(request, *proxies) {
                    show_networks(client, hash, sizes, visit);
                }
            }
            Dim::Path
            | Dim::Length
            | Dim::Segment { .. }
            | Dim::Host { .. }
            | Dim::Label { .. }
            | Dim::Method => {}
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

fn show_networks(peer: IpAddr, hash: &Hash, sizes: &[u16], visit: &mut impl FnMut(u64)) {
    let peer = peer.to_canonical();
    let family = if peer.is_ipv6() { IPV6 } else { IPV4 };
    for size in sizes.iter().filter(|size| (**size >= IPV6) == peer.is_ipv6()) {
        let bits = (size - family) as u8;
        visit(hash.number(leading_bits(peer, bits), *size));
    }
}
