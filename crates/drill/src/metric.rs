//! What is looked at besides replies: Prometheus, Envoy, a page of metrics, an emulation.

use damper_system::{Metric, MetricKind, Url};
use serde_json::Value;

use crate::act::request;
use crate::places::Places;

/// What it is now.
///
/// # Errors
/// In words: nobody answers, or nothing of this name is there.
pub(crate) async fn ask(
    metric: &Metric,
    places: &Places,
    limited: &[String],
) -> Result<f64, String> {
    match &metric.kind {
        MetricKind::Prometheus { at, query } => {
            let path = at.at(&format!("/api/v1/query?query={}", encoded(query)));
            prometheus(&get(&path).await?)
        }
        MetricKind::Envoy { at, stat } => {
            envoy(&get(&at.at(&format!("/stats?format=json&filter={}", encoded(stat)))).await?)
        }
        MetricKind::Scrape { at, series } => scraped(&get(at).await?, series),
        MetricKind::Emulate { at, count, of } => {
            counted(&get(&places.admin(at).at("/counts")).await?, count, of.as_deref(), limited)
        }
    }
}

async fn get(url: &Url) -> Result<String, String> {
    let patience = std::time::Duration::from_secs(5);
    let url = url.to_string();
    let asked = request("GET", &url, None, None);
    let answered = tokio::time::timeout(patience, asked).await;
    answered.unwrap_or_else(|_| Err(format!("no answer within {} s", patience.as_secs())))
}

/// As a part of a query of a URL.
pub(crate) fn encoded(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

/// The answer of a Prometheus: a scalar, or the sum over a vector.
fn prometheus(answer: &str) -> Result<f64, String> {
    let json: Value = serde_json::from_str(answer).map_err(|e| format!("no JSON: {e}"))?;
    if json["status"] != "success" {
        return Err(format!("the query failed: {}", json["error"]));
    }
    let value = |pair: &Value| pair[1].as_str().and_then(|text| text.parse::<f64>().ok());
    let result = &json["data"]["result"];
    let found = match json["data"]["resultType"].as_str() {
        Some("scalar") => value(result),
        Some("vector") => {
            let all: Vec<f64> = result
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|s| value(&s["value"]))
                .collect();
            (!all.is_empty()).then(|| all.iter().sum())
        }
        other => return Err(format!("the query gives a {}", other.unwrap_or("nothing"))),
    };
    found.ok_or_else(|| "the query gives no series".to_owned())
}

/// Statistics of an Envoy; histograms are left out.
fn envoy(answer: &str) -> Result<f64, String> {
    let json: Value = serde_json::from_str(answer).map_err(|e| format!("no JSON: {e}"))?;
    let stats = json["stats"].as_array().ok_or("no statistics")?;
    let all: Vec<f64> = stats.iter().filter_map(|stat| stat["value"].as_f64()).collect();
    if all.is_empty() {
        return Err("no statistic has such a name".to_owned());
    }
    Ok(all.iter().sum())
}

/// Series of a page in the text format of Prometheus.
fn scraped(page: &str, series: &str) -> Result<f64, String> {
    let (name, labels) = series.split_once('{').unwrap_or((series, ""));
    let labels = labels.trim_end_matches('}').split(',').map(str::trim).filter(|l| !l.is_empty());
    let labels: Vec<&str> = labels.collect();
    let mut found: Option<f64> = None;
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let Some(rest) = line.strip_prefix(name.trim()) else { continue };
        let (own, value) = match rest.strip_prefix('{') {
            Some(inside) => match inside.rfind('}') {
                Some(end) => (&inside[..end], &inside[end + 1..]),
                None => continue,
            },
            None if rest.starts_with([' ', '\t']) => ("", rest),
            None => continue,
        };
        let has = |label: &&str| own.split(',').any(|l| l.trim() == *label);
        let value = value.split_whitespace().next().and_then(|text| text.parse::<f64>().ok());
        if let (true, Some(value)) = (labels.iter().all(has), value) {
            found = Some(found.unwrap_or(0.0) + value);
        }
    }
    found.ok_or_else(|| format!("the page has no series {series}"))
}

/// Counts of an emulation: of one service, or of all with a capacity.
fn counted(answer: &str, count: &str, of: Option<&str>, limited: &[String]) -> Result<f64, String> {
    let json: Value = serde_json::from_str(answer).map_err(|e| format!("no JSON: {e}"))?;
    let asked = |name: &str| match of {
        Some(of) => of == name,
        None => limited.iter().any(|l| l == name),
    };
    let mut found = None;
    for server in json.as_array().into_iter().flatten() {
        if !server["name"].as_str().is_some_and(asked) {
            continue;
        }
        for class in server["received"].as_array().into_iter().flatten() {
            let n = |value: &Value| value.as_f64().unwrap_or(0.0);
            let value = match count {
                "attempts" => n(&class["first"]) + n(&class["retries"]),
                "retries" => n(&class["retries"]),
                "abandoned" => n(&class["abandoned"]),
                end => n(&class["ends"][end]),
            };
            found = Some(found.unwrap_or(0.0) + value);
        }
    }
    found.ok_or_else(|| match of {
        Some(of) => format!("the emulation has no service {of}"),
        None => "no service of the emulation has a capacity".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_a_prometheus() {
        let vector = r#"{"status":"success","data":{"resultType":"vector","result":[
            {"metric":{"a":"1"},"value":[1700000000.1,"2.5"]},{"metric":{},"value":[1,"4"]}]}}"#;
        assert_eq!(prometheus(vector), Ok(6.5));
        let scalar = r#"{"status":"success","data":{"resultType":"scalar","result":[1,"3"]}}"#;
        assert_eq!(prometheus(scalar), Ok(3.0));
        let none = r#"{"status":"success","data":{"resultType":"vector","result":[]}}"#;
        assert!(prometheus(none).is_err(), "no series is not zero");
        let failed = r#"{"status":"error","errorType":"bad_data","error":"parse error"}"#;
        assert!(prometheus(failed).unwrap_err().contains("parse error"));
    }

    #[test]
    fn statistics_of_an_envoy() {
        let some = r#"{"stats":[{"name":"a.rq","value":3},{"name":"b.rq","value":4},
            {"histograms":{"supported_quantiles":[]}}]}"#;
        assert_eq!(envoy(some), Ok(7.0));
        assert!(envoy(r#"{"stats":[]}"#).is_err());
    }

    #[test]
    fn series_of_a_page() {
        let page = "# HELP a x\n# TYPE a counter\na{class=\"high\",hop=\"in\"} 3\n\
                    a{class=\"low\",hop=\"in\"} 4 1700000000\nab 9\nc 2.5\n";
        assert_eq!(scraped(page, "a"), Ok(7.0));
        assert_eq!(scraped(page, "a{class=\"low\"}"), Ok(4.0));
        assert_eq!(scraped(page, "a{hop=\"in\", class=\"high\"}"), Ok(3.0));
        assert_eq!(scraped(page, "c"), Ok(2.5));
        assert!(scraped(page, "a{class=\"mid\"}").is_err() && scraped(page, "b").is_err());
    }

    #[test]
    fn counts_of_an_emulation() {
        let counts = r#"[{"name":"client","received":[{"first":5,"retries":0,"ends":{}}]},
            {"name":"db","received":[{"first":5,"retries":4,"abandoned":1,"ends":{"shed":2}}]}]"#;
        let limited = ["db".to_owned()];
        assert_eq!(counted(counts, "attempts", None, &limited), Ok(9.0));
        assert_eq!(counted(counts, "shed", Some("db"), &[]), Ok(2.0));
        assert!(counted(counts, "attempts", Some("bd"), &limited).is_err());
    }

    #[test]
    fn queries_are_encoded() {
        assert_eq!(encoded("sum(a{b=\"c\"})"), "sum%28a%7Bb%3D%22c%22%7D%29");
    }
}
