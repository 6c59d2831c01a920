package idem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-idem/idem/internal/broken"
)

// Codec turns an action's answer into bytes and back, so that it can be kept. The
// bytes that Encode returns are copied before [Do] returns, and those that Decode is
// given are its own: both may point into the answer. Where one of them panics, the
// panic goes on; of a run that returned, its claim has ended then, done or in doubt.
// The errors of both go into the log: no piece of an answer may stand in them.
type Codec[T any] interface {
	Encode(T) (Payload, error)
	Decode(Payload) (T, error)
}

// OutcomeCodec is a Codec that knows how a run ends from what it returned, such
// as an HTTP answer's status. Without it, a run that returned no error
// completes, and one that did ends by the policy's On5xx.
type OutcomeCodec[T any] interface {
	Codec[T]
	Outcome(p *Policy, v T) Outcome
}

// JSON keeps answers as JSON.
func JSON[T any]() Codec[T] { return jsonCodec[T]{} }

type jsonCodec[T any] struct{}

func (jsonCodec[T]) Encode(v T) (Payload, error) {
	b, err := json.Marshal(v)
	return Payload{Bytes: b}, jsonFault(err)
}

func (jsonCodec[T]) Decode(p Payload) (v T, err error) {
	if p.Partial {
		return v, nil
	}
	return v, jsonFault(json.Unmarshal(p.Bytes, &v))
}

// jsonFault is an error of encoding/json in words of ours: it goes into the log, and
// theirs quote pieces of the answer.
func jsonFault(err error) error {
	var syntax *json.SyntaxError
	var other *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntax):
		return fmt.Errorf("it is no JSON from byte %d on", syntax.Offset)
	case errors.As(err, &other):
		kind, _, _ := strings.Cut(other.Value, " ")
		return fmt.Errorf("at byte %d there is a %s, which is no %v", other.Offset, kind, other.Type)
	}
	return fmt.Errorf("encoding/json failed with a %T", err)
}

// Do runs fn once for an intent and gives everybody the same answer.
//
// It returns fn's own value and error where fn ran now, with the verdict
// Executed, Released, Uncertain, Unprotected or Unguarded; the kept value with Replayed;
// and a [*RefusedError] with every other verdict (with Used, the value holds
// what little was kept). Errors that are neither fn's nor a refusal say that
// the intent or the guard is wrong: ErrNoScope, ErrUnknownOperation.
//
// fn runs on a context that is cut loose from ctx's cancellation and ends when
// the claim is lost, MaxRun is over or the guard closes; with Unguarded, ctx
// itself decides. The outcome is written
// before Do returns, held back at most SettleWait. A panic of fn, and
// runtime.Goexit, end the claim by policy and go on unchanged. With an
// [OutcomeCodec], fn may return a value and an error: the value decides.
func Do[T any](ctx context.Context, g *Guard, in Intent, codec Codec[T], fn func(context.Context) (T, error)) (T, Verdict, error) {
	var none T
	if codec == nil || fn == nil {
		return none, 0, errNothingToRun
	}
	if !in.Judged && g.tells(ctx) {
		return doTold(ctx, g, in, codec, fn)
	}
	watched := g.hooks.enter()
	if watched {
		defer g.hooks.leave()
	}
	c, err := g.claimFor(ctx, &in, watched)
	if c == nil {
		return none, 0, err
	}
	if !c.won {
		v, verdict, err := replay(ctx, c, codec)
		if c.hooked != nil {
			c.judged(ctx, c.seen.rec.state)
		}
		if verdict == Replayed {
			c.recycle()
		}
		return v, verdict, err
	}
	runCtx, end := context.Context(c.run), Ending{}
	if g.watch.at(StepRun) {
		runCtx, end = c.observe(c.run, Step{Kind: StepRun})
	}
	c.lone = true
	returned, read, s := false, false, ended{Settlement: Settlement{Claim: c}}
	defer func() {
		switch { // a panic or runtime.Goexit, which go on by themselves
		case !returned:
			end.End(StepResult{Err: errAbrupt})
			c.endAbruptly()
		case !read && !broken.Is(broken.P10CodecUnsettled):
			c.omitted("unencodable")
			_ = c.settle(context.Background(), s.Outcome, s.Payload, s.undone)
		}
	}()
	v, err := fn(runCtx)
	returned = true
	if !end.idle() {
		end.End(StepResult{Fence: c.Fence(), Err: err})
	}
	if c.hooked != nil {
		c.returned(v, err)
	}
	ending(ctx, &s, codec, v, err)
	read = true
	_ = c.settle(ctx, s.Outcome, s.Payload, s.undone) // the verdict says what became of it
	if c.parted {
		verdict := c.verdict
		c.recycle()
		return v, verdict, err
	}
	return v, c.ends(), err
}

// errNothingToRun is said before anything is claimed: a run that fails on nil
// would be held by policy.
var errNothingToRun = errors.New("idem: Do needs a codec, such as JSON, and a function to run; one of them is nil")

var errAbrupt = errors.New("idem: the run ended by a panic or runtime.Goexit")

// endAbruptly settles by policy a claim whose run did not return (PROTOCOL
// P10). Nothing of a partial answer is kept.
func (c *Claim) endAbruptly() {
	if c.hooked != nil {
		c.returned(nil, errAbrupt)
	}
	c.because(releasedByPanic)
	c.omitted("error")
	if !broken.Is(broken.P10PanicUnsettled) {
		_ = c.settle(context.Background(), c.policy().OutcomeOfError(), Payload{Partial: true}, false)
	}
}

// ending says in s how a run that returned v and err ends, and what is kept of it.
// The codec and the error are the application's: where one of them panics, s says
// what is known by then. The run has returned, so it is never released for that.
func ending[T any](ctx context.Context, s *ended, codec Codec[T], v T, err error) {
	c := s.Claim
	s.Outcome, s.Payload = Doubts, Payload{Partial: true}
	s.undone = c.excuses(err)
	if c.loose { // nothing is kept
		s.Outcome = Completes
		return
	}
	oc, knows := codec.(OutcomeCodec[T])
	switch {
	case knows:
		out := oc.Outcome(c.policy(), v)
		if (out == Releases || s.undone) && c.g.watch.at(StepSettle) {
			f, tells := codec.(FailureCodec[T])
			c.becauseOf(err, tells && f.Failed(v))
		}
		s.Outcome = out
	case err != nil:
		c.becauseOf(err, true)
		c.omitted("error")
		// An error is not an answer that can be kept.
		s.Outcome = c.policy().OutcomeOfError()
		return
	default:
		s.Outcome = Completes
	}
	if s.Outcome != Completes && s.Outcome != Fails {
		return
	}
	kept, encErr := codec.Encode(v)
	if encErr != nil {
		c.g.log.LogAttrs(ctx, slogError, "answer cannot be kept: repeats will be told that it is done", attrOperation(c), attrKey(c), attrError(encErr))
		kept = Payload{Partial: true}
		c.omitted("unencodable")
	} else if kept.Partial {
		if says, ok := codec.(SkipCodec[T]); ok {
			c.omitted(says.Skipped(v))
		}
	}
	s.Payload = kept
}

// replay gives back what is known about an intent that was not run now.
func replay[T any](ctx context.Context, c *Claim, codec Codec[T]) (v T, verdict Verdict, err error) {
	kept, there := c.Kept()
	if !there {
		return v, c.verdict, c.Refused()
	}
	var end Ending
	if c.g.watch.at(StepReplay) {
		_, end = c.observe(ctx, Step{Kind: StepReplay, Link: c.Origin()})
	}
	v, err = codec.Decode(kept)
	if err != nil {
		// An answer that cannot be read is held like a record that cannot be
		// read: never a miss, never a run.
		c.g.log.LogAttrs(ctx, slogError, "kept answer cannot be read: it is held", attrOperation(c), attrKey(c), attrError(err))
		c.verdict, c.retry, c.refusal = Uncertain, retryUncertain, errors.New("the kept answer cannot be read")
	}
	if !end.idle() {
		end.End(StepResult{Verdict: c.verdict, State: c.seen.rec.state, Fence: c.seen.rec.fence, Err: err})
	}
	if refused := c.Refused(); refused != nil {
		return v, c.verdict, refused
	}
	return v, c.verdict, nil
}
