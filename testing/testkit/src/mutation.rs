//! Small changes to bytes, as a fuzzer makes them, but repeatable.

use crate::dice::Dice;

/// Pieces that mean something to a reader of HTTP/1.
const PIECES: &[&[u8]] = &[
    b"\r\n",
    b"\r\n\r\n",
    b"\n",
    b"\r",
    b"\0",
    b" ",
    b"\t",
    b":",
    b";",
    b",",
    b"0\r\n\r\n",
    b"Content-Length: 5\r\n",
    b"Content-Length: 0\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n",
    b"Connection: close\r\n",
    b"Connection: Content-Length\r\n",
    b"Host: b\r\n",
    b"GET /smuggled HTTP/1.1\r\nHost: s\r\n\r\n",
    b" HTTP/1.1",
    b"HTTP/1.0",
    b"chunked",
    b"/../",
    b"%2e%2e/",
    b"%00",
    b"\xc3\xa9",
    b"\x0b",
    b"\xa0",
    b"ffffffffffffffff",
    b"0x",
    b"+",
    b"-1",
];

/// Changes `bytes` in one to four places.
pub fn mutate(dice: &mut Dice, bytes: &mut Vec<u8>) {
    for _ in 0..=dice.below(4) {
        change(dice, bytes);
    }
}

fn change(dice: &mut Dice, bytes: &mut Vec<u8>) {
    let at = dice.below(bytes.len() + 1);
    let end = (at + 1 + dice.below(8)).min(bytes.len());
    match dice.below(9) {
        0 => drop(bytes.drain(at..end)),
        1 => {
            let copy = bytes[at..end].to_vec();
            bytes.splice(at..at, copy);
        }
        2 => bytes.insert(at, dice.roll() as u8),
        3 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << dice.below(8);
            }
        }
        4 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = *dice.pick(b"\r\n\0 \t:;,/%.0123456789abcdefABCDEFxX+-_\x7f\x80\xff");
            }
        }
        5 | 6 => {
            let piece = *dice.pick(PIECES);
            bytes.splice(at..at, piece.iter().copied());
        }
        7 => {
            let piece = *dice.pick(PIECES);
            bytes.splice(at..end, piece.iter().copied());
        }
        _ => bytes.truncate(at),
    }
}

#[cfg(test)]
mod tests {
    use super::mutate;
    use crate::dice::Dice;

    #[test]
    fn the_same_seed_gives_the_same_changes() {
        let run = |seed| {
            let mut dice = Dice::new(seed);
            let mut all = Vec::new();
            for _ in 0..200 {
                let mut bytes = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec();
                mutate(&mut dice, &mut bytes);
                all.push(bytes);
            }
            all
        };
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
        let mut distinct = run(7);
        distinct.sort();
        distinct.dedup();
        assert!(distinct.len() > 100, "{}", distinct.len());
    }
}
