import org.apache.pulsar.client.api.PulsarClient;

/** Chunked.java URL TOPIC: publishes a message of 25,000 bytes in chunks of 10,000. */
public class Chunked {
    public static void main(String[] arguments) throws Exception {
        try (var client = PulsarClient.builder().serviceUrl(arguments[0]).build();
                var producer = client.newProducer()
                        .topic(arguments[1])
                        .enableBatching(false)
                        .enableChunking(true)
                        .chunkMaxMessageSize(10_000)
                        .create()) {
            producer.send(new byte[25_000]);
        }
    }
}
