package redisstore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/redisstore"
)

// Three operations in one round trip, each with its own answer.
func ExampleStore_Apply() {
	server := miniredis.NewMiniRedis() // yours is a Redis
	if err := server.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	store, err := redisstore.Open(context.Background(), redisstore.Options{
		Universal:       &redis.UniversalOptions{Addrs: []string{server.Addr()}},
		EvictionChecked: "miniredis, which has no memory limit",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	before := store.Stats().Flushes
	for _, r := range store.Apply(context.Background(), []idem.Op{
		{Kind: idem.OpCreate, Name: "idem:shop:item:a", Value: []byte("mine"), TTL: time.Hour},
		{Kind: idem.OpCreate, Name: "idem:shop:item:b", Value: []byte("mine"), TTL: time.Hour},
		{Kind: idem.OpLoad, Name: "idem:shop:item:c"},
	}) {
		fmt.Printf("done %v, there %q, %v\n", r.Done, r.Value, r.Err)
	}
	fmt.Println("pipelines:", store.Stats().Flushes-before)
	// Output:
	// done true, there "", <nil>
	// done true, there "", <nil>
	// done false, there "", <nil>
	// pipelines: 1
}

// What holds for a store whose claims are refused if no replica has them in time.
func ExampleWaitReplicas() {
	store, err := redisstore.Open(context.Background(), redisstore.Options{
		Universal: &redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}}, // nobody is there: no error
		WaitReplicas: redisstore.WaitReplicas{
			Replicas: 1, Timeout: 50 * time.Millisecond, OrRefuse: true,
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	r := store.Report()
	fmt.Println("claim by", r.ClaimBy, "- worst call", r.WorstCall)
	// Output: claim by script - worst call 550ms
}
