//! The fuzz corpus, replayed as an ordinary test.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod checks;

use std::path::Path;

fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let mut replayed = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        check(&std::fs::read(entry.unwrap().path()).unwrap());
        replayed += 1;
    }
    assert!(replayed > 0);
}

#[test]
fn every_body_of_the_corpus_is_decoded_or_refused() {
    replay("decode", checks::decode);
}

#[test]
fn every_body_of_the_corpus_comes_back_from_its_record() {
    replay("poison_record", checks::poison);
}
