//! A failure that costs more than a success.

use super::sites::{ends, failure_paths, inside, leaves, name_of, shown};
use super::words::attempts;
use super::{Check, Context, Hit, Rule, Severity};
use crate::policy::{Kind as Repetition, Policy};
use crate::tree::{Id, Kind, Tree};

pub(super) static RULE: Rule = Rule {
    id: "expensive-error",
    severity: Severity::Warning,
    summary: "Each failed attempt does more work than a good one",
    fix: "count failures and log a sample; capture a stack, resolve a name or connect anew once",
    check: Check::Policy(check),
};

const CONNECTS: &str = "connects anew";

/// What is dear in a failure path: how a call ends, and why it is dear.
const DEAR: &[(&[&str], &str)] = &[
    (
        &[
            "traceback.print_exc",
            "traceback.format_exc",
            "traceback.print_stack",
            "traceback.format_stack",
            "inspect.stack",
            "logging.exception",
            "logger.exception",
            "log.exception",
            "printStackTrace",
            "getStackTrace",
            "debug.Stack",
            "debug.PrintStack",
            "runtime.Stack",
            "console.trace",
            "Backtrace.capture",
            "Backtrace.force_capture",
            "Environment.StackTrace",
            "full_message",
            "debug_backtrace",
        ],
        "captures a stack",
    ),
    (
        &[
            "socket.getaddrinfo",
            "socket.gethostbyname",
            "net.LookupHost",
            "net.LookupIP",
            "net.LookupAddr",
            "InetAddress.getByName",
            "InetAddress.getAllByName",
            "dns.lookup",
            "dns.resolve",
            "Dns.GetHostEntry",
            "Dns.GetHostAddresses",
            "lookup_host",
        ],
        "resolves a name",
    ),
    (
        &[
            "fsync",
            "appendFileSync",
            "writeFileSync",
            "File.AppendAllText",
            "File.WriteAllText",
            "Files.writeString",
            "Files.write",
            "os.WriteFile",
            "fs.write",
            "sync_all",
        ],
        "writes to a disk and waits for it",
    ),
    (
        &[
            "reconnect",
            "psycopg2.connect",
            "psycopg.connect",
            "requests.Session",
            "ssl.create_default_context",
            "sql.Open",
            "net.Dial",
            "tls.Dial",
            "grpc.Dial",
            "grpc.NewClient",
            "redis.NewClient",
            "DriverManager.getConnection",
            "HttpClient.newHttpClient",
            "HttpClient",
            "createConnection",
            "Client.new",
        ],
        CONNECTS,
    ),
];

fn check(context: &Context<'_>, policy: &Policy, hits: &mut Vec<Hit>) {
    let tree = context.tree;
    let mut known = Vec::new();
    for handler in failure_paths(tree, &inside(tree, policy)) {
        for id in tree.walk_here(handler) {
            let Kind::Call { callee, args, .. } = tree.kind(id) else { continue };
            let Some(name) = name_of(tree, *callee) else { continue };
            let traced = args.iter().any(|arg| {
                arg.name == Some("exc_info") && matches!(tree.kind(arg.value), Kind::Bool(true))
            });
            let why = DEAR.iter().find(|(names, _)| names.iter().any(|dear| ends(&name, dear)));
            let why = why.map(|(_, why)| *why).or(traced.then_some("captures a stack"));
            // A stream that is connected again connects: that is its work.
            let why = why.filter(|why| *why != CONNECTS || policy.kind == Repetition::Retry);
            let span = tree.span(id);
            // Where it leaves the loop, it happens once.
            if let Some(why) = why
                && !known.contains(&span.line)
                && !once(tree, id, handler)
            {
                known.push(span.line);
                hits.push(Hit {
                    severity: Severity::Warning,
                    line: span.line,
                    end_line: span.end_line,
                    message: format!(
                        "`{}` {why} for each of {}: when everything fails, failing is what the \
                         machine is busy with",
                        shown(tree, *callee),
                        attempts(policy)
                    ),
                });
            }
        }
    }
}

/// Whether a block that a call stands in, up to the handler, ends the attempts.
fn once(tree: &Tree<'_>, id: Id, handler: Id) -> bool {
    let mut up = Some(id);
    while let Some(at) = up {
        if matches!(tree.kind(at), Kind::Block(_)) && leaves(tree, at) {
            return true;
        }
        if at == handler {
            break;
        }
        up = tree.parent(at);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::said;

    #[test]
    fn for_each_failure_and_not_for_the_last() {
        let python = |handler: &str| {
            let text = format!(
                "import time\ndef f(c):\n    for i in range(3):\n        try:\n            return \
                 c.fetch_user()\n        except OSError:\n            {handler}\n            \
                 time.sleep(1)\n"
            );
            said(&RULE, &[("a.py", &text)])
        };
        let end = "for each of 3 attempts: when everything fails, failing is what the machine is busy with";
        assert_eq!(
            python("traceback.print_exc()"),
            [format!("7 warning: `traceback.print_exc` captures a stack {end}")]
        );
        assert_eq!(
            python("log.error('no', exc_info=True)"),
            [format!("7 warning: `log.error` captures a stack {end}")]
        );
        assert_eq!(
            python("self.reconnect()"),
            [format!("7 warning: `self.reconnect` connects anew {end}")]
        );
        assert_eq!(
            python("if i == 2:\n                log.exception('no')\n                raise"),
            [""; 0]
        );
        assert_eq!(python("log.warning('no')"), [""; 0]);
    }

    #[test]
    fn branches_of_go() {
        let go = |before: &str, after: &str| {
            let text = format!(
                "package a\nfunc f(c *C) error {{\n\tvar err error\n\tfor range 3 {{\n\t\terr = \
                 c.FetchUser()\n\t\tif err == nil {{\n\t\t\t{before}\n\t\t\treturn nil\n\t\t}}\n\t\t{after}\n\t\t\
                 time.Sleep(1)\n\t}}\n\treturn err\n}}\n"
            );
            said(&RULE, &[("a.go", &text)]).len()
        };
        assert_eq!(go("", "debug.PrintStack()"), 1);
        assert_eq!(go("debug.PrintStack()", ""), 0, "after a success");
    }
}
