import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.BatcherBuilder;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.SubscriptionType;

/**
 * Bench.java TASK URL TOPIC COUNT: one task with Pulsar's Java client. Standard input has the message: a line with the body
 * and a line with the properties as JSON. Prints a line of JSON with the figures.
 *
 * <p>A fifth of the messages goes first, unmeasured, so that the machine code is there; so the topic of a consumer has to
 * have that many more.
 */
public class Bench {
    static final int BATCH = 100;
    static final int KEYS = 100;

    public static void main(String[] arguments) throws Exception {
        var task = arguments[0];
        var count = Integer.parseInt(arguments[3]);
        var input = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        var body = input.readLine().getBytes("UTF-8");
        @SuppressWarnings("unchecked")
        Map<String, String> properties = new ObjectMapper().readValue(input.readLine(), Map.class);
        var client = PulsarClient.builder().serviceUrl(arguments[1]).build();
        if (task.startsWith("publish")) {
            publish(client, task, arguments[2], body, properties, count);
        } else {
            consume(client, arguments[2], count);
        }
        // What the client still has to close is not what is measured.
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void publish(PulsarClient client, String task, String topic, byte[] body, Map<String, String> properties, int count)
            throws Exception {
        var builder = client.newProducer().topic(topic).blockIfQueueFull(true).sendTimeout(0, TimeUnit.SECONDS);
        switch (task) {
            case "publish-1" -> builder.enableBatching(false).maxPendingMessages(1);
            case "publish-500" -> builder.enableBatching(false).maxPendingMessages(500);
            default -> builder.enableBatching(true).maxPendingMessages(5000).batchingMaxMessages(BATCH)
                    .batcherBuilder(BatcherBuilder.KEY_BASED);
        }
        var producer = builder.create();
        var warm = count / 5;
        var latencies = new long[count];
        Meter meter = null;
        for (var round = 0; round < 2; round++) {
            var messages = round == 0 ? warm : count;
            var stored = new CountDownLatch(messages);
            meter = new Meter();
            for (var number = 0; number < messages; number++) {
                var message = producer.newMessage().value(body).properties(properties);
                if (task.equals("publish-batches")) {
                    message.key(Integer.toString(number % KEYS));
                }
                var at = number;
                var began = System.nanoTime();
                if (task.equals("publish-1")) {
                    message.send();
                    latencies[at] = System.nanoTime() - began;
                    stored.countDown();
                    continue;
                }
                message.sendAsync().whenComplete((id, failure) -> {
                    if (failure != null) {
                        failure.printStackTrace();
                        Runtime.getRuntime().halt(1);
                    }
                    latencies[at] = System.nanoTime() - began;
                    stored.countDown();
                });
            }
            producer.flush();
            stored.await();
        }
        meter.stop(latencies);
    }

    static void consume(PulsarClient client, String topic, int count) throws Exception {
        var consumer = client.newConsumer().topic(topic).subscriptionName("bench")
                .subscriptionType(SubscriptionType.Shared).subscribe();
        for (var number = 0; number < count / 5; number++) {
            consumer.acknowledge(consumer.receive());
        }
        var meter = new Meter();
        for (var number = 0; number < count; number++) {
            consumer.acknowledge(consumer.receive());
        }
        consumer.close();
        meter.stop(new long[0]);
    }

    static class Meter {
        final long since = System.nanoTime();
        final long cpu = cpu();

        static long cpu() {
            return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                    .getProcessCpuTime();
        }

        void stop(long[] latencies) throws Exception {
            var figures = new LinkedHashMap<String, Object>();
            figures.put("seconds", (System.nanoTime() - since) / 1e9);
            figures.put("cpu", (cpu() - cpu) / 1e9);
            if (latencies.length > 0) {
                Arrays.sort(latencies);
                figures.put("p50", latencies[latencies.length / 2] / 1e3);
                figures.put("p99", latencies[(int) (latencies.length * 0.99)] / 1e3);
            }
            try (var lines = Files.lines(Path.of("/proc/self/status"))) {
                var peak = lines.filter(line -> line.startsWith("VmHWM:")).findFirst().orElseThrow();
                figures.put("peak_kib", Long.parseLong(peak.replaceAll("\\D", "")));
            }
            System.out.println(new ObjectMapper().writeValueAsString(figures));
        }
    }
}
