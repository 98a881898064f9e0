//! Whose code a file is: builds say it, then the names of folders.

use std::collections::HashMap;

use damper_config::{Name, Reading};

use super::bare;

/// Where the code of services is.
#[derive(Clone, Debug, Default)]
pub struct Homes {
    /// Folders that are built into one service.
    folders: HashMap<String, Option<Name>>,
    /// Services by their bare names and those of their images; `None`: two are called so.
    names: HashMap<String, Option<Name>>,
}

impl Homes {
    /// From what files of configuration say.
    pub fn of<'r>(readings: impl Iterator<Item = &'r Reading> + Clone) -> Self {
        let mut homes = Self::default();
        let mut images: HashMap<&str, Option<&Name>> = HashMap::new();
        for service in readings.clone().flat_map(|reading| &reading.services) {
            put(&mut homes.names, bare(&service.name.service), &service.name);
            for image in &service.images {
                images
                    .entry(image)
                    .and_modify(|one| *one = one.filter(|one| one.service == service.name.service))
                    .or_insert(Some(&service.name));
            }
        }
        for (image, name) in &images {
            // A service's own name goes before the image of another one.
            if let Some(name) = name {
                homes.names.entry(bare(image)).or_insert_with(|| Some((*name).clone()));
            }
        }
        for build in readings.flat_map(|reading| &reading.builds) {
            let by_image = || build.image.as_deref().and_then(|image| *images.get(image)?);
            // A build of the whole repository says nothing about a folder of it.
            if let Some(name) = build.service.as_ref().or_else(by_image)
                && !build.folder.is_empty()
            {
                put(&mut homes.folders, build.folder.clone(), name);
            }
        }
        homes
    }

    /// Whose code a file is.
    #[must_use]
    pub fn owner(&self, path: &str) -> Option<&Name> {
        let folders = || path.match_indices('/').rev().filter_map(|(at, _)| path.get(..at));
        let built = folders().find_map(|folder| self.folders.get(folder)?.as_ref());
        built.or_else(|| {
            let name = |folder: &str| bare(folder.rsplit('/').next().unwrap_or(folder));
            folders().find_map(|folder| self.names.get(&name(folder))?.as_ref())
        })
    }
}

/// Remembers a name, or that there are two.
fn put(all: &mut HashMap<String, Option<Name>>, key: String, name: &Name) {
    all.entry(key)
        .and_modify(|one| *one = one.take().filter(|one| one.service == name.service))
        .or_insert_with(|| Some(name.clone()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use damper_config::reading::{Build, Service};

    #[test]
    fn builds_go_before_names_of_folders() {
        let service = |name: &str, image: &str| Service {
            name: Name::new(name, None),
            line: 1,
            labels: Vec::new(),
            replicas: None,
            images: vec![image.to_owned()],
        };
        let build = |folder: &str, service: Option<&str>, image: Option<&str>| Build {
            folder: folder.to_owned(),
            service: service.map(|name| Name::new(name, None)),
            image: image.map(str::to_owned),
        };
        let reading = Reading {
            services: vec![service("cart", "cartservice"), service("web", "shop-frontend")],
            builds: vec![
                build("src/basket", Some("cart"), None),
                build("src/edge", None, Some("shop-frontend")),
                build("", Some("web"), None),
            ],
            ..Reading::default()
        };
        let homes = Homes::of([&reading].into_iter());
        let of = |path: &str| homes.owner(path).map(|name| name.service.as_str());
        assert_eq!(of("src/basket/main.go"), Some("cart"));
        assert_eq!(of("src/edge/a/b.py"), Some("web"));
        assert_eq!(of("src/cartservice/x.cs"), Some("cart"));
        assert_eq!(of("shop_frontend/x.ts"), Some("web"));
        assert_eq!(of("lib/x.ts"), None);
        assert_eq!(of("web.ts"), None, "the name of a file says nothing");
    }
}
