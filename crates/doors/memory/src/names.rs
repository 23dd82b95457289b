//! Names of tokens and of areas.

use std::ops::Range;

use nvmm::Token;

use crate::Memory;
use crate::catalog::{Catalog, NAME_BYTES};
use crate::device::Device;
use crate::error::Error;

impl<D: Device> Memory<D> {
    /// Returns the live tokens, oldest first, with their names.
    ///
    /// # Errors
    /// If the names cannot be read.
    pub fn tokens(&mut self) -> Result<Vec<(Token, Option<String>)>, Error> {
        self.begin_call()?;
        let catalog = self.catalog()?;
        let tokens = self.engine.nvmm.tokens();
        Ok(tokens.map(|token| (token, catalog.name(token).map(str::to_owned))).collect())
    }

    /// Returns the live token called `name`.
    ///
    /// # Errors
    /// If there is none, or the names cannot be read.
    pub fn token(&mut self, name: &str) -> Result<Token, Error> {
        let live = self.tokens()?;
        let found = live.iter().find(|(_, known)| known.as_deref() == Some(name));
        let missing = || Error::Name { name: name.to_owned(), why: "no live token has this name".to_owned() };
        found.map(|(token, _)| *token).ok_or_else(missing)
    }

    fn catalog(&mut self) -> Result<Catalog, Error> {
        let mut bytes = vec![0; self.shape().page_bytes() as usize];
        self.read_unchecked(0, &mut bytes)?;
        let damaged = || Error::Damaged { path: self.path.clone(), what: "the name catalog is corrupted".to_owned() };
        let catalog = Catalog::parse(&bytes).ok_or_else(damaged)?;
        self.no_token_is_named = catalog.tokens.is_empty();
        Ok(catalog)
    }

    /// Records the name, or its absence, of `token`, which the next sync returns.
    pub(crate) fn record_name(&mut self, token: Token, name: Option<&str>) -> Result<(), Error> {
        if name.is_none() && self.no_token_is_named {
            return Ok(());
        }
        let live: Vec<Token> = self.engine.nvmm.tokens().collect();
        let mut catalog = self.catalog()?;
        let before = catalog.clone();
        catalog.tokens.retain(|(named, _)| live.contains(named));
        if let Some(name) = name {
            check_name(name)?;
            if let Some(taken) = catalog.token(name) {
                return Err(name_error(name, format!("token {} already has this name", taken.0)));
            }
            catalog.tokens.push((token, name.to_owned()));
        }
        self.write_catalog(&catalog, &before)
    }

    fn write_catalog(&mut self, catalog: &Catalog, before: &Catalog) -> Result<(), Error> {
        if catalog == before {
            return Ok(());
        }
        let bytes = catalog.bytes();
        let room = self.shape().page_bytes();
        if bytes.len() as u64 > room {
            let names = catalog.tokens.len() + catalog.areas.len();
            return Err(Error::Option(format!(
                "{names} names take {} bytes, but there is room for only {room}",
                bytes.len()
            )));
        }
        self.no_token_is_named = false;
        self.write_unchecked(0, &bytes)
    }

    /// Names an area of allocated pages, so that [`find`](Self::find) returns it after the memory is reopened.
    ///
    /// # Errors
    /// If the name is taken or invalid, or a page is not allocated.
    pub fn name(&mut self, name: &str, address: u64, bytes: u64) -> Result<(), Error> {
        self.begin_call()?;
        check_name(name)?;
        self.check(address, bytes)?;
        let before = self.catalog()?;
        if let Some((taken, _)) = before.area(name) {
            return Err(name_error(name, format!("the area at {taken:#x} already has this name")));
        }
        let mut catalog = before.clone();
        catalog.areas.push((address, bytes, name.to_owned()));
        self.write_catalog(&catalog, &before)
    }

    /// Returns the address and size in bytes of the area called `name`.
    ///
    /// # Errors
    /// If there is none, or one of its pages is no longer allocated.
    pub fn find(&mut self, name: &str) -> Result<(u64, u64), Error> {
        self.begin_call()?;
        let found = self.catalog()?.area(name);
        let (address, bytes) = found.ok_or_else(|| name_error(name, "no area has this name".to_owned()))?;
        self.check(address, bytes)?;
        Ok((address, bytes))
    }

    /// Returns the address, size in bytes and name of all named areas.
    ///
    /// # Errors
    /// If the names cannot be read.
    pub fn names(&mut self) -> Result<Vec<(u64, u64, String)>, Error> {
        self.begin_call()?;
        self.catalog().map(|catalog| catalog.areas)
    }

    /// Removes the names of all areas that overlap `range`.
    pub(crate) fn remove_names(&mut self, range: Range<u64>) -> Result<(), Error> {
        let before = self.catalog()?;
        let mut catalog = before.clone();
        catalog.areas.retain(|(address, bytes, _)| address + bytes <= range.start || *address >= range.end);
        self.write_catalog(&catalog, &before)
    }
}

fn name_error(name: &str, why: String) -> Error {
    Error::Name { name: name.to_owned(), why }
}

fn check_name(name: &str) -> Result<(), Error> {
    match name.len() {
        1..=NAME_BYTES => Ok(()),
        bytes => Err(name_error(name, format!("it has {bytes} bytes, expected 1 to {NAME_BYTES}"))),
    }
}
