"""Publishes batches as Python's client makes them: URL, topic, compression, size of a batch."""

import sys

import pulsar

url, topic, compression, size = sys.argv[1:]
size = int(size)
client = pulsar.Client(url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
producer = client.create_producer(
    topic,
    compression_type=getattr(pulsar.CompressionType, compression),
    batching_enabled=True,
    batching_max_messages=max(size, 2),
    batching_max_publish_delay_ms=1000,
)
for number in range(size):
    body = ("%d " % number) + "body " * 20
    producer.send_async(body.encode(), None, properties={"number": str(number)}, partition_key="k%d" % (number % 3))
producer.flush()
client.close()
