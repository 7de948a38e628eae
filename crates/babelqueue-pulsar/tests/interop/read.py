"""read.py URL TOPIC SUBSCRIPTION COUNT: prints COUNT messages as the bare client has them, with what the peer's codec
makes of each."""

import base64
import sys

import peer
import pulsar
from babelqueue.codec import EnvelopeCodec
from babelqueue.exceptions import BabelQueueError

url, topic, subscription, count = sys.argv[1:]
client = peer.client(url)
consumer = client.subscribe(topic, subscription, initial_position=pulsar.InitialPosition.Earliest)
for _ in range(int(count)):
    message = consumer.receive(timeout_millis=20_000)
    text = message.data().decode("utf-8", "surrogateescape")
    try:
        decoded = EnvelopeCodec.decode(text)
    except BabelQueueError:
        decoded = None
    peer.say(
        {
            "payload": base64.b64encode(message.data()).decode("ascii"),
            "properties": message.properties(),
            "key": message.partition_key(),
            "decoded": decoded,
            "poison": EnvelopeCodec.poison_cause(text),
        }
    )
client.close()
peer.end()
