package adaptertest

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	idem "github.com/go-idem/idem/core"
)

// Script returns the handler that does what the request's Do- headers say and
// counts its runs in counts. gates may be nil; then Do-Gate is not obeyed.
//
// The steps have a fixed order: count the run, wait at the gate, hint, read,
// note, mark, wait, hang, panic, fail, answer. What the framework cannot do is
// named in the answer's header Testbed-Ignored.
func Script(counts *Counts, gates *Gates) func(Exchange) error {
	return func(x Exchange) error {
		s := &script{Exchange: x, run: counts.begin(x), gates: gates}
		if name := s.do("Gate"); name != "" && gates != nil {
			gates.wait(name)
			s.gated = true
		}
		return s.play()
	}
}

// script is one run of a scripted handler.
type script struct {
	Exchange
	run   *run
	gates *Gates
	// gateOfStream is read before the handler returns: a framework that streams
	// afterwards has forgotten the request by then.
	gateOfStream string
	gated        bool // it tells in its answer how its context stood at the end
	ignored      []string
	about        about
}

// about is the default answer: what the handler saw.
type about struct {
	Run        int64               `json:"run"`
	Path       string              `json:"path"`
	BodyBytes  int                 `json:"bodyBytes"`
	BodySHA256 string              `json:"bodySHA256"`
	Fields     map[string][]string `json:"fields,omitempty"` // with Do-Read: form or multipart
	Files      map[string]string   `json:"files,omitempty"`  // SHA-256 of each
}

// do returns a Do- header's value, "" where there is none.
func (s *script) do(name string) string {
	if values := s.Header("Do-" + name); len(values) > 0 {
		return values[0]
	}
	return ""
}

// tried remembers what the framework could not do; other errors are returned.
func (s *script) tried(name string, err error) error {
	if errors.Is(err, ErrCannot) {
		s.ignored = append(s.ignored, "Do-"+name)
		return nil
	}
	return err
}

func (s *script) play() error {
	if s.do("Early-Hints") != "" {
		if err := s.tried("Early-Hints", s.EarlyHints("</style.css>; rel=preload")); err != nil {
			return err
		}
	}
	if err := s.read(); err != nil {
		return s.Fail(http.StatusBadRequest, err.Error())
	}
	if text := s.do("Note"); text != "" {
		if err := idem.Note(s.Context(), text); err != nil && !errors.Is(err, idem.ErrNoClaim) {
			return err
		}
	}
	if s.do("Effects") != "" {
		// Without a claim there is nothing to mark; the effect happens all the same.
		if err := idem.MarkEffects(s.Context()); err != nil && !errors.Is(err, idem.ErrNoClaim) {
			return err
		}
		s.run.effect()
	}
	if d, err := time.ParseDuration(s.do("Delay")); err == nil {
		<-time.After(d)
	}
	if s.do("Hang") != "" {
		<-s.Context().Done()
		return s.Answer(http.StatusInternalServerError, []byte(contextWord(s.Context())))
	}
	return s.end()
}

// contextWord says how the handler's context stands.
func contextWord(ctx context.Context) string {
	if ctx.Err() == nil {
		return "alive"
	}
	return context.Cause(ctx).Error()
}

// read reads the request as Do-Read says; body unless said otherwise.
func (s *script) read() error {
	s.about = about{Run: s.run.number, Path: s.Path()}
	switch how := s.do("Read"); how {
	case "none":
		return nil
	case "form", "multipart":
		fields, files, err := s.Form()
		if err != nil {
			return err
		}
		s.about.Fields, s.about.Files = fields, map[string]string{}
		for name, content := range files {
			s.about.Files[name] = hexSHA256(content)
		}
		return nil
	case "", "body":
		body, err := s.Body()
		s.about.BodyBytes, s.about.BodySHA256 = len(body), hexSHA256(body)
		return err
	default:
		return fmt.Errorf("Do-Read %q is none of none, body, form, multipart", how)
	}
}

func hexSHA256(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// end panics, fails or answers.
func (s *script) end() error {
	status := http.StatusCreated
	if text := s.do("Status"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 200 || n > 599 {
			return s.Fail(http.StatusBadRequest, "Do-Status must be a number from 200 to 599")
		}
		status = n
	}
	if text := s.do("Panic"); text != "" {
		if half := s.do("Body"); half != "" { // something partial, which nobody may ever see again
			if err := s.Answer(status, []byte(half)); err != nil {
				return err
			}
		}
		panic(&Panic{Text: text})
	}
	if text := s.do("Error"); text != "" {
		if s.do("Status") == "" {
			status = 0
		}
		return s.Fail(status, text)
	}
	if status < 300 {
		s.run.effect()
	}
	return s.answer(status)
}

func (s *script) answer(status int) error {
	body, kind := s.body(status)
	location := fmt.Sprintf("/done/%d", s.run.number)
	var extra [][2]string
	for _, line := range s.Header("Do-Header") {
		name, value, _ := strings.Cut(line, ":")
		switch strings.ToLower(name) {
		case "content-type":
			kind = strings.TrimSpace(value)
		case "location":
			location = strings.TrimSpace(value)
		default:
			extra = append(extra, [2]string{name, strings.TrimSpace(value)})
		}
	}
	if s.do("Encoding") == "gzip" {
		body = gzipped(body)
		s.SetHeader("Content-Encoding", "gzip")
	} else if s.do("Encoding") != "" {
		s.ignored = append(s.ignored, "Do-Encoding")
	}
	if kind != "" {
		s.SetHeader("Content-Type", kind)
	}
	s.SetHeader("Location", location)
	for _, h := range extra {
		s.AddHeader(h[0], h[1])
	}
	if line := s.do("Trailer"); line != "" {
		name, value, _ := strings.Cut(line, ":")
		if err := s.tried("Trailer", s.Trailer(name, strings.TrimSpace(value))); err != nil {
			return err
		}
	}
	if s.gated {
		s.SetHeader("Testbed-Context", contextWord(s.Context()))
	}
	if len(s.ignored) > 0 {
		s.SetHeader("Testbed-Ignored", strings.Join(s.ignored, ", "))
	}
	return s.send(status, body)
}

// body is the answer's body and its content type.
func (s *script) body(status int) ([]byte, string) {
	if status == http.StatusNoContent || status == http.StatusNotModified || s.do("Empty") != "" {
		return nil, ""
	}
	if text := s.do("Body"); text != "" {
		return []byte(text), "text/plain; charset=utf-8"
	}
	if n, err := strconv.Atoi(s.do("Body-Bytes")); err == nil && n >= 0 && n <= 64<<20 {
		return pseudoRandom(n, uint64(s.run.number)), "application/octet-stream"
	}
	text, _ := json.Marshal(s.about) // numbers and strings only: cannot fail
	return text, "application/json"
}

// pseudoRandom returns n bytes of all values, other ones for every run.
func pseudoRandom(n int, seed uint64) []byte {
	b := make([]byte, n)
	source := rand.NewChaCha8([32]byte{0: byte(seed), 1: byte(seed >> 8), 2: byte(seed >> 16)})
	_, _ = source.Read(b) // never fails
	return b
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b) // a bytes.Buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

// send sends the answer whole, in flushed chunks, or as a stream of events.
func (s *script) send(status int, body []byte) error {
	const pause = 100 * time.Millisecond
	s.gateOfStream = s.do("Gate-Stream")
	if how := s.do("By"); how != "" {
		return s.tried("By", s.AnswerBy(how, status, body))
	}
	if s.do("Stream") != "" {
		s.SetHeader("Content-Type", "text/event-stream")
		return s.tried("Stream", s.Stream(status, func(chunk func([]byte) error) error {
			return s.inChunks(3, pause, func(i int) error { return chunk(fmt.Appendf(nil, "data: %d\n\n", i)) })
		}))
	}
	if n, err := strconv.Atoi(s.do("Flush")); err == nil && n > 0 {
		return s.tried("Flush", s.Stream(status, func(chunk func([]byte) error) error {
			return s.inChunks(n, pause, func(i int) error {
				from, to := len(body)*(i-1)/n, len(body)*i/n
				return chunk(body[from:to])
			})
		}))
	}
	return s.Answer(status, body)
}

// inChunks calls each for 1 to n, with a pause between them, or a gate after the
// first.
func (s *script) inChunks(n int, pause time.Duration, each func(i int) error) error {
	for i := 1; i <= n; i++ {
		switch name := s.gateOfStream; {
		case i == 2 && name != "" && s.gates != nil:
			s.gates.wait(name)
		case i > 1:
			<-time.After(pause)
		}
		if err := each(i); err != nil {
			return err
		}
	}
	return nil
}
