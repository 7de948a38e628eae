"""What the scripts share: the peer's transport on the subscription of the tests."""

import json
import logging
import os
import sys

import pulsar
from babelqueue.pulsar_transport import PulsarTransport

# The client writes to standard output, where the results go.
_quiet = logging.getLogger("pulsar")
_quiet.setLevel(logging.ERROR)

SUBSCRIPTION = "workers"


def client(url):
    return pulsar.Client(url, logger=_quiet)


def transport(url, namespace):
    """Queues are short names; the namespace is put before them."""
    return PulsarTransport(
        client=client(url),
        subscription=SUBSCRIPTION,
        topic_prefix=namespace + "/",
        initial_position=pulsar.InitialPosition.Earliest,
    )


def split(topic):
    return topic.rsplit("/", 1)


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def say(value):
    sys.stdout.write(compact(value) + "\n")


def end(complaint=None):
    """Ends the program without the client's C++ destructors, which now and then abort it."""
    if complaint:
        sys.stderr.write(str(complaint) + "\n")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1 if complaint else 0)


def lines():
    return (line.rstrip("\n") for line in sys.stdin)


sys.stdin.reconfigure(encoding="utf-8", newline="\n")
sys.stdout.reconfigure(encoding="utf-8", newline="\n")
