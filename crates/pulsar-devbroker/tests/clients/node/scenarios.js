// scenarios.js URL TOPIC: what Pulsar's Node client sees of a broker, as one JSON object.
//
// TOPIC has partitions; the other topics are made here and begin with its name. The programs of the other clients do the
// same and name it the same.

const Pulsar = require('pulsar-client');
const { version } = require('pulsar-client/package.json');

const PATIENCE = 20_000;
const QUIET = 300;
const KINDS = { exclusive: 'Exclusive', shared: 'Shared', failover: 'Failover', 'key shared': 'KeyShared' };
const CODECS = { NONE: undefined, LZ4: 'LZ4', ZLIB: 'Zlib', ZSTD: 'ZSTD', SNAPPY: 'SNAPPY' };

const [url, partitionedTopic] = process.argv.slice(2);
Pulsar.Client.setLogHandler(() => {});
const client = new Pulsar.Client({ serviceUrl: url });

const topic = (name) => `${partitionedTopic}-${name}`;

const subscribe = (name, kind = 'Exclusive', options = {}) => client.subscribe({
  topic: name, subscription: 'workers', subscriptionType: kind, subscriptionInitialPosition: 'Earliest',
  nAckRedeliverTimeoutMs: 200, ...options,
});

async function publish(name, texts, like = {}, options = {}) {
  const producer = await client.createProducer({ topic: name, batchingEnabled: false, ...options });
  const ids = [];
  for (const text of texts) ids.push(await producer.send({ data: Buffer.from(text), ...like }));
  await producer.close();
  return ids;
}

// As one batch: flushing ends it.
async function publishBatch(name, texts, options = {}) {
  const producer = await client.createProducer({
    topic: name, batchingEnabled: true, batchingMaxMessages: 100, batchingMaxPublishDelayMs: 10_000, ...options,
  });
  const receipts = texts.map((text) => producer.send({ data: Buffer.from(text) }));
  await producer.flush();
  await Promise.all(receipts);
  await producer.close();
}

async function publishWithKeys(name, count, keys) {
  const producer = await client.createProducer({ topic: name, batchingEnabled: false });
  for (let n = 0; n < count; n++) await producer.send({ data: Buffer.from(`${n}`), partitionKey: `k${n % keys}` });
  await producer.close();
}

const next = (consumer, within) => consumer.receive(within).catch(() => null);

async function receive(consumer, count) {
  const messages = [];
  while (messages.length < count) {
    const message = await next(consumer, PATIENCE);
    if (!message) throw new Error(`only ${texts(messages)} came of ${count}`);
    messages.push(message);
  }
  return messages;
}

async function acknowledge(consumer, messages) {
  for (const message of messages) await consumer.acknowledge(message);
}

// What comes until nothing comes for a while, acknowledged.
async function rest(consumer) {
  const messages = [];
  for (let message; (message = await next(consumer, QUIET));) {
    await consumer.acknowledge(message);
    messages.push(message);
  }
  return messages;
}

// That many, acknowledged, and whatever comes too much.
async function take(consumer, count) {
  const messages = await receive(consumer, count);
  await acknowledge(consumer, messages);
  return messages.concat(await rest(consumer));
}

async function read(name, startMessageId) {
  const reader = await client.createReader({ topic: name, startMessageId });
  const found = [];
  while (reader.hasNext()) found.push(text(await reader.readNext(PATIENCE)));
  await reader.close();
  return found;
}

const text = (message) => message.getData().toString();
const texts = (messages) => messages.map(text);
const numbered = (count, stem = 'order') => [...Array(count).keys()].map((n) => `${stem} ${n}`);
const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
// (ledger,entry,partition,place in the batch)
const numbers = (id) => id.toString().match(/-?\d+/g).map(Number);
const errorOf = (action) => action.then(() => 'none', (error) => error.message.split(': ').pop());

function count(message) {
  const redeliveries = message.getRedeliveryCount();
  return redeliveries ? `${text(message)} (redelivery ${redeliveries})` : text(message);
}
const counts = (messages) => messages.map(count);

function byKey(messages) {
  const found = {};
  for (const message of messages) (found[message.getPartitionKey()] ??= []).push(Number(text(message)));
  return found;
}
const inOrder = (keys) => Object.values(keys).every((list) => list.every((n, at) => at === 0 || list[at - 1] < n));

const scenarios = {
  async single() {
    const consumer = await subscribe(topic('single'));
    const like = { properties: { a: '1', b: '2' }, partitionKey: 'k', orderingKey: 'o', eventTimestamp: 42 };
    const ids = await publish(topic('single'), numbered(5), like);
    const messages = await take(consumer, 5);
    const [first] = messages;
    return {
      received: counts(messages),
      'ids are those of the receipts': ids.every((id, n) => numbers(id)[1] === numbers(messages[n].getMessageId())[1]),
      // Their names stand on an array.
      properties: { ...first.getProperties() },
      keys: [first.getPartitionKey(), first.getOrderingKey()],
      'event time': first.getEventTimestamp(),
      topic: first.getTopicName().replace(partitionedTopic, 'TOPIC'),
    };
  },

  async batched() {
    const consumer = await subscribe(topic('batched'));
    await publishBatch(topic('batched'), numbered(5));
    const messages = await take(consumer, 5);
    const ids = messages.map((message) => numbers(message.getMessageId()));
    return { received: counts(messages), entries: new Set(ids.map((id) => id[1])).size, places: ids.map((id) => id[3]) };
  },

  async compressed() {
    const seen = {};
    for (const [codec, compressionType] of Object.entries(CODECS)) {
      const name = topic(`compressed-${codec}`);
      const options = compressionType ? { compressionType } : {};
      const consumer = await subscribe(name);
      await publish(name, ['order '.repeat(100)], {}, options);
      await publishBatch(name, numbered(3), options);
      const [first, ...others] = texts(await take(consumer, 4));
      seen[codec] = [first.length, ...others];
    }
    return seen;
  },

  async exclusive() {
    const consumer = await subscribe(topic('exclusive'));
    const second = await errorOf(subscribe(topic('exclusive')));
    const otherKind = await errorOf(subscribe(topic('exclusive'), 'Shared'));
    await publish(topic('exclusive'), numbered(5));
    const first = await receive(consumer, 5);
    await consumer.acknowledgeCumulative(first[2]);
    await consumer.close();
    return {
      received: texts(first),
      second,
      'of another type': otherKind,
      'after a cumulative ack': counts(await take(await subscribe(topic('exclusive')), 2)),
    };
  },

  async shared() {
    const consumers = [];
    for (let n = 0; n < 2; n++) consumers.push(await subscribe(topic('shared'), 'Shared', { receiverQueueSize: 1 }));
    await publish(topic('shared'), numbered(20));
    const taken = [[], []];
    while (taken.flat().length < 20) for (const n of [0, 1]) taken[n].push(...await rest(consumers[n]));
    return { received: texts(taken.flat()).sort(), 'both work': taken.every((mine) => mine.length > 0) };
  },

  async failover() {
    let active = await subscribe(topic('failover'), 'Failover', { consumerName: 'a' });
    let standby = await subscribe(topic('failover'), 'Failover', { consumerName: 'b' });
    await publish(topic('failover'), numbered(3));
    let first = null;
    for (const until = Date.now() + PATIENCE; !first && Date.now() < until;) {
      first = await next(active, QUIET);
      if (!first) [active, standby] = [standby, active];
    }
    const messages = [first, ...await receive(active, 2)];
    await active.acknowledge(first);
    const idle = texts(await rest(standby));
    await active.close();
    await publish(topic('failover'), numbered(2, 'late'));
    return { active: texts(messages), standby: idle, 'after the change': counts(await take(standby, 4)) };
  },

  async 'key shared'() {
    const consumers = [];
    for (const consumerName of ['a', 'b']) consumers.push(await subscribe(topic('key-shared'), 'KeyShared', { consumerName }));
    await publishWithKeys(topic('key-shared'), 100, 20);
    const first = byKey(await rest(consumers[0]));
    const second = byKey(await rest(consumers[1]));
    return {
      messages: [first, second].flatMap((keys) => Object.values(keys)).flat().length,
      'one consumer a key': Object.keys(first).every((key) => !(key in second)),
      'in order per key': inOrder(first) && inOrder(second),
      'both work': Object.keys(first).length > 0 && Object.keys(second).length > 0,
    };
  },

  async nack() {
    const seen = {};
    for (const [kindName, kind] of Object.entries(KINDS)) {
      const name = topic(`nack-${kind}`);
      const consumer = await subscribe(name, kind);
      await publish(name, numbered(3), { partitionKey: 'k' });
      const messages = await receive(consumer, 3);
      await acknowledge(consumer, [messages[0], messages[2]]);
      consumer.negativeAcknowledge(messages[1]);
      const again = await receive(consumer, 1);
      consumer.negativeAcknowledge(again[0]);
      seen[kindName] = [counts(messages), counts(again), counts(await take(consumer, 1))];
    }
    return seen;
  },

  async 'nack in a batch'() {
    const consumer = await subscribe(topic('nack-batch'), 'Shared');
    await publishBatch(topic('nack-batch'), numbered(3));
    const messages = await receive(consumer, 3);
    await acknowledge(consumer, [messages[0], messages[2]]);
    consumer.negativeAcknowledge(messages[1]);
    return [counts(messages), counts(await take(consumer, 1))];
  },

  async unacknowledged() {
    const consumer = await subscribe(topic('unacknowledged'), 'Shared');
    await publish(topic('unacknowledged'), numbered(3));
    const first = counts(await receive(consumer, 3));
    await consumer.close();
    return [first, counts(await take(await subscribe(topic('unacknowledged'), 'Shared'), 3)).sort()];
  },

  async delayed() {
    const seen = {};
    for (const name of ['shared', 'exclusive']) {
      const consumer = await subscribe(topic(`delayed-${name}`), KINDS[name]);
      const sent = Date.now();
      await publish(topic(`delayed-${name}`), ['late'], { deliverAfter: 3000 });
      await publish(topic(`delayed-${name}`), ['early']);
      seen[name] = [];
      for (let n = 0; n < 2; n++) {
        const [message] = await receive(consumer, 1);
        // The broker may be up to a second early.
        seen[name].push(text(message) + (Date.now() - sent >= 2000 ? ' in time' : ' at once'));
      }
    }
    return seen;
  },

  async 'dead letter'() {
    const name = topic('dead-letter');
    const deadLetterTopic = topic('dead-letter-dlq');
    const consumer = await subscribe(name, 'Shared', {
      deadLetterPolicy: { maxRedeliverCount: 2, deadLetterTopic, initialSubscriptionName: 'keepers' },
    });
    await publish(name, ['poison', 'fine'], { properties: { a: '1' } });
    const deliveries = [];
    while (deliveries.length < 4) {
      const [message] = await receive(consumer, 1);
      deliveries.push(count(message));
      if (text(message) === 'poison') consumer.negativeAcknowledge(message);
      else await consumer.acknowledge(message);
    }
    const letters = await take(await subscribe(deadLetterTopic, 'Shared', { subscription: 'keepers' }), 1);
    await consumer.close();
    return {
      deliveries: deliveries.sort(),
      letters: texts(letters),
      properties: Object.keys(letters[0].getProperties()).sort(),
      left: texts(await rest(await subscribe(name, 'Shared'))),
    };
  },

  async reader() {
    const name = topic('reader');
    const empty = await client.createReader({ topic: name, startMessageId: Pulsar.MessageId.earliest() });
    const before = empty.hasNext();
    const ids = await publish(name, numbered(5));
    const latest = await client.createReader({ topic: name, startMessageId: Pulsar.MessageId.latest() });
    const nothing = latest.hasNext();
    await publish(name, ['new']);
    return {
      before,
      after: empty.hasNext(),
      earliest: await read(name, Pulsar.MessageId.earliest()),
      'behind an id': await read(name, ids[2]),
      latest: [nothing, text(await latest.readNext(PATIENCE))],
    };
  },

  async seek() {
    const consumer = await subscribe(topic('seek'), 'Shared');
    const keeper = await subscribe(topic('seek'), 'Shared', { subscription: 'keeper' });
    const ids = await publish(topic('seek'), numbered(3));
    await pause(20);
    const between = Date.now();
    await pause(20);
    await publish(topic('seek'), numbered(2, 'late'));
    const seen = { first: counts(await take(consumer, 5)) };
    await consumer.seek(Pulsar.MessageId.earliest());
    seen.earliest = counts(await take(consumer, 1));
    await consumer.seek(ids[1]);
    seen['an id'] = counts(await take(consumer, 1));
    await consumer.seekTimestamp(between);
    seen['a time'] = counts(await take(consumer, 1));
    await consumer.seek(Pulsar.MessageId.latest());
    seen.latest = counts(await take(consumer, 0));
    await publish(topic('seek'), ['new']);
    seen['after latest'] = counts(await take(consumer, 1));
    seen['another subscription'] = (await take(keeper, 6)).length;
    return seen;
  },

  async pattern() {
    for (const name of ['a', 'b']) await publish(topic(`pattern-${name}`), [name]);
    await publish(topic('other'), ['other']);
    const consumer = await subscribe(undefined, 'Shared', { topicsPattern: topic('pattern-.*') });
    return texts(await take(consumer, 2)).sort();
  },

  async 'non persistent'() {
    const name = `non-${topic('passing')}`;
    const consumer = await subscribe(name);
    await publish(name, numbered(3));
    return [texts(await take(consumer, 3)), texts(await rest(await subscribe(name, 'Exclusive', { subscription: 'later' })))];
  },

  async partitioned() {
    const consumer = await subscribe(partitionedTopic);
    await publishWithKeys(partitionedTopic, 60, 12);
    const messages = await take(consumer, 60);
    return {
      partitions: (await client.getPartitionsForTopic(partitionedTopic)).length,
      used: new Set(messages.map((message) => message.getTopicName())).size,
      messages: messages.length,
      'in order per key': inOrder(byKey(messages)),
    };
  },

  async producers() {
    const create = (options) => client.createProducer({ topic: topic('producers'), ...options });
    const first = await create({ producerName: 'one' });
    const seen = {
      'same name': await errorOf(create({ producerName: 'one' })),
      'exclusive beside it': await errorOf(create({ accessMode: 'Exclusive' })),
    };
    await first.close();
    const second = await create({ accessMode: 'Exclusive' });
    seen['beside an exclusive one'] = await errorOf(create({}));
    await second.close();
    seen['in no namespace'] = await errorOf(create({ topic: 'persistent://public/nowhere/a' }));
    return seen;
  },
};

async function main() {
  const observations = {};
  for (const [name, scenario] of Object.entries(scenarios)) {
    const started = Date.now();
    observations[name] = await scenario();
    console.error(`${name}: ${Date.now() - started} ms`);
  }
  await client.close();
  console.log(JSON.stringify({ client: version, observations }));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
