// scenarios URL TOPIC: what Pulsar's Go client sees of a broker, as one JSON object.
//
// TOPIC has partitions; the other topics are made here and begin with its name. The programs of the other clients do the
// same and name it the same.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	plog "github.com/apache/pulsar-client-go/pulsar/log"
)

const (
	patience = 20 * time.Second
	quiet    = 300 * time.Millisecond
)

type seen map[string]any

var client pulsar.Client
var partitionedTopic string

var codecs = map[string]pulsar.CompressionType{
	"NONE": pulsar.NoCompression, "LZ4": pulsar.LZ4, "ZLIB": pulsar.ZLib, "ZSTD": pulsar.ZSTD,
}

var kinds = map[string]pulsar.SubscriptionType{
	"exclusive": pulsar.Exclusive, "shared": pulsar.Shared, "failover": pulsar.Failover, "key shared": pulsar.KeyShared,
}

var scenarios = []struct {
	name string
	run  func() any
}{
	{"single", single}, {"batched", batched}, {"compressed", compressed}, {"exclusive", exclusive}, {"shared", shared},
	{"failover", failover}, {"key shared", keyShared}, {"nack", nack}, {"nack in a batch", nackInABatch},
	{"unacknowledged", unacknowledged}, {"delayed", delayed}, {"dead letter", deadLetter}, {"retry letter", retryLetter},
	{"reader", reader}, {"reader in a batch", readerInABatch}, {"seek", seek}, {"unsubscribe", unsubscribe},
	{"pattern", pattern}, {"non persistent", nonPersistent}, {"partitioned", partitioned}, {"schema", schema},
	{"producers", producers},
}

func main() {
	var err error
	client, err = pulsar.NewClient(pulsar.ClientOptions{URL: os.Args[1], Logger: plog.DefaultNopLogger()})
	must(err)
	partitionedTopic = os.Args[2]
	observations := seen{}
	for _, scenario := range scenarios {
		started := time.Now()
		observations[scenario.name] = scenario.run()
		log.Printf("%s: %v", scenario.name, time.Since(started))
	}
	client.Close()
	must(json.NewEncoder(os.Stdout).Encode(seen{"client": version(), "observations": observations}))
}

func single() any {
	consumer := subscribe(options(topic("single"), pulsar.Exclusive))
	ids := publish(topic("single"), numbered(5, "order"), pulsar.ProducerMessage{
		Key: "k", OrderingKey: "o", Properties: map[string]string{"a": "1", "b": "2"}, EventTime: time.UnixMilli(42),
	})
	messages := take(consumer, 5)
	same := true
	for n, id := range ids {
		same = same && id.EntryID() == messages[n].ID().EntryID()
	}
	first := messages[0]
	return seen{
		"received":                      counts(messages),
		"ids are those of the receipts": same,
		"properties":                    first.Properties(),
		"keys":                          []string{first.Key(), first.OrderingKey()},
		"event time":                    first.EventTime().UnixMilli(),
		"topic":                         strings.Replace(first.Topic(), partitionedTopic, "TOPIC", 1),
	}
}

func batched() any {
	consumer := subscribe(options(topic("batched"), pulsar.Exclusive))
	publishBatch(topic("batched"), pulsar.NoCompression, numbered(5, "order"))
	messages := take(consumer, 5)
	entries, places := map[int64]bool{}, []int32{}
	for _, message := range messages {
		entries[message.ID().EntryID()] = true
		places = append(places, message.ID().BatchIdx())
	}
	return seen{"received": counts(messages), "entries": len(entries), "places": places}
}

func compressed() any {
	found := seen{}
	for codec, kind := range codecs {
		name := topic("compressed-" + codec)
		consumer := subscribe(options(name, pulsar.Exclusive))
		producer := create(pulsar.ProducerOptions{Topic: name, DisableBatching: true, CompressionType: kind})
		send(producer, pulsar.ProducerMessage{Payload: []byte(strings.Repeat("order ", 100))})
		producer.Close()
		publishBatch(name, kind, numbered(3, "order"))
		messages := take(consumer, 4)
		found[codec] = []any{len(messages[0].Payload()), text(messages[1]), text(messages[2]), text(messages[3])}
	}
	return found
}

func exclusive() any {
	consumer := subscribe(options(topic("exclusive"), pulsar.Exclusive))
	_, second := client.Subscribe(options(topic("exclusive"), pulsar.Exclusive))
	_, otherKind := client.Subscribe(options(topic("exclusive"), pulsar.Shared))
	publish(topic("exclusive"), numbered(5, "order"), pulsar.ProducerMessage{})
	first := receive(consumer, 5)
	must(consumer.AckCumulative(first[2]))
	consumer.Close()
	return seen{
		"received":               texts(first),
		"second":                 errorOf(second),
		"of another type":        errorOf(otherKind),
		"after a cumulative ack": counts(take(subscribe(options(topic("exclusive"), pulsar.Exclusive)), 2)),
	}
}

func shared() any {
	var consumers []pulsar.Consumer
	for range 2 {
		settings := options(topic("shared"), pulsar.Shared)
		settings.ReceiverQueueSize = 1
		consumers = append(consumers, subscribe(settings))
	}
	publish(topic("shared"), numbered(20, "order"), pulsar.ProducerMessage{})
	var taken [2][]pulsar.Message
	for len(taken[0])+len(taken[1]) < 20 {
		for n, consumer := range consumers {
			taken[n] = append(taken[n], rest(consumer)...)
		}
	}
	received := texts(append(slices.Clone(taken[0]), taken[1]...))
	slices.Sort(received)
	return seen{"received": received, "both work": len(taken[0]) > 0 && len(taken[1]) > 0}
}

func failover() any {
	active, standby := named("failover", pulsar.Failover, "a"), named("failover", pulsar.Failover, "b")
	publish(topic("failover"), numbered(3, "order"), pulsar.ProducerMessage{})
	var first pulsar.Message
	for until := time.Now().Add(patience); first == nil && time.Now().Before(until); {
		if first = next(active, quiet); first == nil {
			active, standby = standby, active
		}
	}
	messages := append([]pulsar.Message{first}, receive(active, 2)...)
	must(active.Ack(first))
	idle := texts(rest(standby))
	active.Close()
	publish(topic("failover"), numbered(2, "late"), pulsar.ProducerMessage{})
	return seen{"active": texts(messages), "standby": idle, "after the change": counts(take(standby, 4))}
}

func keyShared() any {
	consumers := []pulsar.Consumer{named("key-shared", pulsar.KeyShared, "a"), named("key-shared", pulsar.KeyShared, "b")}
	publishWithKeys(topic("key-shared"), 100, 20)
	first, second := byKey(rest(consumers[0])), byKey(rest(consumers[1]))
	messages, alone := 0, true
	for key, numbers := range first {
		messages += len(numbers)
		alone = alone && second[key] == nil
	}
	for _, numbers := range second {
		messages += len(numbers)
	}
	return seen{
		"messages":           messages,
		"one consumer a key": alone,
		"in order per key":   inOrder(first) && inOrder(second),
		"both work":          len(first) > 0 && len(second) > 0,
	}
}

func nack() any {
	found := seen{}
	for name, kind := range kinds {
		topic := topic("nack-" + strings.ReplaceAll(name, " ", "-"))
		consumer := subscribe(options(topic, kind))
		publish(topic, numbered(3, "order"), pulsar.ProducerMessage{Key: "k"})
		messages := receive(consumer, 3)
		acknowledge(consumer, messages[0], messages[2])
		consumer.Nack(messages[1])
		again := receive(consumer, 1)
		consumer.Nack(again[0])
		found[name] = [][]string{counts(messages), counts(again), counts(take(consumer, 1))}
	}
	return found
}

func nackInABatch() any {
	consumer := subscribe(options(topic("nack-batch"), pulsar.Shared))
	publishBatch(topic("nack-batch"), pulsar.NoCompression, numbered(3, "order"))
	messages := receive(consumer, 3)
	acknowledge(consumer, messages[0], messages[2])
	consumer.Nack(messages[1])
	return [][]string{counts(messages), counts(take(consumer, 1))}
}

func unacknowledged() any {
	consumer := subscribe(options(topic("unacknowledged"), pulsar.Shared))
	publish(topic("unacknowledged"), numbered(3, "order"), pulsar.ProducerMessage{})
	first := counts(receive(consumer, 3))
	consumer.Close()
	second := counts(take(subscribe(options(topic("unacknowledged"), pulsar.Shared)), 3))
	slices.Sort(second)
	return [][]string{first, second}
}

func delayed() any {
	found := seen{}
	for _, name := range []string{"shared", "exclusive"} {
		topic := topic("delayed-" + name)
		consumer := subscribe(options(topic, kinds[name]))
		sent := time.Now()
		publish(topic, []string{"late"}, pulsar.ProducerMessage{DeliverAfter: 3 * time.Second})
		publish(topic, []string{"early"}, pulsar.ProducerMessage{})
		var arrivals []string
		for range 2 {
			message := receive(consumer, 1)[0]
			when := " at once"
			// The broker may be up to a second early.
			if time.Since(sent) >= 2*time.Second {
				when = " in time"
			}
			arrivals = append(arrivals, text(message)+when)
		}
		found[name] = arrivals
	}
	return found
}

func deadLetter() any {
	name := topic("dead-letter")
	settings := options(name, pulsar.Shared)
	settings.DLQ = &pulsar.DLQPolicy{MaxDeliveries: 3, DeadLetterTopic: name + "-dlq", InitialSubscriptionName: "keepers"}
	consumer := subscribe(settings)
	publish(name, []string{"poison", "fine"}, pulsar.ProducerMessage{Properties: map[string]string{"a": "1"}})
	var deliveries []string
	for range 4 {
		message := receive(consumer, 1)[0]
		deliveries = append(deliveries, count(message))
		if text(message) == "poison" {
			consumer.Nack(message)
		} else {
			acknowledge(consumer, message)
		}
	}
	letters := take(keepers(name+"-dlq"), 1)
	consumer.Close()
	slices.Sort(deliveries)
	return seen{
		"deliveries": deliveries,
		"letters":    texts(letters),
		"properties": names(letters[0].Properties()),
		"left":       texts(rest(subscribe(options(name, pulsar.Shared)))),
	}
}

func retryLetter() any {
	name := topic("retry-letter")
	settings := options(name, pulsar.Shared)
	settings.RetryEnable = true
	settings.DLQ = &pulsar.DLQPolicy{
		MaxDeliveries: 1, DeadLetterTopic: name + "-dlq", RetryLetterTopic: name + "-retry", InitialSubscriptionName: "keepers",
	}
	consumer := subscribe(settings)
	publish(name, []string{"poison"}, pulsar.ProducerMessage{})
	var deliveries []string
	for range 2 {
		message := receive(consumer, 1)[0]
		deliveries = append(deliveries, text(message)+" "+message.Properties()["RECONSUMETIMES"])
		consumer.ReconsumeLater(message, 100*time.Millisecond)
	}
	letters := take(keepers(name+"-dlq"), 1)
	return seen{"deliveries": deliveries, "letters": texts(letters), "properties": names(letters[0].Properties())}
}

func reader() any {
	name := topic("reader")
	empty := open(pulsar.ReaderOptions{Topic: name, StartMessageID: pulsar.EarliestMessageID()})
	before := empty.HasNext()
	ids := publish(name, numbered(5, "order"), pulsar.ProducerMessage{})
	latest := open(pulsar.ReaderOptions{Topic: name, StartMessageID: pulsar.LatestMessageID()})
	nothing := latest.HasNext()
	publish(name, []string{"new"}, pulsar.ProducerMessage{})
	return seen{
		"before":       before,
		"after":        empty.HasNext(),
		"earliest":     read(pulsar.ReaderOptions{Topic: name, StartMessageID: pulsar.EarliestMessageID()}),
		"behind an id": read(pulsar.ReaderOptions{Topic: name, StartMessageID: ids[2]}),
		"from an id":   read(pulsar.ReaderOptions{Topic: name, StartMessageID: ids[2], StartMessageIDInclusive: true}),
		"latest":       []any{nothing, text(readNext(latest))},
		"latest inclusive": read(pulsar.ReaderOptions{
			Topic: name, StartMessageID: pulsar.LatestMessageID(), StartMessageIDInclusive: true,
		}),
	}
}

func readerInABatch() any {
	name := topic("reader-batch")
	consumer := subscribe(options(name, pulsar.Exclusive))
	publishBatch(name, pulsar.NoCompression, numbered(5, "order"))
	third := receive(consumer, 5)[2].ID()
	return read(pulsar.ReaderOptions{Topic: name, StartMessageID: third})
}

func seek() any {
	name := topic("seek")
	consumer := subscribe(options(name, pulsar.Shared))
	settings := options(name, pulsar.Shared)
	settings.SubscriptionName = "keeper"
	keeper := subscribe(settings)
	ids := publish(name, numbered(3, "order"), pulsar.ProducerMessage{})
	time.Sleep(20 * time.Millisecond)
	between := time.Now()
	time.Sleep(20 * time.Millisecond)
	publish(name, numbered(2, "late"), pulsar.ProducerMessage{})
	found := seen{"first": counts(take(consumer, 5))}
	// The client's own ids of the two ends are in no partition, and it seeks in partition 0 only.
	must(consumer.Seek(pulsar.NewMessageID(-1, -1, -1, 0)))
	found["earliest"] = counts(take(consumer, 1))
	must(consumer.Seek(ids[1]))
	found["an id"] = counts(take(consumer, 1))
	must(consumer.SeekByTime(between))
	found["a time"] = counts(take(consumer, 1))
	must(consumer.Seek(pulsar.NewMessageID(math.MaxInt64, math.MaxInt64, -1, 0)))
	found["latest"] = counts(take(consumer, 0))
	publish(name, []string{"new"}, pulsar.ProducerMessage{})
	found["after latest"] = counts(take(consumer, 1))
	found["another subscription"] = len(take(keeper, 6))
	return found
}

func unsubscribe() any {
	settings := options(topic("unsubscribe"), pulsar.Exclusive)
	consumer := subscribe(settings)
	publish(topic("unsubscribe"), []string{"old"}, pulsar.ProducerMessage{})
	must(consumer.Unsubscribe())
	settings.SubscriptionInitialPosition = pulsar.SubscriptionPositionLatest
	consumer = subscribe(settings)
	publish(topic("unsubscribe"), []string{"new"}, pulsar.ProducerMessage{})
	return texts(take(consumer, 1))
}

func pattern() any {
	for _, name := range []string{"a", "b"} {
		publish(topic("pattern-"+name), []string{name}, pulsar.ProducerMessage{})
	}
	publish(topic("other"), []string{"other"}, pulsar.ProducerMessage{})
	settings := options("", pulsar.Shared)
	settings.TopicsPattern = topic("pattern-.*")
	settings.AutoDiscoveryPeriod = time.Second
	consumer := subscribe(settings)
	found := texts(take(consumer, 2))
	slices.Sort(found)
	publish(topic("pattern-c"), []string{"c"}, pulsar.ProducerMessage{})
	return [][]string{found, texts(take(consumer, 1))}
}

func nonPersistent() any {
	name := "non-" + topic("passing")
	consumer := subscribe(options(name, pulsar.Exclusive))
	publish(name, numbered(3, "order"), pulsar.ProducerMessage{})
	found := texts(take(consumer, 3))
	settings := options(name, pulsar.Exclusive)
	settings.SubscriptionName = "later"
	return [][]string{found, texts(rest(subscribe(settings)))}
}

func partitioned() any {
	name := partitionedTopic
	consumer := subscribe(options(name, pulsar.Exclusive))
	publishWithKeys(name, 60, 12)
	messages := take(consumer, 60)
	partitions, err := client.TopicPartitions(name)
	must(err)
	used := map[int32]bool{}
	for _, message := range messages {
		used[message.ID().PartitionIdx()] = true
	}
	return seen{
		"partitions":       len(partitions),
		"used":             len(used),
		"messages":         len(messages),
		"in order per key": inOrder(byKey(messages)),
	}
}

type order struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

func schema() any {
	kind := pulsar.NewJSONSchema(`{"type": "record", "name": "Order", "fields": [
		{"name": "name", "type": "string"}, {"name": "count", "type": "int"}]}`, nil)
	settings := options(topic("schema"), pulsar.Exclusive)
	settings.Schema = kind
	consumer := subscribe(settings)
	producer := create(pulsar.ProducerOptions{Topic: topic("schema"), Schema: kind, DisableBatching: true})
	send(producer, pulsar.ProducerMessage{Value: order{"pen", 3}})
	message := receive(consumer, 1)[0]
	var value order
	must(message.GetSchemaValue(&value))
	version := []int{}
	for _, part := range message.SchemaVersion() {
		version = append(version, int(part))
	}
	text := pulsar.NewStringSchema(nil)
	_, otherKind := client.CreateProducer(pulsar.ProducerOptions{Topic: topic("schema"), Schema: text})
	return seen{"value": []any{value.Name, value.Count}, "version": version, "other kind": errorOf(otherKind)}
}

func producers() any {
	name := topic("producers")
	fails := func(settings pulsar.ProducerOptions) string {
		settings.Topic = name
		_, err := client.CreateProducer(settings)
		return errorOf(err)
	}
	alone := pulsar.ProducerOptions{ProducerAccessMode: pulsar.ProducerAccessModeExclusive}
	first := create(pulsar.ProducerOptions{Topic: name, Name: "one"})
	found := seen{"same name": fails(pulsar.ProducerOptions{Name: "one"}), "exclusive beside it": fails(alone)}
	first.Close()
	alone.Topic = name
	second := create(alone)
	found["beside an exclusive one"] = fails(pulsar.ProducerOptions{})
	second.Close()
	name = "persistent://public/nowhere/a"
	found["in no namespace"] = fails(pulsar.ProducerOptions{})
	return found
}

func topic(name string) string {
	return partitionedTopic + "-" + name
}

func options(topic string, kind pulsar.SubscriptionType) pulsar.ConsumerOptions {
	return pulsar.ConsumerOptions{
		Topic: topic, SubscriptionName: "workers", Type: kind, NackRedeliveryDelay: 200 * time.Millisecond,
		SubscriptionInitialPosition: pulsar.SubscriptionPositionEarliest,
	}
}

func subscribe(options pulsar.ConsumerOptions) pulsar.Consumer {
	consumer, err := client.Subscribe(options)
	must(err)
	return consumer
}

func named(stem string, kind pulsar.SubscriptionType, name string) pulsar.Consumer {
	settings := options(topic(stem), kind)
	settings.Name = name
	return subscribe(settings)
}

func keepers(topic string) pulsar.Consumer {
	settings := options(topic, pulsar.Shared)
	settings.SubscriptionName = "keepers"
	return subscribe(settings)
}

func create(options pulsar.ProducerOptions) pulsar.Producer {
	producer, err := client.CreateProducer(options)
	must(err)
	return producer
}

func send(producer pulsar.Producer, message pulsar.ProducerMessage) pulsar.MessageID {
	id, err := producer.Send(context.Background(), &message)
	must(err)
	return id
}

func publish(topic string, texts []string, like pulsar.ProducerMessage) []pulsar.MessageID {
	producer := create(pulsar.ProducerOptions{Topic: topic, DisableBatching: true})
	defer producer.Close()
	var ids []pulsar.MessageID
	for _, text := range texts {
		like.Payload = []byte(text)
		ids = append(ids, send(producer, like))
	}
	return ids
}

// As one batch: flushing ends it.
func publishBatch(topic string, codec pulsar.CompressionType, texts []string) {
	producer := create(pulsar.ProducerOptions{
		Topic: topic, CompressionType: codec, BatchingMaxMessages: 100, BatchingMaxPublishDelay: 10 * time.Second,
	})
	for _, text := range texts {
		message := &pulsar.ProducerMessage{Payload: []byte(text)}
		producer.SendAsync(context.Background(), message, func(_ pulsar.MessageID, _ *pulsar.ProducerMessage, err error) {
			must(err)
		})
	}
	must(producer.FlushWithCtx(context.Background()))
	producer.Close()
}

func publishWithKeys(topic string, count, keys int) {
	producer := create(pulsar.ProducerOptions{Topic: topic, DisableBatching: true})
	for n := range count {
		send(producer, pulsar.ProducerMessage{Payload: []byte(strconv.Itoa(n)), Key: fmt.Sprintf("k%d", n%keys)})
	}
	producer.Close()
}

func next(consumer pulsar.Consumer, within time.Duration) pulsar.Message {
	limited, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	message, err := consumer.Receive(limited)
	if err != nil {
		return nil
	}
	return message
}

func receive(consumer pulsar.Consumer, count int) []pulsar.Message {
	var messages []pulsar.Message
	for len(messages) < count {
		message := next(consumer, patience)
		if message == nil {
			log.Panicf("only %v came of %d for %s", texts(messages), count, consumer.Subscription())
		}
		messages = append(messages, message)
	}
	return messages
}

func acknowledge(consumer pulsar.Consumer, messages ...pulsar.Message) {
	for _, message := range messages {
		must(consumer.Ack(message))
	}
}

// What comes until nothing comes for a while, acknowledged.
func rest(consumer pulsar.Consumer) []pulsar.Message {
	var messages []pulsar.Message
	for message := next(consumer, quiet); message != nil; message = next(consumer, quiet) {
		acknowledge(consumer, message)
		messages = append(messages, message)
	}
	return messages
}

// That many, acknowledged, and whatever comes too much.
func take(consumer pulsar.Consumer, count int) []pulsar.Message {
	messages := receive(consumer, count)
	acknowledge(consumer, messages...)
	return append(messages, rest(consumer)...)
}

func open(options pulsar.ReaderOptions) pulsar.Reader {
	reader, err := client.CreateReader(options)
	must(err)
	return reader
}

func readNext(reader pulsar.Reader) pulsar.Message {
	limited, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	message, err := reader.Next(limited)
	must(err)
	return message
}

func read(options pulsar.ReaderOptions) []string {
	reader, found := open(options), []string{}
	defer reader.Close()
	for reader.HasNext() {
		found = append(found, text(readNext(reader)))
	}
	return found
}

func byKey(messages []pulsar.Message) map[string][]int {
	found := map[string][]int{}
	for _, message := range messages {
		number, err := strconv.Atoi(text(message))
		must(err)
		found[message.Key()] = append(found[message.Key()], number)
	}
	return found
}

func inOrder(byKey map[string][]int) bool {
	for _, numbers := range byKey {
		if !slices.IsSorted(numbers) {
			return false
		}
	}
	return true
}

func text(message pulsar.Message) string {
	return string(message.Payload())
}

func texts(messages []pulsar.Message) []string {
	found := []string{}
	for _, message := range messages {
		found = append(found, text(message))
	}
	return found
}

func count(message pulsar.Message) string {
	if message.RedeliveryCount() == 0 {
		return text(message)
	}
	return fmt.Sprintf("%s (redelivery %d)", text(message), message.RedeliveryCount())
}

func counts(messages []pulsar.Message) []string {
	found := []string{}
	for _, message := range messages {
		found = append(found, count(message))
	}
	return found
}

func numbered(count int, stem string) []string {
	var texts []string
	for n := range count {
		texts = append(texts, fmt.Sprintf("%s %d", stem, n))
	}
	return texts
}

func names(properties map[string]string) []string {
	var found []string
	for name := range properties {
		found = append(found, name)
	}
	slices.Sort(found)
	return found
}

var serverError = regexp.MustCompile(`server error: (\w+)`)

func errorOf(err error) string {
	if err == nil {
		return "none"
	}
	if found := serverError.FindStringSubmatch(err.Error()); found != nil {
		return found[1]
	}
	return err.Error()
}

func version() string {
	built, _ := debug.ReadBuildInfo()
	for _, module := range built.Deps {
		if module.Path == "github.com/apache/pulsar-client-go" {
			return module.Version
		}
	}
	return "unknown"
}

func must(err error) {
	if err != nil {
		log.Panic(err)
	}
}
