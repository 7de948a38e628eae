//! Batches: cut into what was put in; damage ends them at the member it is in.

use bytes::Bytes;
use proptest::prelude::*;
use pulsar_wire::batch::{BatchBuilder, BatchReader};
use pulsar_wire::proto::{KeyValue, SingleMessageMetadata};

#[test]
fn members_come_back_in_order() {
    let payload = batch(&[b"one", b"", b"three"]);
    let members: Vec<_> = BatchReader::new(payload, 3).map(Result::unwrap).collect();
    assert_eq!(members.len(), 3);
    assert_eq!(members[0].payload, &b"one"[..]);
    assert_eq!(members[1].payload, &b""[..]);
    assert_eq!(members[2].payload, &b"three"[..]);
    assert_eq!(members[2].metadata.payload_size, 5);
}

#[test]
fn a_builder_counts_what_it_holds() {
    let mut builder = BatchBuilder::new();
    builder.push(SingleMessageMetadata::default(), b"one");
    assert_eq!(builder.count(), 1);
    let size = builder.size();
    assert_eq!(builder.finish().len(), size);
}

#[test]
fn payloads_are_slices_of_the_batch() {
    let payload = batch(&[b"one"]);
    let member = BatchReader::new(payload.clone(), 1).next().unwrap().unwrap();
    assert!(payload.as_ptr_range().contains(&member.payload.as_ptr()));
}

#[test]
fn a_batch_cut_short_fails_once_at_the_member_that_is_cut() {
    let whole = batch(&[b"one", b"two"]);
    let first = batch(&[b"one"]).len();
    for length in first..whole.len() {
        let read: Vec<_> = BatchReader::new(whole.slice(..length), 2).collect();
        assert_eq!(read.len(), 2);
        assert_eq!(read[0].as_ref().unwrap().payload, &b"one"[..]);
        assert_eq!(read[1].as_ref().unwrap_err().index(), 1);
    }
}

#[test]
fn more_members_announced_than_there_are_is_one_error() {
    let read: Vec<_> = BatchReader::new(batch(&[b"one"]), u32::MAX).collect();
    assert_eq!(read.len(), 2);
    assert_eq!(
        read[1].as_ref().unwrap_err().to_string(),
        "member 1 of the batch ends before its time"
    );
}

#[test]
fn bytes_behind_the_last_member_are_ignored() {
    let read: Vec<_> = BatchReader::new(batch(&[b"one", b"two"]), 1).collect();
    assert_eq!(read.len(), 1);
}

#[test]
fn hostile_lengths_are_errors() {
    let huge_metadata = Bytes::from_static(&[0xff, 0xff, 0xff, 0xff, 1]);
    let huge_payload = Bytes::from_static(&[0, 0, 0, 6, 0x18, 0xff, 0xff, 0xff, 0xff, 0x07]);
    let negative = [&[0, 0, 0, 11, 0x18][..], &[0xff; 9], &[0x01]].concat().into();
    let not_protobuf = Bytes::from_static(&[0, 0, 0, 2, 0xff, 0xff]);
    for payload in [huge_metadata, huge_payload, negative, not_protobuf] {
        let read: Vec<_> = BatchReader::new(payload, 1).collect();
        assert_eq!(read[0].as_ref().unwrap_err().index(), 0);
    }
}

#[test]
fn no_members_are_no_error() {
    assert_eq!(BatchReader::new(Bytes::new(), 0).count(), 0);
}

fn batch(payloads: &[&[u8]]) -> Bytes {
    let mut builder = BatchBuilder::new();
    for payload in payloads {
        builder.push(SingleMessageMetadata::default(), payload);
    }
    builder.finish()
}

proptest! {
    #[test]
    fn any_batch_comes_back(
        members in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..50), any::<Option<u64>>()), 0..10),
    ) {
        let mut builder = BatchBuilder::new();
        for (payload, sequence_id) in &members {
            let property = KeyValue { key: payload.clone().into(), value: "v".into() };
            let metadata =
                SingleMessageMetadata { properties: vec![property], sequence_id: *sequence_id, ..Default::default() };
            builder.push(metadata, payload);
        }
        let count = builder.count();
        let read: Vec<_> = BatchReader::new(builder.finish(), count)
            .map(|member| member.map(|member| (member.payload.to_vec(), member.metadata.sequence_id)))
            .collect::<Result<_, _>>()
            .unwrap();
        prop_assert_eq!(read, members);
    }

    #[test]
    fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..100), count in any::<u32>()) {
        for member in BatchReader::new(bytes.into(), count).take(200) {
            let _ = member;
        }
    }
}
