//! A toxic of a Toxiproxy, or the end of one of its proxies, by its API.
//!
//! Rule: `POST /proxies/NAME/toxics` adds a toxic, `DELETE /proxies/NAME/toxics/TOXIC` takes it
//! away, `POST /proxies/NAME` with `enabled` opens and closes the proxy (Toxiproxy's README).

use damper_system::Url;
use serde_json::{Map, Value, json};

use super::Script;
use crate::act::{Act, Check, Must};

/// What our toxic is called, so that no other is touched.
const NAME: &str = "damper-drill";

pub(super) fn script(
    api: &Url,
    proxy: &str,
    toxic: Option<&str>,
    stream: &str,
    attributes: &[(String, f64)],
) -> Script {
    let one = format!("/proxies/{proxy}");
    let Some(toxic) = toxic else {
        let enabled = |on: bool| Act::post(api.at(&one), Some(json!({"enabled": on})));
        let must = Must::Be { pointer: "/enabled".to_owned(), value: json!(true) };
        return Script {
            start: vec![enabled(false)],
            stop: vec![enabled(true)],
            checks: vec![Check { act: Act::get(api.at(&one)), must }],
            is_alone: true,
        };
    };
    let toxics = format!("{one}/toxics");
    let number = |x: f64| if x.fract() == 0.0 { json!(x as i64) } else { json!(x) };
    let attributes: Map<String, Value> =
        attributes.iter().map(|(name, value)| (name.clone(), number(*value))).collect();
    let body = json!({
        "name": NAME, "type": toxic, "stream": stream, "toxicity": 1.0, "attributes": attributes,
    });
    Script {
        start: vec![Act::post(api.at(&toxics), Some(body))],
        stop: vec![Act::http("DELETE", api.at(&format!("{toxics}/{NAME}")), None)],
        checks: vec![Check { act: Act::get(api.at(&toxics)), must: Must::Lack(NAME.to_owned()) }],
        is_alone: true,
    }
}
