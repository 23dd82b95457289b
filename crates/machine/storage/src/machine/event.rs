//! The events of a machine.

/// An event of one of the machine's parts. Its tag has a word, so that the queue moves an event as two words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Event {
    /// An event of the driver, the link or the controller front end.
    HostInterface(host_interface::Event),
    /// An event of the flash.
    Flash(nand::Event),
    /// The end of a read of a page that had been read ahead.
    ReadAhead(media::OpId),
    /// The translation layer's timer.
    #[default]
    Timer,
}
