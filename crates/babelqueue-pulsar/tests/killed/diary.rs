//! What the workers write down, one line a run: `OUTCOME ID ATTEMPTS`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub(super) struct Diary {
    path: PathBuf,
}

impl Diary {
    pub(super) fn new(topic: &str) -> Self {
        let name = topic.rsplit('/').next().expect("a name");
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::write(&path, "").expect("a diary");
        Self { path }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The messages that ran to this outcome, by id, each with the attempts that its runs were told.
    pub(super) fn runs(&self, outcome: &str) -> BTreeMap<String, Vec<u32>> {
        let text = fs::read_to_string(&self.path).expect("the diary");
        // The last line may be one that is being written.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut runs: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for line in whole.lines() {
            let parts: Vec<_> = line.split(' ').collect();
            let [ended, id, attempts] = parts[..] else {
                panic!("not three words: {line}");
            };
            if ended == outcome {
                let attempts = attempts.parse().expect("a number");
                runs.entry(id.to_owned()).or_default().push(attempts);
            }
        }
        runs
    }
}

impl Drop for Diary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
