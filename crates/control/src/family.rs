//! One enum per family of controls, so that a decision is a jump and not an allocation.

/// Makes the enum of a family, its conversions, its table of entries and a macro that calls
/// the same method of whichever variant there is.
///
/// A line is `Variant(Type) = [module::ENTRY];` where the variant has the name of the control's
/// type and `Type` is that type, or a `Box` of it if it is much larger than the others. A control
/// that the system file names in two ways has two entries.
macro_rules! family {
    (
        $(#[$meta:meta])*
        $family:ident, $each:ident {
            $( $(#[$doc:meta])* $variant:ident ( $inner:ty ) = [ $($entry:expr),+ $(,)? ] ; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum $family { $( $(#[$doc])* $variant($inner), )* }

        $(
            impl From<$variant> for $family {
                fn from(control: $variant) -> Self {
                    Self::$variant(control.into())
                }
            }
        )*

        /// The controls of this family.
        pub(crate) const ENTRIES: &[&$crate::entry::Entry] = &[ $( $( &$entry ),+ ),* ];

        macro_rules! $each {
            ($of:expr, $control:ident => $call:expr) => {
                match $of { $( $family::$variant($control) => $call, )* }
            };
        }

        impl $crate::observe::Observe for $family {
            fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
                $each!(self, control => control.observe(see))
            }
        }
    };
}
pub(crate) use family;
