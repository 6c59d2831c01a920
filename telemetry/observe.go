package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	idem "github.com/go-idem/idem/core"
)

// spanName names the span of a step, "" where it has none: it is part of one that
// has, and would only make a trace long.
func spanName(kind idem.StepKind) string {
	switch kind {
	case idem.StepClaim:
		return "idem.claim"
	case idem.StepWait:
		return "idem.wait"
	case idem.StepRun:
		return "idem.run"
	case idem.StepSettle:
		return "idem.settle"
	case idem.StepReplay:
		return "idem.replay"
	case idem.StepIssue:
		return "idem.issue"
	case idem.StepReconcile:
		return "idem.reconcile"
	case idem.StepBatch:
		return "idem.claim_batch"
	}
	return ""
}

// The attributes of spans and metrics; logs use the same words.
const (
	keyOperation = attribute.Key("idem.operation")
	keyVerdict   = attribute.Key("idem.verdict")
	keySource    = attribute.Key("idem.source")
	keyState     = attribute.Key("idem.state")
	keyKey       = attribute.Key("idem.key")
	keyFence     = attribute.Key("idem.fence")
	keyAttempt   = attribute.Key("idem.attempt")
	keyResult    = attribute.Key("idem.settle.result")
	// keyReconciled is succeeded, failed, released, later, moved, gave-up,
	// unavailable or error.
	keyReconciled = attribute.Key("idem.reconcile.result")
	keyRenewal    = attribute.Key("idem.renewal.result")
	keyReason     = attribute.Key("idem.release.reason")
	keySkip       = attribute.Key("idem.kept_body.skip")
	keyLease      = attribute.Key("idem.lease")
	keyWeak       = attribute.Key("idem.weak")
	keyDuplicate  = attribute.Key("idem.on_duplicate")
	keyBatch      = attribute.Key("idem.batch.size")
	keyStore      = attribute.Key("idem.store")
	keyCall       = attribute.Key("idem.store.call")
	keyDegrade    = attribute.Key("idem.degrade.state")
	keyErrorType  = attribute.Key("error.type")
	keyLinkType   = attribute.Key("idem.link.type")
)

// Chooses tells guards which steps are looked at: see [idem.StepChooser].
func (t *Telemetry) Chooses(kind idem.StepKind) bool {
	return t.measures && isMeasured(kind) || t.spans && spanName(kind) != ""
}

// Start begins a step: see [idem.Observer].
func (t *Telemetry) Start(ctx context.Context, s idem.Step) (context.Context, func(idem.StepResult)) {
	kept := &s
	ctx, end := t.Begin(ctx, kept)
	if end == nil {
		return ctx, nil
	}
	return ctx, func(r idem.StepResult) { end.Ended(ctx, kept, &r) }
}

// Begin begins a step and allocates nothing for one that has no span: see
// [idem.StepBeginner].
func (t *Telemetry) Begin(ctx context.Context, s *idem.Step) (context.Context, idem.StepEnder) {
	measures := t.measures && isMeasured(s.Kind)
	if measures && s.Kind == idem.StepDegraded {
		t.degraded(ctx, 1)
	}
	ctx, span, dark := t.span(ctx, s)
	switch {
	case span != nil:
		return ctx, &spanned{t, span, measures}
	case measures && dark:
		return ctx, (*unlit)(t)
	case measures:
		return ctx, (*bare)(t)
	}
	return ctx, nil
}

// bare ends a step that is only measured.
type bare Telemetry

func (b *bare) Ended(ctx context.Context, s *idem.Step, r *idem.StepResult) {
	(*Telemetry)(b).measure(ctx, s, r)
}

// unlit ends a step inside a span that is not sampled. Nobody could follow an
// exemplar to it, so each instrument is spared asking for the span once more.
type unlit Telemetry

func (u *unlit) Ended(_ context.Context, s *idem.Step, r *idem.StepResult) {
	(*Telemetry)(u).measure(context.Background(), s, r)
}

// spanned ends a step that has a span.
type spanned struct {
	t        *Telemetry
	span     trace.Span
	measures bool
}

func (d *spanned) Ended(ctx context.Context, s *idem.Step, r *idem.StepResult) {
	if d.measures {
		d.t.measure(ctx, s, r)
	}
	finish(d.span, s, r)
}

// span begins the span of a step, nil where there is none to be recorded; dark
// says that this is because the span around it is not sampled. Reconciling is a
// root of its own, linked to the run it is about.
func (t *Telemetry) span(ctx context.Context, s *idem.Step) (inside context.Context, span trace.Span, dark bool) {
	name := spanName(s.Kind)
	root := s.Kind == idem.StepReconcile
	switch {
	case !t.spans || name == "" || t.keep != nil && !t.keep(*s):
		return ctx, nil, false
	case !t.orphans && !root && isUnsampled(ctx):
		return ctx, nil, true
	}
	options := t.startOptions(s)
	if root {
		options = append([]trace.SpanStartOption{trace.WithNewRoot()}, options...)
	}
	if inside, span = t.tracer.Start(ctx, name, options...); !span.IsRecording() {
		return ctx, nil, false // there is nothing to say, and nothing to end
	}
	return inside, span, false
}

// isUnsampled tells whether ctx is inside a span of this process that was not
// sampled: under a parent-based sampler, which is the default, no child of it
// is either, and asking the sampler each time costs more than the rest of a
// step.
func isUnsampled(ctx context.Context) bool {
	sc := trace.SpanContextFromContext(ctx)
	return sc.IsValid() && !sc.IsSampled() && !sc.IsRemote()
}

// startOptions are what samplers may see, and the link. Those of a step
// without a link are the same each time and are made once an operation.
func (t *Telemetry) startOptions(s *idem.Step) []trace.SpanStartOption {
	var plain []trace.SpanStartOption
	if made, ok := t.starts.Load(s.Operation); ok {
		plain = made.([]trace.SpanStartOption)
	} else {
		plain = []trace.SpanStartOption{
			trace.WithSpanKind(trace.SpanKindInternal),
			trace.WithAttributes(keyOperation.String(s.Operation)),
		}
		t.starts.Store(s.Operation, plain)
	}
	from := t.origin(s.Link)
	if !from.IsValid() {
		return plain
	}
	return []trace.SpanStartOption{plain[0], plain[1], trace.WithLinks(trace.Link{
		SpanContext: from, Attributes: []attribute.KeyValue{keyLinkType.String("original_request")},
	})}
}

// finish ends the span of a step that is recorded.
func finish(span trace.Span, s *idem.Step, r *idem.StepResult) {
	span.SetAttributes(describe(s, r)...)
	if kind := errorType(s, r); kind != "" {
		span.SetAttributes(keyErrorType.String(kind))
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

func describe(s *idem.Step, r *idem.StepResult) []attribute.KeyValue {
	list := make([]attribute.KeyValue, 0, 12)
	add := func(k attribute.Key, text string) {
		if text != "" {
			list = append(list, k.String(text))
		}
	}
	add(keyKey, s.KeyHash())
	add(keySource, s.Source)
	add(keyVerdict, r.Verdict.String())
	if s.Kind == idem.StepReconcile {
		add(keyReconciled, r.Result)
	} else {
		add(keyResult, r.Result)
	}
	if r.State != idem.StateAbsent {
		add(keyState, r.State.String())
	}
	if r.Fence != 0 {
		list = append(list, keyFence.Int64(int64(r.Fence)))
	}
	add(keyDuplicate, string(r.OnDuplicate))
	add(keyReason, r.Reason)
	if r.Lease > 0 {
		list = append(list, keyLease.Float64(r.Lease.Seconds())) // seconds
	}
	if r.Weak {
		list = append(list, keyWeak.Bool(true))
	}
	if s.Kind == idem.StepBatch {
		list = append(list, keyBatch.Int(s.Items))
	}
	if s.Attempt > 1 {
		list = append(list, keyAttempt.Int(s.Attempt))
	}
	return list
}

// errorType is the closed list of error.type. A refused or replayed duplicate
// is no error, and a run's own error belongs to the server's span.
func errorType(s *idem.Step, r *idem.StepResult) string {
	switch {
	case r.Verdict == idem.Unavailable, errors.Is(r.Err, idem.ErrUnavailable):
		return "unavailable"
	case r.Result == "stale", errors.Is(r.Err, idem.ErrClaimLost):
		return "claim_lost"
	case s.Kind == idem.StepReplay && r.Err != nil:
		return "unreadable"
	case s.Kind == idem.StepSettle && r.Err != nil:
		return "settle_pending"
	case s.Kind == idem.StepReconcile && r.Result == "gave-up":
		return "gave_up"
	case s.Kind == idem.StepReconcile && r.Result == "error":
		return "resolver"
	case s.Kind == idem.StepIssue && r.Err != nil:
		return "issue_refused"
	}
	return ""
}
