//! Compares answers with those that the obvious memory expects.

use nvmm::{Answer, Error, Permissions, Reply, Request};

use super::world::{Asked, World};

impl World {
    /// Performs a request on the obvious memory, and returns the expected answer.
    pub(super) fn replied(&mut self, Reply { tag, answer }: Reply) {
        let asked = self.asked[tag.0 as usize].take().expect("a request under way");
        self.answers.push(answer.clone());
        if let Some(probe) = &mut self.probe {
            probe.extend(asked.data.iter().map(|stamp| stamp.expect("read")));
            return;
        }
        if self.expect_error(&asked, &answer) {
            return;
        }
        let Asked { request, application, data, loose } = asked;
        let segments = self.config.segments;
        match (request, answer) {
            (Request::Alloc { permissions, .. }, Answer::Allocated(address)) => {
                assert!(!self.memory.used().contains(&address.page()), "{address} is allocated, and used");
                self.memory.create(address.page(), application, permissions, segments);
            }
            // It began before a rollback or an end, when the page existed.
            (Request::Read { .. }, Answer::Done) if loose => {}
            (Request::Read { address, segments: wanted }, Answer::Done) => {
                let page = self.memory.create(address.page(), application, Permissions::PRIVATE, segments);
                assert!(page.may_read(application), "{address} is read without permission");
                for segment in (0..segments as usize).filter(|s| wanted >> s & 1 != 0) {
                    let read = data[segment].unwrap_or_else(|| panic!("segment {segment} of {address} never came"));
                    let expected = page.segments[segment];
                    assert!(read == expected, "segment {segment} of {address} is {read}, not {expected}");
                }
            }
            (Request::Write { address, segments: written }, Answer::Done) => {
                let page = self.memory.create(address.page(), application, Permissions::PRIVATE, segments);
                assert!(page.may_write(application), "{address} is written without permission");
                for segment in (0..segments as usize).filter(|s| written >> s & 1 != 0) {
                    page.segments[segment] = data[segment].expect("written");
                }
            }
            (Request::Delete { address }, Answer::Done) => {
                let page = self.memory.now.remove(&address.page()).expect("deleted");
                assert!(page.may_write(application), "{address} is deleted without permission");
            }
            (Request::SetPermissions { address, permissions }, Answer::Done) => {
                let page = self.memory.now.get_mut(&address.page()).expect("there");
                assert!(page.owner == application || page.permissions.others_write);
                if page.permissions.permanent && !permissions.permanent {
                    page.owner = application;
                }
                page.permissions = permissions;
            }
            (Request::Sync, Answer::Token(token)) => {
                assert!(token.0 > self.last_token, "{token:?} comes a second time");
                self.last_token = token.0;
                self.memory.sync(token);
            }
            (Request::Flush, Answer::Done) => self.memory.flush(),
            (Request::Replace { token: old }, Answer::Token(token)) => {
                assert!(token.0 > self.last_token, "{token:?} comes a second time");
                self.last_token = token.0;
                self.memory.drop_token(old);
                self.memory.sync(token);
            }
            (Request::Rollback { token }, Answer::Done) => {
                self.memory.rollback(token);
                self.asked.iter_mut().flatten().for_each(|asked| asked.loose = true);
            }
            (Request::Drop { token }, Answer::Done) => self.memory.drop_token(token),
            (Request::End, Answer::Done) => {
                self.memory.end(application);
                self.asked.iter_mut().flatten().for_each(|asked| asked.loose = true);
            }
            (request, answer) => panic!("{request:?} is answered by {answer:?}"),
        }
    }

    /// Returns whether the request is refused, rightly.
    fn expect_error(&mut self, asked: &Asked, answer: &Answer) -> bool {
        let Asked { request, application, loose, .. } = asked;
        let Answer::Refused(error) = answer else { return false };
        let page = match request {
            Request::Read { address, .. }
            | Request::Write { address, .. }
            | Request::Delete { address }
            | Request::SetPermissions { address, .. } => self.memory.now.get(&address.page()),
            _ => None,
        };
        let right = match error {
            Error::NoSuchPage { address, last } => address.page() > *last && *last == self.config.pages - 1,
            Error::NoSuchSegment { found, all, .. } => *found == 0 || found & !all != 0,
            Error::NotThere { .. } => page.is_none(),
            Error::NotReadable { .. } => page.is_some_and(|page| !page.may_read(*application)) || *loose,
            Error::NotWritable { .. } => page.is_some_and(|page| !page.may_write(*application)),
            Error::NotOwner { owner, .. } => page.is_some_and(|page| {
                page.owner != *application && page.owner == *owner && !page.permissions.others_write
            }),
            Error::UnknownToken { token, newest } => {
                self.memory.find(*token).is_none() && self.memory.tokens.last().map(|(t, _)| *t) == *newest
            }
            Error::TooManyTokens { live } => self.memory.tokens.len() == *live as usize,
            Error::NoPage { pages } => {
                let mut used = self.memory.used();
                used.extend(self.asked.iter().flatten().filter_map(|asked| match asked.request {
                    Request::Write { address, .. } => Some(address.page()),
                    _ => None,
                }));
                used.len() == *pages as usize || self.read_faults > 0.0
            }
            Error::NoSpace { needed, wanted, room } => {
                self.refusals[0] += 1;
                // Writes under way may be counted too, and some have ended since.
                let others: u64 = self
                    .asked
                    .iter()
                    .flatten()
                    .map(|asked| match asked.request {
                        Request::Write { segments, .. } => u64::from(segments.count_ones()),
                        _ => 0,
                    })
                    .sum();
                let known = self.memory.needed();
                known <= *needed
                    && (*needed <= known + others || self.read_faults > 0.0)
                    && needed + wanted > *room
                    && (*room >= self.least_room() || self.read_faults > 0.0)
            }
            Error::NoVersions { wanted, free } => {
                self.refusals[1] += 1;
                wanted > free
            }
            Error::Unreadable { .. } | Error::TableUnreadable => self.read_faults > 0.0,
            Error::WornOut => {
                self.refusals[2] += 1;
                self.flash.endurance.is_some() || self.erase_faults > 0.0
            }
        };
        assert!(right, "{request:?} of {application:?} is refused ({error}), with {page:?}");
        true
    }

    /// Returns the flash pages for which the memory must have room, without reserved and failed ones.
    fn least_room(&self) -> u64 {
        let g = &self.config.geometry;
        let blocks = u64::from(g.all_dies() * g.planes * g.blocks);
        let lost = 4 + self.mapping_blocks() + u64::from(self.config.open_blocks) + 4 + self.flash.bad.len() as u64;
        (blocks.saturating_sub(lost) * u64::from(g.pages)).saturating_sub(self.flash.failures)
    }

    /// Returns the maximum number of table blocks: three times chunks and directory, three journals, and eight.
    fn mapping_blocks(&self) -> u64 {
        let g = &self.config.geometry;
        let flash_pages = u64::from(g.all_dies() * g.planes * g.blocks * g.pages);
        let entries = u64::from(self.config.pages + self.config.versions);
        let bytes = u64::from(g.page_bytes);
        let chunks = (entries * 16).div_ceil(bytes) + (flash_pages * 4).div_ceil(bytes);
        let directory = chunks * 20 + flash_pages / u64::from(g.pages) * (13 + u64::from(g.pages) / 8) + 1024;
        let pages = 3 * (chunks + directory.div_ceil(bytes - 64) + 1 + u64::from(self.config.management.journal_pages));
        pages.div_ceil(u64::from(g.pages)) + 8
    }
}
