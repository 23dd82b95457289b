//! Straightforward second implementations of the paper's three policies.

use pager::Counts;
use pager::policy::{Comparison, Promotion, Reading, Test, Window};

/// Returns the misses of LRU.
pub fn lru(trace: &[u32], frames: usize) -> u64 {
    let (mut recent, mut misses) = (Vec::new(), 0);
    for &page in trace {
        match recent.iter().position(|&other| other == page) {
            Some(at) => {
                recent.remove(at);
            }
            None => {
                misses += 1;
                if recent.len() == frames {
                    recent.remove(0);
                }
            }
        }
        recent.push(page);
    }
    misses
}

/// Returns the misses of Belady's MIN.
pub fn min(trace: &[u32], frames: usize) -> u64 {
    let (mut resident, mut misses) = (Vec::new(), 0);
    for (now, page) in trace.iter().enumerate() {
        if !resident.contains(page) {
            misses += 1;
            if resident.len() == frames {
                let next = |page: &u32| trace[now..].iter().position(|other| other == page).unwrap_or(usize::MAX);
                let farthest = (0..frames).max_by_key(|&at| next(&resident[at])).unwrap();
                resident.remove(farthest);
            }
            resident.push(*page);
        }
    }
    misses
}

/// Returns the counts of Figure 5 of the paper, implemented line by line; lists start with the least recently requested
/// page.
pub fn figure_5(trace: &[u32], frames: usize, buffers: usize, w: usize, theta: usize, reading: Reading) -> Counts {
    let mut counts = Counts::default();
    let (mut sram, mut onenand, mut window): (Vec<u32>, Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new(), Vec::new());
    for (now, &page) in trace.iter().enumerate() {
        let record = |window: &mut Vec<u32>| {
            window.push(page);
            if window.len() > w {
                window.remove(0);
            }
        };
        if reading.window == Window::WithCurrent {
            record(&mut window);
        }
        // The age of a page: the number of requests since its last one, including the current one.
        let age = |page: u32| now - trace[..=now].iter().rposition(|&other| other == page).unwrap();
        let move_to_sram = |page: u32, sram: &mut Vec<u32>, onenand: &mut Vec<u32>, counts: &mut Counts| {
            if sram.len() == frames {
                let oldest = (0..sram.len()).max_by_key(|&at| age(sram[at])).unwrap();
                sram.remove(oldest);
            }
            onenand.retain(|&other| other != page);
            sram.push(page);
            counts.buffer_to_sram += 1;
        };
        let exceeds = |page: u32, window: &[u32]| {
            let occurrences = window.iter().filter(|&&other| other == page).count();
            match reading.comparison {
                Comparison::Above => occurrences > theta,
                Comparison::AtLeast => occurrences >= theta,
            }
        };
        if sram.contains(&page) {
            counts.sram_reads += 1;
        } else if onenand.contains(&page) {
            counts.buffer_reads += 1;
            if reading.promotion == Promotion::OnHit && exceeds(page, &window) {
                move_to_sram(page, &mut sram, &mut onenand, &mut counts);
            }
        } else {
            let mut in_order = onenand.clone();
            in_order.sort_by_key(|&other| std::cmp::Reverse(age(other)));
            if reading.test == Test::BeforeDiscard {
                for &held in &in_order {
                    if exceeds(held, &window) {
                        move_to_sram(held, &mut sram, &mut onenand, &mut counts);
                    }
                }
            }
            if onenand.len() == buffers {
                let victim = *in_order.iter().find(|held| onenand.contains(held)).unwrap();
                onenand.retain(|&other| other != victim);
            }
            onenand.push(page);
            counts.flash_to_buffer += 1;
            in_order.push(page);
            for &held in &in_order {
                let tested = reading.test == Test::AfterDiscard || held == page;
                if tested && onenand.contains(&held) && exceeds(held, &window) {
                    move_to_sram(held, &mut sram, &mut onenand, &mut counts);
                }
            }
            if sram.contains(&page) { counts.sram_reads += 1 } else { counts.buffer_reads += 1 }
        }
        if reading.window == Window::BeforeCurrent {
            record(&mut window);
        }
    }
    counts
}
