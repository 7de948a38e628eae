//! The transport against a real broker. One program, since each would link everything again.

/// Runs each test once on a subscription of each type. Behind `only where` stand the tests of what the broker does on
/// some types only: it counts deliveries, gives single messages back and honours delays on Shared and Key_Shared; it
/// rewinds as a whole on Exclusive and Failover.
macro_rules! on_every_type {
    (
        $($test:ident),* $(,)?
        $(; only where counted: $($counted:ident),+ $(,)?)?
        $(; only where rewound: $($rewound:ident),+ $(,)?)?
    ) => {
        on_type!(shared, Shared: $($test,)* $($($counted,)+)?);
        on_type!(key_shared, KeyShared: $($test,)* $($($counted,)+)?);
        on_type!(exclusive, Exclusive: $($test,)* $($($rewound,)+)?);
        on_type!(failover, Failover: $($test,)* $($($rewound,)+)?);
    };
}

macro_rules! on_type {
    ($module:ident, $kind:ident: $($test:ident,)*) => {
        mod $module {
            $(#[tokio::test]
            async fn $test() {
                super::$test(babelqueue_pulsar::SubscriptionType::$kind).await;
            })*
        }
    };
}

mod batches;
mod caps;
mod concurrency;
mod delays;
#[path = "../interop/mod.rs"]
mod interop;
mod outages;
mod partitions;
mod producers;
mod properties;
mod refusals;
mod rows_failed;
mod rows_handled;
mod rows_refused;
mod rows_unwritten;
mod sizes;
mod support;
mod topics;
mod unsettled;
