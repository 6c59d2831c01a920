package adaptertest_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-idem/idem/adapters/adaptertest"
	"github.com/go-idem/idem/internal/testserver"
)

// Adapters that are wrong in one point each, and the statement that has to find
// it out. The fault stands between the server and the guard, where an adapter's
// own translation happens.
func TestWrongAdaptersAreFoundOut(t *testing.T) {
	for fault, c := range map[string]struct {
		between   func(http.Handler) http.Handler
		statement string
	}{
		"says executed and guards nothing": {labelled, "Statement19_ARepeatIsReplayed"},
		"hands on the first of two header lines": {onRequest(func(r *http.Request) {
			if lines := r.Header.Values("Idempotency-Key"); len(lines) > 1 {
				r.Header.Set("Idempotency-Key", lines[0])
			}
		}), "Statement04_TwoLinesListsAndOpenQuotesAreMalformed"},
		"takes an empty key for none": {onRequest(func(r *http.Request) {
			if strings.Trim(r.Header.Get("Idempotency-Key"), ` "`) == "" {
				r.Header.Del("Idempotency-Key")
			}
		}), "Statement02_EmptyIsMalformedNeverAbsent"},
		"loses the query": {onRequest(func(r *http.Request) { r.URL.RawQuery = "" }), "Statement12_TheQueryCountsItsOrderDoesNot"},
		"takes a form for bytes": {onRequest(func(r *http.Request) {
			if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
				r.Header.Set("Content-Type", "application/octet-stream")
			}
		}), "Statement13_AFormIsItsPartsWhateverItsBoundary"},
		"loses a path value": {onRequest(func(r *http.Request) { r.SetPathValue(adaptertest.Rest, "one") }), "Statement59a_EverySourceNamesItsIntent"},
		"takes a blank value": {onRequest(func(r *http.Request) {
			if r.PathValue(adaptertest.Rest) == " " {
				r.SetPathValue(adaptertest.Rest, "blank")
			}
		}), "Statement59b_NoSourceTakesNothingForAKey"},
		"loses the path":      {onRequest(func(r *http.Request) { r.URL.Path, r.URL.RawPath = "/", "" }), "Statement10_NeverAnotherRoutesAnswer"},
		"forgets whose it is": {onRequest(func(r *http.Request) { r.Header.Del("Authorization") }), "Statement09_OneKeyTwoScopes"},
		"takes the login for the person": {onRequest(func(r *http.Request) {
			r.Header.Set("Authorization", strings.ReplaceAll(r.Header.Get("Authorization"), ".", "-"))
		}), "Statement18_ARefreshedLoginReplays"},
		"reads the body first":        {onRequest(func(r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }), "Statement49a_TheHeadAloneDecides"},
		"reads a body over the limit": {onRequest(func(r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }), "Statement16_ABodyOverTheLimitIsRefusedUnread"},
		"hides what the writer can":   {plainWriter, "Statement43_WritersWorkThroughTheGuard"},
		"holds a stream back":         {plainWriter, "Statement42_AStreamLeavesAtOnceAndIsUsedAfterwards"},
		"sends no hints":              {plainWriter, "Statement41_InformationalAnswersAreNeitherKeptNorReplayed"},
		"accepts every coding":        {onRequest(func(r *http.Request) { r.Header.Del("Accept-Encoding") }), "Statement39_EachRepeatGetsACodingItAccepts"},
		"starves the handler of it":   {onRequest(func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("")) }), "Statement17_OneFingerprintWholeBodyForTheHandler"},
		"raises another panic":        {repanicking, "Statement29_APanicIsSettledAndRaisedAgain"},
		"sends a header once":         {onAnswer(func(h http.Header) { once(h, "X-Many") }), "Statement44_BytesAndHeadersReplayAsTheyWere"},
		"drops the location":          {onAnswer(func(h http.Header) { h.Del("Location") }), "Statement40_RedirectsAreKept"},
		"keeps the cookie to itself":  {onAnswer(func(h http.Header) { h.Del("Set-Cookie") }), "Statement37_NothingOfAnotherExchangeIsReplayed"},
		"gives everybody the cookie":  {onAnswer(func(h http.Header) { h.Set("Set-Cookie", "cart=7") }), "Statement37_NothingOfAnotherExchangeIsReplayed"},
		"lets the refusals be cached": {onAnswer(func(h http.Header) { h.Del("Cache-Control") }), "Statement11_AnotherBodyIsAConflict"},
		"says a verdict too many":     {onAnswer(func(h http.Header) { h.Add("Idempotency-Status", "executed") }), "Statement03_RequiredAndMissing_OptionalAndAbsent"},
		"answers early data":          {onRequest(func(r *http.Request) { r.Header.Del("Early-Data") }), "Statement52_EarlyDataWithoutAKeyIsAPlain425"},
		"guards what is safe":         {onRequest(func(r *http.Request) { r.Method = http.MethodPost }), "Statement35_SafeMethodsRunUnguarded"},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			r := adaptertest.Check(testserver.StdHTTPBehind(c.between), testserver.Memory(), c.statement)
			if len(r) != 1 || r[0].Holds() {
				t.Errorf("%s holds for an adapter that %s: %v", c.statement, fault, r)
			}
			if r = adaptertest.Check(testserver.StdHTTP(), testserver.Memory(), c.statement); !r[0].Holds() {
				t.Errorf("the control: %v", r[0])
			}
		})
	}
}

// onRequest changes what the guard sees of a request.
func onRequest(change func(*http.Request)) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			change(r)
			h.ServeHTTP(w, r)
		})
	}
}

// onAnswer changes the head of every answer.
func onAnswer(change func(http.Header)) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(&changedWriter{ResponseWriter: w, change: change}, r)
		})
	}
}

type changedWriter struct {
	http.ResponseWriter
	change func(http.Header)
	sent   bool
}

func (w *changedWriter) WriteHeader(status int) {
	if !w.sent {
		w.sent = true
		w.change(w.Header())
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *changedWriter) Write(b []byte) (int, error) {
	if !w.sent {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}

// plainWriter hands on a writer that can do nothing but write the final answer.
func plainWriter(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(writeOnly{w}, r)
	})
}

type writeOnly struct{ to http.ResponseWriter }

func (w writeOnly) Header() http.Header         { return w.to.Header() }
func (w writeOnly) Write(b []byte) (int, error) { return w.to.Write(b) }
func (w writeOnly) WriteHeader(status int) {
	if status >= 200 {
		w.to.WriteHeader(status)
	}
}

func once(h http.Header, name string) {
	if values := h.Values(name); len(values) > 0 {
		h.Set(name, values[0])
	}
}

// labelled runs everything and calls it guarded.
func labelled(guarded http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Idempotency-Key")
		onAnswer(func(h http.Header) { h.Set("Idempotency-Status", "executed") })(guarded).ServeHTTP(w, r)
	})
}

// repanicking is a guard that wraps what it recovers.
func repanicking(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if v := recover(); v != nil {
				panic(errors.New(fmt.Sprint("recovered: ", v)))
			}
		}()
		h.ServeHTTP(w, r)
	})
}
