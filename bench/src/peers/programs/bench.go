// bench TASK URL TOPIC COUNT: one task with Pulsar's Go client. Standard input has the message: a line with the body and a
// line with the properties as JSON. Prints a line of JSON with the figures.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	plog "github.com/apache/pulsar-client-go/pulsar/log"
)

const batch, keys = 100, 100

func main() {
	task, url, topic := os.Args[1], os.Args[2], os.Args[3]
	count, err := strconv.Atoi(os.Args[4])
	must(err)
	input := bufio.NewReader(os.Stdin)
	body, err := input.ReadString('\n')
	must(err)
	line, err := input.ReadString('\n')
	must(err)
	properties := map[string]string{}
	must(json.Unmarshal([]byte(line), &properties))
	client, err := pulsar.NewClient(pulsar.ClientOptions{URL: url, Logger: plog.DefaultNopLogger()})
	must(err)
	if strings.HasPrefix(task, "publish") {
		publish(client, task, topic, []byte(strings.TrimRight(body, "\n")), properties, count)
	} else {
		consume(client, topic, count)
	}
}

func publish(client pulsar.Client, task, topic string, body []byte, properties map[string]string, count int) {
	options := pulsar.ProducerOptions{Topic: topic, DisableBatching: true}
	switch task {
	case "publish-1":
		options.MaxPendingMessages = 1
	case "publish-500":
		options.MaxPendingMessages = 500
	case "publish-batches":
		options.MaxPendingMessages = 5000
		options.DisableBatching = false
		options.BatchingMaxMessages = batch
		options.BatcherBuilderType = pulsar.KeyBasedBatchBuilder
	}
	producer, err := client.CreateProducer(options)
	must(err)
	var lock sync.Mutex
	latencies := make([]float64, 0, count)
	var stored sync.WaitGroup
	stored.Add(count)
	begin := begin()
	for number := 0; number < count; number++ {
		message := &pulsar.ProducerMessage{Payload: body, Properties: properties}
		if task == "publish-batches" {
			message.Key = strconv.Itoa(number % keys)
		}
		began := time.Now()
		if task == "publish-1" {
			_, err := producer.Send(context.Background(), message)
			must(err)
			latencies = append(latencies, float64(time.Since(began).Nanoseconds())/1e3)
			stored.Done()
			continue
		}
		producer.SendAsync(context.Background(), message, func(_ pulsar.MessageID, _ *pulsar.ProducerMessage, err error) {
			must(err)
			lock.Lock()
			latencies = append(latencies, float64(time.Since(began).Nanoseconds())/1e3)
			lock.Unlock()
			stored.Done()
		})
	}
	must(producer.FlushWithCtx(context.Background()))
	stored.Wait()
	begin.end(latencies)
}

func consume(client pulsar.Client, topic string, count int) {
	begin := begin()
	consumer, err := client.Subscribe(pulsar.ConsumerOptions{Topic: topic, SubscriptionName: "bench", Type: pulsar.Shared})
	must(err)
	for number := 0; number < count; number++ {
		message, err := consumer.Receive(context.Background())
		must(err)
		must(consumer.Ack(message))
	}
	consumer.Close()
	begin.end(nil)
}

type meter struct {
	since time.Time
	cpu   float64
}

func begin() meter { return meter{time.Now(), cpu()} }

func (begin meter) end(latencies []float64) {
	figures := map[string]any{"seconds": time.Since(begin.since).Seconds(), "cpu": cpu() - begin.cpu, "peak_kib": peak()}
	if len(latencies) > 0 {
		sort.Float64s(latencies)
		figures["p50"] = latencies[len(latencies)/2]
		figures["p99"] = latencies[len(latencies)*99/100]
	}
	line, err := json.Marshal(figures)
	must(err)
	fmt.Println(string(line))
}

func cpu() float64 {
	var used syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

func peak() (kib int) {
	status, err := os.ReadFile("/proc/self/status")
	must(err)
	for _, line := range strings.Split(string(status), "\n") {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmHWM:" {
			kib, err = strconv.Atoi(fields[1])
			must(err)
		}
	}
	return kib
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
