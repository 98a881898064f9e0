//! `users:`: from how many different people the requests come.

use super::calls;
use crate::read::{Fields, Reader, Val};
use crate::schema::{Kind, Names};

const COUNT: Kind = Kind::Count { min: 1, max: 65_536 };

/// What people who say nothing get: enough for every cohort to have some.
pub(crate) const DEFAULT: u32 = 1_000;

pub(crate) const USERS: Kind = Kind::Either(&[COUNT, Kind::Map(Names::Class, &COUNT)]);

/// Users of each class.
pub(crate) fn lower(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<u32> {
    let mut users = vec![DEFAULT; reader.names.classes.len()];
    let Some(entry) = fields.entry("users") else {
        return users;
    };
    if !entry.value.is_map() {
        if let Some(n) = reader.count32(fields, "users") {
            users.fill(n);
        }
        return users;
    }
    for e in entry.value.entries().unwrap_or_default() {
        let class = calls::class(reader, e);
        let n = reader.scalar(&e.value, &COUNT);
        if let (Some(class), Some(Val::Count(n))) = (class, n) {
            users[class] = n as u32;
        }
    }
    users
}
