#![allow(clippy::all, missing_docs, clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]
use damper_scan::{language::Language, loops, lower};
fn main() {
    let mut lines = 0usize;
    let start = std::time::SystemTime::now();
    let mut t_find = 0f64;
    for arg in std::io::stdin().lines() {
        let path = arg.unwrap();
        let p = std::path::Path::new(&path);
        let Some(l) = p.extension().and_then(|e| e.to_str()).and_then(Language::of_extension) else { continue };
        let Ok(text) = std::fs::read_to_string(p) else { continue };
        if text.len() > 1_000_000 { continue }
        lines += text.lines().count();
        let Some(tree) = lower::tree(l, &text) else { continue };
        let t = std::time::SystemTime::now();
        let found = loops::find(&tree, l);
        let d = t.elapsed().unwrap().as_secs_f64();
        t_find += d;
        if d > 0.1 { eprintln!("slow {d:.2} {path}"); }
        for f in found {
            println!("{}", serde_json::json!({"path": path, "policy": f.policy}));
        }
    }
    eprintln!("{lines} lines in {:.2} s, find {:.2} s", start.elapsed().unwrap().as_secs_f64(), t_find);
}
