//! Objects and lists as they come, without a tree in memory.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Something that takes the fields of an object.
pub(super) trait Fields {
    /// One field. Must take the value.
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error>;
}

/// Something that takes the elements of a list.
pub(super) trait Items {
    /// One element; `false`: there was none.
    fn item<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error>;
}

/// An object, or anything else, which is passed over.
pub(super) struct Object<'a, T>(pub(super) &'a mut T);
/// A list, or anything else, which is passed over.
pub(super) struct List<'a, T>(pub(super) &'a mut T);

macro_rules! passes_over {
    ($($method:ident: $type:ty),*) => {
        $(fn $method<E: Error>(self, _: $type) -> Result<(), E> { Ok(()) })*
    };
}

impl<'de, T: Fields> DeserializeSeed<'de> for Object<'_, T> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, T: Fields> Visitor<'de> for Object<'_, T> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut key = Text::default();
        while map.next_key_seed(Into(&mut key))?.is_some() {
            self.0.field(key.get(), &mut map)?;
        }
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
    passes_over!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);
}

impl<'de, T: Items> DeserializeSeed<'de> for List<'_, T> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, T: Items> Visitor<'de> for List<'_, T> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while self.0.item(&mut list)? {}
        Ok(())
    }
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
    passes_over!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);
}

/// Passes over the value of a field.
pub(super) fn skip<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(|_| ())
}

/// A short text whose memory is used again.
#[derive(Debug, Default)]
pub(super) struct Text(String);

/// Longer values are cut: nothing that is read of a span is longer.
const LONGEST: usize = 512;

impl Text {
    pub(super) fn get(&self) -> &str {
        &self.0
    }

    fn set(&mut self, text: &str) {
        self.0.clear();
        let mut end = text.len().min(LONGEST);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.0.push_str(&text[..end]);
    }
}

/// Reads any single value as a text: numbers and flags as they are written, the rest as nothing.
pub(super) struct Into<'a>(pub(super) &'a mut Text);

impl<'de> DeserializeSeed<'de> for Into<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Into<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.set(text);
        Ok(())
    }
    fn visit_bool<E: Error>(self, flag: bool) -> Result<(), E> {
        self.0.set(if flag { "true" } else { "false" });
        Ok(())
    }
    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.0.set(&number.to_string());
        Ok(())
    }
    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.0.set(&number.to_string());
        Ok(())
    }
    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.0.set(&number.to_string());
        Ok(())
    }
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.0.set("");
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        self.0.set("");
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.set("");
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

/// A whole number that is written as one, or as a text, in decimal. What is none is nothing.
pub(super) fn whole<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<u64>, A::Error> {
    map.next_value_seed(Whole)
}

struct Whole;

impl<'de> DeserializeSeed<'de> for Whole {
    type Value = Option<u64>;
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Whole {
    type Value = Option<u64>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }
    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(number))
    }
    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok((number >= 0.0 && number < 2_f64.powi(63)).then_some(number as u64))
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(text.parse().ok())
    }
    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}
