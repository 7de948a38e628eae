// Publishes each line of standard input, a topic, a codec and bodies between tabs, as one batch. Argument: the broker's URL.
package main

import (
	"bufio"
	"context"
	"log"
	"os"
	"strings"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	plog "github.com/apache/pulsar-client-go/pulsar/log"
)

var codecs = map[string]pulsar.CompressionType{
	"NONE": pulsar.NoCompression, "LZ4": pulsar.LZ4, "ZLIB": pulsar.ZLib, "ZSTD": pulsar.ZSTD,
}

func main() {
	client, err := pulsar.NewClient(pulsar.ClientOptions{URL: os.Args[1], Logger: plog.DefaultNopLogger()})
	must(err)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		batch := strings.Split(lines.Text(), "\t")
		publish(client, batch[0], codecs[batch[1]], batch[2:])
	}
	must(lines.Err())
	client.Close()
}

func publish(client pulsar.Client, topic string, codec pulsar.CompressionType, bodies []string) {
	producer, err := client.CreateProducer(pulsar.ProducerOptions{
		Topic:                   topic,
		CompressionType:         codec,
		BatchingMaxMessages:     uint(len(bodies)),
		BatchingMaxPublishDelay: 10 * time.Second,
	})
	must(err)
	for _, body := range bodies {
		message := &pulsar.ProducerMessage{Payload: []byte(body)}
		producer.SendAsync(context.Background(), message, func(_ pulsar.MessageID, _ *pulsar.ProducerMessage, err error) {
			must(err)
		})
	}
	must(producer.FlushWithCtx(context.Background()))
	producer.Close()
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
