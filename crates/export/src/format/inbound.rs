//! The controls at a service's own door, as filters of the Envoy in front of it: local rate limit,
//! admission control, adaptive concurrency.

use damper_control::Pushback;
use damper_system::model::{Service, Spec};

use super::shared::{DOORS, seconds_of_ms};
use crate::loss::{Draft, Side, instead};
use crate::share::down;
use crate::tree::Map;

/// The filters in front of a service, and its limit of requests at once.
#[derive(Debug, Default)]
pub(crate) struct Door {
    /// HTTP filters, the outermost first.
    pub(crate) filters: Vec<Map>,
    /// Requests at once.
    pub(crate) at_once: Option<u32>,
    /// Where losses belong that no filter stands for.
    pub(crate) marks: Vec<String>,
}

const TYPES: &str = "type.googleapis.com/envoy.extensions.filters.http";

/// What stands at the door of a service.
pub(crate) fn of(service: &Service, draft: &mut Draft) -> Door {
    let mut door = Door::default();
    if let Some(limit) = service.rate_limit {
        // One limit for all instances, and a proxy at each of them.
        let share = limit.rate / f64::from(service.instances.max(1));
        let mut marks = Vec::new();
        if service.instances > 1 {
            let written = format!("{}/s at each of {}", down(share), service.instances);
            let why = "Each instance counts for itself: with uneven load less is let in.";
            let asked = format!("{}/s over all instances", limit.rate);
            let what = instead(Side::Fewer, asked, written, why);
            marks.push(draft.lose(&service.name, "rate_limit", what));
        }
        let burst = limit.burst / f64::from(service.instances.max(1));
        door.filters.push(rate_limit(service, "rate_limit", share, burst, draft).noted(marks));
    }
    if let Some(admission) = &service.admission {
        admit(service, admission, &mut door, draft);
    }
    if let Some(limit) = &service.concurrency {
        concurrency(service, limit, &mut door, draft);
    }
    door
}

/// A filter of Envoy.
fn filter(name: &str, kind: &str, config: Map) -> Map {
    let typed = Map::new().with("@type", format!("{TYPES}.{name}.v3.{kind}"));
    let typed = config.entries().fold(typed, |typed, (key, value)| typed.with(key, value.clone()));
    Map::new().with("name", format!("envoy.filters.http.{name}")).with("typed_config", typed)
}

/// A token bucket: so many tokens in an interval of at least 50 ms, which is the least Envoy takes.
fn rate_limit(
    service: &Service,
    field: &'static str,
    rate: f64,
    burst: f64,
    draft: &mut Draft,
) -> Map {
    let mut marks = Vec::new();
    let rate = rate.clamp(1e-6, 1e9);
    let tokens = (rate * 0.05).ceil().max(1.0);
    // Rounded up, so that the rate is not more than was asked for.
    let interval_ms = (tokens / rate * 1e9).ceil() / 1e6;
    let most = whole(burst.max(tokens));
    if f64::from(most) > burst {
        let why = "Envoy fills a bucket every 50 ms at the most often, and it holds at least what \
                   is filled in.";
        let asked = format!("at most {} at once", down(burst));
        let what = instead(Side::Wider, asked, most.to_string(), why);
        marks.push(draft.lose(&service.name, field, what));
    }
    let always = || {
        Map::new().with(
            "default_value",
            Map::new().with("numerator", 100_u32).with("denominator", "HUNDRED"),
        )
    };
    let bucket = Map::new()
        .with("max_tokens", most)
        .with("tokens_per_fill", whole(tokens))
        .with("fill_interval", seconds_of_ms(interval_ms));
    let mut config = Map::new()
        .with("stat_prefix", "damper")
        .with("token_bucket", bucket)
        .with("filter_enabled", always())
        .with("filter_enforced", always());
    if let Some(wait) = service.pushback.and_then(Pushback::wait) {
        let seconds = wait.0.div_ceil(1_000_000_000).max(1);
        let header = Map::new().with("key", "retry-after").with("value", seconds.to_string());
        let add =
            Map::new().with("append_action", "OVERWRITE_IF_EXISTS_OR_ADD").with("header", header);
        config.put("response_headers_to_add", vec![add]);
    }
    filter("local_ratelimit", "LocalRateLimit", config).noted(marks)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(number: f64) -> u32 {
    number.clamp(0.0, f64::from(u32::MAX)) as u32
}

fn percent(value: f64) -> Map {
    Map::new().with("value", value)
}

fn admit(
    service: &Service,
    admission: &Spec<damper_control::admission::Admission>,
    door: &mut Door,
    draft: &mut Draft,
) {
    let number = |at: usize| admission.parameters.get(at).copied().unwrap_or(0.0);
    let runtime = |value: f64, key: &str| {
        Map::new().with("default_value", value).with("runtime_key", format!("damper.{key}"))
    };
    match admission.kind {
        "everybody" => {}
        "envoy-admission" => {
            let config = Map::new()
                .with(
                    "success_criteria",
                    Map::new().with(
                        "http_criteria",
                        Map::new().with(
                            "http_success_status",
                            vec![Map::new().with("start", 100_u32).with("end", 500_u32)],
                        ),
                    ),
                )
                .with("sampling_window", seconds_of_ms(number(0).round().max(1.0) * 1e3))
                .with("aggression", runtime(number(1), "aggression"))
                .with(
                    "sr_threshold",
                    Map::new()
                        .with("default_value", percent(number(2)))
                        .with("runtime_key", "damper.sr_threshold"),
                )
                .with(
                    "rps_threshold",
                    Map::new()
                        .with("default_value", whole(number(3)))
                        .with("runtime_key", "damper.rps_threshold"),
                )
                .with(
                    "max_rejection_probability",
                    Map::new()
                        .with("default_value", percent(number(4)))
                        .with("runtime_key", "damper.max_rejection_probability"),
                );
            door.filters.push(filter("admission_control", "AdmissionControl", config));
        }
        "rate-limit" => {
            let filter = rate_limit(service, "admission", number(0), number(1), draft);
            door.filters.push(filter);
        }
        "gcra" => {
            let mut filter = rate_limit(service, "admission", number(0), number(1), draft);
            let why = "A token bucket of the same rate and burst, which fills in steps.";
            let what = instead(Side::Other, "`gcra`", "a token bucket", why);
            filter = filter.noted([draft.lose(&service.name, "admission", what)]);
            door.filters.push(filter);
        }
        kind => {
            let why = "Envoy has no such rule: what is too much is let in.";
            let what =
                instead(Side::Wider, format!("`{kind}`"), "everybody", why).unmeasured(DOORS);
            door.marks.push(draft.lose(&service.name, "admission", what));
        }
    }
}

fn concurrency(
    service: &Service,
    limit: &Spec<damper_control::concurrency::Limit>,
    door: &mut Door,
    draft: &mut Draft,
) {
    let number = |at: usize| limit.parameters.get(at).copied().unwrap_or(0.0);
    match limit.kind {
        "fixed" => door.at_once = Some(whole(number(0)).max(1)),
        "envoy-gradient" => {
            let mut rtt = Map::new();
            if number(4) > 0.0 {
                rtt.put("fixed_value", seconds_of_ms(number(4) * 1e3));
            } else {
                rtt.put("interval", seconds_of_ms(number(3) * 1e3));
            }
            rtt = rtt
                .with("request_count", whole(number(5)))
                .with("jitter", percent(number(6)))
                .with("min_concurrency", whole(number(7)))
                .with("buffer", percent(number(9)));
            let params = Map::new()
                .with("max_concurrency_limit", whole(number(1)))
                .with("concurrency_update_interval", seconds_of_ms(number(2) * 1e3));
            let gradient = Map::new()
                .with("sample_aggregate_percentile", percent(number(0)))
                .with("concurrency_limit_params", params)
                .with("min_rtt_calc_params", rtt);
            let config = Map::new().with("gradient_controller_config", gradient);
            let mut filter = filter("adaptive_concurrency", "AdaptiveConcurrency", config);
            if number(8) > 0.0 {
                let why = "The least limit is that of the measurement.";
                let asked = format!("min_limit: {}", number(8));
                let what = instead(Side::Fewer, asked, format!("{}", number(7)), why);
                filter = filter.noted([draft.lose(&service.name, "concurrency", what)]);
            }
            door.filters.push(filter);
        }
        kind => {
            let why =
                "Envoy has the gradient controller alone (`envoy-gradient`), and fixed limits.";
            let what = instead(Side::Wider, format!("`{kind}`"), "no limit", why).unmeasured(DOORS);
            door.marks.push(draft.lose(&service.name, "concurrency", what));
        }
    }
}
