//! One document, which is told by what is in it.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::jaeger::Trace;
use super::json::{Fields, Into, Items, List, Object, Text};
use super::otlp::Resources;
use super::{Context, jaeger, zipkin};

/// One value of a metric.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Metric {
    /// Its name.
    pub(crate) name: String,
    /// Labels and their values.
    pub(crate) labels: Vec<(String, String)>,
    /// The value.
    pub(crate) value: f64,
}

impl Metric {
    /// The value of a label; the empty one if there is none.
    #[must_use]
    pub(crate) fn label(&self, name: &str) -> &str {
        self.labels.iter().find(|(label, _)| label == name).map_or("", |(_, value)| value)
    }
}

/// Any document.
pub(super) struct Document<'a, 'c>(pub(super) &'a mut Context<'c>);

impl<'de> DeserializeSeed<'de> for Document<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Document<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("traces of OpenTelemetry, Jaeger or Zipkin")
    }

    /// A list is Zipkin's, of spans or of traces; or of any other documents.
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Document(self.0))?.is_some() {
            if self.0.sink.stopped() {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        let mut open = Open {
            context: self.0,
            trace: Trace::default(),
            span: zipkin::Part::default(),
            metric: Metric::default(),
            has_value: false,
        };
        Object(&mut open).visit_map(map)?;
        let Open { context, trace, span, metric, has_value } = open;
        trace.close(context);
        span.close(context);
        if has_value && !metric.labels.is_empty() {
            context.sink.metric(metric);
        }
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

/// An object under way. No two formats share a key that means different things to them.
struct Open<'a, 'c> {
    context: &'a mut Context<'c>,
    trace: Trace,
    span: zipkin::Part,
    metric: Metric,
    has_value: bool,
}

impl Fields for Open<'_, '_> {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let Self { context, trace, span: part, metric, has_value } = self;
        match key {
            "resourceSpans" | "resource_spans" | "batches" => {
                map.next_value_seed(List(&mut Resources(context)))
            }
            "data" | "result" | "traces" | "trace" => map.next_value_seed(Document(context)),
            "stats" => map.next_value_seed(List(&mut Stats(context))),
            "spans" | "processes" => jaeger::Reading { trace, context }.field(key, map),
            "metric" => map.next_value_seed(Object(&mut Labels(metric))),
            "value" => {
                *has_value = true;
                map.next_value_seed(List(&mut Sample(metric)))
            }
            _ => zipkin::Reading { part, context }.field(key, map),
        }
    }
}

/// Envoy's `/stats?format=json`: `{"name": "cluster.orders.upstream_rq_total", "value": 12}`, and
/// histograms, which are passed over.
struct Stats<'a, 'c>(&'a mut Context<'c>);

impl Items for Stats<'_, '_> {
    fn item<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        let mut one = Stat::default();
        if list.next_element_seed(Object(&mut one))?.is_none() {
            return Ok(false);
        }
        let value = one.value.get().parse().ok();
        let metric = value.and_then(|value| crate::metrics::text::stat(one.name.get(), value));
        if let Some(metric) = metric {
            self.0.sink.metric(metric);
        }
        Ok(true)
    }
}

#[derive(Default)]
struct Stat {
    name: Text,
    value: Text,
}

impl Fields for Stat {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "name" => map.next_value_seed(Into(&mut self.name)),
            "value" => map.next_value_seed(Into(&mut self.value)),
            _ => super::json::skip(map),
        }
    }
}

/// `{"__name__": …, "label": …}`
struct Labels<'a>(&'a mut Metric);

/// Labels of one metric; what is more is left out.
const MOST_LABELS: usize = 64;

impl Fields for Labels<'_> {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let mut text = Text::default();
        map.next_value_seed(Into(&mut text))?;
        if self.0.labels.len() < MOST_LABELS {
            if key == "__name__" {
                self.0.name = text.get().to_owned();
            }
            self.0.labels.push((key.to_owned(), text.get().to_owned()));
        }
        Ok(())
    }
}

/// `[1700000000, "12"]`: the value is the last.
struct Sample<'a>(&'a mut Metric);

impl Items for Sample<'_> {
    fn item<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        let mut text = Text::default();
        if list.next_element_seed(Into(&mut text))?.is_none() {
            return Ok(false);
        }
        self.0.value = text.get().parse().unwrap_or(f64::NAN);
        Ok(true)
    }
}
