package redisstore

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/broken"
)

// command is one command and, once it was read, the reply to it.
//
// The driver says what became of a command by SetErr: nil right after it has read
// the command's own reply, and an error afterwards to every command of a pipeline
// that broke, those included that were answered. What was answered stays answered.
type command struct {
	*redis.RawCmd
	read  bool
	whole error    // what the driver said of the pipeline
	sync  bool     // it is a claim, which waits for replicas
	wait  *command // of a claim that waits: the WAIT behind it on the same connection
}

func newCommand(ctx context.Context, words ...any) *command {
	return &command{RawCmd: redis.NewRawCmd(ctx, words...)}
}

// SetErr takes note of what the driver says of the command.
func (c *command) SetErr(err error) {
	c.read = c.read || err == nil
	c.RawCmd.SetErr(err)
}

// answer returns the command's own reply, if it was read. Else it says that the
// outcome is unknown, and why; what the driver said of the whole pipeline is all
// that is known where the server turned the connection away.
func (c *command) answer() (reply, error) {
	raw, err := c.Result()
	if broken.Is(broken.S9PipelineAsOne) && c.whole != nil {
		return reply{}, unknown(c.whole)
	}
	if !c.read || len(raw) == 0 {
		return reply{}, unknown(cmp.Or(err, c.whole, errMalformed))
	}
	return parse(raw)
}

func unknown(err error) error { return &noReply{err} }

// noReply is the error of a call whose reply was not read.
type noReply struct{ err error }

func (e *noReply) Error() string {
	return "redisstore: no reply, so the outcome is unknown: " + e.err.Error()
}

func (e *noReply) Unwrap() error { return e.err }

// Most calls are one command or two of up to eight words.
const (
	usualCommands = 2
	usualWords    = 8
)

// exchange is what one caller sends in one go: commands that are written in order,
// without another's between them, and answered in order. Make one with
// newExchange, add commands, send it, read the replies, free it.
type exchange struct {
	cmds []*command
	sync bool // one of them waits for replicas: a WAIT belongs behind them

	// For one that waits in a lane's queue.
	state    state // guarded by the lane's mutex
	deadline time.Time
	since    time.Time
	done     chan struct{} // told once, when it was delivered
	timer    *time.Timer
	kept     []byte // copies of the values, which stay as they are if the caller leaves

	usual [usualCommands]struct {
		command
		words [usualWords]any
		operands
	}
}

// operands are the words of an operation's command that differ from one to the
// next. The driver takes pointers to them: a word by value is an allocation.
type operands struct {
	name       string
	old, value blob
	ttl        int64 // in milliseconds
}

// blob is bytes as the driver takes them by a pointer.
type blob struct{ bytes []byte }

// MarshalBinary returns the bytes themselves.
func (b *blob) MarshalBinary() ([]byte, error) { return b.bytes, nil }

// operands are those of the command that is added next.
func (x *exchange) operands(op *idem.Op) *operands {
	var o *operands
	if i := len(x.cmds); i < usualCommands {
		o = &x.usual[i].operands
	} else {
		o = new(operands)
	}
	o.name, o.old.bytes, o.value.bytes, o.ttl = op.Name, op.Old, op.Value, millis(op.TTL)
	return o
}

// state is where an exchange is. It only moves on.
type state uint8

const (
	mine      state = iota // with its caller
	queued                 // in the queue: its caller may still leave
	sent                   // on the wire
	delivered              // done: its caller is told
	left                   // its caller has gone
)

var exchanges = sync.Pool{New: func() any { return &exchange{done: make(chan struct{}, 1)} }}

func newExchange() *exchange { return exchanges.Get().(*exchange) }

// bigKept is the largest buffer that is worth keeping for the next exchange.
const bigKept = 64 << 10

// free gives an exchange back. Its replies stay valid.
func (x *exchange) free() {
	x.empty()
	exchanges.Put(x)
}

// empty lets go of all that an exchange holds.
func (x *exchange) empty() {
	if cap(x.kept) > bigKept {
		x.kept = nil
	}
	for i := range min(len(x.cmds), usualCommands) {
		u := &x.usual[i]
		u.command, u.operands = command{}, operands{}
		clear(u.words[:])
	}
	clear(x.cmds)
	x.cmds, x.kept, x.sync = x.cmds[:0], x.kept[:0], false
	x.state, x.deadline, x.since = mine, time.Time{}, time.Time{}
}

// add appends a command.
func (x *exchange) add(ctx context.Context, words ...any) {
	i := len(x.cmds)
	if i < usualCommands && len(words) <= usualWords {
		u := &x.usual[i]
		u.command = command{RawCmd: redis.NewRawCmd(ctx, append(u.words[:0], words...)...)}
		x.cmds = append(x.cmds, &u.command)
		return
	}
	x.cmds = append(x.cmds, newCommand(ctx, slices.Clone(words)...))
}

// keep copies the values of all commands, so that they may be sent, or not be
// sent, when the caller who owns them has gone.
func (x *exchange) keep() {
	size := 0
	for _, c := range x.cmds {
		for _, w := range c.Args() {
			size += len(bytesOf(w))
		}
	}
	x.kept = slices.Grow(x.kept[:0], size) // no part of it moves from here on
	for _, c := range x.cmds {
		words := c.Args()
		for i, w := range words {
			from := len(x.kept)
			x.kept = append(x.kept, bytesOf(w)...)
			switch w := w.(type) {
			case *blob:
				w.bytes = x.kept[from:len(x.kept):len(x.kept)]
			case []byte:
				words[i] = x.kept[from:len(x.kept):len(x.kept)]
			}
		}
	}
}

// bytesOf is a word that is bytes, nil for any other.
func bytesOf(word any) []byte {
	switch w := word.(type) {
	case *blob:
		return w.bytes
	case []byte:
		return w
	}
	return nil
}

// reply returns the reply to the command at i.
func (x *exchange) reply(i int) (reply, error) { return x.cmds[i].answer() }
