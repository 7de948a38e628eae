//! The fuzz corpus, replayed as an ordinary test.

#![allow(clippy::unwrap_used)]

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
fn every_stream_of_the_corpus_is_cut_into_the_same_frames_however_it_arrives() {
    replay("frame", checks::frame);
}

#[test]
fn every_batch_of_the_corpus_is_read_or_refused() {
    replay("batch", checks::batch);
}

#[test]
fn every_message_of_the_corpus_is_taken_apart() {
    replay("metadata", checks::metadata);
}

#[test]
fn every_payload_of_the_corpus_is_decompressed_or_refused() {
    replay("decompress", checks::decompression);
}
