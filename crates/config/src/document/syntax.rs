//! How a file is written, by its name.

use super::Syntax;

/// Names that say it all.
const NAMES: &[(&str, &[Syntax])] = &[
    ("caddyfile", &[Syntax::Caddyfile]),
    ("haproxy.cfg", &[Syntax::Haproxy]),
    ("haproxy.conf", &[Syntax::Haproxy]),
    ("nginx.conf", &[Syntax::Nginx]),
    ("airflow.cfg", &[Syntax::Ini]),
    (".env", &[Syntax::Env]),
    (".envrc", &[Syntax::Env]),
    ("dockerfile", &[Syntax::Dockerfile]),
    ("containerfile", &[Syntax::Dockerfile]),
    ("kustomization", &[Syntax::Yaml]),
];

/// Ends of names.
const ENDS: &[(&str, &[Syntax])] = &[
    (".nginx.conf.template", &[Syntax::Nginx]),
    (".conf.template", &[Syntax::Nginx]),
    (".yaml", &[Syntax::Yaml]),
    (".yml", &[Syntax::Yaml]),
    (".json", &[Syntax::Json]),
    (".jsonc", &[Syntax::Json]),
    (".json5", &[Syntax::Json]),
    (".toml", &[Syntax::Toml]),
    (".tf", &[Syntax::Hcl]),
    (".hcl", &[Syntax::Hcl]),
    (".properties", &[Syntax::Properties]),
    (".env", &[Syntax::Env]),
    (".ini", &[Syntax::Ini]),
    (".caddyfile", &[Syntax::Caddyfile]),
    (".dockerfile", &[Syntax::Dockerfile]),
    (".nginx", &[Syntax::Nginx]),
];

impl Syntax {
    /// The syntaxes that a file of this path may be written in, the likeliest first; none: it is
    /// not a file that this crate reads.
    #[must_use]
    pub fn of_path(path: &str) -> &'static [Self] {
        let path = path.to_ascii_lowercase().replace('\\', "/");
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let by_name = NAMES.iter().find(|(known, _)| *known == name);
        let by_end = || ENDS.iter().find(|(end, _)| name.ends_with(end));
        if let Some((_, syntaxes)) = by_name {
            return syntaxes;
        }
        let within = |word: &str| folder.split('/').any(|part| part.contains(word));
        let starts = |word: &str| {
            name.strip_prefix(word)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '_']))
        };
        if starts(".env") {
            return &[Self::Env];
        }
        if starts("dockerfile") || starts("containerfile") {
            return &[Self::Dockerfile];
        }
        if starts("caddyfile") {
            return &[Self::Caddyfile];
        }
        if let Some((_, syntaxes)) = by_end() {
            return syntaxes;
        }
        if matches!(name, "config" | "credentials") && folder.rsplit('/').next() == Some(".aws") {
            return &[Self::Ini];
        }
        if name.ends_with(".cfg") {
            // Known by its sections.
            return &[Self::Haproxy, Self::Ini];
        }
        if name.ends_with(".conf") {
            return if name.contains("haproxy") || within("haproxy") {
                &[Self::Haproxy]
            } else {
                // Other software writes `.conf`, too: the format asks for nginx's own words.
                &[Self::Nginx]
            };
        }
        if within("nginx")
            || matches!(folder.rsplit('/').next(), Some("sites-available" | "sites-enabled"))
        {
            let plain =
                !name.contains('.') || name.ends_with(".tmpl") || name.ends_with(".conf.j2");
            return if plain { &[Self::Nginx] } else { &[] };
        }
        &[]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_how_a_file_is_written() {
        let of = |path| Syntax::of_path(path).first().copied();
        assert_eq!(of("a/nginx.conf"), Some(Syntax::Nginx));
        assert_eq!(of("a/conf.d/default.conf"), Some(Syntax::Nginx));
        assert_eq!(of("nginx/sites-enabled/shop"), Some(Syntax::Nginx));
        assert_eq!(of("templates/default.conf.template"), Some(Syntax::Nginx));
        assert_eq!(of("haproxy.cfg"), Some(Syntax::Haproxy));
        assert_eq!(of("lb/haproxy/app.conf"), Some(Syntax::Haproxy));
        assert_eq!(of("x/edge.cfg"), Some(Syntax::Haproxy));
        assert_eq!(of("airflow.cfg"), Some(Syntax::Ini));
        assert_eq!(of("Caddyfile"), Some(Syntax::Caddyfile));
        assert_eq!(of("Caddyfile.prod"), Some(Syntax::Caddyfile));
        assert_eq!(of("main.tf"), Some(Syntax::Hcl));
        assert_eq!(of("main.tf.json"), Some(Syntax::Json));
        assert_eq!(of("src/main/resources/application-prod.yml"), Some(Syntax::Yaml));
        assert_eq!(of("application.properties"), Some(Syntax::Properties));
        assert_eq!(of(".env.production"), Some(Syntax::Env));
        assert_eq!(of("home/.aws/config"), Some(Syntax::Ini));
        assert_eq!(of("Dockerfile.dev"), Some(Syntax::Dockerfile));
        assert_eq!(of("pyproject.toml"), Some(Syntax::Toml));
        assert_eq!(of("main.rs"), None);
        assert_eq!(of(".git/config"), None);
        assert_eq!(of(""), None);
    }
}
