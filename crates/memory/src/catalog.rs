//! The names of tokens, kept in the memory's first page: a rollback takes back those of newer tokens with all else.

use nvmm::Token;

/// Longest name, in bytes.
pub(crate) const NAME_BYTES: usize = 200;

/// The page it is in. Its addresses, 0 among them, are nobody else's.
pub(crate) const PAGE: u32 = 0;

/// Names by token, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Catalog {
    pub names: Vec<(Token, String)>,
}

impl Catalog {
    /// Its bytes: a count, then token, length and text of each.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = (self.names.len() as u32).to_le_bytes().to_vec();
        for (token, name) in &self.names {
            bytes.extend_from_slice(&token.0.to_le_bytes());
            bytes.push(name.len() as u8);
            bytes.extend_from_slice(name.as_bytes());
        }
        bytes
    }

    /// From its bytes.
    pub fn parse(mut bytes: &[u8]) -> Option<Catalog> {
        let mut take = |count: usize| {
            let (taken, rest) = bytes.split_at_checked(count)?;
            bytes = rest;
            Some(taken)
        };
        let count = u32::from_le_bytes(take(4)?.try_into().ok()?);
        let mut names = Vec::new();
        for _ in 0..count {
            let token = Token(u64::from_le_bytes(take(8)?.try_into().ok()?));
            let length = take(1)?[0];
            names.push((token, String::from_utf8(take(length.into())?.to_vec()).ok()?));
        }
        Some(Catalog { names })
    }

    pub fn name(&self, token: Token) -> Option<&str> {
        self.names.iter().find(|(named, _)| *named == token).map(|(_, name)| name.as_str())
    }

    pub fn token(&self, name: &str) -> Option<Token> {
        self.names.iter().find(|(_, known)| known == name).map(|(token, _)| *token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_their_bytes() {
        let names = vec![(Token(3), String::new()), (Token(1 << 40), "vor dem Frühstück".to_owned())];
        let catalog = Catalog { names };
        let bytes = catalog.bytes();
        assert_eq!(Catalog::parse(&bytes), Some(catalog));
        for short in 0..bytes.len() {
            assert_eq!(Catalog::parse(&bytes[..short]), None);
        }
        assert_eq!(Catalog::parse(&[0; 64]), Some(Catalog::default()));
    }
}
