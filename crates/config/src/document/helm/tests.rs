use super::*;

const VALUES: &str = "retries: 3\nname: orders\nempty: {}\noff: false\nextra: {a: 1, b: 'x: y'}\nhosts: [one, two]\nmesh:\n  timeout: 2s\n";

fn render(template: &str) -> (Vec<Document>, Vec<(u32, String)>) {
    let values = yaml::parse(VALUES).0;
    let chart = Chart { name: "shop", values: values.first().map(|document| &document.root) };
    let filled = documents(template, &chart);
    (filled.documents, filled.open)
}

fn value(template: &str, path: &str) -> Option<String> {
    let (documents, _) = render(template);
    let node = documents.first()?.root.below(path)?.clone();
    node.text().map(str::to_owned)
}

#[test]
fn values_are_filled_in() {
    assert_eq!(value("a: {{ .Values.retries }}\n", "a").as_deref(), Some("3"));
    assert_eq!(value("a: {{ .Values.retries | quote }}\n", "a").as_deref(), Some("3"));
    assert_eq!(value("a: {{- .Values.mesh.timeout -}}\n", "a").as_deref(), Some("2s"));
    assert_eq!(value("a: x-{{ .Values.name }}:80\n", "a").as_deref(), Some("x-orders:80"));
    assert_eq!(value("a: {{ .Values.none | default 5 | int }}\n", "a").as_deref(), Some("5"));
    assert_eq!(value("a: {{ default .Values.retries .Values.none }}\n", "a").as_deref(), Some("3"));
    assert_eq!(value("a: {{ include \"c.fullname\" . }}-db\n", "a").as_deref(), Some("shop-db"));
    assert_eq!(
        value("a: {{ printf \"%s-%d\" .Values.name 7 }}\n", "a").as_deref(),
        Some("orders-7")
    );
}

#[test]
fn what_is_not_known_stays_open() {
    let (documents, open) = render("a: 1\nb: {{ .Values.none }}\nc: \"x{{ lookup \"v1\" }}\"\n");
    let root = &documents[0].root;
    assert_eq!(root.get("b").and_then(Node::open), Some("{{ .Values.none }}"));
    assert_eq!(open[0], (2, "{{ .Values.none }}".to_owned()));
    assert_eq!(open[1].0, 3);
}

#[test]
fn lines_keep_their_numbers() {
    let text = "{{- if .Values.retries }}\na: 1\n{{- else }}\na: 2\n{{- end }}\n{{- /* a\n}} comment */}}\n{{ include \"x\" . | nindent 4 }}\nb: {{ .Values.retries }}\n";
    let (documents, open) = render(text);
    assert_eq!(open, []);
    let root = &documents[0].root;
    assert_eq!(root.get("a").and_then(Node::text), Some("1"));
    assert_eq!(root.entry("a").map(|entry| entry.line), Some(2));
    assert_eq!(root.entry("b").map(|entry| entry.line), Some(9));
}

#[test]
fn conditions_that_the_values_decide_are_decided() {
    let of = |condition: &str| {
        value(
            &format!("{{{{ if {condition} }}}}\na: 1\n{{{{ else }}}}\na: 2\n{{{{ end }}}}\n"),
            "a",
        )
    };
    assert_eq!(of(".Values.retries").as_deref(), Some("1"));
    assert_eq!(of(".Values.off").as_deref(), Some("2"));
    assert_eq!(of(".Values.empty").as_deref(), Some("2"));
    assert_eq!(of("not .Values.off").as_deref(), Some("1"));
    assert_eq!(of("eq .Values.name \"pay\"").as_deref(), Some("2"));
    assert_eq!(of("and .Values.retries .Values.off").as_deref(), Some("2"));
    assert_eq!(of("or .Values.none .Values.name").as_deref(), Some("1"));
    assert_eq!(of("(semverCompare \">1\" .Capabilities)").as_deref(), Some("1"));
}

#[test]
fn blocks_change_what_the_dot_means() {
    assert_eq!(
        value(
            "{{- with .Values.mesh }}\na: {{ .timeout }}\nb: {{ $.Values.name }}\n{{- end }}\n",
            "a"
        )
        .as_deref(),
        Some("2s")
    );
    assert_eq!(
        value("a:\n{{- range .Values.hosts }}\n- {{ . }}\n{{- end }}\nb: 1\n", "b").as_deref(),
        Some("1")
    );
    assert_eq!(
        value("{{- define \"x\" }}\na: {{ .b }}\n{{- end }}\nb: 1\n", "b").as_deref(),
        Some("1")
    );
}

#[test]
fn trees_stand_below_their_keys() {
    let text = "a:\n  {{- toYaml .Values.extra | nindent 2 }}\nb: {{ toYaml .Values.hosts }}\n";
    assert_eq!(value(text, "a.b").as_deref(), Some("x: y"));
    let (documents, _) = render(text);
    assert_eq!(documents[0].root.get("b").map(|node| node.items().len()), Some(2));
    assert_eq!(documents[0].root.entry("b").map(|entry| entry.line), Some(3));
}

#[test]
fn broken_templates_do_no_harm() {
    for text in ["{{", "a: {{ .Values", "{{ end }}", "{{ else }}a: 1", "{{ if }}{{ end", "{{/* x"] {
        let _ = render(text);
    }
    assert_eq!(value("{{ end }}\na: 1\n", "a").as_deref(), Some("1"));
}

#[test]
fn deep_blocks_are_left_out_quickly() {
    let many = 20_000;
    let text = format!("{}a: 1\n{}b: 2\n", "{{ if .x }}".repeat(many), "{{ end }}".repeat(many));
    let (documents, _) = render(&text);
    assert_eq!(documents[0].root.get("b").and_then(Node::text), Some("2"));
    let line = "{{ .Values.retries }}".repeat(many);
    assert_eq!(value(&format!("a: {line}\n"), "a").map(|text| text.len()), Some(many));
    let trees = "{{ toYaml .Values.extra }}\n".repeat(many);
    assert!(render(&trees).0.is_empty());
}
