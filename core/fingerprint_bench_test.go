package idem

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestFingerprintsOfSmallBodiesAllocateNothing(t *testing.T) {
	if poolsLeak {
		t.Skip("allocations cannot be counted under the race detector")
	}
	n := testNamer(t)
	for name, c := range benchContents() {
		if got := testing.AllocsPerRun(200, func() { n.fingerprint(FingerprintChoice{}, c) }); got != 0 {
			t.Errorf("%s allocates %v times", name, got)
		}
	}
}

// benchContents are bodies as shops send them.
func benchContents() map[string]Content {
	order := `{"idempotentToken":"IAAAAAAAAAAAAAAAAAAAAAAAAAAAAA-_","order":{"sku":"T-1000","quantity":2,"note":"please ring"},"total":49.90}`
	return map[string]Content{
		"JSON 100 B":  post(typeJSON, `{"customer":"c-4711","sku":"T-1000","quantity":2,"price":"24.95","note":"please ring twice"}`),
		"JSON token":  post(typeJSON, order),
		"form":        post(typeForm, "idempotent-token=IAAAAAAAAAAAAAAAAAAAAAAAAAAAAA-_&sku=T-1000&quantity=2&note=please+ring+twice&name=M%C3%BCller"),
		"raw 100 B":   post("text/plain", strings.Repeat("a", 100)),
		"no body":     {Method: "POST", Path: "/orders/17/cancel", Query: "reason=late&by=customer"},
		"JSON 10 KiB": post(typeJSON, "["+strings.Repeat(order+",", 80)+"1]"),
	}
}

func BenchmarkFingerprint(b *testing.B) {
	n := testNamer(b)
	contents := benchContents()
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		b.Run(name, func(b *testing.B) {
			c := contents[name]
			b.SetBytes(int64(len(c.Body)))
			b.ReportAllocs()
			for b.Loop() {
				n.fingerprint(FingerprintChoice{}, c)
			}
		})
	}
	b.Run("JSON 100 B, ignore", func(b *testing.B) {
		c := contents["JSON 100 B"]
		choice := FingerprintChoice{Ignore: []string{"/note", "/csrf"}}.prepared()
		b.ReportAllocs()
		for b.Loop() {
			n.fingerprint(choice, c)
		}
	})
}

// BenchmarkFingerprintWorst is the worst body there is: a megabyte with members
// out of order at every level.
func BenchmarkFingerprintWorst(b *testing.B) {
	n := testNamer(b)
	body := strings.Repeat(`{"b":0,"a":`, maxJSONDepth-1) + `"` + strings.Repeat("x", maxCanonical-1000) + `"` + strings.Repeat("}", maxJSONDepth-1)
	c := post(typeJSON, body)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		n.fingerprint(FingerprintChoice{}, c)
	}
}
