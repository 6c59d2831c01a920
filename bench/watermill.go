package main

import (
	"errors"
	"strconv"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
)

// deduplicates is watermill's middleware, on its own memory, before a handler that
// does nothing. It is told apart by SHA-256, as its page advises; the default is
// Adler-32, of which two of some ten thousand messages are alike. It drops the
// repeat and answers nothing. next is the number of the next message; fresh ones
// must be handled, the others, but for the first, dropped.
func deduplicates(next func() int, fresh bool) func(i int) error {
	seen, err := middleware.NewMapExpiringKeyRepository(rivalLife)
	handled := 0
	handler := (&middleware.Deduplicator{
		KeyFactory: middleware.NewMessageHasherSHA256(1 << 10), Repository: seen, Timeout: ttl,
	}).Middleware(func(*message.Message) ([]*message.Message, error) { handled++; return nil, nil })
	return func(int) error {
		if err != nil {
			return err
		}
		before := handled
		m := message.NewMessage("", append(strconv.AppendInt(make([]byte, 0, len(orderBody)+20), int64(next()), 10), orderBody...))
		if _, err := handler(m); err != nil {
			return err
		}
		if fresh && handled == before {
			return errors.New("a new message was dropped")
		}
		return nil
	}
}
