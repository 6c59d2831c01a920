package httpflow

import (
	"bufio"
	"net"
	"net/http"
)

// A handler asks a writer what it can by type assertion, so a wrapper has to be
// of a type that can exactly as much as what it wraps: these are capture with
// the abilities that servers have. HTTP/2 cannot be hijacked, for instance.
type (
	flushWriter       struct{ *capture }
	hijackWriter      struct{ *capture }
	flushHijackWriter struct{ *capture }
)

// Flush implements http.Flusher.
func (w flushWriter) Flush() { _ = w.FlushError() }

// Hijack implements http.Hijacker.
func (w hijackWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.hijack() }

// Flush implements http.Flusher.
func (w flushHijackWriter) Flush() { _ = w.FlushError() }

// Hijack implements http.Hijacker.
func (w flushHijackWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.hijack() }

// flushes says whether http.ResponseController would find a way to flush w.
func flushes(w http.ResponseWriter) bool {
	return can(w, func(w http.ResponseWriter) bool {
		_, tells := w.(interface{ FlushError() error })
		_, flusher := w.(http.Flusher)
		return tells || flusher
	})
}

func hijacks(w http.ResponseWriter) bool {
	return can(w, func(w http.ResponseWriter) bool { _, hijacker := w.(http.Hijacker); return hijacker })
}

// can looks for an ability where http.ResponseController does: in w and in what it
// wraps.
func can(w http.ResponseWriter, is func(http.ResponseWriter) bool) bool {
	for !is(w) {
		wrapper, wraps := w.(interface{ Unwrap() http.ResponseWriter })
		if !wraps {
			return false
		}
		w = wrapper.Unwrap()
	}
	return true
}

// controlled stands between a capture and the server's writer on the way that
// http.ResponseController takes: hijacking must not go round us, and what else
// the server can do may.
type controlled struct{ *capture }

// Hijack implements http.Hijacker.
func (w controlled) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.hijack() }

// Unwrap leads on to the server's writer.
func (w controlled) Unwrap() http.ResponseWriter { return w.under }
