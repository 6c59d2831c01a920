package httpflow_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/core/reconcile"
)

// A repeat of what was settled in a handler's place gets that answer, over HTTP,
// like one that a handler gave.
func TestAKeptAnswerIsReplayed(t *testing.T) {
	b := newBed(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, func(s *setting) {
		s.policy.On5xx = idem.Doubt
	})
	send := func() (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.server.URL+"/do/it", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer alice")
		req.Header.Set("Idempotency-Key", "k")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(body)
	}
	if res, _ := send(); res.Header.Get("Idempotency-Status") != "uncertain" {
		t.Fatalf("the first answer is %s", res.Header.Get("Idempotency-Status"))
	}
	answer, err := httpflow.KeptAnswer(http.StatusCreated, http.Header{
		"Content-Type": {"text/plain"}, "Location": {"/orders/7"}, "Set-Cookie": {"session=1"}, "Vary": {"A", "B"},
	}, []byte("order 7"))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	seen, err := b.guard.Record(ctx, b.guard.RecordName(operation, "alice", idem.KindKey, "k"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reconcile.Resolve(ctx, b.guard, seen, reconcile.Succeeded(answer), idem.By{Actor: "ann", Reason: "seen"}); err != nil {
		t.Fatal(err)
	}
	res, body := send()
	got := fmt.Sprint(res.StatusCode, body, res.Header["Location"], res.Header["Content-Type"], res.Header["Vary"], res.Header["Set-Cookie"], res.Header.Get("Idempotency-Status"))
	if want := "201order 7[/orders/7] [text/plain] [A B] []replayed"; got != want {
		t.Errorf("the repeat got %s, want %s", got, want)
	}
}

func TestAKeptAnswerIsOneThatAServerCanSend(t *testing.T) {
	for _, status := range []int{0, 101, 199, 1000} {
		if _, err := httpflow.KeptAnswer(status, nil, nil); err == nil {
			t.Errorf("status %d was taken", status)
		}
	}
	with, err := httpflow.KeptAnswer(http.StatusNoContent, nil, []byte("body"))
	without, err2 := httpflow.KeptAnswer(http.StatusNoContent, nil, nil)
	if err != nil || err2 != nil || string(with.Bytes) != string(without.Bytes) {
		t.Error("a body that the status cannot have was kept")
	}
}
