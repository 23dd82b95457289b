//! A request in progress.

use sim::Time;

use crate::blocks::{Key, Source, Tier};
use crate::load::{HASHED_TOKENS, Request};

/// Progress of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SequenceState {
    /// It waits for admission.
    Waiting,
    /// It waits for cached blocks, or for the copies of evicted ones.
    Fetching,
    /// The GPUs compute it.
    Running,
}

/// A GPU block of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GpuBlock {
    /// Used by this sequence alone.
    Private,
    /// Used by all sequences with the same prefix.
    Shared(Key),
}

/// A request in progress.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    pub request: Request,
    pub state: SequenceState,
    /// Its GPU blocks, in order.
    pub held: Vec<GpuBlock>,
    /// Tokens whose keys and values are on the GPU.
    pub computed: u64,
    /// Tokens generated.
    pub generated: u64,
    /// Time of the first generated token.
    pub first: Option<Time>,
    /// Copies that it waits for.
    pub copies: u32,
    /// Blocks being fetched, and their copies.
    pub sources: Vec<(u32, Source, Tier)>,
    /// Start of its fetch from the drives.
    pub fetch: Option<Time>,
    /// Tokens of the prompt found in each tier at its first admission.
    pub hits: Option<[u64; 3]>,
}

impl Sequence {
    pub(super) fn new(request: Request) -> Sequence {
        Sequence {
            request,
            state: SequenceState::Waiting,
            held: Vec::new(),
            computed: 0,
            generated: 0,
            first: None,
            copies: 0,
            sources: Vec::new(),
            fetch: None,
            hits: None,
        }
    }

    /// Returns the number of known tokens. Once all are computed, the next is generated.
    pub(super) fn known(&self) -> u64 {
        self.request.prompt + self.generated
    }

    /// Returns whether it generates one token per step.
    pub(super) fn decodes(&self) -> bool {
        self.computed + 1 == self.known() && self.generated > 0
    }

    /// Returns the key of a full block of `block` tokens. Blocks inside the shared prefix have a key that all sessions
    /// with that prefix share, and those that a trace identifies one that all requests with the identifier share.
    pub(super) fn key(&self, index: u64, block: u64, prefix_tokens: u64) -> Key {
        let hash = self.request.hashes.get((((index + 1) * block - 1) / HASHED_TOKENS) as usize);
        let owner = match hash {
            Some(hash) if (index + 1) * block <= self.request.prompt => u64::from(*hash) | 1 << 62,
            _ if (index + 1) * block <= prefix_tokens => self.request.prefix | 1 << 63,
            _ => self.request.session,
        };
        Key { owner, index: index as u32 }
    }
}
