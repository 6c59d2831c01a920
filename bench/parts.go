package main

import (
	"context"
	"time"
)

// part is a group of rows with what is promised about it.
type part struct {
	name, title string
	about       string // how its table is to be read
	open        func(ctx context.Context, addr string) (*group, error)
	budgets     []budget
	times       int // rounds are so much longer than asked for; 0: as long
	most        int // rounds at most; 0: as many as asked for
}

// parts are in the order in which a request goes: memory, whole requests, the
// store, and what happens where very many come.
var parts = []part{
	{
		name: "memory", title: "In this process, without a network", budgets: memoryBudgets,
		about: "One caller, records in memory, requests handed to the handler without a server. Fiber's middleware has neither a payload check nor a scope; the rows of idem have both.",
		open:  memoryWithFiberV3,
	},
	{
		name: "telemetry", title: "Looking on", budgets: telemetryBudgets, times: 2,
		about: "A first request in memory, and what it costs to be told of its steps.",
		open:  func(context.Context, string) (*group, error) { return telemetryRows() },
	},
	{
		name: "http-redis", title: "Whole requests, records in Redis", budgets: redisHTTPBudgets,
		about: "One caller, without a server; records in a redis-server on the same cores. µs is what the caller waits, round trips included. In the rows “200 µs away” no reply arrives sooner, as from another host of the zone: these are judged, because a round trip over a loopback is mostly the time in which the machine wakes up.",
		open:  redisHTTPRows,
	},
	{
		name: "redis", title: "The store on Redis", budgets: redisBudgets,
		about: "Claims without HTTP around them. A lone caller's time is nearly all round trip; 256 callers share round trips. In the rows “80 µs away” no reply arrives sooner, as from a host that is near: over a loopback of 20 µs the server's own work is a tenth of a round trip, and a batch saves only the rest. redislock, redsync and SET NX hold a name and forget it with the release; idem remembers that it was released.",
		open:  redisRows,
	},
	{
		name: "served", title: "Through real servers", budgets: servedBudgets, times: 5,
		about: "The server is a process of its own, and µs CPU and allocations are that process's; 64 connections over the loopback, each sending its next order as soon as the one before is answered; Redis, the server and the load share the cores. The naive way beside ours is not safe: a crash leaves its key taken for good, and another order under the same key is taken for a repeat.",
		open:  servedRows,
	},
	{
		name: "storm", title: "A storm of double clicks", budgets: stormBudgets, most: 3,
		about: "10,000 users each submit an order twice, 50 ms apart, to net/http with records in Redis, on up to 4,000 connections; once their first clicks come over two seconds, once all at the same moment. Times are from the click to the answer, waiting for a connection included. *runs* is how often an order was made, *errors* every answer but 201. The bare handler makes every order twice.",
		open:  stormRows,
	},
	{
		name: "renewals", title: "Keeping claims", budgets: renewalBudgets, most: 3,
		about: "10,000 claims that run, each renewed three times in a lease of 1.8 s, on Redis. µs CPU is all that the process spends meanwhile, for each renewal.",
		open:  renewalRows,
	},
	{
		name: "waiting", title: "Duplicates that wait", budgets: waitingBudgets, most: 5,
		about: "1,000 requests with one key in a process, while another process runs it, over Redis. They wait 1.25 s, more than two poll intervals; the times are from the beginning of the settle to each duplicate's answer. Of the store calls one is the claim that met the run and one brings the answer; the others are looks.",
		open:  waitingRows,
	},
	{
		name: "sizes", title: "Bytes", budgets: sizeBudgets, most: 1,
		about: "What one record is in Redis: STRLEN and MEMORY USAGE.",
		open:  sizeRows,
	},
}

func partNames() []string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.name
	}
	return names
}

// turns is how often and how long a part is measured.
func (p part) turns(o options) (rounds int, length time.Duration) {
	rounds, length = o.rounds, o.length
	if p.most > 0 {
		rounds = min(rounds, p.most)
	}
	if p.times > 0 {
		length *= time.Duration(p.times)
	}
	return rounds, length
}
