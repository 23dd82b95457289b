//! Page allocation, deletion and permissions, and the verification of all pages.

use std::ops::Range;

use media::Tag;
use nvmm::{Answer, Permissions, Request};

use crate::device::Device;
use crate::error::Error;
use crate::storage::Stop;
use crate::{Memory, catalog};

impl<D: Device> Memory<D> {
    /// Returns the permissions of a page, or `None` if it is not allocated.
    pub(crate) fn ownership(&mut self, page: u32) -> Result<Option<Permissions>, Error> {
        if let Some((known, permissions)) = self.last_page
            && known == page
        {
            return Ok(Some(permissions));
        }
        self.engine.load_entry(page, &mut self.frames).map_err(|stop| self.stopped(stop))?;
        let Some(ownership) = self.engine.nvmm.ownership(page) else { return Err(self.table_unreadable()) };
        let permissions = ownership.map(|(permissions, _)| permissions);
        self.last_page = permissions.map(|permissions| (page, permissions));
        Ok(permissions)
    }

    fn pages(&self, range: &Range<u64>) -> Range<u32> {
        let bytes = self.shape().page_bytes();
        (range.start / bytes) as u32..range.end.div_ceil(bytes) as u32
    }

    /// Checks that all pages of a range are allocated and may be read or, if `write` is set, written.
    pub(crate) fn check_permissions(&mut self, range: Range<u64>, write: bool) -> Result<(), Error> {
        let bytes = self.shape().page_bytes();
        for page in self.pages(&range) {
            let address = range.start.max(u64::from(page) * bytes);
            match self.ownership(page)? {
                None => return Err(Error::NotAllocated { address }),
                Some(permissions) if write && !permissions.write => {
                    return Err(Error::NotPermitted { address, what: "written" });
                }
                Some(permissions) if !write && !permissions.read => {
                    return Err(Error::NotPermitted { address, what: "read" });
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Checks that `bytes` bytes starting at `address` are allocated and may be read.
    ///
    /// # Errors
    /// If they are not.
    pub fn check(&mut self, address: u64, bytes: u64) -> Result<(), Error> {
        self.begin_call()?;
        let range = self.check_range(address, bytes)?;
        self.check_permissions(range, false)
    }

    /// Allocates `bytes` bytes of zeros in contiguous whole pages, and returns their address. Temporary pages are
    /// deleted when the memory is opened again.
    ///
    /// # Errors
    /// If no run of free pages is long enough, or there is no space.
    pub fn alloc(&mut self, bytes: u64, temporary: bool) -> Result<u64, Error> {
        self.begin_call()?;
        let page_bytes = self.shape().page_bytes();
        let (count, all) = (bytes.div_ceil(page_bytes).max(1), u64::from(self.shape().pages));
        let none = Error::NoPages { bytes, pages: count };
        if count >= all {
            return Err(none);
        }
        let (mut start, mut run) = (self.next_page, 0);
        // Search from the end of the last allocation, then from the beginning.
        for page in (self.next_page..self.shape().pages).chain(catalog::PAGE + 1..self.shape().pages) {
            if page == catalog::PAGE + 1 || run == 0 {
                (start, run) = (page, 0);
            }
            run = if self.ownership(page)?.is_none() { run + 1 } else { 0 };
            if run == count {
                break;
            }
        }
        if run < count {
            return Err(none);
        }
        let permissions = Permissions { permanent: !temporary, ..Permissions::PRIVATE };
        for page in start..start + count as u32 {
            if let Err(error) = self.create_page(page, permissions) {
                for made in start..page {
                    self.delete_page(made)?;
                }
                return Err(error);
            }
        }
        self.next_page = start + count as u32;
        Ok(u64::from(start) * page_bytes)
    }

    pub(crate) fn create_page(&mut self, page: u32, permissions: Permissions) -> Result<(), Error> {
        // Reading a page that does not exist creates it.
        let address = self.page_address(page);
        self.execute(Request::Read { address, segments: 1 }, page)?;
        match self.execute(Request::SetPermissions { address, permissions }, page) {
            Ok(_) => Ok(()),
            Err(error) => {
                self.delete_page(page)?;
                Err(error)
            }
        }
    }

    pub(crate) fn delete_page(&mut self, page: u32) -> Result<Answer, Error> {
        self.last_page = None;
        self.execute(Request::Delete { address: self.page_address(page) }, page)
    }

    /// Deletes the pages of a range and the names of areas in them. States that tokens stand for keep their pages.
    ///
    /// # Errors
    /// If a page is not allocated or may not be written; then none is deleted.
    pub fn delete(&mut self, address: u64, bytes: u64) -> Result<(), Error> {
        self.begin_call()?;
        let range = self.check_range(address, bytes)?;
        self.check_permissions(range.clone(), true)?;
        self.finish()?;
        let bytes = self.shape().page_bytes();
        let pages = self.pages(&range);
        self.remove_names(u64::from(pages.start) * bytes..u64::from(pages.end) * bytes)?;
        for page in pages {
            self.drop_page(page)?;
        }
        Ok(())
    }

    /// Deletes a page, and its content in DRAM.
    pub(crate) fn drop_page(&mut self, page: u32) -> Result<(), Error> {
        let segments = u64::from(self.shape().segments);
        self.delete_page(page)?;
        for key in u64::from(page) * segments..u64::from(page + 1) * segments {
            if let Some(frame) = self.frames.find(key) {
                self.frames.drop(frame);
            }
        }
        Ok(())
    }

    /// Sets the permissions of the pages of a range.
    ///
    /// # Errors
    /// If a page is not allocated; then nothing changes.
    pub fn set_permissions(&mut self, address: u64, bytes: u64, permissions: Permissions) -> Result<(), Error> {
        self.begin_call()?;
        let range = self.check_range(address, bytes)?;
        let page_bytes = self.shape().page_bytes();
        for page in self.pages(&range) {
            if self.ownership(page)?.is_none() {
                return Err(Error::NotAllocated { address: range.start.max(u64::from(page) * page_bytes) });
            }
        }
        // Write dirty data back while that is still permitted.
        self.write_back_all()?;
        for page in self.pages(&range) {
            self.last_page = None;
            self.execute(Request::SetPermissions { address: self.page_address(page), permissions }, page)?;
        }
        Ok(())
    }

    /// Reads all allocated pages. Returns an error for each unreadable part, and the number of pages.
    ///
    /// # Errors
    /// If the device fails, or the table cannot be read.
    pub fn verify(&mut self) -> Result<(Vec<Error>, u64), Error> {
        self.begin_call()?;
        let page_bytes = self.shape().page_bytes();
        let segment = u64::from(self.shape().segment_bytes);
        let mut bytes = vec![0; page_bytes as usize];
        let (mut found, mut pages) = (Vec::new(), 0);
        for page in 0..self.shape().pages {
            if self.ownership(page)?.is_none() {
                continue;
            }
            pages += 1;
            let address = u64::from(page) * page_bytes;
            let Err(whole) = self.read_unchecked(address, &mut bytes) else { continue };
            if !matches!(whole, Error::Unreadable { .. }) {
                return Err(whole);
            }
            // Read each segment separately, to report every lost one.
            for at in (address..address + page_bytes).step_by(segment as usize) {
                if let Err(error) = self.read_unchecked(at, &mut bytes[..segment as usize]) {
                    found.push(error);
                }
            }
        }
        Ok((found, pages))
    }

    fn table_unreadable(&self) -> Error {
        Error::TableUnreadable { path: self.path.clone(), why: self.engine.storage.complaint.clone() }
    }

    /// Converts an error of the controller.
    pub(crate) fn convert_error(&self, error: nvmm::Error, page: u32) -> Error {
        use nvmm::Error as Refused;
        let start = u64::from(page) * self.shape().page_bytes();
        match error {
            Refused::Unreadable { segment, .. } => Error::Unreadable {
                path: self.path.clone(),
                address: start + u64::from(segment) * u64::from(self.shape().segment_bytes),
                bytes: self.shape().segment_bytes.into(),
                why: self.engine.storage.complaint.clone(),
            },
            Refused::TableUnreadable => self.table_unreadable(),
            Refused::UnknownToken { token, newest } => Error::UnknownToken { token, newest },
            Refused::TooManyTokens { live } => Error::TooManyTokens { live },
            Refused::NoSpace { .. } | Refused::NoVersions { .. } => Error::Full(error.to_string()),
            Refused::WornOut => Error::Broken {
                path: self.path.clone(),
                why: "too many blocks of the file cannot be written".to_owned(),
            },
            Refused::NotThere { .. } => Error::NotAllocated { address: start },
            Refused::NotReadable { .. } => Error::NotPermitted { address: start, what: "read" },
            Refused::NotWritable { .. } | Refused::NotOwner { .. } => {
                Error::NotPermitted { address: start, what: "written" }
            }
            // The calls check addresses and segments before they submit requests, and allocate page by page.
            Refused::NoSuchPage { .. } | Refused::NoSuchSegment { .. } | Refused::NoPage { .. } => {
                unreachable!("{error}")
            }
        }
    }

    /// Records that the medium stopped before `tag` was answered.
    pub(crate) fn abandoned(&mut self, tag: Tag, stop: Stop) -> Error {
        self.unanswered.push(tag);
        self.stopped(stop)
    }
}
