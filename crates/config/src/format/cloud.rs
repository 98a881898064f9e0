//! Resources of CloudFormation (also SAM and the Serverless framework) and of Terraform (HCL and
//! JSON), alike.

use crate::document::{Document, Entry, Node, Syntax};

/// How resources are written.
pub(crate) const SYNTAXES: &[Syntax] = &[Syntax::Yaml, Syntax::Json, Syntax::Hcl];

/// A resource.
pub(crate) struct Resource<'a> {
    /// Its type: `AWS::SQS::Queue`, `aws_sqs_queue`.
    pub kind: &'a str,
    /// Its name in the file.
    pub name: &'a str,
    /// The line of its head.
    pub line: u32,
    /// What it is made of.
    pub body: &'a Node,
}

/// All resources of a document.
pub(crate) fn resources(document: &Document) -> Vec<Resource<'_>> {
    let root = &document.root;
    let mut found = Vec::new();
    // Several documents of the same tool: below `resources` a Serverless file has CloudFormation.
    for top in [root.get("Resources"), root.get("resources").and_then(|all| all.get("Resources"))] {
        for entry in top.map(Node::entries).unwrap_or_default() {
            let kind = entry.value.get("Type").and_then(Node::text);
            if let Some(kind) = kind.filter(|kind| kind.contains("::")) {
                let body = entry.value.get("Properties").unwrap_or(&entry.value);
                found.push(Resource { kind, name: &entry.key, line: entry.line, body });
            }
        }
    }
    for kinds in root.all("resource") {
        for kind in kinds.value.one_or_more().iter().flat_map(Node::entries) {
            for name in kind.value.one_or_more().iter().flat_map(Node::entries) {
                for body in name.value.one_or_more() {
                    found.push(Resource {
                        kind: &kind.key,
                        name: &name.key,
                        line: name.line,
                        body,
                    });
                }
            }
        }
    }
    found
}

/// Whether a document has resources of one of these types.
pub(crate) fn has(document: &Document, kinds: &[&str]) -> bool {
    resources(document).iter().any(|resource| kinds.contains(&resource.kind))
}

/// The functions of a Serverless file: those of AWS.
pub(crate) fn serverless(document: &Document) -> &[Entry] {
    let root = &document.root;
    let aws = root.below("provider.name").and_then(Node::text) == Some("aws")
        || root.get("provider").and_then(Node::text) == Some("aws");
    let functions = root.get("functions").filter(|_| aws && root.get("service").is_some());
    functions.map(Node::entries).unwrap_or_default()
}

/// The last part of a reference: `orders` of `aws_lambda_function.orders.arn`, of
/// `Fn::GetAtt: [orders, Arn]` or of an ARN.
pub(crate) fn reference(node: &Node) -> Option<String> {
    let text = node.text().or(node.open());
    if let Some(text) = text {
        let mut parts = text.split('.');
        return match (parts.next(), parts.next()) {
            (Some(kind), Some(name)) if kind.starts_with("aws_") || kind.starts_with("google_") => {
                Some(name.to_owned())
            }
            _ => Some(text.rsplit([':', '/']).next().unwrap_or(text).split('.').next()?.to_owned()),
        };
    }
    let inner = node.entries().first()?;
    match &*inner.key {
        "Ref" | "Fn::Ref" | "Fn::Sub" => inner.value.text().map(str::to_owned),
        "Fn::GetAtt" => {
            let first = inner.value.one_or_more().first()?.text()?;
            Some(first.split('.').next()?.to_owned())
        }
        _ => None,
    }
}
