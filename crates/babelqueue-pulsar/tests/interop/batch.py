"""batch.py URL TOPIC COMPRESSION: publishes the lines of standard input with the bare client as one batch."""

import sys

import peer
import pulsar

url, topic, compression = sys.argv[1:]
bodies = [line.encode() for line in peer.lines()]
failed = []
client = peer.client(url)
producer = client.create_producer(
    topic,
    compression_type=getattr(pulsar.CompressionType, compression),
    batching_enabled=True,
    batching_max_messages=len(bodies),
    batching_max_publish_delay_ms=10_000,
)
for body in bodies:
    producer.send_async(body, lambda result, _: failed.append(result) if result != pulsar.Result.Ok else None)
producer.flush()
client.close()
peer.end(f"not stored: {failed}" if failed else None)
