package main

import (
	"context"
	"errors"
	"sync"

	idem "github.com/go-idem/idem/core"
)

// failure is what the mail server does to the first attempt at a message.
type failure int

const (
	never      failure = iota
	unreadable         // the message cannot be worked on: every attempt fails
	before             // it says no, and has taken nothing
	after              // it takes the mail, and is not heard of again
)

// mailServer stands in for something outside of any transaction.
type mailServer struct {
	mu    sync.Mutex
	mails []string // tenant/id of each that was sent
}

var (
	errRefused    = errors.New("the mail server says no")
	errSilent     = errors.New("the mail server is not heard of again")
	errUnreadable = errors.New("no invoice")
)

func (s *mailServer) take(d *delivery) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.track.fails == before && d.number == 1 {
		return 0, errRefused
	}
	s.mails = append(s.mails, d.tenant+"/"+d.id)
	if d.track.fails == after {
		return 0, errSilent
	}
	return len(s.mails), nil
}

// sent is how many mails there were for a message.
func (s *mailServer) sent(tenant, id string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, mail := range s.mails {
		if mail == tenant+"/"+id {
			n++
		}
	}
	return n
}

func (s *mailServer) all() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mails)
}

// send is the work. Whatever can be found wrong is found before the mark; after
// it, only what is known to have had no effect is said to have had none.
func send(ctx context.Context, server *mailServer, d *delivery) (receipt, error) {
	if d.track.fails == unreadable {
		return receipt{}, errUnreadable
	}
	if d.track.alongside {
		close(d.track.begun)
		select { // long work: the next delivery comes meanwhile
		case <-d.track.second:
		case <-ctx.Done():
			return receipt{}, context.Cause(ctx)
		}
	}
	if err := idem.MarkEffects(ctx, "invoice of message "+d.id); err != nil {
		return receipt{}, err // do not go on: the claim is not surely ours
	}
	mail, err := server.take(d)
	if errors.Is(err, errRefused) {
		return receipt{}, idem.NoEffects(err) // undone, although it was marked
	}
	return receipt{Mail: mail}, err
}

// troubles are the messages of the demonstration.
func troubles() []*track {
	invoice := []byte(`{"invoice":7}`)
	at := func(id, tenant, trouble string) *track {
		return &track{message: message{id: id, tenant: tenant, body: invoice}, trouble: trouble}
	}
	fine, lost, slow := at("m-1", "acme", "none"), at("m-2", "acme", "its acknowledgement is lost, twice"), at("m-3", "acme", "delivered again while it runs")
	lost.loseAcks = 2
	slow.alongside, slow.begun, slow.second = true, make(chan struct{}), make(chan struct{})
	refused, silent, poison := at("m-4", "acme", "the mail server says no at first"), at("m-5", "acme", "the mail server takes it and falls silent"), at("m-6", "acme", "it can never be worked on")
	refused.fails, silent.fails, poison.fails = before, after, unreadable
	reused := at("m-7", "acme", "another message under the same id")
	reused.loseAcks, reused.changed = 1, []byte(`{"invoice":8}`)
	return []*track{fine, lost, slow, refused, silent, poison, reused, at("m-1", "zenith", "another tenant's message of the same id")}
}
