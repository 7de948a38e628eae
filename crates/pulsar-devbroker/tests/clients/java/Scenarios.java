import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import java.util.regex.Pattern;
import java.util.stream.*;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.pulsar.PulsarVersion;
import org.apache.pulsar.client.api.*;
import org.apache.pulsar.client.api.schema.GenericRecord;
import org.apache.pulsar.client.impl.BatchMessageIdImpl;
import org.apache.pulsar.client.impl.MessageIdImpl;

/**
 * Scenarios.java URL TOPIC: what Pulsar's Java client sees of a broker, as one JSON object.
 *
 * <p>TOPIC has partitions; the other topics are made here and begin with its name. The programs of the other clients do
 * the same and name it the same.
 */
public class Scenarios {
    static final int PATIENCE = 20_000;
    static final int QUIET = 300;
    static PulsarClient client;
    static String partitionedTopic;

    /** What a scenario does; gives what it saw. */
    interface Scenario {
        Object run() throws Exception;
    }

    public static void main(String[] arguments) {
        try {
            observe(arguments);
        } catch (Exception error) {
            error.printStackTrace();
            // The client's threads would go on for ever.
            System.exit(1);
        }
    }

    static void observe(String[] arguments) throws Exception {
        // The client's log goes to standard output, where the observations go.
        Configurator.setRootLevel(Level.OFF);
        client = PulsarClient.builder().serviceUrl(arguments[0]).build();
        partitionedTopic = arguments[1];
        var scenarios = new LinkedHashMap<String, Scenario>();
        scenarios.put("single", Scenarios::single);
        scenarios.put("batched", Scenarios::batched);
        scenarios.put("compressed", Scenarios::compressed);
        scenarios.put("exclusive", Scenarios::exclusive);
        scenarios.put("shared", Scenarios::shared);
        scenarios.put("failover", Scenarios::failover);
        scenarios.put("key shared", Scenarios::keyShared);
        scenarios.put("nack", Scenarios::nack);
        scenarios.put("nack in a batch", Scenarios::nackInABatch);
        scenarios.put("unacknowledged", Scenarios::unacknowledged);
        scenarios.put("delayed", Scenarios::delayed);
        scenarios.put("dead letter", Scenarios::deadLetter);
        scenarios.put("retry letter", Scenarios::retryLetter);
        scenarios.put("reader", Scenarios::reader);
        scenarios.put("reader in a batch", Scenarios::readerInABatch);
        scenarios.put("seek", Scenarios::seek);
        scenarios.put("unsubscribe", Scenarios::unsubscribe);
        scenarios.put("pattern", Scenarios::pattern);
        scenarios.put("non persistent", Scenarios::nonPersistent);
        scenarios.put("partitioned", Scenarios::partitioned);
        scenarios.put("schema", Scenarios::schema);
        scenarios.put("producers", Scenarios::producers);
        var observations = new LinkedHashMap<String, Object>();
        for (var scenario : scenarios.entrySet()) {
            var started = System.currentTimeMillis();
            observations.put(scenario.getKey(), scenario.getValue().run());
            System.err.println(scenario.getKey() + ": " + (System.currentTimeMillis() - started) + " ms");
        }
        client.close();
        var seen = Map.of("client", PulsarVersion.getVersion(), "observations", observations);
        System.out.println(new ObjectMapper().writeValueAsString(seen));
    }

    static Object single() throws Exception {
        var consumer = subscribe(topic("single"), SubscriptionType.Exclusive);
        var receipts = new ArrayList<Long>();
        try (var producer = producer(topic("single")).create()) {
            for (var text : numbered(5, "order")) {
                receipts.add(entry(producer.newMessage().value(bytes(text)).key("k").orderingKey(bytes("o"))
                        .property("a", "1").property("b", "2").eventTime(42).send()));
            }
        }
        var messages = take(consumer, 5);
        var first = messages.get(0);
        return Map.of(
                "received", counts(messages),
                "ids are those of the receipts", receipts.equals(messages.stream().map(m -> entry(m.getMessageId())).toList()),
                "properties", first.getProperties(),
                "keys", List.of(first.getKey(), new String(first.getOrderingKey())),
                "event time", first.getEventTime(),
                "topic", first.getTopicName().replace(partitionedTopic, "TOPIC"));
    }

    static Object batched() throws Exception {
        var consumer = subscribe(topic("batched"), SubscriptionType.Exclusive);
        publishBatch(topic("batched"), CompressionType.NONE, numbered(5, "order"));
        var messages = take(consumer, 5);
        return Map.of(
                "received", counts(messages),
                "entries", messages.stream().map(m -> entry(m.getMessageId())).distinct().count(),
                "places", messages.stream().map(m -> ((BatchMessageIdImpl) m.getMessageId()).getBatchIndex()).toList());
    }

    static Object compressed() throws Exception {
        var seen = new TreeMap<String, Object>();
        for (var codec : CompressionType.values()) {
            var name = topic("compressed-" + codec);
            var consumer = subscribe(name, SubscriptionType.Exclusive);
            try (var producer = producer(name).compressionType(codec).create()) {
                producer.send(bytes("order ".repeat(100)));
            }
            publishBatch(name, codec, numbered(3, "order"));
            var messages = take(consumer, 4);
            var observed = new ArrayList<Object>(List.of(messages.get(0).getData().length));
            observed.addAll(texts(messages.subList(1, 4)));
            seen.put(codec.name(), observed);
        }
        return seen;
    }

    static Object exclusive() throws Exception {
        var consumer = subscribe(topic("exclusive"), SubscriptionType.Exclusive);
        var second = errorOf(() -> subscribe(topic("exclusive"), SubscriptionType.Exclusive));
        var otherKind = errorOf(() -> subscribe(topic("exclusive"), SubscriptionType.Shared));
        publish(topic("exclusive"), numbered(5, "order"));
        var first = receive(consumer, 5);
        consumer.acknowledgeCumulative(first.get(2));
        consumer.close();
        return Map.of(
                "received", texts(first),
                "second", second,
                "of another type", otherKind,
                "after a cumulative ack", counts(take(subscribe(topic("exclusive"), SubscriptionType.Exclusive), 2)));
    }

    static Object shared() throws Exception {
        var consumers = new ArrayList<Consumer<byte[]>>();
        for (var name : List.of("a", "b")) {
            consumers.add(consumer(topic("shared"), SubscriptionType.Shared).receiverQueueSize(1).consumerName(name).subscribe());
        }
        publish(topic("shared"), numbered(20, "order"));
        var taken = List.of(new ArrayList<Message<byte[]>>(), new ArrayList<Message<byte[]>>());
        while (taken.get(0).size() + taken.get(1).size() < 20) {
            for (int i = 0; i < 2; i++) {
                taken.get(i).addAll(rest(consumers.get(i)));
            }
        }
        return Map.of(
                "received", Stream.concat(texts(taken.get(0)).stream(), texts(taken.get(1)).stream()).sorted().toList(),
                "both work", !taken.get(0).isEmpty() && !taken.get(1).isEmpty());
    }

    static Object failover() throws Exception {
        var consumers = new ArrayList<Consumer<byte[]>>();
        for (var name : List.of("a", "b")) {
            consumers.add(consumer(topic("failover"), SubscriptionType.Failover).consumerName(name).subscribe());
        }
        publish(topic("failover"), numbered(3, "order"));
        Message<byte[]> first = null;
        for (var until = System.currentTimeMillis() + PATIENCE; first == null && System.currentTimeMillis() < until; ) {
            first = consumers.get(0).receive(QUIET, TimeUnit.MILLISECONDS);
            if (first == null) {
                // The other one's turn.
                Collections.reverse(consumers);
            }
        }
        var active = consumers.get(0);
        var standby = consumers.get(1);
        var messages = new ArrayList<>(List.of(first));
        messages.addAll(receive(active, 2));
        active.acknowledge(first);
        var idle = texts(rest(standby));
        active.close();
        publish(topic("failover"), numbered(2, "late"));
        return Map.of("active", texts(messages), "standby", idle, "after the change", counts(take(standby, 4)));
    }

    static Object keyShared() throws Exception {
        var consumers = new ArrayList<Consumer<byte[]>>();
        for (var name : List.of("a", "b")) {
            consumers.add(consumer(topic("key-shared"), SubscriptionType.Key_Shared).consumerName(name).subscribe());
        }
        publishWithKeys(topic("key-shared"), 100, 20);
        var seen = new ArrayList<Map<String, List<Integer>>>();
        for (var consumer : consumers) {
            seen.add(byKey(rest(consumer)));
        }
        return Map.of(
                "messages", seen.stream().flatMap(keys -> keys.values().stream()).mapToInt(List::size).sum(),
                "one consumer a key", Collections.disjoint(seen.get(0).keySet(), seen.get(1).keySet()),
                "in order per key", seen.stream().allMatch(Scenarios::inOrder),
                "both work", seen.stream().noneMatch(Map::isEmpty));
    }

    static Object nack() throws Exception {
        var seen = new TreeMap<String, Object>();
        for (var kind : SubscriptionType.values()) {
            var name = topic("nack-" + kind);
            var consumer = subscribe(name, kind);
            try (var producer = producer(name).create()) {
                for (var text : numbered(3, "order")) {
                    producer.newMessage().value(bytes(text)).key("k").send();
                }
            }
            var messages = receive(consumer, 3);
            consumer.acknowledge(messages.get(0));
            consumer.acknowledge(messages.get(2));
            consumer.negativeAcknowledge(messages.get(1));
            var again = receive(consumer, 1);
            consumer.negativeAcknowledge(again.get(0));
            seen.put(kind.name().toLowerCase().replace('_', ' '), List.of(counts(messages), counts(again), counts(take(consumer, 1))));
        }
        return seen;
    }

    static Object nackInABatch() throws Exception {
        var consumer = subscribe(topic("nack-batch"), SubscriptionType.Shared);
        publishBatch(topic("nack-batch"), CompressionType.NONE, numbered(3, "order"));
        var messages = receive(consumer, 3);
        consumer.acknowledge(messages.get(0));
        consumer.acknowledge(messages.get(2));
        consumer.negativeAcknowledge(messages.get(1));
        return List.of(counts(messages), counts(take(consumer, 1)));
    }

    static Object unacknowledged() throws Exception {
        var consumer = subscribe(topic("unacknowledged"), SubscriptionType.Shared);
        publish(topic("unacknowledged"), numbered(3, "order"));
        var first = receive(consumer, 3);
        consumer.redeliverUnacknowledgedMessages();
        var second = receive(consumer, 3);
        consumer.close();
        var third = take(subscribe(topic("unacknowledged"), SubscriptionType.Shared), 3);
        return Stream.of(first, second, third).map(messages -> counts(messages).stream().sorted().toList()).toList();
    }

    static Object delayed() throws Exception {
        var seen = new TreeMap<String, Object>();
        for (var kind : List.of(SubscriptionType.Shared, SubscriptionType.Exclusive)) {
            var name = topic("delayed-" + kind);
            var consumer = subscribe(name, kind);
            var sent = System.currentTimeMillis();
            try (var producer = producer(name).create()) {
                producer.newMessage().value(bytes("late")).deliverAfter(3, TimeUnit.SECONDS).send();
                producer.send(bytes("early"));
            }
            var arrivals = new ArrayList<String>();
            for (int n = 0; n < 2; n++) {
                var message = receive(consumer, 1).get(0);
                // The broker may be up to a second early.
                arrivals.add(text(message) + (System.currentTimeMillis() - sent >= 2000 ? " in time" : " at once"));
            }
            seen.put(kind.name().toLowerCase(), arrivals);
        }
        return seen;
    }

    static Object deadLetter() throws Exception {
        var name = topic("dead-letter");
        var policy = DeadLetterPolicy.builder().maxRedeliverCount(2).deadLetterTopic(name + "-dlq")
                .initialSubscriptionName("keepers").build();
        var consumer = consumer(name, SubscriptionType.Shared).deadLetterPolicy(policy).subscribe();
        try (var producer = producer(name).create()) {
            for (var text : List.of("poison", "fine")) {
                producer.newMessage().value(bytes(text)).property("a", "1").send();
            }
        }
        var deliveries = new ArrayList<String>();
        while (deliveries.size() < 4) {
            var message = receive(consumer, 1).get(0);
            deliveries.add(count(message));
            if (text(message).equals("poison")) {
                consumer.negativeAcknowledge(message);
            } else {
                consumer.acknowledge(message);
            }
        }
        var keepers = consumer(name + "-dlq", SubscriptionType.Shared).subscriptionName("keepers").subscribe();
        var letters = take(keepers, 1);
        consumer.close();
        return Map.of(
                "deliveries", deliveries.stream().sorted().toList(),
                "letters", texts(letters),
                "properties", new TreeSet<>(letters.get(0).getProperties().keySet()),
                "left", texts(rest(subscribe(name, SubscriptionType.Shared))));
    }

    static Object retryLetter() throws Exception {
        var name = topic("retry-letter");
        var policy = DeadLetterPolicy.builder().maxRedeliverCount(1).deadLetterTopic(name + "-dlq")
                .retryLetterTopic(name + "-retry").initialSubscriptionName("keepers").build();
        var consumer = consumer(name, SubscriptionType.Shared).enableRetry(true).deadLetterPolicy(policy).subscribe();
        publish(name, List.of("poison"));
        var deliveries = new ArrayList<String>();
        for (int n = 0; n < 2; n++) {
            var message = receive(consumer, 1).get(0);
            deliveries.add(text(message) + " " + message.getProperties().getOrDefault("RECONSUMETIMES", "0"));
            consumer.reconsumeLater(message, 100, TimeUnit.MILLISECONDS);
        }
        var letters = take(consumer(name + "-dlq", SubscriptionType.Shared).subscriptionName("keepers").subscribe(), 1);
        return Map.of(
                "deliveries", deliveries,
                "letters", texts(letters),
                "properties", new TreeSet<>(letters.get(0).getProperties().keySet()));
    }

    static Object reader() throws Exception {
        var name = topic("reader");
        var empty = client.newReader().topic(name).startMessageId(MessageId.earliest).create();
        var before = empty.hasMessageAvailable();
        var ids = publish(name, numbered(5, "order"));
        var latest = client.newReader().topic(name).startMessageId(MessageId.latest).create();
        var nothing = latest.hasMessageAvailable();
        publish(name, List.of("new"));
        return Map.of(
                "before", before,
                "after", empty.hasMessageAvailable(),
                "earliest", read(client.newReader().topic(name).startMessageId(MessageId.earliest)),
                "behind an id", read(client.newReader().topic(name).startMessageId(ids.get(2))),
                "from an id", read(client.newReader().topic(name).startMessageId(ids.get(2)).startMessageIdInclusive()),
                "latest", List.of(nothing, text(latest.readNext(PATIENCE, TimeUnit.MILLISECONDS))),
                "latest inclusive", read(client.newReader().topic(name).startMessageId(MessageId.latest).startMessageIdInclusive()),
                "an hour back", read(client.newReader().topic(name).startMessageFromRollbackDuration(1, TimeUnit.HOURS)));
    }

    static Object readerInABatch() throws Exception {
        var name = topic("reader-batch");
        var consumer = subscribe(name, SubscriptionType.Exclusive);
        publishBatch(name, CompressionType.NONE, numbered(5, "order"));
        var third = receive(consumer, 5).get(2).getMessageId();
        return read(client.newReader().topic(name).startMessageId(third));
    }

    static Object seek() throws Exception {
        var name = topic("seek");
        var consumer = subscribe(name, SubscriptionType.Shared);
        var keeper = consumer(name, SubscriptionType.Shared).subscriptionName("keeper").subscribe();
        var ids = publish(name, numbered(3, "order"));
        Thread.sleep(20);
        var between = System.currentTimeMillis();
        Thread.sleep(20);
        publish(name, numbered(2, "late"));
        var seen = new TreeMap<String, Object>();
        seen.put("first", counts(take(consumer, 5)));
        consumer.seek(MessageId.earliest);
        seen.put("earliest", counts(take(consumer, 1)));
        consumer.seek(ids.get(1));
        seen.put("an id", counts(take(consumer, 1)));
        consumer.seek(between);
        seen.put("a time", counts(take(consumer, 1)));
        consumer.seek(MessageId.latest);
        seen.put("latest", counts(take(consumer, 0)));
        publish(name, List.of("new"));
        seen.put("after latest", counts(take(consumer, 1)));
        seen.put("another subscription", take(keeper, 6).size());
        return seen;
    }

    static Object unsubscribe() throws Exception {
        var name = topic("unsubscribe");
        var consumer = subscribe(name, SubscriptionType.Exclusive);
        publish(name, List.of("old"));
        consumer.unsubscribe();
        var latest = SubscriptionInitialPosition.Latest;
        consumer = consumer(name, SubscriptionType.Exclusive).subscriptionInitialPosition(latest).subscribe();
        publish(name, List.of("new"));
        return texts(take(consumer, 1));
    }

    static Object pattern() throws Exception {
        for (var name : List.of("a", "b")) {
            publish(topic("pattern-" + name), List.of(name));
        }
        publish(topic("other"), List.of("other"));
        var consumer = client.newConsumer().topicsPattern(Pattern.compile(topic("pattern-.*"))).subscriptionName("workers")
                .patternAutoDiscoveryPeriod(1, TimeUnit.SECONDS)
                .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest).subscribe();
        var seen = texts(take(consumer, 2)).stream().sorted().toList();
        publish(topic("pattern-c"), List.of("c"));
        return List.of(seen, texts(take(consumer, 1)));
    }

    static Object nonPersistent() throws Exception {
        var name = "non-" + topic("passing");
        var consumer = subscribe(name, SubscriptionType.Exclusive);
        publish(name, numbered(3, "order"));
        var seen = texts(take(consumer, 3));
        return List.of(seen, texts(rest(consumer(name, SubscriptionType.Exclusive).subscriptionName("later").subscribe())));
    }

    static Object partitioned() throws Exception {
        var name = partitionedTopic;
        var consumer = subscribe(name, SubscriptionType.Exclusive);
        publishWithKeys(name, 60, 12);
        var messages = take(consumer, 60);
        return Map.of(
                "partitions", client.getPartitionsForTopic(name).get().size(),
                "used", messages.stream().map(Message::getTopicName).distinct().count(),
                "messages", messages.size(),
                "in order per key", inOrder(byKey(messages)));
    }

    public static class Order {
        public String name;
        public int count;
    }

    static Object schema() throws Exception {
        var name = topic("schema");
        var kind = Schema.JSON(Order.class);
        var consumer = client.newConsumer(kind).topic(name).subscriptionName("workers").subscribe();
        var any = client.newConsumer(Schema.AUTO_CONSUME()).topic(name).subscriptionName("any").subscribe();
        try (var producer = client.newProducer(kind).topic(name).create()) {
            var order = new Order();
            order.name = "pen";
            order.count = 3;
            producer.send(order);
        }
        var message = consumer.receive(PATIENCE, TimeUnit.MILLISECONDS);
        GenericRecord generic = any.receive(PATIENCE, TimeUnit.MILLISECONDS).getValue();
        var fields = new TreeMap<String, Object>();
        generic.getFields().forEach(field -> fields.put(field.getName(), generic.getField(field)));
        return Map.of(
                "value", List.of(message.getValue().name, message.getValue().count),
                "without knowing it", fields,
                "version", IntStream.range(0, 8).map(n -> message.getSchemaVersion()[n]).boxed().toList(),
                "other kind", errorOf(() -> client.newProducer(Schema.STRING).topic(name).create()),
                "without", errorOf(() -> producer(name).create()));
    }

    static Object producers() throws Exception {
        var name = topic("producers");
        var seen = new TreeMap<String, Object>();
        var alone = ProducerAccessMode.Exclusive;
        try (var first = producer(name).producerName("one").create()) {
            seen.put("same name", errorOf(() -> producer(name).producerName("one").create()));
            seen.put("exclusive beside it", errorOf(() -> producer(name).accessMode(alone).create()));
        }
        try (var second = producer(name).accessMode(alone).create()) {
            seen.put("beside an exclusive one", errorOf(() -> producer(name).create()));
            var waiting = producer(name).accessMode(ProducerAccessMode.WaitForExclusive).createAsync();
            seen.put("waits", !waiting.isDone());
            second.close();
            waiting.get(PATIENCE, TimeUnit.MILLISECONDS).close();
        }
        seen.put("in no namespace", errorOf(() -> producer("persistent://public/nowhere/a").create()));
        return seen;
    }

    static String topic(String name) {
        return partitionedTopic + "-" + name;
    }

    static ConsumerBuilder<byte[]> consumer(String name, SubscriptionType kind) {
        return client.newConsumer().topic(name).subscriptionName("workers").subscriptionType(kind)
                .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest)
                .negativeAckRedeliveryDelay(200, TimeUnit.MILLISECONDS);
    }

    static Consumer<byte[]> subscribe(String name, SubscriptionType kind) throws Exception {
        return consumer(name, kind).subscribe();
    }

    static ProducerBuilder<byte[]> producer(String name) {
        return client.newProducer().topic(name).enableBatching(false);
    }

    static List<MessageId> publish(String name, List<String> texts) throws Exception {
        var ids = new ArrayList<MessageId>();
        try (var producer = producer(name).create()) {
            for (var text : texts) {
                ids.add(producer.send(bytes(text)));
            }
        }
        return ids;
    }

    /** As one batch: flushing ends it. */
    static void publishBatch(String name, CompressionType codec, List<String> texts) throws Exception {
        try (var producer = client.newProducer().topic(name).compressionType(codec).batchingMaxMessages(100)
                .batchingMaxPublishDelay(10, TimeUnit.SECONDS).create()) {
            var receipts = texts.stream().map(text -> producer.sendAsync(bytes(text))).toArray(CompletableFuture[]::new);
            producer.flush();
            CompletableFuture.allOf(receipts).get();
        }
    }

    static void publishWithKeys(String name, int count, int keys) throws Exception {
        try (var producer = producer(name).create()) {
            for (int n = 0; n < count; n++) {
                producer.newMessage().key("k" + n % keys).value(bytes(String.valueOf(n))).send();
            }
        }
    }

    static List<Message<byte[]>> receive(Consumer<byte[]> consumer, int count) throws Exception {
        var messages = new ArrayList<Message<byte[]>>();
        while (messages.size() < count) {
            var message = consumer.receive(PATIENCE, TimeUnit.MILLISECONDS);
            if (message == null) {
                throw new TimeoutException("only " + texts(messages) + " came of " + count + " on " + consumer.getTopic());
            }
            messages.add(message);
        }
        return messages;
    }

    /** What comes until nothing comes for a while, acknowledged. */
    static List<Message<byte[]>> rest(Consumer<byte[]> consumer) throws Exception {
        var messages = new ArrayList<Message<byte[]>>();
        for (Message<byte[]> message; (message = consumer.receive(QUIET, TimeUnit.MILLISECONDS)) != null; ) {
            consumer.acknowledge(message);
            messages.add(message);
        }
        return messages;
    }

    /** That many, acknowledged, and whatever comes too much. */
    static List<Message<byte[]>> take(Consumer<byte[]> consumer, int count) throws Exception {
        var messages = receive(consumer, count);
        for (var message : messages) {
            consumer.acknowledge(message);
        }
        messages.addAll(rest(consumer));
        return messages;
    }

    static List<String> read(ReaderBuilder<byte[]> builder) throws Exception {
        var found = new ArrayList<String>();
        try (var reader = builder.create()) {
            while (reader.hasMessageAvailable()) {
                found.add(text(reader.readNext(PATIENCE, TimeUnit.MILLISECONDS)));
            }
        }
        return found;
    }

    static Map<String, List<Integer>> byKey(List<Message<byte[]>> messages) {
        return messages.stream().collect(Collectors.groupingBy(Message::getKey,
                Collectors.mapping(message -> Integer.valueOf(text(message)), Collectors.toList())));
    }

    static boolean inOrder(Map<String, List<Integer>> keys) {
        return keys.values().stream().allMatch(numbers -> numbers.equals(numbers.stream().sorted().toList()));
    }

    static List<String> texts(List<Message<byte[]>> messages) {
        return messages.stream().map(Scenarios::text).toList();
    }

    static List<String> counts(List<Message<byte[]>> messages) {
        return messages.stream().map(Scenarios::count).toList();
    }

    static String count(Message<byte[]> message) {
        var redeliveries = message.getRedeliveryCount();
        return redeliveries == 0 ? text(message) : text(message) + " (redelivery " + redeliveries + ")";
    }

    static String text(Message<byte[]> message) {
        return new String(message.getData(), StandardCharsets.UTF_8);
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static List<String> numbered(int count, String stem) {
        return IntStream.range(0, count).mapToObj(n -> stem + " " + n).toList();
    }

    static long entry(MessageId id) {
        return ((MessageIdImpl) id).getEntryId();
    }

    static String errorOf(Callable<?> action) {
        try {
            action.call();
            return "none";
        } catch (Exception error) {
            return error.getClass().getSimpleName();
        }
    }
}
