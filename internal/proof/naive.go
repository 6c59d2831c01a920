package proof

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// naive is the control: what is written first by everybody who needs this. It
// claims by SET NX, keeps the answer by SET, and deletes the key where the
// handler refused. It has no nonce, so it knows neither its own claim nor
// another's; what it holds runs out with its time, whoever still runs.
type naive struct {
	client *redis.Client
	prefix string
	lease  time.Duration
}

const naiveRunning = "running"

func (n naive) guard(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, key := r.Context(), n.prefix+r.PathValue("key")
		say := func(verdict string, status int, body string) {
			w.Header().Set(verdictHeader, verdict)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body)) // to a client that may have gone
		}
		won, err := n.client.SetNX(ctx, key, naiveRunning, n.lease).Result()
		if err != nil {
			say("unavailable", http.StatusServiceUnavailable, "")
			return
		}
		if !won {
			kept, err := n.client.Get(ctx, key).Result()
			answer, is := strings.CutPrefix(kept, "done ")
			switch {
			case err != nil && err != redis.Nil:
				say("unavailable", http.StatusServiceUnavailable, "")
			case is:
				say("replayed", http.StatusCreated, answer)
			default:
				say("in-flight", http.StatusConflict, "")
			}
			return
		}
		held := httptest.NewRecorder()
		h.ServeHTTP(held, r)
		if held.Code != http.StatusCreated {
			_ = n.client.Del(ctx, key).Err() // its lease ends it otherwise
			say("released", held.Code, held.Body.String())
			return
		}
		if err := n.client.Set(ctx, key, "done "+held.Body.String(), time.Hour).Err(); err != nil {
			_ = n.client.Del(ctx, key).Err() // it seems not to be kept: let it be tried again
		}
		say("executed", held.Code, held.Body.String())
	})
}
