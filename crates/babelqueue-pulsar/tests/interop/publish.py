"""publish.py URL TOPIC URN: publishes each line of standard input as data; prints the ids."""

import json
import sys

import peer
from babelqueue import BabelQueue

url, topic, urn = sys.argv[1:]
namespace, queue = peer.split(topic)
app = BabelQueue(transport=peer.transport(url, namespace), queue=queue)
for line in peer.lines():
    peer.say(app.publish(urn, json.loads(line)))
app.transport.close()
peer.end()
