import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.CompressionType;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;

/** Batches.java URL: publishes each line of standard input, a topic, a codec and bodies between tabs, as one batch. */
public class Batches {
    public static void main(String[] arguments) throws Exception {
        var input = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        try (var client = PulsarClient.builder().serviceUrl(arguments[0]).build()) {
            for (String line; (line = input.readLine()) != null; ) {
                var parts = line.split("\t");
                publish(client, parts[0], parts[1], Arrays.asList(parts).subList(2, parts.length));
            }
        }
    }

    private static void publish(PulsarClient client, String topic, String codec, List<String> bodies) throws Exception {
        try (Producer<byte[]> producer = client.newProducer()
                .topic(topic)
                .compressionType(CompressionType.valueOf(codec))
                .batchingMaxMessages(bodies.size())
                .batchingMaxPublishDelay(10, TimeUnit.SECONDS)
                .create()) {
            var receipts = new ArrayList<CompletableFuture<?>>();
            for (var body : bodies) {
                receipts.add(producer.sendAsync(body.getBytes("UTF-8")));
            }
            producer.flush();
            CompletableFuture.allOf(receipts.toArray(new CompletableFuture[0])).get();
        }
    }
}
