//! Reading and writing envelopes, beside serde_json on the same bytes.

use std::hint::black_box;
use std::time::{Duration, Instant};

use babelqueue_core::{Body, Data, Delivery, Envelope, NewEnvelope, Plan, Policy, Properties, Stamp, plan};
use bytes::Bytes;
use serde_json::Value;

use crate::meter::median;
use crate::{Result, work};

/// Nanoseconds for one operation on one body.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// The size of the body.
    pub bytes: usize,
    /// Body → envelope, and whether a consumer accepts it.
    pub decode: f64,
    /// Body → `serde_json::Value`.
    pub value_read: f64,
    /// Envelope → body.
    pub encode: f64,
    /// `serde_json::Value` → body.
    pub value_write: f64,
    /// The whole decision about a delivery with this body.
    pub plan: f64,
}

/// Measures a body of about 300 bytes and one of 64 KiB, each operation for `time` in each of `rounds`.
///
/// # Errors
///
/// None: both bodies are well-formed.
pub fn measure(time: Duration, rounds: usize) -> Result<[Figures; 2]> {
    let (small, properties) = work::encoded("bench")?;
    let large = large(64 << 10)?;
    Ok([
        figures(&small, &properties, time, rounds)?,
        figures(&large, &properties, time, rounds)?,
    ])
}

/// An order with so many lines that its envelope has about `size` bytes.
fn large(size: usize) -> Result<Bytes> {
    let mut lines = Vec::new();
    let mut length = 300;
    while length < size {
        let line = format!(
            r#"{{"sku":"A-{:06}","text":"Bolt, hex, {} mm, zinc plated","quantity":{},"price":{}.25,"stock":true,"tags":["metal","ø 8"]}}"#,
            lines.len() * 37,
            lines.len() % 90,
            lines.len() % 7 + 1,
            lines.len() % 50,
        );
        length += line.len() + 1;
        lines.push(line);
    }
    let data = format!(r#"{{"order_id":1042,"lines":[{}]}}"#, lines.join(","));
    let stamp = Stamp {
        message_id: [7; 16],
        trace_id: [9; 16],
        now_ms: 1_790_000_000_000,
    };
    let envelope = NewEnvelope::new("urn:babel:orders:created", Data::from_json(data)?).build(&stamp)?;
    Ok(envelope.encode()?)
}

fn figures(body: &Bytes, properties: &Properties, time: Duration, rounds: usize) -> Result<Figures> {
    let envelope = Envelope::decode(body)?;
    let value: Value = serde_json::from_slice(body)?;
    let policy = Policy::default();
    let delivery = Delivery {
        body: Body::Bytes(body.clone()),
        properties: properties.clone(),
        redelivery_count: 0,
        queue: "bench".into(),
    };
    let mut samples: [Vec<f64>; 5] = Default::default();
    // All operations take turns, so that a disturbance does not hit one of them alone.
    for _ in 0..rounds {
        let round = [
            each(time, || {
                Envelope::decode(black_box(body)).is_ok_and(|envelope| envelope.accepts().is_ok())
            }),
            each(time, || serde_json::from_slice::<Value>(black_box(body)).is_ok()),
            each(time, || black_box(&envelope).encode().is_ok()),
            each(time, || serde_json::to_vec(black_box(&value)).is_ok()),
            each(time, || {
                matches!(plan(black_box(&delivery), &policy, |_| true), Plan::Dispatch(_))
            }),
        ];
        for (samples, nanoseconds) in samples.iter_mut().zip(round) {
            samples.push(nanoseconds);
        }
    }
    let [decode, value_read, encode, value_write, plan] = samples.map(median);
    Ok(Figures {
        bytes: body.len(),
        decode,
        value_read,
        encode,
        value_write,
        plan,
    })
}

/// Nanoseconds for one call, the drop of what it makes included.
fn each(time: Duration, mut call: impl FnMut() -> bool) -> f64 {
    let since = Instant::now();
    let mut calls = 0u32;
    while since.elapsed() < time {
        for _ in 0..16 {
            assert!(black_box(call()), "the operation failed");
        }
        calls += 16;
    }
    since.elapsed().as_nanos() as f64 / f64::from(calls)
}
