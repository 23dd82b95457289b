//! Names: of tokens, and of areas that are to be found again.

use std::ops::Range;

use nvmm::Token;

use crate::Memory;
use crate::catalog::{Catalog, NAME_BYTES};
use crate::device::Device;
use crate::error::Error;

impl<D: Device> Memory<D> {
    /// Live tokens, oldest first, and their names.
    ///
    /// # Errors
    /// If the names cannot be read.
    pub fn tokens(&mut self) -> Result<Vec<(Token, Option<String>)>, Error> {
        self.enter()?;
        let catalog = self.catalog()?;
        let tokens = self.engine.nvmm.tokens();
        Ok(tokens.map(|token| (token, catalog.name(token).map(str::to_owned))).collect())
    }

    /// The live token of that name.
    ///
    /// # Errors
    /// If there is none, or the names cannot be read.
    pub fn token(&mut self, name: &str) -> Result<Token, Error> {
        let live = self.tokens()?;
        let found = live.iter().find(|(_, known)| known.as_deref() == Some(name));
        let missing = || Error::Name { name: name.to_owned(), why: "no token that is live has it".to_owned() };
        found.map(|(token, _)| *token).ok_or_else(missing)
    }

    fn catalog(&mut self) -> Result<Catalog, Error> {
        let mut bytes = vec![0; self.shape().page_bytes() as usize];
        self.read_unchecked(0, &mut bytes)?;
        let damaged =
            || Error::Damaged { path: self.path.clone(), what: "the names of tokens make no sense".to_owned() };
        Catalog::parse(&bytes).ok_or_else(damaged)
    }

    /// Writes down that `token`, which the next sync gives, has this name, or none.
    pub(crate) fn note_name(&mut self, token: Token, name: Option<&str>) -> Result<(), Error> {
        let live: Vec<Token> = self.engine.nvmm.tokens().collect();
        let mut catalog = self.catalog()?;
        let before = catalog.clone();
        catalog.tokens.retain(|(named, _)| live.contains(named));
        if let Some(name) = name {
            check_name(name)?;
            if let Some(taken) = catalog.token(name) {
                return Err(wrong_name(name, format!("token {} has it", taken.0)));
            }
            catalog.tokens.push((token, name.to_owned()));
        }
        self.put_catalog(&catalog, &before)
    }

    fn put_catalog(&mut self, catalog: &Catalog, before: &Catalog) -> Result<(), Error> {
        if catalog == before {
            return Ok(());
        }
        let bytes = catalog.bytes();
        let room = self.shape().page_bytes();
        if bytes.len() as u64 > room {
            let names = catalog.tokens.len() + catalog.areas.len();
            return Err(Error::Option(format!(
                "{names} names take {} bytes, and there is room for {room}",
                bytes.len()
            )));
        }
        self.write_unchecked(0, &bytes)
    }

    /// Gives an area of pages that are there a name, by which it is found when the memory is opened again.
    ///
    /// # Errors
    /// If the name is taken or cannot be one, or a page is not there.
    pub fn name(&mut self, name: &str, address: u64, bytes: u64) -> Result<(), Error> {
        self.enter()?;
        check_name(name)?;
        self.check(address, bytes)?;
        let before = self.catalog()?;
        if let Some((taken, _)) = before.area(name) {
            return Err(wrong_name(name, format!("the area at {taken:#x} has it")));
        }
        let mut catalog = before.clone();
        catalog.areas.push((address, bytes, name.to_owned()));
        self.put_catalog(&catalog, &before)
    }

    /// Address and bytes of the area of that name.
    ///
    /// # Errors
    /// If none has it, or its pages are not there any more.
    pub fn find(&mut self, name: &str) -> Result<(u64, u64), Error> {
        self.enter()?;
        let found = self.catalog()?.area(name);
        let (address, bytes) = found.ok_or_else(|| wrong_name(name, "no area has it".to_owned()))?;
        self.check(address, bytes)?;
        Ok((address, bytes))
    }

    /// Address, bytes and name of all that have one.
    ///
    /// # Errors
    /// If the names cannot be read.
    pub fn names(&mut self) -> Result<Vec<(u64, u64, String)>, Error> {
        self.enter()?;
        self.catalog().map(|catalog| catalog.areas)
    }

    /// Takes the names away of all areas that have a byte of `range`.
    pub(crate) fn forget_names(&mut self, range: Range<u64>) -> Result<(), Error> {
        let before = self.catalog()?;
        let mut catalog = before.clone();
        catalog.areas.retain(|(address, bytes, _)| address + bytes <= range.start || *address >= range.end);
        self.put_catalog(&catalog, &before)
    }
}

fn wrong_name(name: &str, why: String) -> Error {
    Error::Name { name: name.to_owned(), why }
}

fn check_name(name: &str) -> Result<(), Error> {
    match name.len() {
        1..=NAME_BYTES => Ok(()),
        bytes => Err(wrong_name(name, format!("it has {bytes} bytes, expected 1 to {NAME_BYTES}"))),
    }
}
