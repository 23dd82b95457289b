//! The timing table: JEDEC's parameters in clocks, read from a device file. It contains numbers only, no rules.

/// JEDEC timing parameters, in clocks of CK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are JEDEC's own names; the table below says what each is")]
pub struct Timing {
    pub cl: u32,
    pub cwl: u32,
    pub rcd: u32,
    pub rp: u32,
    pub rpab: u32,
    pub ras: u32,
    pub rc: u32,
    pub rrd_s: u32,
    pub rrd_l: u32,
    pub faw: u32,
    pub ccd_s: u32,
    pub ccd_l: u32,
    pub ccd_l_wr: u32,
    pub wtr_s: u32,
    pub wtr_l: u32,
    pub rtp: u32,
    pub wr: u32,
    pub rtw: u32,
    pub rtrs: u32,
    pub dqsck: u32,
    pub write_lag: u32,
    pub ppd: u32,
    pub xp: u32,
    pub cke: u32,
    pub ckesr: u32,
    pub xs: u32,
    pub refi: u32,
    pub rfc: u32,
    pub rfc_sb: u32,
    pub refsb_rd: u32,
    pub rfc_pb: u32,
    pub rrefd: u32,
    pub refresh_postpone_max: u32,
    pub activate_slots: u32,
    pub column_slots: u32,
    pub precharge_slots: u32,
}

impl Timing {
    /// Fills the table from `clocks`, which returns the value of a key of a device file.
    ///
    /// | key | what |
    /// | --- | --- |
    /// | `CL`, `CWL` | read and write command to the first transfer (RL, WL in LPDDR) |
    /// | `tRCD` | ACT to read or write of the bank |
    /// | `tRP`, `tRPab` | PRE to ACT of the bank (LPDDR's tRPpb); PREA to ACT or REF |
    /// | `tRAS`, `tRC` | ACT to PRE, ACT to ACT of the bank |
    /// | `tRRD_S`, `tRRD_L` | ACT to ACT of another bank, in another and in the same bank group |
    /// | `tFAW` | at most four ACT of a rank within this |
    /// | `tCCD_S`, `tCCD_L` | column to column command of a rank, in another and in the same bank group |
    /// | `tCCD_L_WR` | write to write in the same bank group |
    /// | `tWTR_S`, `tWTR_L` | end of write data (and `write_lag`) to a read of the rank |
    /// | `tRTP` | read to PRE of the bank, from the command |
    /// | `tWR` | end of write data (and `write_lag`) to PRE of the bank |
    /// | `tRTW` | bubble on the bus from read to write data of the same rank (its DQSCK spread included) |
    /// | `tRTRS` | bubble on the bus between data of different ranks |
    /// | `tDQSCK` | read data come this long after CL |
    /// | `write_lag` | clocks between a write burst and where tWR and tWTR begin |
    /// | `tPPD` | precharge to precharge of a rank |
    /// | `tXP`, `tCKE` | power-down exit to any command; shortest power-down |
    /// | `tCKESR`, `tXS` | shortest self-refresh; self-refresh exit to any command |
    /// | `tREFI`, `tRFC` | refresh interval; REF to any command of the rank |
    /// | `tRFCsb`, `tREFSBRD` | same-bank refresh to any command of its banks, and to ACT of others; `"0ck"` where the device has none |
    /// | `tRFCpb`, `tRREFD` | per-bank refresh to ACT of its bank, and to ACT or refresh of another; `"0ck"` where the device has none |
    /// | `refresh_postpone_max` | refreshes that may be owed |
    /// | `activate_slots`, `column_slots`, `precharge_slots` | clocks that a command holds the command bus; REF and power commands hold it as precharges do |
    pub(crate) fn read<E>(mut clocks: impl FnMut(&str) -> Result<u32, E>) -> Result<Timing, E> {
        Ok(Timing {
            cl: clocks("CL")?,
            cwl: clocks("CWL")?,
            rcd: clocks("tRCD")?,
            rp: clocks("tRP")?,
            rpab: clocks("tRPab")?,
            ras: clocks("tRAS")?,
            rc: clocks("tRC")?,
            rrd_s: clocks("tRRD_S")?,
            rrd_l: clocks("tRRD_L")?,
            faw: clocks("tFAW")?,
            ccd_s: clocks("tCCD_S")?,
            ccd_l: clocks("tCCD_L")?,
            ccd_l_wr: clocks("tCCD_L_WR")?,
            wtr_s: clocks("tWTR_S")?,
            wtr_l: clocks("tWTR_L")?,
            rtp: clocks("tRTP")?,
            wr: clocks("tWR")?,
            rtw: clocks("tRTW")?,
            rtrs: clocks("tRTRS")?,
            dqsck: clocks("tDQSCK")?,
            write_lag: clocks("write_lag")?,
            ppd: clocks("tPPD")?,
            xp: clocks("tXP")?,
            cke: clocks("tCKE")?,
            ckesr: clocks("tCKESR")?,
            xs: clocks("tXS")?,
            refi: clocks("tREFI")?,
            rfc: clocks("tRFC")?,
            rfc_sb: clocks("tRFCsb")?,
            refsb_rd: clocks("tREFSBRD")?,
            rfc_pb: clocks("tRFCpb")?,
            rrefd: clocks("tRREFD")?,
            refresh_postpone_max: clocks("refresh_postpone_max")?,
            activate_slots: clocks("activate_slots")?,
            column_slots: clocks("column_slots")?,
            precharge_slots: clocks("precharge_slots")?,
        })
    }
}
