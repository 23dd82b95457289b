//! Faults that tests inject into a part, to show that they catch them.
//!
//! Only the feature `injected-faults` makes a hook do anything. The crate `testkit` turns it on, for tests alone; without
//! it, [`Injected`] has no size, and its hooks return a constant.

/// The fault of type `F` injected into a part, if any.
#[cfg(feature = "injected-faults")]
#[derive(Debug)]
pub struct Injected<F> {
    fault: Option<F>,
    count: u32,
}

/// The fault of type `F` injected into a part: none, since the feature `injected-faults` is off.
#[cfg(not(feature = "injected-faults"))]
#[derive(Debug)]
pub struct Injected<F>(std::marker::PhantomData<F>);

impl<F: Copy + PartialEq> Injected<F> {
    /// No fault.
    #[cfg(feature = "injected-faults")]
    pub const NONE: Injected<F> = Injected { fault: None, count: 0 };

    /// No fault.
    #[cfg(not(feature = "injected-faults"))]
    pub const NONE: Injected<F> = Injected(std::marker::PhantomData);

    /// Injects `fault`, or none.
    #[cfg(feature = "injected-faults")]
    pub fn inject(&mut self, fault: Option<F>) {
        self.fault = fault;
    }

    /// Returns true if any fault is injected.
    #[inline]
    pub fn any(&self) -> bool {
        #[cfg(feature = "injected-faults")]
        return self.fault.is_some();
        #[cfg(not(feature = "injected-faults"))]
        false
    }

    /// Returns true if `fault` is injected.
    #[inline]
    #[cfg_attr(not(feature = "injected-faults"), allow(unused_variables))]
    pub fn is(&self, fault: F) -> bool {
        #[cfg(feature = "injected-faults")]
        return self.fault == Some(fault);
        #[cfg(not(feature = "injected-faults"))]
        false
    }

    /// Returns true on every third occasion for the injected `fault`.
    #[inline]
    pub fn strikes(&mut self, fault: F) -> bool {
        if !self.is(fault) {
            return false;
        }
        #[cfg(feature = "injected-faults")]
        {
            self.count += 1;
            self.count.is_multiple_of(3)
        }
        #[cfg(not(feature = "injected-faults"))]
        false
    }
}

#[cfg(not(feature = "injected-faults"))]
const _: () = assert!(size_of::<Injected<u64>>() == 0, "without the feature, a part holds no fault");

#[cfg(all(test, feature = "injected-faults"))]
mod tests {
    use super::Injected;

    #[test]
    fn only_the_injected_fault_strikes_and_only_every_third_time() {
        let mut injected = Injected::NONE;
        assert!(!injected.any() && !injected.strikes('a'));
        injected.inject(Some('a'));
        assert!(injected.any() && injected.is('a') && !injected.is('b'));
        let struck: Vec<bool> = (0..7).map(|_| injected.strikes('a') | injected.strikes('b')).collect();
        assert_eq!(struck, [false, false, true, false, false, true, false]);
    }
}
