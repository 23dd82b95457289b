//! The encoder and the decoders that all channels share. Both process streams: an encoder that is behind holds its
//! channel up, and while a decoder is busy, read data waits in the controller.
//!
//! Decoders serve reads in order of arrival, one each; a read that is decoded again queues again.

use sim::{Time, rarely};

use crate::config::Ecc;

/// Encoder and decoders.
#[derive(Clone, Debug)]
pub(crate) struct Engines {
    /// Time at which each decoder becomes free; empty if their number is unlimited.
    decoders: Vec<Time>,
    decode: Time,
    decode_bandwidth: Option<u64>,
    encode_bandwidth: Option<u64>,
    encoder: Time,
    stats: EccStats,
}

/// Counters of the encoder and the decoders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EccStats {
    /// Bytes encoded, if the encoder is modeled.
    pub encoded_bytes: u64,
    /// Busy time of the encoder.
    pub encoding: Time,
    /// Bytes decoded, if decoding takes time.
    pub decoded_bytes: u64,
    /// Busy time of all decoders.
    pub decoding: Time,
    /// Time that reads waited for a decoder.
    pub waiting: Time,
}

impl Engines {
    /// Creates idle engines.
    pub fn new(ecc: &Ecc) -> Engines {
        assert!(ecc.decoders != Some(0), "no decoder");
        Engines {
            decoders: vec![Time::ZERO; ecc.decoders.unwrap_or(0) as usize],
            decode: ecc.decode,
            decode_bandwidth: ecc.decode_bandwidth,
            encode_bandwidth: ecc.encode_bandwidth,
            encoder: Time::ZERO,
            stats: EccStats::default(),
        }
    }

    /// Decodes `bytes` of a read from now on, or when a decoder is free. Returns the end.
    pub fn decode(&mut self, now: Time, bytes: u64) -> Time {
        let length = self.decode + self.decode_bandwidth.map_or(Time::ZERO, |rate| Time::of_transfer(bytes, rate));
        self.stats.decoding += length;
        self.stats.decoded_bytes += bytes;
        let Some(first) = self.decoders.iter_mut().min() else { return now + length };
        let from = now.max(*first);
        self.stats.waiting += from - now;
        *first = from + length;
        *first
    }

    /// Encodes `bytes` of a program from now on. Returns the end, if that takes time.
    #[inline]
    pub fn encode(&mut self, now: Time, bytes: u64) -> Option<Time> {
        let rate = self.encode_bandwidth?;
        Some(rarely(self, move |it| it.encode_at(rate, now, bytes)))
    }

    /// Implements [`encode`](Self::encode) for an encoder that takes `rate` bytes per second. Returns the end.
    fn encode_at(&mut self, rate: u64, now: Time, bytes: u64) -> Time {
        let length = Time::of_transfer(bytes, rate);
        self.encoder = now.max(self.encoder) + length;
        self.stats.encoding += length;
        self.stats.encoded_bytes += bytes;
        self.encoder
    }

    /// Returns the counters until `now`, without work accepted for later.
    pub fn stats(&self, now: Time) -> EccStats {
        let ahead = self.decoders.iter().map(|free| free.saturating_sub(now)).fold(Time::ZERO, |sum, t| sum + t);
        EccStats {
            encoding: self.stats.encoding.saturating_sub(self.encoder.saturating_sub(now)),
            decoding: self.stats.decoding.saturating_sub(ahead),
            ..self.stats
        }
    }

    /// Discards accepted work after a power cut.
    pub fn power_cut(&mut self, now: Time) {
        self.stats = self.stats(now);
        self.encoder = self.encoder.min(now);
        self.decoders.iter_mut().for_each(|free| *free = (*free).min(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoders_are_shared() {
        let ecc = Ecc { decoders: Some(2), decode_bandwidth: Some(1_000_000_000), ..Ecc::default() };
        let mut engines = Engines::new(&ecc);
        let ns = Time::from_ns;
        assert_eq!(engines.decode(ns(0), 100), ns(100));
        assert_eq!(engines.decode(ns(10), 100), ns(110));
        assert_eq!(engines.decode(ns(20), 100), ns(200), "the third waits for the first");
        assert_eq!(engines.stats(ns(200)).waiting, ns(80));
        assert_eq!(engines.stats(ns(110)).decoding, ns(210));
        engines.power_cut(ns(110));
        assert_eq!(engines.decode(ns(110), 50), ns(160));
    }

    #[test]
    fn the_encoder_is_one() {
        let mut engines = Engines::new(&Ecc { encode_bandwidth: Some(500_000_000), ..Ecc::default() });
        let ns = Time::from_ns;
        assert_eq!(engines.encode(ns(0), 100), Some(ns(200)));
        assert_eq!(engines.encode(ns(50), 100), Some(ns(400)));
        assert_eq!(engines.stats(ns(300)).encoding, ns(300));
        assert_eq!(Engines::new(&Ecc::default()).encode(ns(0), 100), None);
    }
}
