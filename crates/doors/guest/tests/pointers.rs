//! PRP and SGL walking against slow, obvious second implementations.

use guest::pointers::{Segment, prp_segments, sgl_segments};
use guest::{BadAddress, GuestMemory, Ram};
use proptest::prelude::*;

/// Bytes of memory: small, so that random addresses hit it and its end.
const MEMORY: u64 = 1 << 16;

/// Expands ranges to the address of each byte.
fn addresses(segments: &[Segment]) -> Vec<u64> {
    segments.iter().flat_map(|segment| segment.address..segment.address + segment.bytes).collect()
}

/// Returns the address of each byte of a transfer by the rules of section 4.3: the first entry may have an offset; the
/// second is a page or, for more than two pages, a list; the last entry of a list page that is not the last of the
/// transfer points to another list page.
fn prp_slowly(memory: &Ram, prp1: u64, prp2: u64, bytes: u64, page: u64) -> Option<Vec<u64>> {
    let mut pages = Vec::new();
    let mut needed = (prp1 % page + bytes).div_ceil(page);
    if bytes == 0 {
        return Some(Vec::new());
    }
    if !prp1.is_multiple_of(4) {
        return None;
    }
    pages.push(prp1 - prp1 % page);
    needed -= 1;
    if needed == 1 {
        pages.push(prp2);
    } else if needed > 1 {
        let mut at = prp2;
        if !at.is_multiple_of(8) {
            return None;
        }
        while needed > 0 {
            let mut quad = [0; 8];
            memory.read(at, &mut quad).ok()?;
            let entry = u64::from_le_bytes(quad);
            if !entry.is_multiple_of(page) {
                return None;
            }
            if at % page == page - 8 && needed > 1 {
                at = entry;
            } else {
                pages.push(entry);
                needed -= 1;
                at += 8;
            }
        }
    }
    if pages[1..].iter().any(|at| !at.is_multiple_of(page)) {
        return None;
    }
    let byte = |i: u64| {
        let place = prp1 % page + i;
        pages[(place / page) as usize].checked_add(place % page)
    };
    let all: Option<Vec<u64>> = (0..bytes).map(byte).collect();
    all.filter(|all| all.iter().all(|at| *at < MEMORY))
}

/// Returns the address of each byte of a transfer described by an SGL: descriptors in order, one after another.
fn sgl_slowly(memory: &Ram, first: [u64; 2], bytes: u64) -> Option<Vec<u64>> {
    let mut descriptors = vec![(first, true)];
    let (mut all, mut seen, mut was_last) = (Vec::new(), 0, false);
    while !descriptors.is_empty() {
        let ([address, rest], is_end) = descriptors.remove(0);
        seen += 1;
        if seen > 2048 {
            return None;
        }
        let length = rest & 0xffff_ffff;
        match rest >> 56 {
            0x00 => {
                if all.len() as u64 + length > bytes {
                    return None;
                }
                for i in 0..length {
                    let at = address.checked_add(i).filter(|at| *at < MEMORY)?;
                    all.push(at);
                }
            }
            kind @ (0x20 | 0x30) => {
                if !is_end || was_last || length == 0 || !length.is_multiple_of(16) {
                    return None;
                }
                was_last = kind == 0x30;
                for i in 0..(length / 16).min(2048) {
                    let mut raw = [0; 16];
                    // A descriptor outside memory matters only when it is reached.
                    let read = address.checked_add(16 * i).map(|at| memory.read(at, &mut raw));
                    let quad = |at: usize| u64::from_le_bytes(raw[at..at + 8].try_into().expect("8"));
                    let readable = matches!(read, Some(Ok(())));
                    let descriptor = if readable { [quad(0), quad(8)] } else { [0, u64::MAX] };
                    descriptors.push((descriptor, i + 1 == length / 16));
                }
            }
            _ => return None,
        }
    }
    (all.len() as u64 == bytes).then_some(all)
}

/// Addresses near pages, mostly valid.
fn address() -> impl Strategy<Value = u64> {
    prop_oneof![
        6 => (0..MEMORY / 256).prop_map(|page| page * 256),
        2 => 0..MEMORY + 512,
        1 => any::<u64>(),
    ]
}

/// Returns memory filled with addresses, so that any part can be a list: most are addresses of pages, some are
/// anything.
fn ram(seed: u64) -> Ram {
    let mut state = seed | 1;
    let words = (0..MEMORY / 8).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        match state % 256 {
            0 => state,
            1 => state % MEMORY,
            _ => state % (MEMORY / 256) * 256,
        }
    });
    let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    let mut ram = Ram::new(MEMORY as usize);
    ram.write(0, &bytes).expect("all of memory");
    ram
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Small pages make lists cross pages often.
    #[test]
    fn prps_describe_the_same_bytes(
        prp1 in prop_oneof![4 => (0..MEMORY / 4).prop_map(|a| a * 4), 1 => address()],
        prp2 in prop_oneof![4 => (0..MEMORY / 8).prop_map(|a| a * 8), 1 => address()],
        bytes in prop_oneof![0u64..600, 0u64..20_000],
        page in prop_oneof![Just(64u64), Just(256)],
        seed in any::<u64>(),
    ) {
        let ram = ram(seed);
        let found = prp_segments(&ram, prp1, prp2, bytes, page);
        let expected = prp_slowly(&ram, prp1, prp2, bytes, page);
        prop_assert_eq!(found.as_deref().ok().map(addresses), expected);
    }

    #[test]
    fn sgls_describe_the_same_bytes(
        pieces in prop::collection::vec((0u64..MEMORY, 0u64..300, 0u8..20), 1..40),
        per_segment in 2usize..6,
        short in prop_oneof![4 => Just(0u64), 1 => 0u64..3],
        flaw in prop::option::of((0usize..60, any::<u64>(), any::<u64>())),
    ) {
        // Lay the pieces out in a chain of segments at the end of memory.
        let total: u64 = pieces.iter().map(|(_, bytes, _)| bytes).sum();
        let chunks: Vec<_> = pieces.chunks(per_segment).collect();
        let mut ram = Ram::new(MEMORY as usize);
        let base = MEMORY / 2;
        let mut at = base;
        let mut places = Vec::new();
        for (i, chunk) in chunks.iter().enumerate() {
            let is_last = i + 1 == chunks.len();
            let count = chunk.len() as u64 + u64::from(!is_last);
            places.push((at, count * 16, is_last));
            at += count * 16;
        }
        let put = |ram: &mut Ram, at: u64, address: u64, rest: u64| {
            ram.write(at, &[address.to_le_bytes(), rest.to_le_bytes()].concat()).expect("in memory");
        };
        for (i, chunk) in chunks.iter().enumerate() {
            let mut at = places[i].0;
            for (address, bytes, kind) in *chunk {
                put(&mut ram, at, address % base, bytes | u64::from(*kind == 19) << 61);
                at += 16;
            }
            if let Some((next, bytes, is_last)) = places.get(i + 1) {
                put(&mut ram, at, *next, bytes | if *is_last { 3 << 60 } else { 2 << 60 });
            }
        }
        if let Some((place, address, rest)) = flaw {
            put(&mut ram, base + place as u64 * 16, address, rest);
        }
        let (first, bytes, is_last) = places[0];
        let first = [first, bytes | if is_last { 3 << 60 } else { 2 << 60 }];
        let found = sgl_segments(&ram, first, total.saturating_sub(short));
        let expected = sgl_slowly(&ram, first, total.saturating_sub(short));
        prop_assert_eq!(found.as_deref().ok().map(addresses), expected);
    }

    /// Any words: the same answer, and an answer at all.
    #[test]
    fn any_descriptors_end(seed in any::<u64>(), first in any::<[u64; 2]>(), bytes in 0u64..5000) {
        let ram = ram(seed);
        let aim = [first[0] % MEMORY, first[1] & 0x30ff_ffff_0000_0ff0];
        for first in [first, aim] {
            let found = sgl_segments(&ram, first, bytes);
            prop_assert_eq!(found.as_deref().ok().map(addresses), sgl_slowly(&ram, first, bytes));
        }
    }
}

#[test]
fn ram_ends_where_it_ends() {
    let mut ram = Ram::new(100);
    assert!(ram.contains(0, 100) && ram.contains(100, 0) && !ram.contains(99, 2) && !ram.contains(u64::MAX, 2));
    assert_eq!(ram.write(99, &[1, 2]), Err(BadAddress { address: 99, bytes: 2 }));
    assert_eq!(ram.read(u64::MAX, &mut [0; 2]), Err(BadAddress { address: u64::MAX, bytes: 2 }));
    assert_eq!(BadAddress { address: 99, bytes: 2 }.to_string(), "2 bytes at 0x63 are outside guest memory");
}
