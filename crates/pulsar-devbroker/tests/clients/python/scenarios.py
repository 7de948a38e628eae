"""scenarios.py URL TOPIC: what Pulsar's Python client sees of a broker, as one JSON object.

TOPIC has partitions; the other topics are made here and begin with its name. The programs of the other clients do the
same and name it the same.
"""

import datetime
import importlib.metadata
import json
import logging
import re
import sys
import time

import pulsar
from pulsar.schema import Integer, JsonSchema, Record, String

PATIENCE = 20_000
QUIET = 300
SHARED, KEY_SHARED = pulsar.ConsumerType.Shared, pulsar.ConsumerType.KeyShared
EXCLUSIVE, FAILOVER = pulsar.ConsumerType.Exclusive, pulsar.ConsumerType.Failover
CODECS = ["NONE", "LZ4", "ZLib", "ZSTD", "SNAPPY"]

# The client writes to standard output, where the observations go.
quiet = logging.getLogger("pulsar")
quiet.setLevel(logging.CRITICAL)
url, partitioned_topic = sys.argv[1:]
client = pulsar.Client(url, logger=quiet)


def topic(name):
    return f"{partitioned_topic}-{name}"


def subscribe(name, kind=EXCLUSIVE, subscription="workers", **options):
    options = {
        "initial_position": pulsar.InitialPosition.Earliest,
        "negative_ack_redelivery_delay_ms": 200,
        **options,
    }
    return client.subscribe(name, subscription, consumer_type=kind, **options)


def publish(name, texts, **options):
    producer = client.create_producer(name)
    ids = [producer.send(text.encode(), **options) for text in texts]
    producer.close()
    return ids


def publish_batch(name, texts, **options):
    """As one batch: flushing ends it."""
    producer = client.create_producer(
        name, batching_enabled=True, batching_max_messages=100, batching_max_publish_delay_ms=10_000, **options
    )
    failed = []
    for text in texts:
        producer.send_async(text.encode(), lambda result, _: result == pulsar.Result.Ok or failed.append(result))
    producer.flush()
    producer.close()
    assert not failed, failed


def receive(consumer, count):
    return [consumer.receive(PATIENCE) for _ in range(count)]


def acknowledge(consumer, messages):
    for message in messages:
        consumer.acknowledge(message)
    return messages


def rest(consumer):
    """What comes until nothing comes for a while, acknowledged."""
    messages = []
    try:
        while True:
            messages += acknowledge(consumer, [consumer.receive(QUIET)])
    except pulsar.Timeout:
        return messages


def take(consumer, count):
    """That many, acknowledged, and whatever comes too much."""
    return acknowledge(consumer, receive(consumer, count)) + rest(consumer)


def text(message):
    return message.data().decode()


def texts(messages):
    return [text(message) for message in messages]


def counts(messages):
    return [count(message) for message in messages]


def count(message):
    redeliveries = message.redelivery_count()
    return f"{text(message)} (redelivery {redeliveries})" if redeliveries else text(message)


def numbered(count, stem="order"):
    return [f"{stem} {n}" for n in range(count)]


def error_of(action):
    try:
        action()
        return "none"
    except pulsar.PulsarException as error:
        return type(error).__name__


def single():
    consumer = subscribe(topic("single"))
    options = {"properties": {"a": "1", "b": "2"}, "partition_key": "k", "ordering_key": "o", "event_timestamp": 42}
    ids = publish(topic("single"), numbered(5), **options)
    messages = take(consumer, 5)
    first = messages[0]
    return {
        "received": counts(messages),
        "ids are those of the receipts": [m.message_id().entry_id() for m in messages] == [i.entry_id() for i in ids],
        "properties": first.properties(),
        "keys": [first.partition_key(), first.ordering_key()],
        "event time": first.event_timestamp(),
        "topic": first.topic_name().replace(partitioned_topic, "TOPIC"),
    }


def batched():
    consumer = subscribe(topic("batched"))
    publish_batch(topic("batched"), numbered(5))
    messages = take(consumer, 5)
    return {
        "received": counts(messages),
        "entries": len({m.message_id().entry_id() for m in messages}),
        "places": [m.message_id().batch_index() for m in messages],
    }


def compressed():
    seen = {}
    for codec in CODECS:
        name, kind = topic(f"compressed-{codec}"), getattr(pulsar.CompressionType, codec)
        consumer = subscribe(name)
        producer = client.create_producer(name, compression_type=kind)
        producer.send(b"order " * 100)
        producer.close()
        publish_batch(name, numbered(3), compression_type=kind)
        seen[codec.upper()] = [len(m.data()) if m.data()[6:7] == b"o" else text(m) for m in take(consumer, 4)]
    return seen


def exclusive():
    consumer = subscribe(topic("exclusive"))
    second = error_of(lambda: subscribe(topic("exclusive")))
    other_kind = error_of(lambda: subscribe(topic("exclusive"), SHARED))
    publish(topic("exclusive"), numbered(5))
    first = receive(consumer, 5)
    consumer.acknowledge_cumulative(first[2])
    consumer.close()
    return {
        "received": texts(first),
        "second": second,
        "of another type": other_kind,
        "after a cumulative ack": counts(take(subscribe(topic("exclusive")), 2)),
    }


def shared():
    consumers = [subscribe(topic("shared"), SHARED, receiver_queue_size=1) for _ in range(2)]
    publish(topic("shared"), numbered(20))
    taken = [[], []]
    while sum(map(len, taken)) < 20:
        for mine, consumer in zip(taken, consumers):
            mine += rest(consumer)
    return {"received": sorted(texts(taken[0] + taken[1])), "both work": bool(taken[0] and taken[1])}


def failover():
    consumers = [subscribe(topic("failover"), FAILOVER, consumer_name=name) for name in ("a", "b")]
    publish(topic("failover"), numbered(3))
    deadline = time.time() + PATIENCE / 1000
    active = None
    while active is None and time.time() < deadline:
        for consumer in consumers:
            try:
                first, active = consumer.receive(QUIET), consumer
                break
            except pulsar.Timeout:
                pass
    standby = next(consumer for consumer in consumers if consumer is not active)
    messages = [first] + receive(active, 2)
    active.acknowledge(messages[0])
    idle = texts(rest(standby))
    active.close()
    publish(topic("failover"), numbered(2, "late"))
    return {"active": texts(messages), "standby": idle, "after the change": counts(take(standby, 4))}


def key_shared():
    consumers = [subscribe(topic("key-shared"), KEY_SHARED, consumer_name=name) for name in ("a", "b")]
    producer = client.create_producer(topic("key-shared"))
    for n in range(100):
        producer.send(str(n).encode(), partition_key=f"k{n % 20}")
    seen = []
    for consumer in consumers:
        by_key = {}
        for message in rest(consumer):
            by_key.setdefault(message.partition_key(), []).append(int(text(message)))
        seen.append(by_key)
    lists = [numbers for by_key in seen for numbers in by_key.values()]
    return {
        "messages": sum(map(len, lists)),
        "one consumer a key": not set(seen[0]) & set(seen[1]),
        "in order per key": all(numbers == sorted(numbers) for numbers in lists),
        "both work": bool(seen[0] and seen[1]),
    }


def nack():
    seen = {}
    for name, kind in (("shared", SHARED), ("key shared", KEY_SHARED), ("exclusive", EXCLUSIVE), ("failover", FAILOVER)):
        consumer = subscribe(topic(f"nack-{name.replace(' ', '-')}"), kind)
        publish(consumer.topic(), numbered(3), partition_key="k")
        messages = receive(consumer, 3)
        acknowledge(consumer, [messages[0], messages[2]])
        consumer.negative_acknowledge(messages[1])
        again = receive(consumer, 1)
        consumer.negative_acknowledge(again[0])
        seen[name] = [counts(messages), counts(again), counts(take(consumer, 1))]
    return seen


def nack_in_a_batch():
    consumer = subscribe(topic("nack-batch"), SHARED)
    publish_batch(topic("nack-batch"), numbered(3))
    messages = receive(consumer, 3)
    acknowledge(consumer, [messages[0], messages[2]])
    consumer.negative_acknowledge(messages[1])
    return [counts(messages), counts(take(consumer, 1))]


def unacknowledged():
    consumer = subscribe(topic("unacknowledged"), SHARED)
    publish(topic("unacknowledged"), numbered(3))
    first = receive(consumer, 3)
    consumer.redeliver_unacknowledged_messages()
    second = receive(consumer, 3)
    consumer.close()
    third = take(subscribe(topic("unacknowledged"), SHARED), 3)
    return [sorted(counts(messages)) for messages in (first, second, third)]


def delayed():
    seen = {}
    for name, kind in (("shared", SHARED), ("exclusive", EXCLUSIVE)):
        consumer = subscribe(topic(f"delayed-{name}"), kind)
        sent = time.time()
        publish(consumer.topic(), ["late"], deliver_after=datetime.timedelta(seconds=3))
        publish(consumer.topic(), ["early"])
        seen[name] = []
        for _ in range(2):
            message = consumer.receive(PATIENCE)
            # The broker may be up to a second early.
            seen[name].append(text(message) + (" in time" if time.time() - sent >= 2 else " at once"))
    return seen


def dead_letter():
    name, dead = topic("dead-letter"), topic("dead-letter-dlq")
    policy = pulsar.ConsumerDeadLetterPolicy(2, dead, "keepers")
    consumer = subscribe(name, SHARED, dead_letter_policy=policy)
    publish(name, ["poison", "fine"], properties={"a": "1"})
    deliveries = []
    while len(deliveries) < 4:
        message = consumer.receive(PATIENCE)
        deliveries.append(count(message))
        if text(message) == "poison":
            consumer.negative_acknowledge(message)
        else:
            consumer.acknowledge(message)
    keepers = subscribe(dead, SHARED, "keepers")
    letters = take(keepers, 1)
    consumer.close()
    return {
        "deliveries": sorted(deliveries),
        "letters": texts(letters),
        "properties": sorted(letters[0].properties()),
        "left": texts(rest(subscribe(name, SHARED))),
    }


def reader():
    name = topic("reader")
    empty = client.create_reader(name, pulsar.MessageId.earliest)
    before = empty.has_message_available()
    ids = publish(name, numbered(5))

    def read(start, **options):
        reader, found = client.create_reader(name, start, **options), []
        while reader.has_message_available():
            found.append(text(reader.read_next(PATIENCE)))
        return found

    latest = client.create_reader(name, pulsar.MessageId.latest)
    nothing = latest.has_message_available()
    publish(name, ["new"])
    return {
        "before": before,
        "after": empty.has_message_available(),
        "earliest": read(pulsar.MessageId.earliest),
        "behind an id": read(ids[2]),
        "from an id": read(ids[2], start_message_id_inclusive=True),
        "latest": [nothing, text(latest.read_next(PATIENCE))],
        "latest inclusive": read(pulsar.MessageId.latest, start_message_id_inclusive=True),
    }


def reader_in_a_batch():
    name = topic("reader-batch")
    consumer = subscribe(name)
    publish_batch(name, numbered(5))
    ids = [message.message_id() for message in receive(consumer, 5)]
    reader, found = client.create_reader(name, ids[2]), []
    while reader.has_message_available():
        found.append(text(reader.read_next(PATIENCE)))
    return found


def seek():
    consumer = subscribe(topic("seek"), SHARED)
    keeper = subscribe(topic("seek"), SHARED, "keeper")
    ids = publish(topic("seek"), numbered(3))
    time.sleep(0.02)
    between = int(time.time() * 1000)
    time.sleep(0.02)
    publish(topic("seek"), numbered(2, "late"))
    seen = {"first": texts(take(consumer, 5))}
    places = {"earliest": pulsar.MessageId.earliest, "an id": ids[1], "a time": between, "latest": pulsar.MessageId.latest}
    for place, target in places.items():
        consumer.seek(target)
        seen[place] = counts(take(consumer, 0 if place == "latest" else 1))
    publish(topic("seek"), ["new"])
    seen["after latest"] = counts(take(consumer, 1))
    seen["another subscription"] = len(take(keeper, 6))
    return seen


def unsubscribe():
    consumer = subscribe(topic("unsubscribe"))
    publish(topic("unsubscribe"), ["old"])
    consumer.unsubscribe()
    consumer = subscribe(topic("unsubscribe"), initial_position=pulsar.InitialPosition.Latest)
    publish(topic("unsubscribe"), ["new"])
    return texts(take(consumer, 1))


def pattern():
    for name in ("a", "b"):
        publish(topic(f"pattern-{name}"), [name])
    publish(topic("other"), ["other"])
    # Of a topic that is new later it takes no notice within reasonable time, unlike the other clients.
    consumer = subscribe(re.compile(topic("pattern-.*")), SHARED)
    return sorted(texts(take(consumer, 2)))


def non_persistent():
    name = "non-" + topic("passing")
    consumer = subscribe(name)
    publish(name, numbered(3))
    seen = texts(take(consumer, 3))
    return [seen, texts(rest(subscribe(name, subscription="later")))]


def partitioned():
    consumer = subscribe(partitioned_topic)
    producer = client.create_producer(partitioned_topic)
    for n in range(60):
        producer.send(str(n).encode(), partition_key=f"k{n % 12}")
    messages = take(consumer, 60)
    by_key = {}
    for message in messages:
        by_key.setdefault(message.partition_key(), []).append(int(text(message)))
    return {
        "partitions": len(client.get_topic_partitions(partitioned_topic)),
        "used": len({message.message_id().partition() for message in messages}),
        "messages": len(messages),
        "in order per key": all(numbers == sorted(numbers) for numbers in by_key.values()),
    }


class Order(Record):
    name = String()
    count = Integer()


def schema():
    kind = JsonSchema(Order)
    consumer = subscribe(topic("schema"), schema=kind)
    producer = client.create_producer(topic("schema"), schema=kind)
    producer.send(Order(name="pen", count=3))
    message = receive(consumer, 1)[0]
    return {
        "value": [message.value().name, message.value().count],
        "version": message.schema_version() and list(message.schema_version().encode()),
        "other kind": error_of(lambda: client.create_producer(topic("schema"), schema=pulsar.schema.StringSchema())),
    }


def producers():
    name = topic("producers")
    # An exclusive one must be the only one.
    first = client.create_producer(name, producer_name="one")
    exclusive = pulsar.ProducerAccessMode.Exclusive
    seen = {
        "same name": error_of(lambda: client.create_producer(name, producer_name="one")),
        "exclusive beside it": error_of(lambda: client.create_producer(name, access_mode=exclusive)),
    }
    first.close()
    second = client.create_producer(name, access_mode=exclusive)
    seen["beside an exclusive one"] = error_of(lambda: client.create_producer(name))
    second.close()
    seen["in no namespace"] = error_of(lambda: client.create_producer("persistent://public/nowhere/a"))
    return seen


SCENARIOS = [
    single, batched, compressed, exclusive, shared, failover, key_shared, nack, nack_in_a_batch, unacknowledged, delayed,
    dead_letter, reader, reader_in_a_batch, seek, unsubscribe, pattern, non_persistent, partitioned, schema, producers,
]  # fmt: skip

observations = {}
for scenario in SCENARIOS:
    started = time.time()
    observations[scenario.__name__.replace("_", " ")] = scenario()
    print(f"{scenario.__name__}: {time.time() - started:.1f} s", file=sys.stderr)
client.close()
print(json.dumps({"client": importlib.metadata.version("pulsar-client"), "observations": observations}))
