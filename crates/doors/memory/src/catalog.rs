//! The names of tokens and areas. They are stored in the memory's first page, so a rollback restores them with the
//! data.

use nvmm::Token;

/// Maximum length of a name, in bytes.
pub(crate) const NAME_BYTES: usize = 200;

/// The page that holds the catalog. Its addresses, including 0, are never allocated.
pub(crate) const PAGE: u32 = 0;

/// Named tokens and areas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Catalog {
    /// Names by token, in ascending order.
    pub tokens: Vec<(Token, String)>,
    /// Address, size in bytes and name of each area, in the order in which they were named.
    pub areas: Vec<(u64, u64, String)>,
}

impl Catalog {
    /// Serializes the catalog: the token count, then each token with its name's length and text; the area count, then
    /// each area's address, size, name length and name.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = (self.tokens.len() as u32).to_le_bytes().to_vec();
        let text = |bytes: &mut Vec<u8>, name: &str| {
            bytes.push(name.len() as u8);
            bytes.extend_from_slice(name.as_bytes());
        };
        for (token, name) in &self.tokens {
            bytes.extend_from_slice(&token.0.to_le_bytes());
            text(&mut bytes, name);
        }
        bytes.extend_from_slice(&(self.areas.len() as u32).to_le_bytes());
        for (address, size, name) in &self.areas {
            bytes.extend_from_slice(&address.to_le_bytes());
            bytes.extend_from_slice(&size.to_le_bytes());
            text(&mut bytes, name);
        }
        bytes
    }

    /// Parses the serialized catalog. Returns `None` if `bytes` are truncated or malformed.
    pub fn parse(bytes: &[u8]) -> Option<Catalog> {
        let mut reader = Reader(bytes);
        let mut catalog = Catalog::default();
        for _ in 0..reader.u32()? {
            catalog.tokens.push((Token(reader.u64()?), reader.text()?));
        }
        for _ in 0..reader.u32()? {
            catalog.areas.push((reader.u64()?, reader.u64()?, reader.text()?));
        }
        Some(catalog)
    }

    pub fn name(&self, token: Token) -> Option<&str> {
        self.tokens.iter().find(|(named, _)| *named == token).map(|(_, name)| name.as_str())
    }

    pub fn token(&self, name: &str) -> Option<Token> {
        self.tokens.iter().find(|(_, known)| known == name).map(|(token, _)| *token)
    }

    pub fn area(&self, name: &str) -> Option<(u64, u64)> {
        self.areas.iter().find(|(_, _, known)| known == name).map(|(address, bytes, _)| (*address, *bytes))
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }
    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }
    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }
    fn text(&mut self) -> Option<String> {
        let length = self.take(1)?[0];
        String::from_utf8(self.take(length.into())?.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_catalog_round_trips_through_its_bytes() {
        let tokens = vec![(Token(3), String::new()), (Token(1 << 40), "vor dem Frühstück".to_owned())];
        let catalog = Catalog { tokens, areas: vec![(1 << 16, 5, "feld".to_owned())] };
        let bytes = catalog.bytes();
        assert_eq!(Catalog::parse(&bytes), Some(catalog));
        for short in 0..bytes.len() {
            assert_eq!(Catalog::parse(&bytes[..short]), None);
        }
        assert_eq!(Catalog::parse(&[0; 64]), Some(Catalog::default()));
    }
}
