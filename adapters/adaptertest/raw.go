package adaptertest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// wire is a connection on which a statement writes what a well-behaved client
// never would.
type wire struct {
	s    *scene
	conn net.Conn
	in   *bufio.Reader
}

// dial opens a connection to a server.
func (s *scene) dial(n Node) *wire {
	conn, err := net.Dial("tcp", strings.TrimPrefix(n.URL(), "http://"))
	if err != nil {
		s.fatalf("connecting: %v", err)
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	return &wire{s: s, conn: conn, in: bufio.NewReader(conn)}
}

// write writes lines, each ended by CRLF, at one blow: a server that refuses the
// first of them and hangs up must not find more on its way, or the reset that
// follows would take its answer from us.
func (w *wire) write(lines ...string) {
	if _, err := io.WriteString(w.conn, strings.Join(lines, "\r\n")+"\r\n"); err != nil {
		w.s.fatalf("writing a request by hand: %v", err)
	}
}

// answer reads one answer whole.
func (w *wire) answer(method string) answer {
	resp, err := http.ReadResponse(w.in, &http.Request{Method: method})
	if err != nil {
		w.s.fatalf("reading an answer by hand: %v", err)
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header, length: resp.ContentLength}
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		w.s.fatalf("reading an answer's body by hand: %v", err)
	}
	return a
}

// hangUp says that nothing more will be sent.
func (w *wire) hangUp() {
	if tcp, ok := w.conn.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
}

// close drops the connection with a reset, as a phone that lost the net does.
func (w *wire) close() {
	if tcp, ok := w.conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = w.conn.Close()
}

// byHand sends a small POST whose header lines are written as they are, and
// returns the answer.
func (s *scene) byHand(n Node, path string, lines ...string) answer {
	w := s.dial(n)
	defer w.close()
	const body = `{"hand":"made"}`
	head := []string{"POST " + path + " HTTP/1.1", "Host: localhost", "Content-Type: application/json", fmt.Sprintf("Content-Length: %d", len(body))}
	w.write(append(append(head, lines...), "", body)...)
	return w.answer(http.MethodPost)
}
