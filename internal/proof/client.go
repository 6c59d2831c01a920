package proof

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"time"
)

// newClients is what so many clients send with.
func newClients(n int) *http.Client {
	return &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: n}}
}

// post sends one request and tells what came of it. Go's client must not send it
// again by itself, as it does with a key in the head and a body it can read
// twice: that would be two runs under one name.
func post(client *http.Client, url, key, request string, header ...string) (a Attempt) {
	a = Attempt{Key: key, Request: request, Sent: time.Now().UnixNano()}
	defer func() { a.Heard = time.Now().UnixNano() }()
	req, err := http.NewRequest(http.MethodPost, url+"/"+key, io.NopCloser(bytes.NewReader([]byte("{}"))))
	if err != nil {
		return a
	}
	req.ContentLength, req.GetBody = 2, nil
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	req.Header.Set(requestHeader, request)
	for i := 0; i+1 < len(header); i += 2 {
		if header[i+1] != "" {
			req.Header.Set(header[i], header[i+1])
		}
	}
	resp, err := client.Do(req)
	if err != nil {
		return a
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return a // half an answer is none
	}
	a.Verdict, a.Run = resp.Header.Get(verdictHeader), string(body)
	return a
}

// sender is a patient client: it sends its key again until it is told the
// outcome. It stays with its server while that answers, so that one that stands
// still does not come to hold all the senders of a key.
type sender struct {
	*site
	client *http.Client
	job    job
}

// again is how long a sender waits before it repeats itself.
const again = 70 * time.Millisecond

// stuck is how long a key may go without an outcome.
const stuck = 30 * time.Second

func (s *sender) send() {
	yes := map[bool]string{true: "1"}
	refuse := yes[s.job.refuse]
	begin, at := time.Now(), s.job.first
	for {
		request := fmt.Sprintf("r%d", s.attempt.Add(1))
		a := post(s.client, s.at(at).URL()+"/retake", s.job.key, request,
			delayHeader, s.job.delay.String(), refuseHeader, refuse, markHeader, yes[s.job.mark])
		s.record.add(a)
		switch a.Verdict {
		case "executed", "replayed", "uncertain", "unprotected":
			return
		case "released":
			refuse = "" // corrected, and sent again with the same key
			continue
		case "":
			at++
		}
		if time.Since(begin) > stuck {
			s.record.wrong("%s had no outcome after %v, but %q", s.job.key, stuck, a.Verdict)
			return
		}
		time.Sleep(again)
	}
}
