import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.pulsar.client.api.PulsarClient;

/** Chunked.java URL TOPIC: publishes the line of standard input in chunks of 10,000 bytes. */
public class Chunked {
    public static void main(String[] arguments) throws Exception {
        var line = new BufferedReader(new InputStreamReader(System.in, "UTF-8")).readLine();
        try (var client = PulsarClient.builder().serviceUrl(arguments[0]).build();
                var producer = client.newProducer()
                        .topic(arguments[1])
                        .enableBatching(false)
                        .enableChunking(true)
                        .chunkMaxMessageSize(10_000)
                        .create()) {
            producer.send(line.getBytes("UTF-8"));
        }
    }
}
