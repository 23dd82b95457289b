//! The rules of the standards that an audit checks.

/// A rule of the standards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Commands come in order and do not overlap on the command bus.
    CommandBus,
    /// Only a closed bank is activated.
    ActivateOpen,
    /// A column command needs its row open.
    RowOpen,
    /// All banks must be closed for a refresh or self-refresh, and all affected banks for a same-bank refresh.
    AllClosed,
    /// In power-down or self-refresh, a rank accepts only the exit command, which is allowed only there.
    PoweredDown,
    /// ACT to a column command.
    Rcd,
    /// Precharge to ACT, REF or SRE.
    Rp,
    /// Precharge of all banks to ACT, REF or SRE.
    RpAll,
    /// ACT to precharge.
    Ras,
    /// ACT to ACT of the bank.
    Rc,
    /// ACT to ACT of another bank group.
    RrdS,
    /// ACT to ACT within a bank group.
    RrdL,
    /// The fifth ACT of a rank.
    Faw,
    /// Column commands of one kind in different bank groups.
    CcdS,
    /// Column commands within a bank group.
    CcdL,
    /// Writes within a bank group.
    CcdLWr,
    /// Write to read in another bank group.
    WtrS,
    /// Write to read within a bank group.
    WtrL,
    /// Read to write of the rank.
    Rtw,
    /// Bursts of different ranks on the data bus.
    Rtrs,
    /// Read to precharge.
    Rtp,
    /// Write to precharge.
    Wr,
    /// Precharge to precharge.
    Ppd,
    /// REF to any command except power-down entry.
    Rfc,
    /// REFsb to ACT of its banks, and to the next REFsb.
    RfcSb,
    /// REFsb to ACT of another bank.
    RefsbRd,
    /// REFpb to ACT of its bank, and to REF.
    RfcPb,
    /// REFpb to ACT or REFpb of another bank.
    Rrefd,
    /// Refreshes come often enough: the longest gap, and how many may be postponed.
    Refi,
    /// Power-down exit to a command.
    Xp,
    /// Minimum time of power-down, and before its next entry.
    Cke,
    /// Self-refresh exit to a command.
    Xs,
    /// Minimum time of self-refresh.
    CkeSr,
    /// End of read data before power-down or self-refresh.
    RdPden,
    /// Write recovery before power-down or self-refresh.
    WrPden,
    /// A REF between two self-refreshes.
    RefreshAwake,
}

impl Rule {
    /// All rules.
    pub const ALL: [Rule; 36] = [
        Rule::CommandBus,
        Rule::ActivateOpen,
        Rule::RowOpen,
        Rule::AllClosed,
        Rule::PoweredDown,
        Rule::Rcd,
        Rule::Rp,
        Rule::RpAll,
        Rule::Ras,
        Rule::Rc,
        Rule::RrdS,
        Rule::RrdL,
        Rule::Faw,
        Rule::CcdS,
        Rule::CcdL,
        Rule::CcdLWr,
        Rule::WtrS,
        Rule::WtrL,
        Rule::Rtw,
        Rule::Rtrs,
        Rule::Rtp,
        Rule::Wr,
        Rule::Ppd,
        Rule::Rfc,
        Rule::RfcSb,
        Rule::RefsbRd,
        Rule::RfcPb,
        Rule::Rrefd,
        Rule::Refi,
        Rule::Xp,
        Rule::Cke,
        Rule::Xs,
        Rule::CkeSr,
        Rule::RdPden,
        Rule::WrPden,
        Rule::RefreshAwake,
    ];
}
