package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/internal/broken"
)

// one makes one operation.
func (s *Store) one(ctx context.Context, op *idem.Op) (idem.Result, error) {
	if err := admit(op); err != nil {
		return idem.Result{}, err
	}
	ctx = s.bound(ctx)
	sight, err := s.fit(ctx)
	if err != nil {
		return idem.Result{}, err
	}
	if broken.Is(broken.S9StoreLooksFirst) && op.Kind == idem.OpCreate {
		return s.lookThenSet(ctx, op)
	}
	x := newExchange()
	s.put(ctx, x, sight, op)
	node, err := s.send(ctx, op.Name, x)
	if err != nil {
		return idem.Result{}, err
	}
	return s.outcome(ctx, node, x, 0, op)
}

// put adds the commands of an operation to an exchange, and behind it its entry.
func (s *Store) put(ctx context.Context, x *exchange, seen *sight, op *idem.Op) {
	sync := s.waits(ctx, op)
	s.putOp(ctx, x, seen, op, sync)
	if sync {
		x.sync, x.cmds[len(x.cmds)-1].sync = true, true
	}
	if s.rides(op) {
		x.add(ctx, entryWords(op, "EVALSHA", entryScriptNow().sha)...)
	}
}

// wakes tells whether a Swap publishes that it was made.
func (s *Store) wakes(op *idem.Op) bool { return op.Wake && !s.options.NoPubSub }

func (s *Store) putOp(ctx context.Context, x *exchange, seen *sight, op *idem.Op, sync bool) {
	o, script := x.operands(op), &scriptFor(op, sync).sha
	switch {
	case op.Kind == idem.OpLoad:
		// In this order a record that changes between the two is told with too much
		// time, never with too little, so a live claim is not taken for a lapsed one.
		first, second := "GET", "PTTL"
		if broken.Is(broken.S9TimeBeforeValue) {
			first, second = second, first
		}
		x.add(ctx, first, op.Name)
		x.add(ctx, second, op.Name)
	case op.Kind == idem.OpSwap && s.wakes(op):
		x.add(ctx, "EVALSHA", script, "1", &o.name, &o.old, &o.value, &o.ttl, wakeWord)
	case op.Kind == idem.OpSwap && seen.swapsAlone && !sync:
		x.add(ctx, "SET", &o.name, &o.value, "IFEQ", &o.old, "GET", "PX", &o.ttl)
	case op.Kind == idem.OpSwap:
		x.add(ctx, "EVALSHA", script, "1", &o.name, &o.old, &o.value, &o.ttl)
	case seen.byScript || sync:
		x.add(ctx, "EVALSHA", script, "1", &o.name, &o.value, &o.ttl)
	case broken.Is(broken.P11NoTTL):
		x.add(ctx, "SET", &o.name, &o.value, "NX", "GET")
	default:
		x.add(ctx, "SET", &o.name, &o.value, "NX", "GET", "PX", &o.ttl)
	}
}

// commandsOf is how many commands put adds.
func (s *Store) commandsOf(op *idem.Op) int {
	if op.Kind == idem.OpLoad || s.rides(op) {
		return 2
	}
	return 1
}

// outcome reads what became of an operation that was sent alone, its first command
// at i, sends again what was refused for its form, and frees the exchange.
func (s *Store) outcome(ctx context.Context, node *redis.Client, x *exchange, i int, op *idem.Op) (idem.Result, error) {
	r, what, err := s.came(ctx, node, x, i, op)
	x.free()
	if what != 0 {
		return s.oneAgain(ctx, node, op, what, r)
	}
	return r, err
}

// came reads what became of an operation whose first command is at i, and of its
// entry, and what of the two was refused for its form.
func (s *Store) came(ctx context.Context, node *redis.Client, x *exchange, i int, op *idem.Op) (r idem.Result, what unmade, err error) {
	r, err = s.done(ctx, node, x, i, op)
	if errors.Is(err, errRefused) {
		what, err = unmadeOp, nil
	}
	if s.rides(op) && err == nil {
		entry := s.heard(ctx, node, x, i+1)
		r.Journaled = entry.appended()
		// It found nothing to ride with, if that was refused.
		if entry.noScript() || entry.err == nil && what != 0 && !r.Journaled {
			what |= unmadeEntry
		}
	}
	return r, what, err
}

func (s *Store) done(ctx context.Context, node *redis.Client, x *exchange, i int, op *idem.Op) (idem.Result, error) {
	if op.Kind == idem.OpLoad {
		return loaded(s.twoHalves(ctx, x, i, op.Name))
	}
	t := s.heard(ctx, node, x, i)
	switch words := x.cmds[i].Args(); {
	case t.err != nil:
		return idem.Result{}, t.err
	case words[0] == "EVALSHA":
		return s.scripted(ctx, t, op)
	case op.Kind == idem.OpSwap:
		r, err := swapped(t.reply, op)
		if errors.Is(err, errRefused) {
			s.learn(op)
		}
		return r, err
	}
	switch t.kind {
	case nothing:
		return idem.Result{Done: true}, nil
	case bulk:
		return idem.Result{Value: t.text}, nil
	case failure:
		if syntax(t.text) {
			s.learn(op)
			return idem.Result{}, errRefused
		}
		return s.refusedCreate(ctx, op.Name, t.reply)
	}
	return idem.Result{}, t.unexpected("SET NX GET")
}

// twoHalves returns the replies to the two commands of a Load. Where a node refused
// one of them, both are made again, one after the other, wherever they are sent on
// to: a time that was told before the value is none.
func (s *Store) twoHalves(ctx context.Context, x *exchange, i int, name string) (value, left reply, err error) {
	value, err = x.reply(i)
	if err == nil {
		left, err = x.reply(i + 1)
	}
	if err != nil {
		s.lookAround(ctx)
	}
	if err == nil && (value.kind == failure || left.kind == failure) {
		if value, err = s.call(ctx, name, "GET", name); err == nil {
			left, err = s.call(ctx, name, "PTTL", name)
		}
		return value, left, err
	}
	if broken.Is(broken.S9TimeBeforeValue) {
		return left, value, err
	}
	return value, left, err
}

// loaded reads the replies of a Load.
func loaded(value, left reply, err error) (idem.Result, error) {
	switch {
	case err != nil:
		return idem.Result{}, err
	case value.kind == nothing:
		return idem.Result{}, nil
	case value.kind != bulk:
		return idem.Result{}, value.unexpected("GET")
	case left.kind != integer:
		return idem.Result{}, left.unexpected("PTTL")
	case left.n == pttlGone: // it expired between the two
		return idem.Result{}, nil
	case left.n == pttlForever:
		return idem.Result{}, errors.New("redisstore: a record without a time to live: something else writes under this prefix")
	}
	return idem.Result{Value: value.text, Left: timeLeft(left.n)}, nil
}

// swapped reads the reply of SET IFEQ GET: what was there before, whether or not it
// was replaced. A server that does not know IFEQ (the last look met another one)
// has refused the call, not made it.
func swapped(r reply, op *idem.Op) (idem.Result, error) {
	switch {
	case r.kind == nothing:
		return idem.Result{}, nil
	case r.kind == bulk && (string(r.text) == string(op.Old) || string(r.text) == string(op.Value)):
		return idem.Result{Done: true}, nil
	case r.kind == bulk:
		return idem.Result{Value: r.text}, nil
	case r.kind == failure && syntax(r.text):
		return idem.Result{}, errRefused
	}
	return idem.Result{}, r.unexpected("SET IFEQ GET")
}

// scripted reads the reply of a script. A server that does not know the script has
// refused the call, not made it.
func (s *Store) scripted(ctx context.Context, t told, op *idem.Op) (idem.Result, error) {
	switch {
	case t.err != nil:
		return idem.Result{}, t.err
	case t.noScript():
		return idem.Result{}, errRefused
	case t.kind == integer && t.n == 1:
		return s.confirm(idem.Result{Done: true}, t.wait)
	case t.kind == integer && t.n == 0:
		return idem.Result{}, nil
	case t.kind == array && len(t.items) == 2 && t.items[0].kind == bulk && t.items[1].kind == integer:
		there := idem.Result{Value: t.items[0].text, Left: timeLeft(t.items[1].n)}
		if t.wait != nil && string(there.Value) == string(op.Value) {
			return s.confirm(there, t.wait) // a claim of our own, written again
		}
		return there, nil
	case t.kind == failure && op.Kind == idem.OpCreate:
		return s.refusedCreate(ctx, op.Name, t.reply)
	}
	return idem.Result{}, t.unexpected("a script")
}

// refusedCreate is a Create that the server refused. A server that is full, that
// cannot save or that has too few replicas takes no write and says so before it
// looks; what is there can still be read, so that repeats of what is done are
// answered while nothing new can begin.
func (s *Store) refusedCreate(ctx context.Context, name string, r reply) (idem.Result, error) {
	switch code(r.text) {
	case "OOM", "MISCONF", "NOREPLICAS":
	default:
		return idem.Result{}, refusal(r.text)
	}
	there, err := s.Load(ctx, name)
	if err != nil || there.Value == nil {
		return idem.Result{}, refusal(r.text)
	}
	return there, nil
}

// lookThenSet is Create in the way in which it must not be made.
func (s *Store) lookThenSet(ctx context.Context, op *idem.Op) (idem.Result, error) {
	r, err := s.call(ctx, op.Name, "GET", op.Name)
	if err != nil || r.kind == bulk {
		return idem.Result{Value: r.text}, err
	}
	_, err = s.call(ctx, op.Name, "SET", op.Name, op.Value, "PX", millis(op.TTL))
	return idem.Result{Done: err == nil}, err
}

// admit tells what is wrong with an operation before anything of it is sent.
func admit(op *idem.Op) error {
	switch {
	case op.Kind == idem.OpLoad:
		return nil
	case op.TTL <= 0:
		return fmt.Errorf("redisstore: a time to live of %v: every record has one above zero", op.TTL)
	case len(op.Value) > MaxValue:
		return fmt.Errorf("redisstore: a value of %d bytes: the limit is %d", len(op.Value), MaxValue)
	case op.Name == "" || len(op.Name) > maxName:
		return fmt.Errorf("redisstore: a name of %d bytes: it has 1 to %d", len(op.Name), maxName)
	}
	return nil
}

// What PTTL answers besides a time.
const (
	pttlForever = -1
	pttlGone    = -2
)

// millis is a time to live as Redis takes it: rounded up, because it must not be
// shorter than asked.
func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// timeLeft is what PTTL told. A key is still there in the last millisecond, when
// PTTL says 0, and any PTTL may be told just before the millisecond turns: one
// more is never less than the truth, and never the "not told" of a zero.
func timeLeft(pttl int64) time.Duration {
	if pttl < 0 {
		return 0
	}
	return time.Duration(pttl+1) * time.Millisecond
}
