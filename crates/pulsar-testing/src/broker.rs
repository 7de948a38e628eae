//! The broker a test talks to.

use std::env;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::admin::Admin;
use crate::embedded::Embedded;
use crate::instance::Instance;
use crate::profile::Profile;
use crate::rest::RestAdmin;

/// A running broker: a development broker in this process unless `PULSAR_URL` names a real one. A clone is the same
/// broker; a broker of the test's own ends with the last of them.
#[derive(Clone, Debug)]
pub struct Broker {
    url: String,
    admin: Arc<dyn Admin>,
    place: Place,
}

/// Where it runs and what can be done to it.
#[derive(Clone, Debug)]
enum Place {
    Embedded(Embedded),
    /// Others use it too.
    Shared,
    Own(Arc<Instance>),
}

impl Broker {
    /// The broker named by `PULSAR_URL` and `PULSAR_ADMIN_URL`; without `PULSAR_URL` a development broker of the
    /// test's own. Tests use [`broker!`](crate::broker).
    ///
    /// # Panics
    /// When `PULSAR_URL` is set and `PULSAR_ADMIN_URL` is not.
    #[track_caller]
    #[must_use]
    pub fn from_env() -> Self {
        Self::real().unwrap_or_else(|| Self::embedded(&Profile::default()))
    }

    /// The broker named by `PULSAR_URL` and `PULSAR_ADMIN_URL`; `None` when `PULSAR_URL` is not set. For what only a
    /// real Pulsar can show; tests use [`real_broker_or_skip!`](crate::real_broker_or_skip).
    ///
    /// # Panics
    /// When `PULSAR_URL` is set and `PULSAR_ADMIN_URL` is not.
    #[track_caller]
    #[must_use]
    pub fn real() -> Option<Self> {
        let url = variable("PULSAR_URL")?;
        let Some(admin) = variable("PULSAR_ADMIN_URL") else {
            panic!("PULSAR_URL is set, PULSAR_ADMIN_URL (http://host:port of the same broker) is not");
        };
        Some(Self {
            url,
            admin: Arc::new(RestAdmin::new(&admin)),
            place: Place::Shared,
        })
    }

    /// A broker of the test's own, for tests that restart or kill it, or need a profile: a development broker, or
    /// where `PULSAR_URL` is set a real one started through `scripts/pulsar`; stopped and its data removed on drop.
    ///
    /// # Panics
    /// When it does not start.
    #[track_caller]
    #[must_use]
    pub fn own(name: &str, profile: &Profile) -> Self {
        if variable("PULSAR_URL").is_none() {
            return Self::embedded(profile);
        }
        // Two test programs may use one name at a time.
        let instance = Instance::new(format!("own-{name}-{}", unique()), profile);
        let urls = instance.up();
        Self {
            url: urls.broker,
            admin: Arc::new(RestAdmin::new(&urls.admin)),
            place: Place::Own(Arc::new(instance)),
        }
    }

    /// Whether there is what [`own`](Self::own) needs, so that no test fetches a real broker unasked.
    #[must_use]
    pub fn can_own() -> bool {
        variable("PULSAR_URL").is_none()
            || Instance::jars_are_there()
            || variable("BABELQUEUE_REQUIRE_BROKER").as_deref() == Some("1")
    }

    #[track_caller]
    fn embedded(profile: &Profile) -> Self {
        let embedded = Embedded::start(profile);
        Self {
            url: embedded.url(),
            admin: Arc::new(embedded.clone()),
            place: Place::Embedded(embedded),
        }
    }

    /// Where a client connects: `pulsar://host:port`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What the broker can be asked to do.
    #[must_use]
    pub fn admin(&self) -> &dyn Admin {
        &*self.admin
    }

    /// The full name of a topic nobody else uses; the topic itself is not made.
    #[must_use]
    pub fn topic(&self, stem: &str) -> String {
        self.topic_in("public/default", stem)
    }

    /// The same in a namespace such as `public/orders`.
    #[must_use]
    pub fn topic_in(&self, namespace: &str, stem: &str) -> String {
        format!("persistent://{namespace}/{stem}-{}", unique())
    }

    /// Makes a namespace nobody else uses, for a test that sets policies, and gives its name: `public/<stem>-...`.
    ///
    /// # Panics
    /// When the broker refuses.
    #[track_caller]
    #[must_use]
    pub fn namespace(&self, stem: &str) -> String {
        let namespace = format!("public/{stem}-{}", unique());
        self.admin().create_namespace(&namespace);
        namespace
    }

    /// Stops it in an orderly way. Ports and data are kept.
    ///
    /// # Panics
    /// When it is not the test's own, or does not stop.
    #[track_caller]
    pub fn stop(&self) {
        match &self.place {
            Place::Embedded(embedded) => embedded.stop(),
            Place::Own(instance) => instance.down(),
            Place::Shared => self.is_shared("stop"),
        }
    }

    /// Starts it after [`stop`](Self::stop) or [`kill`](Self::kill), at the same URLs with the same data.
    ///
    /// # Panics
    /// When it is not the test's own, or does not start.
    #[track_caller]
    pub fn start(&self) {
        match &self.place {
            Place::Embedded(embedded) => embedded.start_again(),
            Place::Own(instance) => {
                let urls = instance.up();
                assert_eq!(urls.broker, self.url, "the broker came back elsewhere");
            }
            Place::Shared => self.is_shared("start"),
        }
    }

    /// Stops it in an orderly way and starts it again.
    ///
    /// # Panics
    /// When it is not the test's own, or does not come back.
    #[track_caller]
    pub fn restart(&self) {
        match &self.place {
            Place::Embedded(embedded) => {
                embedded.stop();
                embedded.start_again();
            }
            Place::Own(instance) => instance.restart(),
            Place::Shared => self.is_shared("restart"),
        }
    }

    /// Ends it as a crash would, a real one with SIGKILL: acknowledgements that it had not stored are forgotten.
    ///
    /// # Panics
    /// When it is not the test's own.
    #[track_caller]
    pub fn kill(&self) {
        match &self.place {
            Place::Embedded(embedded) => embedded.crash(),
            Place::Own(instance) => instance.kill(),
            Place::Shared => self.is_shared("kill"),
        }
    }

    #[track_caller]
    fn is_shared(&self, verb: &str) -> ! {
        panic!("cannot {verb} the shared broker {}: use own_broker!", self.url);
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// Different for every call in every program that uses the broker: topics outlive test programs.
fn unique() -> String {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("the clock is past 1970");
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    format!("{:x}-{:x}-{call}", now.as_millis(), process::id())
}
