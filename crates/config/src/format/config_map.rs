//! Files inside of Kubernetes ConfigMaps: each is read as what its name says.

use crate::document::{Document, Entry, Node, Syntax, parse};
use crate::format::shared::shift;
use crate::format::{FORMATS, Format, is_object};
use crate::reading::Reading;

/// ConfigMaps that hold files.
pub const FORMAT: Format = Format {
    id: "config-map-files",
    title: "Files in Kubernetes ConfigMaps",
    syntaxes: &[Syntax::Yaml, Syntax::Json],
    is: |_, document| {
        is_object(document, "", &["ConfigMap"])
            && files(document).iter().any(|entry| syntax(entry).is_some())
    },
    read,
};

fn files(document: &Document) -> &[Entry] {
    document.root.get("data").map(Node::entries).unwrap_or_default()
}

/// How a file of several lines is written, by its name.
fn syntax(entry: &Entry) -> Option<Syntax> {
    let text = entry.value.text()?;
    text.contains('\n').then(|| Syntax::of_path(&entry.key).first().copied()).flatten()
}

fn read(path: &str, document: &Document, reading: &mut Reading) {
    for file in files(document) {
        let (Some(syntax), Some(text)) = (syntax(file), file.value.text()) else { continue };
        let place = file.value.lines;
        for mut inner in parse(syntax, text).0 {
            // The lines of a block of text are those of its content.
            shift(&mut inner.root, place[0].saturating_sub(1), place);
            let within = format!("{path}/{}", file.key);
            for format in FORMATS.iter().filter(|format| format.id != FORMAT.id) {
                if format.syntaxes.contains(&syntax) && (format.is)(&within, &inner) {
                    if !reading.formats.contains(&format.id) {
                        reading.formats.push(format.id);
                    }
                    (format.read)(&within, &inner, reading);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::shared::reading;
    use crate::layer::{Attempts, Sourced};

    #[test]
    fn a_file_inside_is_read_with_its_lines() {
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  haproxy.cfg: |\n    defaults\n      retries 2\n    backend a\n      server s 1.1.1.1:1\n  application.yml: |\n    resilience4j.retry.instances.orders: {maxAttempts: 4}\n  plain: x\n";
        let reading = reading("c.yaml", Syntax::Yaml, text);
        assert_eq!(reading.formats, ["config-map-files", "haproxy", "resilience4j"]);
        assert_eq!(reading.layers[0].attempts, Sourced::written(Attempts::Count(3), 7));
        assert_eq!(reading.layers[1].attempts, Sourced::written(Attempts::Count(4), 11));
    }

    #[test]
    fn values_that_are_no_files_are_left() {
        let text =
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a.yml: x, b: \"c\"}\n";
        assert_eq!(reading("c.yaml", Syntax::Yaml, text), Reading::default());
    }
}
