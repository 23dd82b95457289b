//! VMware vscsi records, as collected by CloudPhysics: little-endian, in two versions.
//!
//! | version | bytes | layout |
//! | --- | --- | --- |
//! | 1 | 32 | sequence u32, length u32, scatter-gather entries u32, command u16, version u16, LBN u64, time u64 |
//! | 2 | 40 | command u16, version u16, sequence u32, length u32, scatter-gather entries u32, LBN u64, time u64, response time u64 |
//!
//! Source: libCacheSim's vscsi reader. The version is the upper byte of its field, the length is in bytes, the LBN
//! counts 512-byte sectors, and the time is in microseconds. The command is the SCSI operation code.

use media::request::SECTOR;
use sim::Time;

use crate::trace::declaration::{Declaration, Head};
use crate::trace::devices::Devices;
use crate::trace::fields::{Fault, Field, SECTOR_MAX};
use crate::trace::formats::scsi::{self, ScsiEffect};
use crate::trace::input::Input;
use crate::trace::requests::{Entry, Parsed, Requests, Started, Step, records};

const VERSION_ONE: Field = Field::new("version", "0x0100 to 0x01ff: version 1");
const VERSION_TWO: Field = Field::new("version", "0x0200 to 0x02ff: version 2");
const COMMAND: Field = Field::new("command", scsi::EXPECTED);
const LBN: Field = Field::new("LBN", SECTOR_MAX);

/// The format.
pub(crate) const FORMAT: Declaration = Declaration {
    name: "vscsi",
    title: "VMware vscsi records, version 1 or 2",
    layout: "32 or 40 bytes, little-endian",
    example: b"\0\0\0\0\0\x10\0\0\x01\0\0\0\x28\0\x05\x01\x08\0\0\0\0\0\0\0\x64\0\0\0\0\0\0\0",
    extensions: &["vscsi", "vscsitrace"],
    tick: Time::from_us(1),
    recognizes,
    ..Declaration::PLAIN
};

fn recognizes(head: &Head<'_>) -> bool {
    head.binary().is_some_and(|head| Version::detect(head).is_some())
}

/// Starts to read a trace.
pub(crate) fn start(input: &mut Input, _: &mut Requests) -> Started {
    // An empty trace matches either version. A trace that matches neither fails at its first record.
    let version = Version::detect(input.head()?).unwrap_or(Version::One);
    Ok(records(input, version.bytes(), move |record, devices| version.parse(record, devices)))
}

/// Version of the record layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One = 1,
    Two = 2,
}

impl Version {
    /// Number of records examined to detect the version.
    const LOOK: usize = 64;

    /// Returns the version if all records at the start of a trace agree on it.
    fn detect(head: &[u8]) -> Option<Version> {
        [Version::Two, Version::One].into_iter().find(|version| {
            let mut records = head.chunks_exact(version.bytes()).take(Version::LOOK);
            records.len() > 0 && records.all(|record| version.is_in(record))
        })
    }

    /// Bytes of a record.
    fn bytes(self) -> usize {
        match self {
            Version::One => 32,
            Version::Two => 40,
        }
    }

    /// Returns the offsets of command, version, length, LBN and time.
    fn layout(self) -> [usize; 5] {
        match self {
            Version::One => [12, 14, 4, 16, 24],
            Version::Two => [0, 2, 8, 16, 24],
        }
    }

    fn is_in(self, record: &[u8]) -> bool {
        let [command, version, ..] = self.layout();
        // The version is in the upper byte of its field, and an operation code is one byte.
        record[version + 1] == self as u8 && record[command + 1] == 0
    }

    /// Parses one record.
    fn parse(self, record: &[u8], devices: &mut Devices) -> Parsed {
        let [command, version, length, lbn, time] = self.layout();
        let u16_at = |at: usize| u16::from_le_bytes(record[at..at + 2].try_into().expect("2 bytes"));
        let u32_at = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().expect("4 bytes"));
        let u64_at = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("8 bytes"));
        if u16_at(version) >> 8 != self as u16 {
            let field = match self {
                Version::One => &VERSION_ONE,
                Version::Two => &VERSION_TWO,
            };
            return Err(Fault::new(field, format!("0x{:04x}", u16_at(version))));
        }
        let code = u16_at(command);
        let op = match scsi::command(code) {
            ScsiEffect::Request(op) => op,
            ScsiEffect::NoMedium => return Ok(Step::Skipped),
            ScsiEffect::Other => return Err(Fault::new(&COMMAND, format!("0x{code:02x}"))),
        };
        let Some(offset) = u64_at(lbn).checked_mul(SECTOR) else {
            return Err(Fault::new(&LBN, u64_at(lbn).to_string()));
        };
        Ok(Step::Request(Entry::new(u64_at(time), devices.number(0), op, offset, u64::from(u32_at(length)))))
    }
}
