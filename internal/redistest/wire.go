package redistest

import (
	"bufio"
	"net"
	"sync"
	"time"
)

// pipelineSize is how long a pipeline may be to be seen as one write.
const pipelineSize = 64 << 10

// wire is one client's connection to the server.
type wire struct {
	*Proxy
	client, server net.Conn

	mu       sync.Mutex
	open     int // requests without a reply yet
	loseAt   int // drop the reply after so many more; 0: none
	answered chan struct{}
}

// requests passes the client's requests on until either side has enough.
func (w *wire) requests() {
	r := bufio.NewReaderSize(w.client, pipelineSize)
	for {
		request, err := readFrame(r)
		if err != nil {
			w.forget(w.server)
			return
		}
		w.pass(false)
		hit := w.next(command(request), r.Buffered() == 0)
		if hit.before != nil {
			w.awaitReplies()
			hit.before()
		}
		if hit.late > 0 {
			w.forget(w.client)
			time.Sleep(hit.late)
		}
		w.sent(hit.lose)
		if _, err := w.server.Write(w.rewritten(request)); err != nil {
			w.forget(w.server)
			return
		}
		if hit.late > 0 {
			w.awaitReplies()
			w.forget(w.server)
			return
		}
	}
}

// sent counts a request that is on its way, before its reply can come back.
func (w *wire) sent(lose bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open++
	if lose && w.loseAt == 0 {
		w.loseAt = w.open
	}
}

// awaitReplies waits until every request so far has been answered.
func (w *wire) awaitReplies() {
	for {
		w.mu.Lock()
		open := w.open
		w.mu.Unlock()
		if open == 0 {
			return
		}
		<-w.answered
	}
}

// replies passes the server's replies back.
func (w *wire) replies() {
	defer func() {
		w.forget(w.client, w.server)
		w.settle(1 << 30)
	}()
	r := bufio.NewReader(w.server)
	for {
		reply, err := readFrame(r)
		if err != nil {
			return
		}
		w.pass(true)
		lost := w.settle(1)
		if lost {
			return
		}
		_, _ = w.client.Write(reply) // a client that has gone does not end what is late
	}
}

// settle counts n replies and reports whether the last is to be lost.
func (w *wire) settle(n int) (lost bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = max(w.open-n, 0)
	if w.loseAt > 0 {
		w.loseAt--
		lost = w.loseAt == 0
	}
	select {
	case w.answered <- struct{}{}:
	default:
	}
	return lost
}
