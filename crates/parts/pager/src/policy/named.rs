//! Policies selected by name at run time.

use std::fmt;
use std::str::FromStr;

use strsim::damerau_levenshtein;

use crate::costs::Weights;
use crate::memory::{Counts, Memory};
use crate::policy::{Arc, Clock, Comparison, Fifo, Kind, Lru, PmXip, Policy, Reading, RentOrBuy, S3Fifo, TwoQ, serve};

/// The policy names accepted by [`Name`].
pub const NAMES: [&str; 9] =
    ["lru", "fifo", "clock", "2q", "arc", "s3-fifo", "min", "pm-xip(WINDOW,THRESHOLD)", "rent-or-buy"];

/// The name of the offline policy, which no system file names.
const MIN: &str = "min";

/// Maximum window and threshold of a named PM-XIP.
const WINDOW_MAX: u32 = 1 << 20;

/// The name of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// [`Lru`]
    Lru,
    /// [`Fifo`]
    Fifo,
    /// [`Clock`]
    Clock,
    /// [`TwoQ`]
    TwoQ,
    /// [`Arc`]
    Arc,
    /// [`S3Fifo`]
    S3Fifo,
    /// [`Min`](crate::policy::Min), which is an offline policy.
    Min,
    /// [`PmXip`]
    PmXip {
        /// Window in requests.
        window: u32,
        /// Threshold in occurrences.
        threshold: u32,
    },
    /// [`RentOrBuy`]
    RentOrBuy,
}

/// The text is not the name of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPolicy(pub String);

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |name: &str| name.split('(').next().unwrap_or_default().to_lowercase();
        let found = word(&self.0);
        write!(f, "found the policy `{}`, expected ", self.0)?;
        if found == "pm-xip" {
            return write!(
                f,
                "pm-xip(WINDOW,THRESHOLD), 1 to {WINDOW_MAX} and 0 to {WINDOW_MAX} requests, such as pm-xip(8,4)"
            );
        }
        let near = NAMES.into_iter().min_by_key(|name| damerau_levenshtein(&found, &word(name)));
        write!(f, "one of {}; the nearest is {}", NAMES.join(", "), near.expect("there are names"))
    }
}

impl std::error::Error for UnknownPolicy {}

impl FromStr for Name {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Name, UnknownPolicy> {
        let unknown = || UnknownPolicy(text.to_owned());
        if text == MIN {
            return Ok(Name::Min);
        }
        if let Some(kind) = Kind::named(text).filter(|kind| *kind != Kind::PmXip) {
            return Ok(kind.with(0, 0));
        }
        let inside = text.strip_prefix(Kind::PmXip.word()).and_then(|rest| rest.strip_prefix('(')?.strip_suffix(')'));
        let (window, threshold) = inside.and_then(|both| both.split_once(',')).ok_or_else(unknown)?;
        let whole = |text: &str| text.trim().parse::<u32>().ok().filter(|&n| n <= WINDOW_MAX);
        let window = whole(window).filter(|&window| window > 0).ok_or_else(unknown)?;
        Ok(Name::PmXip { window, threshold: whole(threshold).ok_or_else(unknown)? })
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Name::Lru => Kind::Lru.word(),
            Name::Fifo => Kind::Fifo.word(),
            Name::Clock => Kind::Clock.word(),
            Name::TwoQ => Kind::TwoQ.word(),
            Name::Arc => Kind::Arc.word(),
            Name::S3Fifo => Kind::S3Fifo.word(),
            Name::Min => MIN,
            Name::RentOrBuy => Kind::RentOrBuy.word(),
            Name::PmXip { window, threshold } => return write!(f, "{}({window},{threshold})", Kind::PmXip.word()),
        })
    }
}

impl Reading {
    /// Returns the choices as words joined by `+`: `before+after+fault` is Figure 5 taken literally.
    ///
    /// The window is tested `before` the current request enters it or `with` it; the threshold is tested `after` the
    /// discard or `first`; a page is promoted at a `fault` or also at a `hit` in its buffer. `at-least` is added if a
    /// page that occurs just as often as the threshold is promoted as well.
    pub fn words(&self) -> String {
        let mut words = vec![self.window.word(), self.test.word(), self.promotion.word()];
        if self.comparison != Comparison::Above {
            words.push(self.comparison.word());
        }
        words.join("+")
    }

    /// Parses the result of [`words`](Self::words).
    pub fn from_words(words: &str) -> Option<Reading> {
        Reading::all().into_iter().find(|reading| reading.words() == words)
    }
}

/// An online policy selected at run time. Dispatches to the implementations, once per request or once per chunk
/// ([`Online::serve`]).
#[derive(Clone, Debug)]
pub enum Online {
    /// See [`Name`].
    Lru(Lru),
    /// See [`Name`].
    Fifo(Fifo),
    /// See [`Name`].
    Clock(Clock),
    /// See [`Name`].
    TwoQ(TwoQ),
    /// See [`Name`].
    Arc(Arc),
    /// See [`Name`].
    S3Fifo(S3Fifo),
    /// See [`Name`].
    PmXip(PmXip),
    /// See [`Name`].
    RentOrBuy(Box<RentOrBuy>),
}

macro_rules! each {
    ($online:expr, $policy:ident => $body:expr) => {
        match $online {
            Online::Lru($policy) => $body,
            Online::Fifo($policy) => $body,
            Online::Clock($policy) => $body,
            Online::TwoQ($policy) => $body,
            Online::Arc($policy) => $body,
            Online::S3Fifo($policy) => $body,
            Online::PmXip($policy) => $body,
            Online::RentOrBuy($policy) => {
                let $policy = $policy.as_mut();
                $body
            }
        }
    };
}

impl Online {
    /// Creates the named policy over an empty memory; `None` for MIN, which is offline. `reading` applies to PM-XIP,
    /// and `weights` are the costs that rent-or-buy minimizes.
    ///
    /// # Panics
    /// If `frames` or `buffers` is zero.
    pub fn new(name: Name, frames: u32, buffers: u32, reading: Reading, weights: &Weights) -> Option<Online> {
        Some(match name {
            Name::Lru => Online::Lru(Lru::new(frames)),
            Name::Fifo => Online::Fifo(Fifo::new(frames)),
            Name::Clock => Online::Clock(Clock::new(frames)),
            Name::TwoQ => Online::TwoQ(TwoQ::new(frames)),
            Name::Arc => Online::Arc(Arc::new(frames)),
            Name::S3Fifo => Online::S3Fifo(S3Fifo::new(frames)),
            Name::Min => return None,
            Name::PmXip { window, threshold } => Online::PmXip(PmXip::new(frames, buffers, window, threshold, reading)),
            Name::RentOrBuy => Online::RentOrBuy(Box::new(RentOrBuy::new(frames, buffers, weights))),
        })
    }

    /// See [`Policy::grow`].
    pub fn grow(&mut self, pages: u32) {
        each!(self, policy => policy.grow(pages));
    }

    /// See [`Policy::request`].
    pub fn request<M: Memory>(&mut self, page: u32, memory: &mut M) {
        each!(self, policy => policy.request(page, memory));
    }

    /// See [`serve`].
    pub fn serve(&mut self, requests: &[u32], counts: &mut Counts) {
        each!(self, policy => serve(&mut *policy, requests, counts));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::Costs;
    use crate::policy::{Min, count};
    use crate::{future, synthetic};
    use sim::Streams;

    #[test]
    fn names_round_trip() {
        for name in NAMES {
            let name = name.replace("WINDOW,THRESHOLD", "8,4");
            assert_eq!(name.parse::<Name>().unwrap().to_string(), name);
        }
        assert_eq!("pm-xip(16, 3)".parse(), Ok(Name::PmXip { window: 16, threshold: 3 }));
        for wrong in ["LRU", "pm-xip", "pm-xip(8)", "pm-xip(0,0)", "pm-xip(8,-1)", "pm-xip(8,4", "pm-xip(2000000,1)"] {
            assert_eq!(wrong.parse::<Name>(), Err(UnknownPolicy(wrong.to_owned())));
        }
        for (wrong, near) in
            [("lur", "lru"), ("LRU", "lru"), ("arch", "arc"), ("rentorbuy", "rent-or-buy"), ("pmxip", NAMES[7])]
        {
            let message = UnknownPolicy(wrong.to_owned()).to_string();
            assert!(message.ends_with(&format!("; the nearest is {near}")), "{message}");
        }
        let words: Vec<String> = Reading::all().iter().map(Reading::words).collect();
        assert_eq!(words[0], "before+after+fault");
        assert!(Reading::all().iter().all(|reading| Reading::from_words(&reading.words()) == Some(*reading)));
        assert_eq!(Reading::from_words("before+fault"), None);
    }

    #[test]
    fn a_named_policy_behaves_like_the_policy_itself() {
        let jpeg = synthetic::locality("jpeg").unwrap();
        let trace = jpeg.trace(5_000, &mut Streams::new(2).stream("jpeg"));
        let weights = Weights::time(&Costs::ONENAND_2006);
        let named = |name: &str| {
            let mut policy = Online::new(name.parse().unwrap(), 4, 2, Reading::FIGURE_5, &weights).unwrap();
            policy.grow(jpeg.pages);
            let mut counts = Counts::default();
            policy.serve(&trace[..2_000], &mut counts);
            trace[2_000..].iter().for_each(|&page| policy.request(page, &mut counts));
            counts
        };
        assert_eq!(named("lru"), count(Lru::new(4), jpeg.pages, &trace));
        assert_eq!(named("fifo"), count(Fifo::new(4), jpeg.pages, &trace));
        assert_eq!(named("clock"), count(Clock::new(4), jpeg.pages, &trace));
        assert_eq!(named("2q"), count(TwoQ::new(4), jpeg.pages, &trace));
        assert_eq!(named("arc"), count(Arc::new(4), jpeg.pages, &trace));
        assert_eq!(named("s3-fifo"), count(S3Fifo::new(4), jpeg.pages, &trace));
        assert_eq!(named("pm-xip(8,4)"), count(PmXip::new(4, 2, 8, 4, Reading::FIGURE_5), jpeg.pages, &trace));
        assert_eq!(named("rent-or-buy"), count(RentOrBuy::new(4, 2, &weights), jpeg.pages, &trace));
        assert!(Online::new(Name::Min, 4, 2, Reading::FIGURE_5, &weights).is_none());
        let min = count(Min::new(4), jpeg.pages, &future::foresee(jpeg.pages, &trace));
        assert!(min.flash_to_buffer < named("arc").flash_to_buffer);
    }
}
