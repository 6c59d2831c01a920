// Package redisstore keeps records in Redis 6.2 or later, Valkey, or what speaks
// their protocol: one server, a Sentinel group, a Cluster or a Twemproxy.
//
//	store, err := redisstore.Open(ctx, redisstore.Options{
//		Universal: &redis.UniversalOptions{Addrs: []string{"127.0.0.1:6379"}},
//	})
//	if err != nil {
//		return err // the configuration is wrong; a server that is down is no error here
//	}
//	defer store.Close()
//	fmt.Print(store.Report())
//	guard, err := idem.New(idem.Config{Store: store, …})
//
// # What goes over the wire
//
// One string per record, no second key and no hash tag, so that a Cluster spreads
// the records and no call crosses slots. One round trip per call:
//
//	Create   SET name value NX GET PX ttl      nothing came back: it is ours
//	Swap     EVALSHA of a compare-and-set      a few lines of Lua, atomic; where the
//	                                           server has it and nobody is to be
//	                                           woken, SET IFEQ GET
//	Load     GET name, PTTL name in one write  the value first, its time second
//	Now      TIME
//
// # Many at once
//
// A call goes at once, alone, in its caller's goroutine, unless as many pipelines
// as Options.Pipelines are under way to its node already. Then it waits until one
// comes back and leaves with all others that wait, in one pipeline. No timer is in
// it: under little load nobody waits, under much load pipelines become long by
// themselves. A caller whose context ends while it waits is told [ErrNotSent];
// once its call is on the wire the outcome is unknown. Of a pipeline that breaks
// half-way, what was answered is known and the rest is not. [Store.Apply] makes a
// batch one pipeline a node; [Store.Stats] and Options.OnFlush tell how it goes.
//
// # Who waits is woken
//
// A Swap that ends a run for which somebody may wait publishes that in the same
// script, under the record's name. While somebody waits, a store has one
// connection more, which listens ([Store.Watch]); it is made anew where it breaks.
// A message that is lost, or that an ACL forbids, costs a waiter half a second.
//
// # What is yours and what is ours
//
// Addresses, TLS and credentials are yours, in Options.Universal, and so is the
// size of the pool. How often, how long and where a call is tried is part of the
// protocol, so it is ours and refused in Options.Universal: no retries by the
// driver, because a repeated claim is told of itself as of somebody else; the
// caller's deadline, to the end of the call; at most three redirects; nothing read
// from a replica or a client-side cache. [Store.Report] prints what holds.
//
// # What goes wrong
//
// A claim lost by the server is an action run twice. Open therefore refuses a
// server that may evict (maxmemory-policy other than noeviction); where the
// policy cannot be read, say by whom it was looked at in Options.EvictionChecked.
// Replication is asynchronous: a failover can lose the newest claims.
// Options.WaitReplicas makes that rare; no setting makes it impossible.
//
// A server that is down when the program starts does not keep it from starting:
// calls fail until the server answers, and [Store.Ready] says why.
package redisstore
