"""consume.py URL TOPIC URN COUNT OUTCOME: handles COUNT deliveries with the peer's runtime, with a dead-letter queue;
prints each envelope that the handler sees. OUTCOME is `succeed` or `fail`."""

import sys

import peer
from babelqueue import BabelQueue

url, topic, urn, count, outcome = sys.argv[1:]
namespace, queue = peer.split(topic)
app = BabelQueue(transport=peer.transport(url, namespace), queue=queue, dead_letter=True)


@app.handler(urn)
def handle(data, meta, envelope):
    peer.say({"data": data, "meta": dict(meta), "attempts": envelope["attempts"], "trace_id": envelope["trace_id"]})
    if outcome == "fail":
        raise ValueError("probe offline")


handled = app.consume(max_messages=int(count), timeout=20.0, handle_signals=False)
app.transport.close()
peer.end(None if handled == int(count) else f"{handled} deliveries instead of {count}")
