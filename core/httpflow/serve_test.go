package httpflow_test

import (
	"net/http"
	"testing"
)

func TestFirstAndRepeat(t *testing.T) {
	b := newBed(t, created)
	first := b.send(`{"cart":1}`, "Idempotency-Key: a")
	b.want(first, http.StatusCreated, "executed", 1)
	again := b.send(`{"cart":1}`, `Idempotency-Key: "a"`)
	b.want(again, http.StatusCreated, "replayed", 1)
	if string(first.body) != string(again.body) || again.Header.Get("Location") != "/orders/7" {
		t.Errorf("first %s, again %s %v", first.body, again.body, again.Header)
	}
	b.want(b.send(`{"cart":2}`, "Idempotency-Key: a"), http.StatusUnprocessableEntity, "conflict", 1)
}
