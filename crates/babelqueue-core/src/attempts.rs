//! One count of attempts out of the property, the body and the broker's counter
//! (`docs/wire-format.md`, Attempts).

use crate::properties::{ATTEMPTS, Properties};

/// The largest count that the property may carry.
const PROPERTY_MAX: i64 = 2_147_483_647;

/// The count in the `bq-attempts` property, if it is one.
fn property(properties: &Properties) -> Option<i64> {
    let value = properties.get(ATTEMPTS)?;
    if value.is_empty() {
        return None;
    }
    value.iter().try_fold(0, |count: i64, digit| {
        let digit = digit.is_ascii_digit().then(|| i64::from(digit - b'0'))?;
        Some(count * 10 + digit).filter(|count| *count <= PROPERTY_MAX)
    })
}

/// Failed tries so far: the property, else the body, but never below the redelivery count.
pub(crate) fn reconcile(properties: &Properties, body: i64, redelivery_count: u32) -> i64 {
    property(properties).unwrap_or(body).max(redelivery_count.into())
}

/// The number of this delivery, the first being 1.
pub(crate) fn counted(reconciled: i64) -> i64 {
    reconciled.saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reconciled(value: Option<&str>, body: i64, redelivery_count: u32) -> i64 {
        let mut properties = Properties::new();
        if let Some(value) = value {
            properties.set(ATTEMPTS, value.to_owned());
        }
        reconcile(&properties, body, redelivery_count)
    }

    #[test]
    fn the_property_counts_before_the_body_and_never_below_the_broker() {
        let rows = [
            (None, 0, 0, 0),
            (None, 5, 1, 5),
            (Some("4"), 9, 1, 4),
            (Some("4"), 9, 6, 6),
            (Some("007"), 9, 1, 7),
            (Some("2147483647"), 0, 0, 2_147_483_647),
            (None, -5, 0, 0),
        ];
        for (property, body, redelivery_count, expected) in rows {
            assert_eq!(reconciled(property, body, redelivery_count), expected);
            assert_eq!(counted(expected), expected + 1);
        }
    }

    #[test]
    fn a_property_that_is_no_plain_count_is_absent() {
        for value in [
            "+4",
            " 4",
            "4.0",
            "",
            "2147483648",
            "٤",
            "-1",
            "4 ",
            "99999999999999999999",
        ] {
            assert_eq!(reconciled(Some(value), 9, 1), 9, "{value:?}");
        }
    }

    #[test]
    fn a_count_at_the_end_of_the_range_stays_there() {
        assert_eq!(counted(i64::MAX), i64::MAX);
    }
}
