"""chunked.py URL TOPIC: publishes a message of 11 MB in chunks of what the broker takes."""

import sys

import peer
import pulsar

url, topic = sys.argv[1:]
client = peer.client(url)
producer = client.create_producer(topic, batching_enabled=False, chunking_enabled=True)
producer.send(b"\x00" * 11_000_000)
client.close()
peer.end()
