import java.nio.charset.StandardCharsets;
import java.security.Key;
import java.security.KeyPairGenerator;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.CompressionType;
import org.apache.pulsar.client.api.ConsumerCryptoFailureAction;
import org.apache.pulsar.client.api.CryptoKeyReader;
import org.apache.pulsar.client.api.EncryptionKeyInfo;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;

/**
 * Encrypted.java URL TOPIC: publishes an encrypted message with properties and a key, then a batch of three, compressed
 * and encrypted, with a key pair that nobody keeps. Prints in base64 what a consumer that cannot decrypt gets of each.
 */
public class Encrypted {
    public static void main(String[] arguments) throws Exception {
        var out = System.out;
        // The client's log goes to standard output, where the results go.
        System.setOut(System.err);
        var topic = arguments[1];
        try (var client = PulsarClient.builder().serviceUrl(arguments[0]).build();
                var single = client.newProducer()
                        .topic(topic)
                        .enableBatching(false)
                        .addEncryptionKey("theirs")
                        .cryptoKeyReader(new OwnKeys())
                        .create();
                var batched = client.newProducer()
                        .topic(topic)
                        .compressionType(CompressionType.LZ4)
                        .batchingMaxMessages(3)
                        .batchingMaxPublishDelay(10, TimeUnit.SECONDS)
                        .addEncryptionKey("theirs")
                        .cryptoKeyReader(new OwnKeys())
                        .create();
                var reader = client.newConsumer()
                        .topic(topic)
                        .subscriptionName("java")
                        .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest)
                        .cryptoFailureAction(ConsumerCryptoFailureAction.CONSUME)
                        .subscribe()) {
            single.newMessage().key("customer-12").property("traceparent", "00-ab").value(text("a secret")).send();
            for (int member = 0; member < 3; member++) {
                batched.sendAsync(text("secret " + member));
            }
            batched.flush();
            for (int entry = 0; entry < 2; entry++) {
                var message = reader.receive(20, TimeUnit.SECONDS);
                out.println(Base64.getEncoder().encodeToString(message.getData()));
            }
        }
    }

    private static byte[] text(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static class OwnKeys implements CryptoKeyReader {
        private final EncryptionKeyInfo publicKey;

        OwnKeys() throws Exception {
            var generator = KeyPairGenerator.getInstance("RSA");
            generator.initialize(2048);
            publicKey = new EncryptionKeyInfo(pem(generator.generateKeyPair().getPublic()), Map.of());
        }

        private static byte[] pem(Key key) {
            var lines = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(key.getEncoded());
            return text("-----BEGIN PUBLIC KEY-----\n" + lines + "\n-----END PUBLIC KEY-----\n");
        }

        @Override
        public EncryptionKeyInfo getPublicKey(String name, Map<String, String> metadata) {
            return publicKey;
        }

        @Override
        public EncryptionKeyInfo getPrivateKey(String name, Map<String, String> metadata) {
            return null;
        }
    }
}
