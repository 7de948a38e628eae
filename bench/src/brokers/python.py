"""Publishes or consumes with Pulsar's Python client and prints how many seconds that took."""

import sys
import time

import pulsar


def produce(client, topic, count, batch, size):
    body = b"x" * int(size)
    failures = []

    def stored(result, _message_id):
        if result != pulsar.Result.Ok:
            failures.append(result)

    options = {"batching_enabled": False}
    if int(batch) > 1:
        options = {"batching_enabled": True, "batching_max_messages": int(batch)}
    producer = client.create_producer(topic, block_if_queue_full=True, **options)
    since = time.monotonic()
    for _ in range(int(count)):
        producer.send_async(body, stored)
    producer.flush()
    took = time.monotonic() - since
    producer.close()
    if failures:
        sys.exit(f"{len(failures)} messages were not stored: {failures[0]}")
    return took


def consume(client, topic, count, subscription):
    since = time.monotonic()
    consumer = client.subscribe(topic, subscription, consumer_type=pulsar.ConsumerType.Shared)
    for _ in range(int(count)):
        consumer.acknowledge(consumer.receive(60_000))
    took = time.monotonic() - since
    consumer.close()
    return took


def main(task, *arguments):
    if task == "version":
        print(pulsar.__version__)
        return
    url, *rest = arguments
    client = pulsar.Client(url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    print({"produce": produce, "consume": consume}[task](client, *rest))
    client.close()


main(*sys.argv[1:])
