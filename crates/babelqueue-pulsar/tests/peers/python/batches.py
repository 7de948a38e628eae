"""batches.py URL: publishes each line of standard input, a topic, a codec and bodies between tabs, as one batch."""

import sys

import peer
import pulsar

CODECS = {
    "NONE": pulsar.CompressionType.NONE,
    "LZ4": pulsar.CompressionType.LZ4,
    "ZLIB": pulsar.CompressionType.ZLib,
    "ZSTD": pulsar.CompressionType.ZSTD,
    "SNAPPY": pulsar.CompressionType.SNAPPY,
}

failed = []
client = peer.client(sys.argv[1])
for line in peer.lines():
    topic, codec, *bodies = line.split("\t")
    producer = client.create_producer(
        topic,
        compression_type=CODECS[codec],
        batching_enabled=True,
        # The client takes no less than two; flushing ends the batch.
        batching_max_messages=max(2, len(bodies)),
        batching_max_publish_delay_ms=10_000,
    )
    for body in bodies:
        producer.send_async(
            body.encode(), lambda result, _: failed.append(result) if result != pulsar.Result.Ok else None
        )
    producer.flush()
    producer.close()
client.close()
peer.end(f"not stored: {failed}" if failed else None)
