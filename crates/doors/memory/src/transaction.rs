//! Transactions.

use crate::device::Device;
use crate::{Error, Memory};

impl<D: Device> Memory<D> {
    /// Executes `call` as a transaction: syncs before and after it, and rolls back if `call` or the second sync fails.
    /// Leaves no tokens behind.
    ///
    /// ```
    /// # fn main() -> Result<(), memory::Error> {
    /// # let path = std::env::temp_dir().join(format!("nandram-transaction-{}.memory", std::process::id()));
    /// # let mut memory = memory::Memory::create(&path, &memory::Options { capacity: Some(1 << 20), ..Default::default() })?;
    /// let at = memory.alloc(100, false)?;
    /// memory.transaction(|memory| memory.write(at, b"all of it"))?;
    /// let failed = memory.transaction(|memory| {
    ///     memory.write(at, b"none of it")?;
    ///     memory.write(0, b"unmapped")
    /// });
    /// assert!(failed.is_err());
    /// let mut bytes = [0; 9];
    /// memory.read(at, &mut bytes)?;
    /// assert_eq!(&bytes, b"all of it");
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of `call`, of either sync, and of the rollback.
    pub fn transaction<T, E: From<Error>>(
        &mut self,
        call: impl FnOnce(&mut Memory<D>) -> Result<T, E>,
    ) -> Result<T, E> {
        let before = self.sync(None)?;
        let done = call(self).and_then(|result| Ok((result, self.sync(None)?)));
        match done {
            Ok((result, after)) => {
                self.drop_token(before)?;
                self.drop_token(after)?;
                Ok(result)
            }
            Err(error) => {
                self.rollback(before)?;
                self.drop_token(before)?;
                Err(error)
            }
        }
    }
}
