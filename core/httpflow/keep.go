package httpflow

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
)

// keeper gathers what is kept of an answer's header.
type keeper struct {
	reply *Reply // nil before the handler was entered
	// before are the fields that stood there then. Where all those of a name still
	// do, and no other, whoever set them outside sets them for a repeat again, with
	// that request's values.
	before []stoodBefore
	text   []byte   // of those, one behind the other
	named  []string // by Connection: hop-by-hop (RFC 9110 section 7.6.1)
	// replayed: the handler passed on what another server said of its own answer.
	replayed bool
}

// stoodBefore is where name and value of a field end in a text.
type stoodBefore struct {
	name, value int
	stands      bool // still
}

// Field implements [FieldReader].
func (k *keeper) Field(name, value string) {
	r := k.reply
	switch {
	case name == "Content-Type": // it always stays, as it says what the body is
		if r != nil {
			r.Fields = append(r.Fields, Field{name, value})
		}
	case r == nil:
		k.text = append(append(k.text, name...), value...)
		k.before = append(k.before, stoodBefore{name: len(k.text) - len(value), value: len(k.text)})
	case isKept(name):
		if !k.stands(name, value) {
			r.Fields = append(r.Fields, Field{name, value})
		}
	case name == ReplayedHeader:
		k.replayed = true
	case strings.EqualFold(name, "Connection"):
		for option := range strings.SplitSeq(value, ",") {
			k.named = append(k.named, strings.Trim(option, " \t"))
		}
	case strings.EqualFold(name, "Trailer"), strings.HasPrefix(name, http.TrailerPrefix):
		r.Partial = true // what comes after the body cannot be sent again
	}
}

// nameAt is the name of a field that stood there before.
func (k *keeper) nameAt(i int) []byte {
	begin := 0
	if i > 0 {
		begin = k.before[i-1].value
	}
	return k.text[begin:k.before[i].name]
}

// stands says whether a field is the next of its name that stood in the header
// before the handler was entered, with none of the handler's in front of it.
func (k *keeper) stands(name, value string) bool {
	for i := range k.before {
		if at := &k.before[i]; !at.stands && string(k.nameAt(i)) == name {
			at.stands = string(k.text[at.name:at.value]) == value && !k.reply.has(name)
			return at.stands
		}
	}
	return false
}

// restore puts fields from outside back to those that the handler added to them, or
// left of them: a repeat replaces what stands outside by what is kept of a name, and
// a Vary would lose what middleware had put there.
func (k *keeper) restore(r *Reply) {
	for i := len(k.before) - 1; i >= 0; i-- { // from behind, as each goes in front
		at, name := k.before[i], k.nameAt(i)
		if !at.stands {
			continue
		}
		first := slices.IndexFunc(r.Fields, func(f Field) bool { return f.Name == string(name) })
		if first < 0 {
			if first = len(r.Fields); !k.gone(name) {
				continue
			}
		}
		r.Fields = slices.Insert(r.Fields, first, Field{string(name), string(k.text[at.name:at.value])})
	}
}

// gone says that a field of that name stood there before and does not any more.
func (k *keeper) gone(name []byte) bool {
	for i := range k.before {
		if !k.before[i].stands && bytes.Equal(k.nameAt(i), name) {
			return true
		}
	}
	return false
}

// keep completes a reply by its header, and cuts it down to what is kept: of an
// answer that was streamed, or has more than limit bytes, that is the Location.
func (k *keeper) keep(r *Reply, x Exchange, limit int64) {
	k.reply = r
	x.Fields(k)
	k.restore(r)
	if int64(len(r.Body)) > limit {
		r.Partial, r.TooLarge = true, true
	}
	if r.Partial || !bodyAllowed(r.Status) { // some frameworks hold a body that they will not send
		r.Body = nil
	}
	if r.Partial || len(k.named) > 0 {
		r.Fields = slices.DeleteFunc(r.Fields, func(f Field) bool {
			hop := slices.ContainsFunc(k.named, func(n string) bool { return strings.EqualFold(n, f.Name) })
			return hop || r.Partial && !strings.EqualFold(f.Name, "Location")
		})
	}
}

// The deny-list: hop-by-hop fields, what the server computes anew, and what was
// meant for one client or one moment: a trace, in the headers of W3C, Zipkin,
// Jaeger and the clouds, is of one exchange.
var (
	notKept = [...]string{
		"Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
		"Content-Length", "Date", "Age", "Set-Cookie", "Www-Authenticate", "Server-Timing",
		"Traceparent", "Tracestate", "Traceresponse", "Baggage", "B3", "Uber-Trace-Id", "X-Amzn-Trace-Id", "X-Cloud-Trace-Context",
		"X-Request-Id", "X-Correlation-Id", "Authentication-Info", "Ratelimit", StatusHeader, ReplayedHeader,
	}
	notKeptPrefixes = [...]string{"Proxy-", "Ratelimit-", "X-Ratelimit-", "Access-Control-", "X-B3-", http.TrailerPrefix}
)

func isKept(name string) bool {
	if fieldCode(name) != 0 { // the common names are all kept
		return true
	}
	name = canonical(name)
	if slices.Contains(notKept[:], name) {
		return false
	}
	for _, prefix := range notKeptPrefixes {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return true
}

// notReplayed is the deny-list for people to read.
func notReplayed() []string {
	list := slices.Clone(notKept[:len(notKept)-2]) // the last two are ours and are set anew
	for _, prefix := range notKeptPrefixes[:len(notKeptPrefixes)-1] {
		list = append(list, prefix+"*")
	}
	return list
}
