//! `damper export`.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};
use damper_export::{IMPLICIT, Options, Written, export, format, switch_off};
use damper_report::result::Plan;
use damper_system::{System, SystemFile};

use crate::args::ExportArgs;
use crate::words::near;
use crate::{exit, print};

pub(crate) fn run(args: &ExportArgs) -> anyhow::Result<u8> {
    let system = system(args)?;
    let options = options(args, &system)?;
    let Some(format) = format::find(&args.format) else {
        bail!("there is no format `{}`", args.format);
    };
    let mut written = export(&system, format, &options);
    if !written.collisions.is_empty() {
        bail!("names would stand twice: {}", written.collisions.join("; "));
    }
    for software in IMPLICIT.iter().filter(|one| args.also.iter().any(|id| id == one.id)) {
        let file = switch_off(&system, software, &options);
        if written.files.iter().any(|one| one.path == file.path) {
            bail!("{} would be for a service and for --also {}", file.path, software.id);
        }
        written.files.push(file);
    }
    if let Some(folder) = &args.out {
        for file in &written.files {
            let path = folder.join(&file.path);
            if let Some(above) = path.parent() {
                fs::create_dir_all(above).with_context(|| cannot(above))?;
            }
            fs::write(&path, &file.text).with_context(|| cannot(&path))?;
        }
    }
    if args.json {
        print::json(&written)?;
    } else {
        show(args, &written);
    }
    Ok(if args.strict && !written.losses.is_empty() { exit::GATE } else { exit::OK })
}

fn cannot(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// The file with what the command line changes, and with what a plan changes.
fn system(args: &ExportArgs) -> anyhow::Result<System> {
    let mut file = SystemFile::read(&args.system.file)?;
    for assignment in &args.system.set {
        file.set(assignment)?;
    }
    if let Some(path) = &args.plan {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let plan: Plan = serde_json::from_str(&text).with_context(|| {
            format!("{} is not what `damper plan --json` prints", path.display())
        })?;
        for assignment in &plan.changes {
            file.set(assignment)?;
        }
        if !plan.met {
            print::note("the plan does not meet its targets: what it came nearest to is written");
        }
    }
    let (system, warnings) = file.lower_with_warnings()?;
    print::problems(&warnings);
    Ok(system)
}

/// The calls of a system, by the name of what is called and by that of its service.
fn calls(system: &System) -> impl Iterator<Item = String> {
    system.policies.edges.iter().flat_map(|edge| {
        let server = system.services.get(system.server_of(edge.target).0 as usize);
        let names = [Some(system.target_name(edge.target)), server.map(|one| &*one.name)];
        let from = system.caller_name(edge.caller);
        names.into_iter().flatten().map(move |to| format!("{from} -> {to}"))
    })
}

fn options(args: &ExportArgs, system: &System) -> anyhow::Result<Options> {
    let mut edges = Vec::new();
    for text in &args.edge {
        let Some((from, to)) = text.split_once("->") else {
            bail!("--edge: found `{text}`, expected `caller -> callee`");
        };
        let (from, to) = (from.trim().to_owned(), to.trim().to_owned());
        let wanted = format!("{from} -> {to}");
        let calls: Vec<String> = calls(system).collect();
        if !calls.contains(&wanted) {
            let hint = near(&wanted, calls.iter().map(String::as_str));
            bail!("--edge: there is no call `{wanted}`{hint}");
        }
        edges.push((from, to));
    }
    let mut addresses = Vec::new();
    for text in &args.address {
        let parts = text.split_once('=').and_then(|(name, place)| {
            let (host, port) = place.rsplit_once(':')?;
            Some((name.to_owned(), host.to_owned(), port.parse().ok()?))
        });
        let Some(address) = parts else {
            bail!("--address: found `{text}`, expected `service=host:port`");
        };
        let mut services = system.services.iter().map(|service| service.name.as_str());
        if !services.clone().any(|service| service == address.0) {
            let hint = near(&address.0, services.by_ref());
            bail!("--address: there is no service `{}`{hint}", address.0);
        }
        addresses.push(address);
    }
    let word = |text: &str, more: &str| {
        !text.is_empty()
            && text.len() <= 253
            && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    if !word(&args.namespace, "-") {
        bail!("--namespace: `{}` is no name of a namespace", args.namespace);
    }
    if let Some(name) = args.gateway_namespace.as_ref().filter(|name| !word(name, "-")) {
        bail!("--gateway-namespace: `{name}` is no name of a namespace");
    }
    if !word(&args.class_header, "-") || args.class_header.len() > 64 {
        bail!("--class-header: `{}` is no name of a header", args.class_header);
    }
    if let Some((_, host, _)) = addresses.iter().find(|(_, host, _)| !word(host, ".-_")) {
        bail!("--address: `{host}` is no host");
    }
    if let Some(class) = args.class.as_ref().filter(|class| !system.classes.contains(class)) {
        bail!("--class: there is no class `{class}`; there are {}", system.classes.join(", "));
    }
    Ok(Options {
        edges,
        class: args.class.clone(),
        namespace: args.namespace.clone(),
        gateway_namespace: args.gateway_namespace.clone(),
        port: args.port,
        addresses,
        class_header: args.class_header.to_ascii_lowercase(),
        plain: args.plain,
        ..Options::default()
    })
}

fn show(args: &ExportArgs, written: &Written) {
    for file in &written.files {
        if let Some(folder) = &args.out {
            print::line(&format!("{}", folder.join(&file.path).display()));
        } else {
            if written.files.len() > 1 {
                print::line(&format!("# ---- {}", file.path));
            }
            print::line(file.text.trim_end_matches('\n'));
        }
    }
    for loss in &written.losses {
        let place =
            if loss.line > 0 { format!("{}:{}", loss.file, loss.line) } else { loss.file.clone() };
        print::note(&format!("loss: {place}: {}", loss.sentence()));
    }
    if let Some(words) =
        written.meaning.and_then(|all| all.words()).filter(|_| written.losses.len() > 1)
    {
        print::note(&format!("all losses together: {words}"));
    }
    for note in &written.notes {
        print::note(&format!("note: {note}"));
    }
}
