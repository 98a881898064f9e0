//! Skaffold: which image is built from which folder, so that code has a service.

use crate::document::{Document, Node, Syntax};
use crate::format::Format;
use crate::format::parts::group;
use crate::reading::{Build, Reading, image_name};
use crate::tree::join;

/// Skaffold's file.
pub const FORMAT: Format = Format {
    id: "skaffold",
    title: "Skaffold",
    syntaxes: &[Syntax::Yaml],
    is: |_, document| group(document) == Some("skaffold"),
    read,
};

fn read(path: &str, document: &Document, reading: &mut Reading) {
    let around = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let artifacts = document.root.below("build.artifacts").map_or(&[][..], Node::items);
    for artifact in artifacts {
        let image = artifact.text_at("image").and_then(image_name);
        let folder = artifact.text_at("context").unwrap_or(".");
        if image.is_some() {
            reading.builds.push(Build { folder: join(around, folder), service: None, image });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{document, format};

    #[test]
    fn an_image_has_a_folder() {
        let text = "apiVersion: skaffold/v3\nkind: Config\nbuild:\n  artifacts:\n  - {image: shop/cart, context: src/cartservice}\n";
        let documents = document::parse(Syntax::Yaml, text).0;
        let builds = format::read("deploy/skaffold.yaml", &documents).builds;
        assert_eq!(builds[0].folder, "deploy/src/cartservice");
        assert_eq!(builds[0].image.as_deref(), Some("cart"));
    }
}
