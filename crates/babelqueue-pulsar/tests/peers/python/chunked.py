"""chunked.py URL TOPIC: publishes the line of standard input in chunks of what the broker takes."""

import sys

import peer
import pulsar

url, topic = sys.argv[1:]
client = peer.client(url)
producer = client.create_producer(topic, batching_enabled=False, chunking_enabled=True)
for line in peer.lines():
    producer.send(line.encode())
client.close()
peer.end()
