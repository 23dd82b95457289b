//! Management of namespaces: creation, deletion, attachment, their lists, and the state that outlives power cuts.

mod support;

use std::collections::BTreeMap;

use guest::{Drive, DriveError, Flash, NamespaceConfig, Options, Ram};
use sim::{Streams, Time};
use support::{Command, DATA, Done, Host, MEMORY, SMALL, ZONED, pattern, system};

const INVALID_FIELD: u16 = 0x02;
const INVALID_NAMESPACE: u16 = 0x0b;
const ALL: u32 = u32::MAX;

/// A drive with two namespaces of 1 MiB, and the rest free.
fn options() -> Options {
    let one = NamespaceConfig { bytes: 1 << 20, block: 512 };
    Options { namespaces: vec![one, one], ..Options::default() }
}

fn host() -> Host {
    Host::attached(&system("", &SMALL), &options())
}

fn quad(page: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(page[at..at + 8].try_into().expect("8"))
}

/// Writes the data of a creation: size, capacity and format. Returns the command.
fn creation(host: &mut Host, size: u64, capacity: u64, format: u8) -> Command {
    let mut data = vec![0; 4096];
    data[..8].copy_from_slice(&size.to_le_bytes());
    data[8..16].copy_from_slice(&capacity.to_le_bytes());
    data[26] = format;
    host.store(DATA, &data);
    Command { opcode: 0xd, prp: [DATA, 0], ..Command::default() }
}

fn create(host: &mut Host, size: u64, format: u8) -> Done {
    let command = creation(host, size, size, format);
    host.admin(command)
}

fn delete(host: &mut Host, namespace: u32) -> u16 {
    host.admin(Command { opcode: 0xd, namespace, dwords: [1, 0, 0, 0, 0, 0], ..Command::default() }).status
}

/// Attaches (0) or detaches (1) a namespace to or from the controllers of a list.
fn attach(host: &mut Host, namespace: u32, operation: u32, controllers: &[u16]) -> u16 {
    let mut list = vec![0; 4096];
    for (to, value) in list.chunks_exact_mut(2).zip([controllers.len() as u16].iter().chain(controllers)) {
        to.copy_from_slice(&value.to_le_bytes());
    }
    host.store(DATA, &list);
    let dwords = [operation, 0, 0, 0, 0, 0];
    host.admin(Command { opcode: 0x15, namespace, prp: [DATA, 0], dwords, ..Command::default() }).status
}

/// Returns the identifiers of a list: 2 for the attached namespaces, 10h for all.
fn listed(host: &mut Host, cns: u32) -> Vec<u32> {
    let page = host.identify(cns, 0);
    let all = page.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("4")));
    all.take_while(|identifier| *identifier > 0).collect()
}

/// Returns the bytes of the drive and those in no namespace.
fn capacity(host: &mut Host) -> (u64, u64) {
    let controller = host.identify(1, 0);
    (quad(&controller, 280), quad(&controller, 296))
}

fn write(host: &mut Host, namespace: u32, lba: u64, data: &[u8], block: u64) -> u16 {
    host.store(DATA, data);
    let command = Command { namespace, ..host.transfer(1, lba, (data.len() as u64 / block) as u32, block) };
    host.run(1, command).status
}

fn read(host: &mut Host, namespace: u32, lba: u64, bytes: u64, block: u64) -> Result<Vec<u8>, u16> {
    host.store(DATA, &vec![0xee; bytes as usize]);
    let command = Command { namespace, ..host.transfer(2, lba, (bytes / block) as u32, block) };
    match host.run(1, command).status {
        0 => Ok(host.load(DATA, bytes as usize)),
        status => Err(status),
    }
}

#[test]
fn a_namespace_is_created_attached_used_detached_and_deleted() {
    let mut host = host();
    let (all, free) = capacity(&mut host);
    assert_eq!(free, all - (2 << 20));
    assert_eq!(host.identify(1, 0)[256] >> 3 & 1, 1, "OACS");
    for old in [1u64, 2] {
        assert_eq!(write(&mut host, old as u32, 0, &pattern(old, 4096), 512), 0);
    }
    // 100 blocks of 4 KiB and a unit that 513 blocks of 512 bytes take in part.
    let done = create(&mut host, 100, 1);
    assert_eq!((done.status, done.result), (0, 3));
    let done = create(&mut host, 513, 0);
    assert_eq!((done.status, done.result), (0, 4));
    assert_eq!(capacity(&mut host), (all, free - 100 * 4096 - 65 * 4096));
    assert_eq!((listed(&mut host, 2), listed(&mut host, 0x10)), (vec![1, 2], vec![1, 2, 3, 4]));
    assert_eq!(read(&mut host, 3, 0, 4096, 4096), Err(INVALID_FIELD), "it is not attached");
    assert!(host.identify(0, 3).iter().all(|byte| *byte == 0));
    let page = host.identify(0x11, 3);
    assert_eq!((quad(&page, 0), quad(&page, 8), quad(&page, 16), quad(&page, 48)), (100, 100, 100, 409_600));
    assert_eq!((page[24] & 1, page[26]), (0, 1), "no thin provisioning; blocks of 4 KiB");
    // Attachment is an event of the namespace, if the host asks for those.
    assert_eq!(host.feature(0x0b, 0x100).status, 0);
    let request = host.submit(0, &[Command { opcode: 0xc, ..Command::default() }])[0];
    let mut list = vec![0; 4096];
    list[0] = 1;
    host.store(DATA, &list);
    host.submit(0, &[Command { opcode: 0x15, namespace: 3, prp: [DATA, 0], ..Command::default() }]);
    let (first, second) = (host.reap(0), host.reap(0));
    let (event, done) = if first.cid == request { (first, second) } else { (second, first) };
    assert_eq!((done.status, event.result), (0, 0x04_00_02));
    assert_eq!(host.log(4, 8, 0).expect("the changed namespaces"), [3, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(attach(&mut host, 4, 0, &[0]), 0);
    assert_eq!(listed(&mut host, 2), [1, 2, 3, 4]);
    assert_eq!(host.identify(0, 3), page);
    assert_eq!(read(&mut host, 3, 0, 65_536, 4096), Ok(vec![0; 65_536]));
    assert_eq!(write(&mut host, 3, 99, &pattern(3, 4096), 4096), 0);
    assert_eq!(write(&mut host, 4, 512, &pattern(4, 512), 512), 0);
    assert_eq!(read(&mut host, 4, 513, 512, 512), Err(0x80));
    // Detached, its data stay.
    assert_eq!(attach(&mut host, 3, 1, &[0]), 0);
    assert_eq!(read(&mut host, 3, 99, 4096, 4096), Err(INVALID_FIELD));
    assert_eq!(attach(&mut host, 3, 0, &[0]), 0);
    assert_eq!(read(&mut host, 3, 99, 4096, 4096), Ok(pattern(3, 4096)));
    // Deleted, it gives its capacity back, and the next one in its place is another.
    let name = host.identify(3, 3)[4..20].to_vec();
    assert_eq!(delete(&mut host, 3), 0);
    assert_eq!((listed(&mut host, 2), listed(&mut host, 0x10)), (vec![1, 2, 4], vec![1, 2, 4]));
    assert_eq!(capacity(&mut host), (all, free - 65 * 4096));
    assert_eq!(create(&mut host, 800, 0).result, 3);
    assert_eq!(attach(&mut host, 3, 0, &[0]), 0);
    assert_eq!(read(&mut host, 3, 792, 4096, 512), Ok(vec![0; 4096]));
    assert_ne!(host.identify(3, 3)[4..20].to_vec(), name, "NGUID");
    for old in [1u64, 2] {
        assert_eq!(read(&mut host, old as u32, 0, 4096, 512), Ok(pattern(old, 4096)));
    }
    assert_eq!(read(&mut host, 4, 512, 512, 512), Ok(pattern(4, 512)));
    // All at once.
    assert_eq!(delete(&mut host, ALL), 0);
    assert_eq!((listed(&mut host, 0x10), capacity(&mut host)), (vec![], (all, all)));
    assert_eq!(create(&mut host, all / 512, 0).result, 1);
    assert_eq!(capacity(&mut host), (all, 0));
}

#[test]
fn wrong_fields_fail_with_their_status() {
    let mut host = host();
    let (all, free) = capacity(&mut host);
    for (size, capacity, format, status) in [
        (0, 0, 0, INVALID_FIELD),
        (8, 9, 0, INVALID_FIELD),
        (8, 7, 0, 0x11b),
        (8, 8, 2, 0x10a),
        (free / 512 + 1, free / 512 + 1, 0, 0x115),
        (all / 512, all / 512, 0, 0x115),
        (u64::MAX, u64::MAX, 1, 0x115),
    ] {
        let command = creation(&mut host, size, capacity, format);
        assert_eq!(host.admin(command).status, status, "{size} and {capacity} blocks of format {format}");
    }
    for (field, value, status) in
        [(29, 1, 0x10a), (30, 1, INVALID_FIELD), (92, 1, INVALID_FIELD), (102, 1, INVALID_FIELD)]
    {
        let command = creation(&mut host, 8, 8, 0);
        host.store(DATA + field, &[value]);
        assert_eq!(host.admin(command).status, status, "byte {field}");
    }
    let command = creation(&mut host, 8, 8, 0);
    for (command, status) in [
        (Command { dwords: [2, 0, 0, 0, 0, 0], ..command }, INVALID_FIELD),
        (Command { prp: [1 << 60, 0], ..command }, 0x04),
        (Command { opcode: 0x15, namespace: 1, prp: [1 << 60, 0], ..command }, 0x04),
        (Command { opcode: 0x15, namespace: 1, dwords: [2, 0, 0, 0, 0, 0], ..command }, INVALID_FIELD),
    ] {
        assert_eq!(host.admin(command).status, status, "{command:x?}");
    }
    for (namespace, status) in [(0, INVALID_NAMESPACE), (3, INVALID_FIELD), (33, INVALID_NAMESPACE)] {
        assert_eq!(delete(&mut host, namespace), status, "deletion of {namespace}");
        assert_eq!(attach(&mut host, namespace, 0, &[0]), status, "attachment of {namespace}");
        assert_eq!(host.try_identify(0x12, namespace).status, status, "controllers of {namespace}");
    }
    assert_eq!(attach(&mut host, ALL, 0, &[0]), INVALID_NAMESPACE);
    for (operation, controllers, status) in [
        (0, &[0][..], 0x118),
        (1, &[][..], 0x11c),
        (1, &[1][..], 0x11c),
        (1, &[0, 1][..], 0x11c),
        (1, &[0][..], 0),
        (1, &[0][..], 0x11a),
    ] {
        assert_eq!(attach(&mut host, 2, operation, controllers), status, "{operation} of {controllers:?}");
    }
    assert_eq!(host.try_identify(0x11, 33).status, INVALID_NAMESPACE);
    assert!(host.identify(0x11, 9).iter().all(|byte| *byte == 0));
    // 32 namespaces at most.
    for identifier in 3..=32 {
        assert_eq!(create(&mut host, 8, 0).result, identifier);
    }
    assert_eq!(create(&mut host, 8, 0).status, 0x116);
}

#[test]
fn controllers_are_listed_by_namespace() {
    let mut host = host();
    assert_eq!(create(&mut host, 8, 0).result, 3);
    let mut list = |cns: u32, namespace: u32| host.identify(cns, namespace)[..4].to_vec();
    assert_eq!([list(0x12, 1), list(0x12, 3), list(0x13, 0)], [[1, 0, 0, 0], [0; 4], [1, 0, 0, 0]]);
    // No controller from number 1 on.
    assert_eq!([list(0x12 | 1 << 16, 1), list(0x13 | 1 << 16, 0)], [[0; 4]; 2]);
}

#[test]
fn drives_with_zones_or_placement_have_none_of_it() {
    let placement =
        [("ftl.placement.isolation", "persistent"), ("ftl.placement.handles", "2"), ("ftl.over_provisioning", "1.0")];
    for sets in [ZONED.to_vec(), [&SMALL[..], &placement].concat()] {
        let mut host = Host::attached(&system("", &sets), &Options::default());
        assert_eq!(host.identify(1, 0)[256] >> 3 & 1, 0, "OACS");
        assert_eq!([create(&mut host, 8, 0).status, delete(&mut host, 1), attach(&mut host, 1, 1, &[0])], [0x01; 3]);
        assert_eq!(host.try_identify(0x10, 0).status, INVALID_FIELD);
        assert_eq!(host.log(5, 4, 4 * 0xd).expect("the effects")[0], 0);
    }
    let effects = host().log(5, 0x60, 0).expect("the effects");
    assert_eq!([effects[4 * 0xd], effects[4 * 0x15]], [0b1001; 2], "they change the inventory");
}

/// Creates the drive again over fresh flash with this controller's state.
fn restored(state: &str) -> Result<Host, DriveError> {
    let ram = Ram::new(MEMORY);
    let (system, options) = (system("", &SMALL), options());
    let flash = |_: &system::parts::Parts, store| {
        Ok::<_, DriveError>(Flash { store, mirror: None, state: Some(state.to_owned()), save: None })
    };
    let drive = Drive::with_flash(&system, &options, Box::new(ram.clone()), flash)?;
    let mut host = Host::over(drive, ram, Time::ZERO);
    host.attach(1);
    Ok(host)
}

#[test]
fn namespaces_outlive_power_cuts_and_drives() {
    let mut host = host();
    assert_eq!(delete(&mut host, 1), 0);
    assert_eq!(create(&mut host, 4000, 0).result, 1);
    assert_eq!(create(&mut host, 77, 1).result, 3);
    assert_eq!(attach(&mut host, 3, 0, &[0]), 0);
    assert_eq!(write(&mut host, 3, 70, &pattern(7, 4096), 4096), 0);
    assert_eq!(host.run(1, Command { namespace: 3, ..Command::default() }).status, 0);
    let pages = |host: &mut Host| [1, 2, 3].map(|identifier| host.identify(0x11, identifier));
    let before = (pages(&mut host), capacity(&mut host), listed(&mut host, 2));
    host.drive.power_cut(host.now).expect("the parts of the drive");
    host.attach(1);
    assert_eq!((pages(&mut host), capacity(&mut host), listed(&mut host, 2)), before);
    assert_eq!(read(&mut host, 3, 70, 4096, 4096), Ok(pattern(7, 4096)));
    let state = host.drive.state_text();
    let mut other = restored(&state).expect("the state of this drive");
    assert_eq!((pages(&mut other), capacity(&mut other), listed(&mut other, 2)), before);
    // A state from before namespaces could be managed.
    let old = |formats: &str| state.replace("\"namespaces\":", &format!("\"formats\":{formats},\"former\":"));
    let mut other = restored(&old("[1,0]")).expect("formats alone");
    assert_eq!((listed(&mut other, 2), other.identify(0, 1)[26]), (vec![1, 2], 1));
    for formats in ["[0]", "[0,2]", "7"] {
        assert!(matches!(restored(&old(formats)), Err(DriveError::State(_))), "{formats}");
    }
    // Impossible tables are refused: a range twice, beyond the end, not on a unit; a format or an identifier that none has.
    let with = |all: &str| {
        let from = state.find("\"all\":").expect("the table") + 6;
        let to = from + state[from..].find("]]").expect("its end") + 2;
        format!("{}{all}{}", &state[..from], &state[to..])
    };
    assert!(restored(&with("[[1,0,4096,0,1,0],[2,4096,512,0,1,0]]")).is_ok());
    for all in [
        "[[1,0,4097,0,1,0],[2,4096,512,0,1,0]]",
        "[[1,0,4096,0,1,0],[1,4096,512,0,1,0]]",
        "[[1,0,9999999999999,0,1,0]]",
        "[[1,18446744073709547520,4096,0,1,0]]",
        "[[1,0,18446744073709551615,0,1,0]]",
        "[[1,512,4096,0,1,0]]",
        "[[1,0,4096,2,1,0]]",
        "[[1,0,0,0,1,0]]",
        "[[0,0,4096,0,1,0]]",
        "[[33,0,4096,0,1,0]]",
        "[[1,0,4096,0,1]]",
        "[[]]",
        "[7]",
        "7",
    ] {
        assert!(matches!(restored(&with(all)), Err(DriveError::State(_))), "{all}");
    }
}

#[test]
fn a_creation_or_deletion_cut_short_leaves_one_state_or_the_other() {
    let mut found = [0; 2];
    for at in 0..40u64 {
        let mut host = host();
        assert_eq!(write(&mut host, 2, 0, &pattern(1, 65_536), 512), 0);
        host.flush();
        let creates = at % 2 == 0;
        let command = if creates {
            creation(&mut host, 4096, 4096, 0)
        } else {
            Command { opcode: 0xd, namespace: 2, dwords: [1, 0, 0, 0, 0, 0], ..Command::default() }
        };
        host.submit(0, &[command]);
        host.wait(Time::from_ns(at * 2000));
        let ended = host.peek(0).is_some();
        if at % 4 < 2 {
            host.drive.power_cut(host.now).expect("the parts of the drive");
        }
        host.attach(1);
        let is_new = listed(&mut host, 0x10) != [1, 2];
        assert!(is_new || !ended, "a command that has ended has taken effect");
        found[usize::from(is_new)] += 1;
        // Whatever happened, a new namespace is empty, and all capacity can be used.
        assert_eq!(delete(&mut host, ALL), 0);
        let (all, free) = capacity(&mut host);
        assert_eq!((all, create(&mut host, all / 4096, 1).result), (free, 1));
        assert_eq!(attach(&mut host, 1, 0, &[0]), 0);
        assert_eq!(read(&mut host, 1, 256, 65_536, 4096), Ok(vec![0; 65_536]));
    }
    assert!(found.iter().all(|count| *count > 4), "{found:?}");
}

/// A namespace of a history: first unit and number of units, shift of its blocks, and the data of its last unit-sized
/// block range; attached or not.
struct Known {
    units: (usize, usize),
    size: u64,
    shift: u8,
    last: Vec<u8>,
    is_attached: bool,
}

#[test]
fn random_histories_agree_with_an_array_of_units() {
    for seed in 0..12 {
        let mut rng = Streams::new(seed).stream("namespaces");
        let mut host = host();
        assert_eq!(delete(&mut host, ALL), 0);
        let all = capacity(&mut host).0;
        let mut units = vec![0u32; (all / 4096) as usize];
        let mut known: BTreeMap<u32, Known> = BTreeMap::new();
        for step in 0..120u64 {
            let identifier = 1 + rng.below(6) as u32;
            let exists = known.contains_key(&identifier);
            match rng.below(8) {
                0 | 1 => {
                    let shift = 9 + 3 * rng.below(2) as u8;
                    let size = 1 + rng.below((all / 2) >> shift);
                    let count = ((size << shift) as usize).div_ceil(4096);
                    let place = (0..=units.len().saturating_sub(count))
                        .find(|first| units[*first..*first + count].iter().all(|owner| *owner == 0));
                    let done = create(&mut host, size, u8::from(shift == 12));
                    let Some(first) = place else {
                        assert_eq!(done.status, 0x115, "seed {seed}, step {step}");
                        continue;
                    };
                    assert_eq!(done.status, 0, "seed {seed}, step {step}");
                    units[first..first + count].fill(done.result);
                    let last = vec![0; 1 << shift];
                    let old = known
                        .insert(done.result, Known { units: (first, count), size, shift, last, is_attached: false });
                    assert!(old.is_none(), "the identifier was free");
                }
                2 => {
                    assert_eq!(delete(&mut host, identifier) == 0, exists, "seed {seed}, step {step}");
                    if let Some(Known { units: (first, count), .. }) = known.remove(&identifier) {
                        units[first..first + count].fill(0);
                    }
                }
                3 | 4 => {
                    let detaches = rng.below(3) == 0;
                    let status = attach(&mut host, identifier, u32::from(detaches), &[0]);
                    let Some(one) = known.get_mut(&identifier) else { continue };
                    assert_eq!(status == 0, one.is_attached == detaches, "seed {seed}, step {step}");
                    one.is_attached = !detaches;
                }
                5 => {
                    let Some(one) = known.get_mut(&identifier).filter(|one| one.is_attached) else { continue };
                    let data = pattern(seed * 1000 + step, 1 << one.shift);
                    assert_eq!(write(&mut host, identifier, one.size - 1, &data, 1 << one.shift), 0);
                    one.last = data;
                }
                6 if rng.below(4) == 0 => {
                    assert_eq!(host.run(1, Command { namespace: ALL, ..Command::default() }).status, 0);
                    host.drive.power_cut(host.now).expect("the parts of the drive");
                    host.attach(1);
                }
                _ => {
                    let Some(one) = known.get(&identifier) else { continue };
                    let found = read(&mut host, identifier, one.size - 1, 1 << one.shift, 1 << one.shift);
                    let expected = if one.is_attached { Ok(one.last.clone()) } else { Err(INVALID_FIELD) };
                    assert_eq!(found, expected, "seed {seed}, step {step}");
                }
            }
            let free = units.iter().filter(|owner| **owner == 0).count() as u64 * 4096;
            assert_eq!(capacity(&mut host), (all, free), "seed {seed}, step {step}");
            assert_eq!(listed(&mut host, 0x10), known.keys().copied().collect::<Vec<_>>());
            let attached = known.iter().filter(|(_, one)| one.is_attached).map(|(identifier, _)| *identifier);
            assert_eq!(listed(&mut host, 2), attached.collect::<Vec<_>>());
        }
    }
}
