//! Namespace Management and Namespace Attachment (sections 5.20 and 5.19), and the lists of allocated namespaces and of
//! controllers. Thin provisioning is not offered: a namespace occupies its whole size.

use host_interface::Event;
use media::Request;
use sim::{Schedule, Time};

use super::{ALL, FORMATS, Namespace, trims};
use crate::controller::admin::{Course, Outcome};
use crate::controller::events::Notice;
use crate::controller::identify::Page;
use crate::controller::{Controller, Need};
use crate::entry::{Entry, Status};

/// Operations (SEL).
const CREATE: u32 = 0;
const DELETE: u32 = 1;
const ATTACH: u32 = 0;
const DETACH: u32 = 1;
/// Bytes of the data of both commands.
const DATA: usize = 4096;

impl Controller {
    /// Returns the status of a command for a namespace that does not exist: an identifier that no namespace has now, or
    /// that none can have.
    pub(in crate::controller) fn absent(&self, identifier: u32) -> Status {
        let is_free = (1..=self.namespaces.count()).contains(&identifier) && self.namespaces.is_managed();
        if is_free { Status::INVALID_FIELD } else { Status::INVALID_NAMESPACE }
    }

    /// Performs Namespace Management.
    pub(in crate::controller) fn manage_namespaces(&mut self, now: Time, tag: u16, entry: &Entry) -> Outcome {
        if !self.namespaces.is_managed() {
            return Err(Status::INVALID_OPCODE);
        }
        match entry.dword(10) & 15 {
            CREATE => self.create_namespace(now, tag),
            DELETE => self.delete_namespaces(tag, entry),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// Creates a namespace. Its range is erased first, whatever a namespace before it has left there.
    fn create_namespace(&mut self, now: Time, tag: u16) -> Outcome {
        let mut data = [0; DATA];
        self.receive(now, tag, &mut data)?;
        let quad = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| data[at + i]));
        let (size, capacity, format, protection) = (quad(0), quad(8), usize::from(data[26]), data[29]);
        // Shared namespaces (NMIC), ANA groups, NVM sets and endurance groups do not exist.
        let is_plain =
            [&data[30..31], &data[92..96], &data[100..104]].iter().all(|field| field.iter().all(|b| *b == 0));
        if !is_plain || size == 0 || capacity > size {
            return Err(Status::INVALID_FIELD);
        }
        if protection != 0 || format >= FORMATS.len() {
            return Err(Status::INVALID_FORMAT);
        }
        if capacity < size {
            return Err(Status::NO_THIN_PROVISIONING);
        }
        let identifier = self.namespaces.free_identifier().ok_or(Status::NO_IDENTIFIER)?;
        let bytes = size.checked_mul(1 << FORMATS[format]).filter(|bytes| *bytes <= self.namespaces.capacity());
        let allocated = bytes.map(|bytes| (bytes, self.namespaces.allocated(bytes)));
        let place = allocated.and_then(|(bytes, all)| Some((self.namespaces.gap(all)?, bytes, all)));
        let (offset, bytes, allocated) = place.ok_or(Status::INSUFFICIENT_CAPACITY)?;
        let namespace = Namespace { offset, bytes, format, is_zoned: false, is_attached: false, creation: 0 };
        self.namespaces.create(identifier, namespace, tag);
        self.commands.of_tag_mut(tag).result = u64::from(identifier);
        Ok(Course::Requests(self.erase_durably(trims(offset, allocated))))
    }

    /// Deletes a namespace, or all.
    fn delete_namespaces(&mut self, tag: u16, entry: &Entry) -> Outcome {
        let identifiers = match entry.namespace() {
            ALL => self.namespaces.identifiers().collect(),
            one => vec![self.namespaces.get(one).map(|_| one).ok_or_else(|| self.absent(one))?],
        };
        let mut erased: Vec<Request> = Vec::new();
        for identifier in identifiers {
            erased.extend(self.namespaces.get(identifier).into_iter().flat_map(|one| self.erasure(one)));
            self.namespaces.delete(identifier, tag);
            self.changed_namespaces.insert(identifier);
        }
        Ok(Course::Requests(self.erase_durably(erased)))
    }

    fn erase_durably(&self, trims: impl IntoIterator<Item = Request>) -> Vec<Request> {
        trims.into_iter().chain(self.flushes()).collect()
    }

    /// Records the end of Namespace Management.
    pub(in crate::controller) fn managed(&mut self, now: Time, tag: u16, ok: bool, s: &mut dyn Schedule<Event>) {
        let deletes = self.commands.of_tag(tag).entry.dword(10) & 15 == DELETE;
        self.namespaces.ended(Some(tag), ok);
        if ok {
            self.needs.push(Need::SaveState);
        }
        if ok && deletes {
            self.notice(now, Notice::NamespaceChanged, s);
        }
    }

    /// Performs Namespace Attachment.
    pub(in crate::controller) fn attach_namespace(
        &mut self,
        now: Time,
        tag: u16,
        entry: &Entry,
        s: &mut dyn Schedule<Event>,
    ) -> Outcome {
        if !self.namespaces.is_managed() {
            return Err(Status::INVALID_OPCODE);
        }
        let (identifier, operation) = (entry.namespace(), entry.dword(10) & 15);
        if operation != ATTACH && operation != DETACH {
            return Err(Status::INVALID_FIELD);
        }
        let is_attached = self.namespaces.get(identifier).ok_or_else(|| self.absent(identifier))?.is_attached;
        let mut data = [0; DATA];
        self.receive(now, tag, &mut data)?;
        // The list of controllers: only number 0 exists.
        let word = |at: usize| u16::from_le_bytes([data[at], data[at + 1]]);
        if word(0) != 1 || word(2) != 0 {
            return Err(Status::INVALID_CONTROLLER_LIST);
        }
        match (operation, is_attached) {
            (ATTACH, true) => return Err(Status::ALREADY_ATTACHED),
            (DETACH, false) => return Err(Status::NOT_ATTACHED),
            _ => {}
        }
        if let Some(namespace) = self.namespaces.get_mut(identifier) {
            namespace.is_attached = operation == ATTACH;
        }
        self.changed_namespaces.insert(identifier);
        self.notice(now, Notice::NamespaceChanged, s);
        self.needs.push(Need::SaveState);
        Ok(Course::Ends(0))
    }

    /// Returns the data structure of an Identify command about the management of namespaces (CNS 10h to 13h).
    ///
    /// # Errors
    /// Fails with the status of the command.
    pub(in crate::controller) fn identify_managed(&self, entry: &Entry) -> Result<Page, Status> {
        let identifier = entry.namespace();
        match entry.dword(10) & 0xff {
            _ if !self.namespaces.is_managed() => Err(Status::INVALID_FIELD),
            0x10 => self.list_of(identifier, |identifier| self.namespaces.get(identifier).is_some()),
            0x11 => match self.namespaces.get(identifier) {
                Some(namespace) => Ok(self.describe(identifier, namespace)),
                None if self.absent(identifier) == Status::INVALID_FIELD => Ok(Page::new()),
                None => Err(Status::INVALID_NAMESPACE),
            },
            0x12 => {
                let namespace = self.namespaces.get(identifier).ok_or_else(|| self.absent(identifier))?;
                Ok(list_of_controllers(namespace.is_attached && entry.dword(10) >> 16 == 0))
            }
            _ => Ok(list_of_controllers(entry.dword(10) >> 16 == 0)),
        }
    }
}

/// Returns a controller list with controller 0, or without any.
fn list_of_controllers(has_one: bool) -> Page {
    let mut page = Page::new();
    page.put(0, u16::from(has_one).to_le_bytes());
    page
}
