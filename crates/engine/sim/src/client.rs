//! The beneficiary of a resource's work, for recorders that follow requests through a machine.

/// The request, command or operation that a resource works for. Numbers are those of the parts that use them: dense, and
/// reused after the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// A request of the host, by its submitter's number.
    Request(u32),
    /// A command that the translation layer has not received yet, by its tag.
    Arriving(u32),
    /// A command that the translation layer has received, by its tag.
    Command(u32),
    /// A flash operation, by its id.
    Operation(u32),
}
