package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-idem/idem/core/httpflow"
)

// answer is what came back to one press.
type answer struct{ verdict, body string }

// press presses twice, the second time while the first still runs, and once more
// when all is over. All three have one key; one runs.
func press(ctx context.Context, s *shop) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	key := rand.Text()
	var answers [3]answer
	var errs [3]error
	var both sync.WaitGroup
	both.Go(func() { answers[0], errs[0] = post(ctx, s, key) })
	both.Go(func() {
		select {
		case <-s.began:
		case <-ctx.Done():
		}
		answers[1], errs[1] = post(ctx, s, key)
	})
	both.Wait()
	answers[2], errs[2] = post(ctx, s, key)
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	for i, want := range []string{"executed", "replayed", "replayed"} {
		if answers[i].verdict != want || answers[i].body != answers[0].body {
			return fmt.Errorf("%s: press %d was %v, want %s of %q", s.service, i+1, answers[i], want, answers[0].body)
		}
	}
	return nil
}

func post(ctx context.Context, s *shop, key string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/orders", strings.NewReader(`{"tea":1}`))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.Header.Get(httpflow.StatusHeader), string(body)}, err
}
