package idem_test

import (
	"context"
	"strconv"
	"testing"

	idem "github.com/go-idem/idem/core"
	"github.com/go-idem/idem/stores/memstore"
)

func benchGuard(b *testing.B, change ...func(*idem.Config)) *idem.Guard {
	b.Helper()
	cfg := idem.Config{Store: memstore.New(memstore.Options{}), Policies: []idem.Policy{{
		Operation: "shop:order:create", Preset: idem.API, Key: []string{"token", "header:Idempotency-Key"},
	}}}
	for _, c := range change {
		c(&cfg)
	}
	g, err := idem.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = g.Close(context.Background()) })
	return g
}

// BenchmarkFirst is key, fingerprint, claim, run, settle (PERFORMANCE B2).
func BenchmarkFirst(b *testing.B) {
	g := benchGuard(b)
	p, _ := g.Policy("shop:order:create")
	body := []byte(`{"item":"book","count":2,"note":"the usual place, by noon","price":"12.50"}`)
	answer := []byte(`{"order":7}`)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		in := idem.Intent{Operation: "shop:order:create", Scope: "alice", Key: strconv.Itoa(i)}
		in.Fingerprint = g.Fingerprint(p, idem.Content{Method: "POST", Path: "/orders", ContentType: "application/json", Body: body})
		if _, v, _ := idem.Do(context.Background(), g, in, bytesCodec{}, func(context.Context) ([]byte, error) { return answer, nil }); v != idem.Executed {
			b.Fatal(v)
		}
	}
}

// BenchmarkReplay is key, fingerprint and the kept answer.
func BenchmarkReplay(b *testing.B) {
	g := benchGuard(b)
	in := idem.Intent{Operation: "shop:order:create", Scope: "alice", Key: "k"}
	run := func(context.Context) ([]byte, error) { return []byte(`{"order":7}`), nil }
	_, _, _ = idem.Do(context.Background(), g, in, bytesCodec{}, run)
	b.ReportAllocs()
	for b.Loop() {
		if _, v, _ := idem.Do(context.Background(), g, in, bytesCodec{}, run); v != idem.Replayed {
			b.Fatal(v)
		}
	}
}

type bytesCodec struct{}

func (bytesCodec) Encode(v []byte) (idem.Payload, error) { return idem.Payload{Bytes: v}, nil }
func (bytesCodec) Decode(p idem.Payload) ([]byte, error) { return p.Bytes, nil }

// BenchmarkSealed is BenchmarkFirst and BenchmarkReplay with what is kept sealed.
func BenchmarkSealed(b *testing.B) {
	sealer, err := idem.NewSealer(idem.SealingKey{ID: 1, Secret: idem.GenerateKey()})
	if err != nil {
		b.Fatal(err)
	}
	for name, with := range map[string]*idem.Sealer{"clear": nil, "sealed": sealer} {
		g := benchGuard(b, func(c *idem.Config) { c.Sealer = with })
		answer := make([]byte, 1024)
		run := func(context.Context) ([]byte, error) { return answer, nil }
		n := 0
		b.Run("first/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n++
				in := idem.Intent{Operation: "shop:order:create", Scope: "alice", Key: strconv.Itoa(n)}
				if _, v, _ := idem.Do(context.Background(), g, in, bytesCodec{}, run); v != idem.Executed {
					b.Fatal(v)
				}
			}
		})
		b.Run("replay/"+name, func(b *testing.B) {
			in := idem.Intent{Operation: "shop:order:create", Scope: "alice", Key: "k"}
			_, _, _ = idem.Do(context.Background(), g, in, bytesCodec{}, run)
			b.ReportAllocs()
			for b.Loop() {
				if _, v, _ := idem.Do(context.Background(), g, in, bytesCodec{}, run); v != idem.Replayed {
					b.Fatal(v)
				}
			}
		})
	}
}
