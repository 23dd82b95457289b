//! Operations under way on the medium, by id.

use media::OpId;

/// The purpose of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationKind {
    /// Not under way.
    Free,
    /// Reads segment `segment` of flash page `flash` for request `tag`.
    Read { tag: u32, flash: u64, segment: u8 },
    /// Reads flash page `flash` into copy buffer `segment`.
    Copy { flash: u64, segment: u8 },
    /// Programs one segment of page write `page_write`, at `bit` of its part `part`.
    Program { page_write: u32, part: u8, bit: u8 },
    /// Erases `block` for write point `write_point`.
    Open { write_point: u32, block: u32 },
    /// Reads a chunk of the table.
    Load { chunk: u32 },
    /// Erases `block` for the table, the journal or the root.
    Prepare { block: u32 },
    /// Programs a page of the commit under way at `flash`.
    Commit { flash: u64 },
    /// A barrier of the commit under way.
    Barrier,
}

/// Operations by id. Ids are dense and reused.
#[derive(Default)]
pub(crate) struct Operations {
    list: Vec<OperationKind>,
    free: Vec<u32>,
}

impl Operations {
    pub fn start(&mut self, kind: OperationKind) -> OpId {
        let id = self.free.pop().unwrap_or_else(|| {
            self.list.push(OperationKind::Free);
            self.list.len() as u32 - 1
        });
        self.list[id as usize] = kind;
        OpId(id)
    }

    /// Returns an operation's purpose.
    ///
    /// # Panics
    /// If it is not under way.
    pub fn get(&self, id: OpId) -> OperationKind {
        let kind = self.list.get(id.0 as usize).copied().unwrap_or(OperationKind::Free);
        assert_ne!(kind, OperationKind::Free, "operation {} is not under way", id.0);
        kind
    }

    pub fn end(&mut self, id: OpId) -> OperationKind {
        let kind = self.get(id);
        self.forget(id);
        kind
    }

    /// Frees the id of an operation that has ended.
    pub fn forget(&mut self, id: OpId) {
        self.list[id.0 as usize] = OperationKind::Free;
        self.free.push(id.0);
    }

    pub fn active(&self) -> usize {
        self.list.len() - self.free.len()
    }
}
