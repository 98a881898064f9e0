//! Programs from Debian's packages, unpacked below the target folder: nothing is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};

use crate::process::{files, program, run, target};

/// A program, and the packages that have it and what it needs.
pub(crate) struct Program {
    /// Its name.
    pub(crate) name: &'static str,
    /// The argument with which it says its version, or something else, and ends.
    pub(crate) version: &'static str,
    /// The exit code with which it does.
    code: i32,
    /// The folder of the package that it is in.
    at: &'static str,
    /// Programs of the same set share one folder: it is unpacked once.
    set: &'static Set,
}

/// Packages that are unpacked together.
struct Set {
    /// The name of their folder.
    name: &'static str,
    packages: &'static [&'static str],
}

const PROMETHEUS: Set = Set { name: "prometheus", packages: &["prometheus"] };
const NGHTTP2: Set = Set {
    name: "nghttp2",
    packages: &[
        "nghttp2-client",
        "libnghttp2-14",
        "libev4",
        "libjemalloc2",
        "libc-ares2",
        "libxml2",
    ],
};

/// What exports are run by, what reads the alerts of `deploy/`, and what the sidecar is tried with.
pub(crate) const PROGRAMS: [Program; 7] = [
    NGINX,
    HAPROXY,
    Program { name: "prometheus", version: "--version", code: 0, at: "usr/bin", set: &PROMETHEUS },
    Program { name: "promtool", version: "--version", code: 0, at: "usr/bin", set: &PROMETHEUS },
    H2LOAD,
    Program { name: "nghttp", version: "--version", code: 0, at: "usr/bin", set: &NGHTTP2 },
    KUBECTL,
];

/// What load is sent by, to compare with.
pub(crate) const GENERATORS: [Program; 2] = [WRK, H2LOAD];

/// The web server.
pub(crate) const NGINX: Program = Program {
    name: "nginx",
    version: "-v",
    code: 0,
    at: "usr/sbin",
    set: &Set { name: "nginx", packages: &["nginx"] },
};

/// The load balancer.
pub(crate) const HAPROXY: Program = Program {
    name: "haproxy",
    version: "-v",
    code: 0,
    at: "usr/sbin",
    set: &Set {
        name: "haproxy",
        packages: &["haproxy", "liblua5.3-0", "libopentracing-c-wrapper0", "libopentracing1"],
    },
};

/// A generator of load, HTTP/1.1 and HTTP/2.
pub(crate) const H2LOAD: Program =
    Program { name: "h2load", version: "--version", code: 0, at: "usr/bin", set: &NGHTTP2 };

/// What renders the bases of `deploy/`. It asks a cluster for its version, and no one for its help.
const KUBECTL: Program = Program {
    name: "kubectl",
    version: "--help",
    code: 0,
    at: "usr/bin",
    set: &Set { name: "kubectl", packages: &["kubernetes-client"] },
};

/// A generator of load. It says its version, and then that there is no target.
const WRK: Program = Program {
    name: "wrk",
    version: "-v",
    code: 1,
    at: "usr/bin",
    set: &Set { name: "wrk", packages: &["wrk", "libluajit-5.1-2"] },
};

impl Program {
    fn runs(&self, path: &Path) -> bool {
        let mut command = program(path);
        let quiet = command.arg(self.version).stdin(Stdio::null());
        let status = quiet.stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.code() == Some(self.code))
    }

    /// Where it is: on this system, or unpacked.
    pub(crate) fn find(&self) -> Result<PathBuf> {
        for folder in ["", "/usr/sbin/", "/usr/local/sbin/"] {
            let path = PathBuf::from(format!("{folder}{}", self.name));
            if self.runs(&path) {
                return Ok(path);
            }
        }
        let folder = target()?.join("debian").join(self.set.name);
        let wrapper = folder.join(self.name);
        if !self.runs(&wrapper) {
            self.unpack(&folder, &wrapper)?;
        }
        ensure!(self.runs(&wrapper), "{} does not run", wrapper.display());
        Ok(wrapper)
    }

    fn unpack(&self, folder: &Path, wrapper: &Path) -> Result<()> {
        let root = folder.join("root");
        if !root.join(self.at).join(self.name).is_file() {
            let packages = folder.join("packages");
            fs::create_dir_all(&packages).with_context(|| packages.display().to_string())?;
            let mut download = program("apt-get");
            run(download.arg("download").args(self.set.packages).current_dir(&packages))?;
            for package in files(&packages, ".deb")? {
                run(program("dpkg").arg("-x").arg(package).arg(&root))?;
            }
        }
        // Its libraries are beside it, where the loader does not look by itself.
        let root = root.display().to_string();
        let text = format!(
            "#!/bin/sh\nfor folder in {root}/usr/lib/*-linux-*; do\n  \
             LD_LIBRARY_PATH=\"$folder:$LD_LIBRARY_PATH\"\ndone\nexport LD_LIBRARY_PATH\n\
             exec {root}/{}/{} \"$@\"\n",
            self.at, self.name
        );
        fs::write(wrapper, text).with_context(|| wrapper.display().to_string())?;
        run(program("chmod").arg("755").arg(wrapper))
    }
}
