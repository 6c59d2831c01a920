package testserver

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// gzipping is a small compressor for net/http, which brings none: whoever
// accepts gzip gets it.
func gzipping(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept-Encoding")
		if r.Header.Get("Accept-Encoding") != "gzip" {
			h.ServeHTTP(w, r)
			return
		}
		zw := &gzipWriter{ResponseWriter: w}
		defer zw.close()
		h.ServeHTTP(zw, r)
	})
}

type gzipWriter struct {
	http.ResponseWriter
	zip *gzip.Writer
}

func (w *gzipWriter) WriteHeader(status int) {
	if status >= 200 && w.zip == nil {
		w.Header().Del("Content-Length")
		w.Header().Set("Content-Encoding", "gzip")
		w.zip = gzip.NewWriter(w.ResponseWriter)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *gzipWriter) Write(b []byte) (int, error) {
	if w.zip == nil {
		w.WriteHeader(http.StatusOK)
	}
	return w.zip.Write(b)
}

func (w *gzipWriter) close() {
	if w.zip != nil {
		_ = w.zip.Close() // to a client that may have gone
	}
}

// answerBy answers as adaptertest.Exchange says, for frameworks whose answer is
// an http.ResponseWriter.
func answerBy(w http.ResponseWriter, how string, status int, body []byte) error {
	text := string(body)
	switch how {
	case "copy":
		w.WriteHeader(status)
		_, err := io.Copy(w, io.LimitReader(strings.NewReader(text), int64(len(text))))
		return err
	case "controller":
		control := http.NewResponseController(w)
		if err := control.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
			return err
		}
		w.WriteHeader(status)
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		return control.Flush()
	case "hijack":
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := rw.WriteString(rawAnswer(status, text)); err != nil {
			return err
		}
		return rw.Flush()
	}
	return unknownWay(how)
}

// rawAnswer is an answer as it stands on a connection that was taken over.
func rawAnswer(status int, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", status, http.StatusText(status), len(body), body)
}

func unknownWay(how string) error {
	return fmt.Errorf("an answer by %q is none of copy, controller, hijack", how)
}
