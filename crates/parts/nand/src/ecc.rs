//! The encoder and the decoders that all channels share. Both work on the stream: an encoder that is behind holds its
//! channel up, a decoder that is busy makes what was read wait in the controller.
//!
//! Decoders take work in the order in which it comes, at most one read each; a read that has to be decoded again waits
//! anew.

use sim::Time;

use crate::config::Ecc;

/// Encoder and decoders.
#[derive(Clone, Debug)]
pub(crate) struct Engines {
    /// When each decoder is free; empty where there are as many as are wanted.
    decoders: Vec<Time>,
    decode: Time,
    decode_bandwidth: Option<u64>,
    encode_bandwidth: Option<u64>,
    encoder: Time,
    stats: EccStats,
}

/// What encoder and decoders did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EccStats {
    /// Bytes of data encoded, where the encoder is modelled.
    pub encoded_bytes: u64,
    /// Time of the encoder's work.
    pub encoding: Time,
    /// Bytes of data decoded, where decoding takes time.
    pub decoded_bytes: u64,
    /// Time of all decoders' work.
    pub decoding: Time,
    /// Time for which reads waited for a decoder.
    pub waiting: Time,
}

impl Engines {
    /// Idle engines.
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

    /// `bytes` of a read are decoded from now on, or when a decoder is free. Returns the end.
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

    /// `bytes` of a program pass the encoder from now on. Returns when the last of them have, if that takes time.
    #[inline(always)]
    pub fn encode(&mut self, now: Time, bytes: u64) -> Option<Time> {
        let rate = self.encode_bandwidth?;
        let length = Time::of_transfer(bytes, rate);
        self.encoder = now.max(self.encoder) + length;
        self.stats.encoding += length;
        self.stats.encoded_bytes += bytes;
        Some(self.encoder)
    }

    /// What they did until `now`; work that is accepted for later is not in the times.
    pub fn stats(&self, now: Time) -> EccStats {
        let ahead = self.decoders.iter().map(|free| free.saturating_sub(now)).fold(Time::ZERO, |sum, t| sum + t);
        EccStats {
            encoding: self.stats.encoding.saturating_sub(self.encoder.saturating_sub(now)),
            decoding: self.stats.decoding.saturating_sub(ahead),
            ..self.stats
        }
    }

    /// The power is gone, and with it what was accepted for later.
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
