//! Cells of CSV files (RFC 4180).

/// A text as a cell: quoted where it has to be.
pub(crate) fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_have_to_be() {
        assert_eq!(quoted("envoy"), "envoy");
        assert_eq!(quoted("{kind: envoy, percent: 5%}"), "\"{kind: envoy, percent: 5%}\"");
        assert_eq!(quoted("a \"b\""), "\"a \"\"b\"\"\"");
    }
}
