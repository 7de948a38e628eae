"""bench.py sdk|bare TASK URL TOPIC COUNT: one task with BabelQueue for Python or with Pulsar's Python client alone.

Standard input has the message: a line with the body and a line with the properties, both JSON. Prints a line of JSON with
the seconds, the CPU seconds, the latencies in microseconds where there are some, and the greatest memory in KiB."""

import json
import logging
import resource
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pulsar

SUBSCRIPTION = "bench"
URN = "urn:babel:orders:created"
BATCH = 100
KEYS = 100
QUIET = logging.getLogger("pulsar")
QUIET.setLevel(logging.ERROR)

who, task, url, topic, count = sys.argv[1:]
count = int(count)
body = sys.stdin.readline().rstrip("\n")
properties = json.loads(sys.stdin.readline())


def client():
    return pulsar.Client(url, logger=QUIET)


def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Meter:
    def __init__(self):
        self.latencies = []
        self.cpu = cpu()
        self.since = time.monotonic()

    def stop(self):
        seconds, used = time.monotonic() - self.since, cpu() - self.cpu
        with open("/proc/self/status") as status:
            peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
        taken = sorted(self.latencies)
        at = lambda part: taken[int(part * (len(taken) - 1))] * 1e6 if taken else None
        print(json.dumps({"seconds": seconds, "cpu": used, "p50": at(0.5), "p99": at(0.99), "peak_kib": peak}))


def publish_bare():
    in_flight = {"publish-1": 1, "publish-500": 500, "publish-batches": 5000}[task]
    options = {"batching_enabled": False}
    if task == "publish-batches":
        options = {
            "batching_enabled": True,
            "batching_max_messages": BATCH,
            "batching_type": pulsar.BatchingType.KeyBased,
        }
    producer = client().create_producer(topic, block_if_queue_full=True, max_pending_messages=in_flight, **options)
    failures, payload = [], body.encode()
    meter = Meter()
    for number in range(count):
        began = time.monotonic()
        if in_flight == 1:
            producer.send(payload, properties=properties)
            meter.latencies.append(time.monotonic() - began)
            continue

        def stored(result, _, began=began):
            meter.latencies.append(time.monotonic() - began)
            if result != pulsar.Result.Ok:
                failures.append(result)

        key = str(number % KEYS) if task == "publish-batches" else None
        producer.send_async(payload, stored, properties=properties, partition_key=key)
    producer.flush()
    while len(meter.latencies) < count:
        time.sleep(0.001)
    meter.stop()
    if failures:
        sys.exit(f"{len(failures)} messages were not stored: {failures[0]}")


def consume_bare():
    meter = Meter()
    it = client()
    consumer = it.subscribe(topic, SUBSCRIPTION, consumer_type=pulsar.ConsumerType.Shared)
    for _ in range(count):
        consumer.acknowledge(consumer.receive(60_000))
    consumer.close()
    meter.stop()


def app():
    from babelqueue import BabelQueue
    from babelqueue.pulsar_transport import PulsarTransport

    namespace, queue = topic.rsplit("/", 1)
    transport = PulsarTransport(client=client(), subscription=SUBSCRIPTION, topic_prefix=namespace + "/")
    return BabelQueue(transport=transport, queue=queue)


def publish_sdk():
    publisher, data = app(), json.loads(body)["data"]
    publisher.publish(URN, data)
    # Its publish waits for the receipt, so more in flight means more threads.
    threads = {"publish-1": 1, "publish-500": 64}[task]
    local = threading.Lock()
    meter = Meter()

    def publish(_):
        began = time.monotonic()
        publisher.publish(URN, data)
        with local:
            meter.latencies.append(time.monotonic() - began)

    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(publish, range(count)):
            pass
    meter.stop()


def consume_sdk():
    it = app()

    @it.handler(URN)
    def handle(data, meta, envelope):
        pass

    meter = Meter()
    handled = it.consume(max_messages=count, timeout=20.0, handle_signals=False)
    it.transport.close()
    meter.stop()
    if handled != count:
        sys.exit(f"{handled} of {count} messages were handled")


{
    ("bare", True): publish_bare,
    ("bare", False): consume_bare,
    ("sdk", True): publish_sdk,
    ("sdk", False): consume_sdk,
}[who, task.startswith("publish")]()
sys.stdout.flush()
# What the client still has to close is not what is measured.
import os

os._exit(0)
