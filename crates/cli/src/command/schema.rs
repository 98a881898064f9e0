//! `damper schema`.

use crate::{exit, print};

pub(crate) fn run() -> anyhow::Result<u8> {
    print::json(&damper_system::json_schema())?;
    Ok(exit::OK)
}
