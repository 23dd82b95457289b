//! The rules for zones, one by one: a command and a namespace give all permitted results with the namespaces that they
//! leave. Shares nothing with the crate but its vocabulary. The rules are those of the NVMe Zoned Namespace Command Set as
//! its authors knew them; they have not been compared with its text.
//!
//! A namespace is a list of zones, each a state and the number of blocks written. Everything else is counted when a
//! rule needs it.

use zones::{Config, Refusal, ZoneState};

use ZoneState::{Closed, Empty, ExplicitlyOpen, Full, ImplicitlyOpen, Offline, ReadOnly};

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneCommand {
    Read(u64, u64),
    Write(u64, u64),
    Append(u64, u64),
    Open(u32),
    Close(u32),
    Finish(u32),
    Reset(u32),
    TakeOffline(u32),
    OpenAll,
    CloseAll,
    FinishAll,
    ResetAll,
    OfflineAll,
    /// The medium of a zone fails.
    LoseWrites(u32),
    Lose(u32),
    /// Loss of power.
    Restart,
}

/// State and number of written blocks of each zone.
pub type Namespace = Vec<(ZoneState, u64)>;

/// A permitted result: the block at which data was written, if any, and the namespace that is left.
pub type Permitted = (Result<Option<u64>, Refusal>, Namespace);

fn count(namespace: &Namespace, states: &[ZoneState]) -> u32 {
    namespace.iter().filter(|(state, _)| states.contains(state)).count() as u32
}

/// Returns `namespace` with `zone` changed.
fn with(namespace: &Namespace, zone: usize, state: ZoneState, written: u64) -> Namespace {
    let mut changed = namespace.clone();
    changed[zone] = (state, written);
    changed
}

/// Where no further zone may be open, the controller may close any zone that is implicitly open. Returns the namespaces in which `zone` has the resources it needs to be opened.
fn resources(config: &Config, namespace: &Namespace, zone: usize) -> Result<Vec<Namespace>, Refusal> {
    let (state, _) = namespace[zone];
    let active = count(namespace, &[ImplicitlyOpen, ExplicitlyOpen, Closed]);
    if state == Empty && config.active_max.is_some_and(|most| active >= most) {
        return Err(Refusal::TooManyActive);
    }
    let open = count(namespace, &[ImplicitlyOpen, ExplicitlyOpen]);
    if config.open_max.is_none_or(|most| open < most) {
        return Ok(vec![namespace.clone()]);
    }
    let implicit = (0..namespace.len()).filter(|other| namespace[*other].0 == ImplicitlyOpen);
    let closed: Vec<Namespace> = implicit.map(|other| with(namespace, other, Closed, namespace[other].1)).collect();
    if closed.is_empty() { Err(Refusal::TooManyOpen) } else { Ok(closed) }
}

/// Writes `blocks` at the write pointer of `zone`, whose state has been checked.
fn write_at_pointer(config: &Config, namespace: &Namespace, zone: usize, blocks: u64) -> Vec<Permitted> {
    let fails = |failure| vec![(Err(failure), namespace.clone())];
    let (state, written) = namespace[zone];
    if written + blocks > config.capacity {
        return fails(Refusal::Boundary);
    }
    let prepared = match state {
        ImplicitlyOpen | ExplicitlyOpen => vec![namespace.clone()],
        _ => match resources(config, namespace, zone) {
            Ok(prepared) => prepared,
            Err(failure) => return fails(failure),
        },
    };
    let after = match state {
        _ if written + blocks == config.capacity => Full,
        ExplicitlyOpen => ExplicitlyOpen,
        _ => ImplicitlyOpen,
    };
    let block = zone as u64 * config.size + written;
    prepared.iter().map(|before| (Ok(Some(block)), with(before, zone, after, written + blocks))).collect()
}

/// Returns everything that `command` may do to `namespace`.
pub fn permitted(config: &Config, namespace: &Namespace, command: ZoneCommand) -> Vec<Permitted> {
    let fails = |failure| vec![(Err(failure), namespace.clone())];
    let leaves = |namespace: Namespace| vec![(Ok(None), namespace)];
    let blocks = u64::from(config.zones) * config.size;
    // A zone that is written must be writable, whatever the address within it.
    let unwritable = |zone: usize| match namespace[zone].0 {
        Full => Some(Refusal::Full),
        ReadOnly => Some(Refusal::ReadOnly),
        Offline => Some(Refusal::Offline),
        _ => None,
    };
    let change_all = |from: &[ZoneState], to: ZoneState| {
        let change = |(state, written): &(ZoneState, u64)| {
            let written = if to == Empty && from.contains(state) { 0 } else { *written };
            if from.contains(state) { (to, written) } else { (*state, written) }
        };
        leaves(namespace.iter().map(change).collect())
    };
    match command {
        ZoneCommand::Read(block, some) if block + some > blocks => fails(Refusal::OutOfRange),
        ZoneCommand::Read(block, some) => {
            let touched = (block..block + some).any(|block| namespace[(block / config.size) as usize].0 == Offline);
            if touched { fails(Refusal::Offline) } else { leaves(namespace.clone()) }
        }
        ZoneCommand::Write(block, some) | ZoneCommand::Append(block, some) if block + some > blocks => {
            fails(Refusal::OutOfRange)
        }
        ZoneCommand::Write(block, some) => {
            let zone = (block / config.size) as usize;
            if let Some(failure) = unwritable(zone) {
                return fails(failure);
            }
            if block % config.size != namespace[zone].1 {
                return fails(Refusal::InvalidWrite);
            }
            write_at_pointer(config, namespace, zone, some)
        }
        ZoneCommand::Append(block, some) => {
            let zone = (block / config.size) as usize;
            if block % config.size != 0 || config.append_max.is_some_and(|most| some > most) {
                return fails(Refusal::InvalidField);
            }
            match unwritable(zone) {
                Some(failure) => fails(failure),
                None => write_at_pointer(config, namespace, zone, some),
            }
        }
        ZoneCommand::Open(zone) => match namespace[zone as usize] {
            (Full | ReadOnly | Offline, _) => fails(Refusal::InvalidTransition),
            (ImplicitlyOpen | ExplicitlyOpen, written) => {
                leaves(with(namespace, zone as usize, ExplicitlyOpen, written))
            }
            (Empty | Closed, written) => match resources(config, namespace, zone as usize) {
                Err(failure) => fails(failure),
                Ok(prepared) => prepared
                    .iter()
                    .map(|before| (Ok(None), with(before, zone as usize, ExplicitlyOpen, written)))
                    .collect(),
            },
        },
        ZoneCommand::Close(zone) => match namespace[zone as usize] {
            (ImplicitlyOpen | ExplicitlyOpen | Closed, written) => {
                leaves(with(namespace, zone as usize, Closed, written))
            }
            _ => fails(Refusal::InvalidTransition),
        },
        ZoneCommand::Finish(zone) => match namespace[zone as usize] {
            (ReadOnly | Offline, _) => fails(Refusal::InvalidTransition),
            (_, written) => leaves(with(namespace, zone as usize, Full, written)),
        },
        ZoneCommand::Reset(zone) => match namespace[zone as usize] {
            (ReadOnly | Offline, _) => fails(Refusal::InvalidTransition),
            _ => leaves(with(namespace, zone as usize, Empty, 0)),
        },
        ZoneCommand::TakeOffline(zone) => match namespace[zone as usize] {
            (ReadOnly | Offline, written) => leaves(with(namespace, zone as usize, Offline, written)),
            _ => fails(Refusal::InvalidTransition),
        },
        ZoneCommand::OpenAll => {
            let wanted = count(namespace, &[ExplicitlyOpen, Closed]);
            if config.open_max.is_some_and(|most| wanted > most) {
                return fails(Refusal::TooManyOpen);
            }
            // As many implicitly open zones as needed are closed, in any choice.
            let opened: Namespace = namespace
                .iter()
                .map(|(state, written)| (if *state == Closed { ExplicitlyOpen } else { *state }, *written))
                .collect();
            let excess =
                count(&opened, &[ImplicitlyOpen, ExplicitlyOpen]).saturating_sub(config.open_max.unwrap_or(u32::MAX));
            let implicit: Vec<usize> = (0..opened.len()).filter(|zone| opened[*zone].0 == ImplicitlyOpen).collect();
            (0u32..1 << implicit.len())
                .filter(|chosen| chosen.count_ones() == excess)
                .map(|chosen| {
                    let mut closed = opened.clone();
                    let is_chosen = |(bit, _): &(usize, &usize)| chosen >> bit & 1 == 1;
                    for (_, zone) in implicit.iter().enumerate().filter(is_chosen) {
                        closed[*zone].0 = Closed;
                    }
                    (Ok(None), closed)
                })
                .collect()
        }
        ZoneCommand::CloseAll => change_all(&[ImplicitlyOpen, ExplicitlyOpen], Closed),
        ZoneCommand::FinishAll => change_all(&[ImplicitlyOpen, ExplicitlyOpen, Closed], Full),
        ZoneCommand::ResetAll => change_all(&[ImplicitlyOpen, ExplicitlyOpen, Closed, Full], Empty),
        ZoneCommand::OfflineAll => change_all(&[ReadOnly], Offline),
        ZoneCommand::LoseWrites(zone) => match namespace[zone as usize] {
            (Offline, _) => leaves(namespace.clone()),
            (_, written) => leaves(with(namespace, zone as usize, ReadOnly, written)),
        },
        ZoneCommand::Lose(zone) => leaves(with(namespace, zone as usize, Offline, namespace[zone as usize].1)),
        ZoneCommand::Restart => leaves(
            namespace
                .iter()
                .map(|(state, written)| match state {
                    ImplicitlyOpen | ExplicitlyOpen | Closed if *written == 0 => (Empty, 0),
                    ImplicitlyOpen | ExplicitlyOpen => (Closed, *written),
                    _ => (*state, *written),
                })
                .collect(),
        ),
    }
}
