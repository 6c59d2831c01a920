package telemetry

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	idem "github.com/go-idem/idem/core"
)

// spanNames are the steps that become spans. The others are parts of these and
// would only make a trace long.
var spanNames = map[idem.StepKind]string{
	idem.StepClaim: "idem.claim", idem.StepWait: "idem.wait", idem.StepRun: "idem.run",
	idem.StepSettle: "idem.settle", idem.StepReplay: "idem.replay", idem.StepIssue: "idem.issue",
	idem.StepReconcile: "idem.reconcile",
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
	keyErrorType  = attribute.Key("error.type")
	keyLinkType   = attribute.Key("idem.link.type")
)

// Chooses tells guards which steps are looked at: see [idem.StepChooser].
func (t *Telemetry) Chooses(kind idem.StepKind) bool {
	return kind == idem.StepAnswer || kind == idem.StepObserve || spanNames[kind] != ""
}

// Start begins a step: see [idem.Observer].
func (t *Telemetry) Start(ctx context.Context, s idem.Step) (context.Context, func(idem.StepResult)) {
	if s.Kind == idem.StepAnswer {
		return ctx, func(r idem.StepResult) { t.answered(ctx, s, r) }
	}
	if s.Kind == idem.StepObserve {
		return ctx, func(r idem.StepResult) {
			t.observed.Add(ctx, 1, t.sets.verdicts(s.Operation, r.Observed, t.extra))
		}
	}
	if s.Kind == idem.StepReconcile {
		return t.reconciles(ctx, s)
	}
	name := spanNames[s.Kind]
	if name == "" || t.keep != nil && !t.keep(s) || !t.orphans && isUnsampled(ctx) {
		return ctx, nil
	}
	ctx, span := t.tracer.Start(ctx, name, t.startOptions(s)...)
	if !span.IsRecording() {
		return ctx, nil // there is nothing to say, and nothing to end
	}
	return ctx, func(r idem.StepResult) { finish(span, s, r) }
}

// reconciles begins a held record's being resolved: a root of its own, linked to
// the run it is about, and a count.
func (t *Telemetry) reconciles(ctx context.Context, s idem.Step) (context.Context, func(idem.StepResult)) {
	var span trace.Span
	if t.keep == nil || t.keep(s) {
		ctx, span = t.tracer.Start(ctx, spanNames[s.Kind], append([]trace.SpanStartOption{trace.WithNewRoot()}, t.startOptions(s)...)...)
	}
	return ctx, func(r idem.StepResult) {
		t.reconciled.Add(ctx, 1, metric.WithAttributes(append([]attribute.KeyValue{
			keyOperation.String(s.Operation), keyReconciled.String(r.Result),
		}, t.extra...)...))
		if span != nil {
			finish(span, s, r)
		}
	}
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
func (t *Telemetry) startOptions(s idem.Step) []trace.SpanStartOption {
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
	from := origin(s.Link)
	if !from.IsValid() {
		return plain
	}
	return []trace.SpanStartOption{plain[0], plain[1], trace.WithLinks(trace.Link{
		SpanContext: from, Attributes: []attribute.KeyValue{keyLinkType.String("original_request")},
	})}
}

// finish ends the span of a step that is recorded.
func finish(span trace.Span, s idem.Step, r idem.StepResult) {
	span.SetAttributes(describe(&s, r)...)
	if kind := errorType(s, r); kind != "" {
		span.SetAttributes(keyErrorType.String(kind))
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

func describe(s *idem.Step, r idem.StepResult) []attribute.KeyValue {
	list := make([]attribute.KeyValue, 0, 7)
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
	if s.Attempt > 1 {
		list = append(list, keyAttempt.Int(s.Attempt))
	}
	return list
}

// errorType is the closed list of error.type. A refused or replayed duplicate
// is no error, and a run's own error belongs to the server's span.
func errorType(s idem.Step, r idem.StepResult) string {
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

// answered measures a judged request: one count for its one verdict, and our
// own time, without the handler.
func (t *Telemetry) answered(ctx context.Context, s idem.Step, r idem.StepResult) {
	t.requests.Add(ctx, 1, t.sets.requests(s.Operation, r.Verdict, s.Source, t.extra))
	t.overhead.Record(ctx, max(0, r.Elapsed-r.Handler).Seconds(), t.sets.verdicts(s.Operation, r.Verdict, t.extra))
}

// attributeSets keeps the sets of attributes that were needed once: there are
// as many as operations × verdicts × sources, all of them bounded.
type attributeSets struct{ made sync.Map }

type setKey struct {
	operation string
	verdict   idem.Verdict
	source    string
	bare      bool // without a source
}

func (a *attributeSets) requests(operation string, v idem.Verdict, source string, extra []attribute.KeyValue) metric.MeasurementOption {
	return a.get(setKey{operation: operation, verdict: v, source: source}, extra)
}

func (a *attributeSets) verdicts(operation string, v idem.Verdict, extra []attribute.KeyValue) metric.MeasurementOption {
	return a.get(setKey{operation: operation, verdict: v, bare: true}, extra)
}

func (a *attributeSets) get(k setKey, extra []attribute.KeyValue) metric.MeasurementOption {
	if made, ok := a.made.Load(k); ok {
		return made.(metric.MeasurementOption)
	}
	list := append([]attribute.KeyValue{keyOperation.String(k.operation), keyVerdict.String(k.verdict.String())}, extra...)
	if !k.bare {
		list = append(list, keySource.String(k.source))
	}
	set := metric.WithAttributeSet(attribute.NewSet(list...))
	made, _ := a.made.LoadOrStore(k, set)
	return made.(metric.MeasurementOption)
}
