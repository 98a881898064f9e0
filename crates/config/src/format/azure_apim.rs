//! Azure API Management: `<retry>` in policies, as Terraform holds them.

use crate::document::{Document, Node, Syntax};
use crate::failure::Failures;
use crate::format::shared::{Counted, attempts, constant, exponential, expression};
use crate::format::{Format, cloud};
use crate::layer::{Attempts, Growth, Layer, Methods, Reach, Seat, Sourced};
use crate::reading::Reading;
use crate::units;

/// `xml_content` of Terraform's policies.
pub const FORMAT: Format = Format {
    id: "azure-api-management",
    title: "Azure API Management",
    syntaxes: &[Syntax::Hcl, Syntax::Json],
    is: |_, document| policies(document).next().is_some(),
    read,
};

const WHO: &str = "Azure API Management";

/// Policies that retry, as texts with their lines.
fn policies(document: &Document) -> impl Iterator<Item = &Node> {
    let of = |one: cloud::Resource<'_>| {
        one.kind.starts_with("azurerm_api_management") && one.kind.ends_with("policy")
    };
    let bodies = cloud::resources(document).into_iter().filter_map(move |one| {
        let body = one.body;
        of(one).then_some(body)
    });
    let texts = bodies.filter_map(|body| body.get("xml_content"));
    texts.filter(|text| text.text().is_some_and(|text| text.contains("<retry")))
}

fn read(_: &str, document: &Document, reading: &mut Reading) {
    for policy in policies(document) {
        let text = policy.text().unwrap_or_default();
        for (at, _) in text.match_indices("<retry") {
            let rest = text.get(at + "<retry".len()..).unwrap_or_default();
            if rest.starts_with(char::is_whitespace) {
                let before = text.get(..at).unwrap_or_default();
                let row = u32::try_from(before.matches('\n').count()).unwrap_or(u32::MAX);
                let line = policy.lines[0].saturating_add(row).min(policy.lines[1]);
                reading.layers.push(layer(&attributes(rest), line));
            }
        }
    }
}

/// `name="value"` up to the end of a tag; a condition may hold any sign in its quotes.
fn attributes(mut rest: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    while found.len() < 32 {
        rest = rest.trim_start();
        if rest.is_empty() || rest.starts_with(['>', '/']) {
            break;
        }
        let Some((name, after)) = rest.split_once('=') else { break };
        let Some(quote) = after.chars().next().filter(|c| matches!(c, '"' | '\'')) else { break };
        // In `@(…)` quotes may stand inside of quotes.
        let value = after.get(1..).unwrap_or_default();
        let end = if value.starts_with("@(") {
            value.find(&format!("){quote}")).map(|end| end + 1)
        } else {
            value.find(quote)
        };
        let Some(end) = end else { break };
        found.push((name.trim(), value.get(..end).unwrap_or_default()));
        rest = value.get(end + 1..).unwrap_or_default();
    }
    found
}

fn layer(attributes: &[(&str, &str)], line: u32) -> Layer {
    let get = |key: &str| attributes.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
    let mut layer = Layer::at(FORMAT.id, Seat::Gateway, [line, line]);
    layer.reach = Reach::Route;
    layer.methods = Methods::All;
    layer.attempts = match get("count") {
        Some(count) => {
            Sourced::written(attempts(&Node::scalar(count, true, line), Counted::Retries), line)
        }
        None => Sourced::default_of(Attempts::Count(1), WHO),
    };
    let time = |key: &str| Some(Sourced::written(units::duration_ms(get(key)?, 1000.0)?, line));
    layer.delay = match (time("max-interval"), get("delta")) {
        (Some(most), Some(_)) => {
            let mut delay = exponential(time("interval"), 2.0, Some(most));
            delay.jitter = true;
            delay
        }
        (most, delta) => {
            let mut delay = constant(time("interval"));
            if delta.is_some() {
                (delay.growth, delay.cap_ms) = (Growth::Unknown, most);
                layer.notes.push("the wait grows by `delta` each time".into());
            }
            delay
        }
    };
    layer.on = Sourced::written(Failures::EVERY, line);
    if let Some(condition) = get("condition") {
        layer.words.push(expression(&Node::scalar(condition, true, line)));
        layer.notes.push("the condition decides what is retried".into());
    }
    layer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::shared::layers;

    #[test]
    fn what_is_written_and_what_is_not() {
        let text = "resource \"azurerm_api_management_api_policy\" \"p\" {\n  xml_content = <<XML\n<policies><backend>\n  <retry condition=\"@(context.Response.StatusCode == 503 && \"a\" != \"b\")\" count=\"2\" interval=\"1\" max-interval=\"8\" delta=\"1\">\n    <forward-request />\n  </retry>\n  <retry condition='true' count=\"{{n}}\" interval=\"5\" />\n</backend></policies>\nXML\n}\nresource \"azurerm_api_management_policy\" \"q\" { xml_content = \"<policies/>\" }\n";
        let found = layers("azure-api-management", "m.tf", Syntax::Hcl, text);
        let [first, second] = found.as_slice() else { panic!("{found:#?}") };
        assert_eq!(first.attempts, Sourced::written(Attempts::Count(3), 4));
        assert_eq!((first.delay.growth, first.delay.jitter), (Growth::Exponential, true));
        assert_eq!(first.delay.cap_ms, Some(Sourced::written(8000.0, 4)));
        assert_eq!(second.attempts.value.high(), None);
        assert_eq!(second.delay.base_ms, Some(Sourced::written(5000.0, 7)));
    }
}
