import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;

/**
 * The official client in the scenarios of the tests: {@code Oracle URL TOPIC consume|send COUNT STEPS}. Says "at N"
 * whenever another part of the messages is through, then one line "done ..." with its figures, and ends when its
 * standard input does.
 */
public final class Oracle {
    private static final int PATIENCE_SECONDS = 20;

    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1];
        int count = Integer.parseInt(arguments[3]);
        int steps = Integer.parseInt(arguments[4]);
        try (PulsarClient client = PulsarClient.builder()
                .serviceUrl(arguments[0])
                .keepAliveInterval(1, TimeUnit.SECONDS)
                .build()) {
            switch (arguments[2]) {
                case "consume" -> consume(client, topic, count, steps);
                case "send" -> send(client, topic, count);
                default -> throw new IllegalArgumentException(arguments[2]);
            }
        }
        System.exit(0);
    }

    private static void consume(PulsarClient client, String topic, int count, int steps) throws Exception {
        Consumer<byte[]> consumer = client.newConsumer()
                .topic(topic)
                .subscriptionName("sub")
                .subscriptionType(SubscriptionType.Shared)
                .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest)
                .isAckReceiptEnabled(true)
                .subscribe();
        Map<String, Integer> seen = new TreeMap<>();
        List<CompletableFuture<Void>> acks = new ArrayList<>();
        int step = 1;
        while (seen.size() < count) {
            Message<byte[]> message = consumer.receive(PATIENCE_SECONDS, TimeUnit.SECONDS);
            if (message == null) {
                break;
            }
            seen.merge(new String(message.getData()), 1, Integer::sum);
            acks.add(consumer.acknowledgeAsync(message));
            if (step < steps && seen.size() == count * step / steps) {
                say("at " + seen.size());
                step++;
            }
        }
        int handled = seen.values().stream().mapToInt(Integer::intValue).sum();
        say("done " + seen.size() + " " + succeeded(acks) + " " + (handled - seen.size()));
        System.in.read();
    }

    private static void send(PulsarClient client, String topic, int count) throws Exception {
        Producer<byte[]> producer = client.newProducer()
                .topic(topic)
                .enableBatching(false)
                .maxPendingMessages(count)
                .sendTimeout(0, TimeUnit.SECONDS)
                .create();
        say("at 0");
        System.in.read();
        List<CompletableFuture<MessageId>> receipts = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            receipts.add(producer.sendAsync(Integer.toString(number).getBytes()));
        }
        int receipted = succeeded(receipts);
        say("done " + receipted + " " + receipted + " 0");
        System.in.read();
    }

    /** How many came to a good end in time. */
    private static <T> int succeeded(List<CompletableFuture<T>> futures) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        int succeeded = 0;
        for (CompletableFuture<T> future : futures) {
            try {
                future.get(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS);
                succeeded++;
            } catch (Exception failed) {
                // Counted by not being counted.
            }
        }
        return succeeded;
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
