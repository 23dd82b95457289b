//! Recognizes existing content of a drive or file from its first bytes, since a write test would destroy it.

/// Number of bytes inspected from the start.
pub(crate) const INSPECTED_BYTES: usize = 132 << 10;

/// Block sizes at which a GPT signature is searched: the GPT header is in block 1.
const GPT_BLOCKS: [usize; 2] = [512, 4096];

/// Signatures of file systems, volumes and images: offset, bytes, description.
const SIGNATURES: &[(usize, &[u8], &str)] = &[
    (0, b"LUKS\xba\xbe", "a LUKS volume"),
    (0x438, b"\x53\xef", "an ext2, ext3 or ext4 file system"),
    (0, b"XFSB", "an XFS file system"),
    (0x10040, b"_BHRfS_M", "a btrfs file system"),
    (0x400, b"\x10\x20\xf5\xf2", "an F2FS file system"),
    (0x400, b"\xe2\xe1\xf5\xe0", "an EROFS file system"),
    (3, b"NTFS    ", "an NTFS file system"),
    (3, b"EXFAT   ", "an exFAT file system"),
    (54, b"FAT1", "a FAT file system"),
    (82, b"FAT32", "a FAT file system"),
    (32, b"NXSB", "an APFS container"),
    (0, b"hsqs", "a squashfs file system"),
    (0x8001, b"CD001", "an ISO 9660 file system"),
    (0x218, b"LVM2 001", "an LVM physical volume"),
    (4086, b"SWAPSPACE2", "swap space"),
    (4096, b"\xfc\x4e\x2b\xa9", "a member of an md array"),
    (0, b"\xfc\x4e\x2b\xa9", "a member of an md array"),
    (0x1018, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81", "a bcache device"),
    (0x20000, b"\x0c\xb1\xba\x00", "a ZFS member"),
    (0, b"QFI\xfb", "a qcow2 image"),
    (0, b"KDMV", "a VMDK image"),
    (0, b"SQLite format 3\0", "an SQLite database"),
    (0, b"\x7fELF", "a program"),
];

fn is(bytes: &[u8], at: usize, what: &[u8]) -> bool {
    bytes.get(at..at + what.len()) == Some(what)
}

/// Returns a description of the content recognized in the first bytes, partition tables excluded.
pub(crate) fn recognized(start: &[u8]) -> Option<&'static str> {
    SIGNATURES.iter().find(|(at, what, _)| is(start, *at, what)).map(|(.., name)| *name)
}

/// Returns the kind of partition table in the first bytes: `GPT` or `MBR`.
pub(crate) fn partition_table(start: &[u8]) -> Option<&'static str> {
    if GPT_BLOCKS.iter().any(|block| is(start, *block, b"EFI PART")) {
        return Some("GPT");
    }
    // The boot sector of a FAT or NTFS file system ends with the same signature, but has code where the table would be.
    if !is(start, 510, b"\x55\xaa") || recognized(start).is_some() {
        return None;
    }
    let entries: Vec<&[u8]> = (0..4).filter_map(|n| start.get(446 + 16 * n..462 + 16 * n)).collect();
    let in_order = entries.iter().all(|entry| entry[0] == 0 || entry[0] == 0x80);
    (in_order && entries.iter().any(|entry| entry[4] != 0)).then_some("MBR")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(parts: &[(usize, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0; INSPECTED_BYTES];
        for (at, part) in parts {
            bytes[*at..at + part.len()].copy_from_slice(part);
        }
        bytes
    }

    #[test]
    fn blank_content_is_not_recognized() {
        for bytes in [vec![], vec![0; 100], vec![0; INSPECTED_BYTES], vec![0xff; INSPECTED_BYTES]] {
            assert_eq!((recognized(&bytes), partition_table(&bytes)), (None, None));
        }
    }

    #[test]
    fn every_signature_lies_within_the_inspected_bytes() {
        for (at, what, name) in SIGNATURES {
            assert_eq!(recognized(&with(&[(*at, what)])), Some(*name));
        }
    }

    #[test]
    fn partition_tables() {
        assert_eq!(partition_table(&with(&[(512, b"EFI PART")])), Some("GPT"));
        assert_eq!(partition_table(&with(&[(4096, b"EFI PART")])), Some("GPT"));
        let signature: (usize, &[u8]) = (510, b"\x55\xaa");
        assert_eq!(partition_table(&with(&[signature, (450, &[0x83])])), Some("MBR"));
        assert_eq!(partition_table(&with(&[signature, (446, &[0x80]), (450, &[0x07])])), Some("MBR"));
        // An empty table, code in place of a table, and the boot sector of a file system.
        assert_eq!(partition_table(&with(&[signature])), None);
        assert_eq!(partition_table(&with(&[signature, (446, &[0x12]), (450, &[0x83])])), None);
        assert_eq!(partition_table(&with(&[signature, (450, &[0x83]), (3, b"NTFS    ")])), None);
    }
}
