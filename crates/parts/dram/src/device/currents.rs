//! A device's currents in JEDEC's IDD tests.

use crate::device::DeviceError;

/// One supply of a device and its currents in JEDEC's IDD tests, in microamperes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are JEDEC's names of the IDD tests")]
pub struct Rail {
    /// The supply's name, such as `"VDD"`.
    pub name: String,
    /// Its voltage in millivolts.
    pub millivolts: u64,
    pub idd0: u64,
    pub idd2n: u64,
    pub idd2p: u64,
    pub idd3n: u64,
    pub idd3p: u64,
    pub idd4r: u64,
    pub idd4w: u64,
    pub idd5b: u64,
    pub idd6: u64,
}

impl Rail {
    pub(crate) fn read(
        name: &str,
        read: &mut impl FnMut(&str, &str, f64) -> Result<u64, DeviceError>,
    ) -> Result<Rail, DeviceError> {
        let millivolts = read("voltage", "mV", 1.0)?;
        let mut current = |key: &str| read(key, "mA", 1000.0);
        Ok(Rail {
            name: name.to_owned(),
            millivolts,
            idd0: current("IDD0")?,
            idd2n: current("IDD2N")?,
            idd2p: current("IDD2P")?,
            idd3n: current("IDD3N")?,
            idd3p: current("IDD3P")?,
            idd4r: current("IDD4R")?,
            idd4w: current("IDD4W")?,
            idd5b: current("IDD5B")?,
            idd6: current("IDD6")?,
        })
    }
}
