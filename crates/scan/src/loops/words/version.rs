//! Words that say that another was faster: versions that are compared before something is written.

use super::split::words;

/// Words that are enough by themselves.
const ALONE: &[&str] = &["etag", "etags", "precondition", "preconditions", "ifmatch"];
/// Two words beside each other in one name: `eTag`, `If-Match`.
const PAIRS: &[[&str; 2]] = &[["e", "tag"], ["if", "match"]];
/// Words that say it of what is asked for at once again.
const COMPARED: &[&str] =
    &["conflict", "conflicts", "conflicting", "version", "versions", "expected"];

/// Whether text speaks of tags and conditions under which something is written. Whole words are
/// compared: `createTag` has no `eTag` in it.
pub(in crate::loops) fn about_tags(text: &str) -> bool {
    names(text).any(|name| {
        let all = words(name);
        all.iter().any(|word| ALONE.contains(&&**word))
            || all.windows(2).any(|two| PAIRS.iter().any(|[a, b]| *two[0] == **a && *two[1] == **b))
    })
}

/// Whether text speaks of versions that are compared, or of a conflict.
pub(in crate::loops) fn about_versions(text: &str) -> bool {
    about_tags(text)
        || names(text).any(|name| words(name).iter().any(|word| COMPARED.contains(&&**word)))
}

/// Whether text speaks of a comparison before an exchange.
pub(in crate::loops) fn about_exchange(text: &str) -> bool {
    names(text).any(|name| words(name).iter().any(|word| matches!(&**word, "compare" | "cas")))
}

/// The names in a text: `If-Match` is one.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
        .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_that_is_created_is_no_version() {
        for text in ["client.createTag(name)", "delete_tag", "updateTag()", "the stage tag"] {
            assert!(!about_tags(text), "{text}");
        }
        for text in ["headers['If-Match']", "if_match=x", "object.ETag", "eTag", "e_tag", "etag"] {
            assert!(about_tags(text), "{text}");
        }
        assert!(!about_versions("an unexpected conversion"));
        assert!(about_versions("catch (VersionConflict e)"));
        assert!(about_exchange("COMPARE_AND_SWAP") && !about_exchange("cascade()"));
    }
}
