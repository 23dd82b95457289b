//! The invariant of space: every good block is free, or has exactly one owner.

use media::Flash;

use crate::ftl::ZonedFtl;
use crate::ftl::request::buffer::NIL;
use crate::ftl::request::operation::OperationKind;
use crate::ftl::space::blocks::Block;

impl ZonedFtl {
    /// Describes the first block that breaks the invariant of space, if one does: a good block is either free and erased,
    /// or belongs to one zone, replacement, block list of the log, or erase; a bad block is none of that.
    pub fn misowned_block(&self, flash: &impl Flash) -> Option<String> {
        let g = self.config.geometry;
        let owned = self.owned_blocks();
        let blocks = (0..g.all_dies() as u16).flat_map(|die| (0..g.blocks).map(move |block| Block { die, block }));
        for at in blocks {
            let owners: Vec<&str> = owned.iter().filter(|(of, _)| *of == at).map(|(_, owner)| *owner).collect();
            let infos = || (0..g.planes).map(|plane| flash.block(at.die, plane, at.block));
            let bad = infos().any(|info| info.bad);
            if owners.len() != usize::from(!bad) {
                return Some(format!("block {} of die {}, bad: {bad}, belongs to {owners:?}", at.block, at.die));
            }
            if owners == [FREE] && infos().any(|info| info.programmed > 0 || info.torn) {
                return Some(format!("block {} of die {} is free, but not erased", at.block, at.die));
            }
        }
        None
    }

    /// Returns all blocks that are in use or free, each with its owner.
    fn owned_blocks(&self) -> Vec<(Block, &'static str)> {
        let per_column = self.layout.blocks;
        let of_extents = self.extents.iter().flat_map(|extent| {
            let own = (0..).zip(&extent.blocks).filter(|(_, block)| **block != NIL);
            let place = move |at: u32| self.layout.die(extent.zone, at / per_column);
            let own = own.map(move |(at, block)| (Block { die: place(at), block: *block }, "a zone"));
            own.chain(extent.replaced.iter().map(|at| (*at, "a zone, replaced")))
        });
        let erased = self.operations.in_progress().filter_map(|kind| match kind {
            OperationKind::Erase(at) | OperationKind::Discard(at) | OperationKind::LogErase(at) => {
                Some((at, "an erase"))
            }
            _ => None,
        });
        of_extents
            .chain(self.relocations.new_blocks().map(|at| (at, "a replacement")))
            .chain(self.log.all_blocks().map(|at| (at, "the log")))
            .chain(self.garbage.iter().map(|at| (*at, "what to erase after the mount")))
            .chain(self.blocks.all_free().map(|at| (at, FREE)))
            .chain(erased)
            .collect()
    }
}

const FREE: &str = "the free blocks";
