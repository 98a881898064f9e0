//! `damper schema`.

use crate::args::{SchemaArgs, SchemaOf};
use crate::{exit, print};

pub(crate) fn run(args: &SchemaArgs) -> anyhow::Result<u8> {
    print::json(&match args.of {
        SchemaOf::System => damper_system::json_schema(),
        SchemaOf::Proxy => damper_system::sidecar_schema(),
    })?;
    Ok(exit::OK)
}
