//! Time: sync epochs, stored in 24 bits of the table, and tokens, which are never reused.

/// The result of a sync: names a state of the memory that can be restored. No two syncs of a memory return the same
/// token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token(pub u64);

/// The present epoch, and the kept ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Epochs {
    /// The present epoch, written into new entries.
    pub now: u32,
    /// The epoch of the last completed sync or rollback, to which a power cut leads back.
    pub synced: u32,
    /// Live tokens, oldest first, each with its epoch.
    pub tokens: Vec<(Token, u32)>,
    /// The next token.
    pub next: u64,
    /// Kept epochs, newest first: those of the last sync and of live tokens.
    views: Vec<u32>,
}

impl Epochs {
    pub fn new() -> Epochs {
        Epochs::restored(1, 0, Vec::new(), 1)
    }

    pub fn restored(now: u32, synced: u32, tokens: Vec<(Token, u32)>, next: u64) -> Epochs {
        let mut epochs = Epochs { now, synced, tokens, next, views: Vec::new() };
        epochs.look();
        epochs
    }

    fn look(&mut self) {
        self.views.clear();
        self.views.push(self.synced);
        self.views.extend(self.tokens.iter().map(|(_, epoch)| *epoch));
        self.views.sort_unstable_by(|a, b| b.cmp(a));
        self.views.dedup();
    }

    /// Returns the kept epochs, newest first.
    pub fn views(&self) -> &[u32] {
        &self.views
    }

    /// Returns the epoch of `token`.
    pub fn find(&self, token: Token) -> Option<u32> {
        self.tokens.iter().find(|(t, _)| *t == token).map(|(_, epoch)| *epoch)
    }

    /// Ends the present epoch. Returns whether a kept epoch is no longer kept.
    pub fn sync(&mut self) -> (Token, bool) {
        let (token, epoch) = (Token(self.next), self.now);
        let dropped = self.flush();
        self.tokens.push((token, epoch));
        self.next += 1;
        (token, dropped)
    }

    /// Ends the present epoch without a token. Returns whether a kept epoch is no longer kept.
    pub fn flush(&mut self) -> bool {
        let dropped = !self.tokens.iter().any(|(_, epoch)| *epoch == self.synced);
        self.synced = self.now;
        self.now += 1;
        self.look();
        dropped
    }

    /// Returns to `epoch` and discards newer ones.
    pub fn rollback(&mut self, epoch: u32) {
        self.tokens.retain(|(_, e)| *e <= epoch);
        (self.synced, self.now) = (epoch, epoch + 1);
        self.look();
    }

    /// Drops `token`.
    pub fn drop(&mut self, token: Token) {
        self.tokens.retain(|(t, _)| *t != token);
        self.look();
    }

    /// Returns the new time of an entry when epochs are renumbered, so that no time exceeds the number of kept epochs.
    /// Equal times stay equal, and each stays on the same side of every kept epoch.
    pub fn renumbered(&self, time: u32) -> u32 {
        self.views.iter().rev().take_while(|view| **view < time).count() as u32
    }

    /// Renumbers the epochs, like [`renumbered`](Self::renumbered) does for entries.
    pub fn renumber(&mut self) {
        let old = self.clone();
        for (_, epoch) in &mut self.tokens {
            *epoch = old.renumbered(*epoch);
        }
        self.synced = old.renumbered(old.synced);
        self.now = old.views.len() as u32;
        self.look();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renumbering_keeps_every_order_that_matters() {
        let tokens = vec![(Token(3), 4), (Token(9), 7), (Token(20), 12)];
        let old = Epochs::restored(15, 13, tokens, 22);
        let mut new = old.clone();
        new.renumber();
        assert_eq!((new.now, new.views()), (4, &[3, 2, 1, 0][..]));
        for time in 0..=15 {
            let renumbered = old.renumbered(time);
            for (token, epoch) in &old.tokens {
                assert_eq!(time <= *epoch, renumbered <= new.find(*token).expect("live"));
            }
            assert_eq!(time <= old.synced, renumbered <= new.synced);
            assert!(renumbered <= new.now);
        }
    }

    #[test]
    fn a_rollback_forgets_what_is_newer_and_no_token_comes_twice() {
        let mut epochs = Epochs::new();
        let tokens: Vec<Token> = (0..4).map(|_| epochs.sync().0).collect();
        epochs.rollback(epochs.find(tokens[1]).expect("live"));
        assert_eq!(epochs.find(tokens[2]), None);
        let next = epochs.sync().0;
        assert!(next > tokens[3]);
        assert_eq!(epochs.views(), &[3, 2, 1]);
    }

    #[test]
    fn a_flush_keeps_its_epoch_only_until_the_next_one() {
        let mut epochs = Epochs::new();
        let (token, _) = epochs.sync();
        assert!(!epochs.flush(), "the token keeps the epoch before");
        assert_eq!((epochs.views(), epochs.find(token)), (&[2, 1][..], Some(1)));
        assert!(epochs.flush());
        assert_eq!((epochs.views(), epochs.next), (&[3, 1][..], 2));
    }
}
