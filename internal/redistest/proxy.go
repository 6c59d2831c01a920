package redistest

import (
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

// Proxy stands between a client and a server and speaks enough RESP to know one
// command from another. It lets everything through until it is told otherwise.
// All methods may be called at any time by any goroutine.
type Proxy struct {
	addr, upstream string
	listener       net.Listener
	all            sync.WaitGroup

	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]struct{}
	plan   []*trouble
	gate   chan struct{} // while silent; closed when it ends
	down   bool
	delay  time.Duration
	change func(words []string) []string
	counts map[string]int
	rng    *rand.Rand
	lost   int
	trips  int
}

// trouble is what happens to the next requests of some commands.
type trouble struct {
	commands []string
	times    int     // below zero: until cleared
	chance   float64 // 0: always
	lose     bool
	late     time.Duration
	before   func()
}

// NewProxy starts a proxy before the server at upstream; it ends with the test.
func NewProxy(t testing.TB, upstream string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("redistest: a port for the proxy: %v", err)
	}
	p := &Proxy{
		addr: l.Addr().String(), upstream: upstream, listener: l,
		conns: map[net.Conn]struct{}{}, counts: map[string]int{}, rng: rand.New(rand.NewPCG(1, 0)),
	}
	p.all.Go(p.accept)
	t.Cleanup(p.Close)
	return p
}

// Addr is where clients connect to.
func (p *Proxy) Addr() string { return p.addr }

// Close ends the proxy and its connections. A request that is held back late is
// dropped.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	if p.gate != nil {
		close(p.gate)
		p.gate = nil
	}
	p.mu.Unlock()
	_ = p.listener.Close()
	p.CutAll()
	p.all.Wait()
}

// Lose has the next n requests of these commands reach the server and be
// answered, and their replies lost: the client's connection is closed instead.
// Below zero it goes on until [Proxy.Clear].
func (p *Proxy) Lose(n int, commands ...string) {
	p.add(&trouble{commands: commands, times: n, lose: true})
}

// LoseSome has each request of these commands lose its reply, as by Lose, with a
// chance between 0 and 1, until [Proxy.Clear]. The dice are the same in every run.
func (p *Proxy) LoseSome(chance float64, commands ...string) {
	p.add(&trouble{commands: commands, times: -1, chance: chance, lose: true})
}

// Lost returns how many replies were lost so far.
func (p *Proxy) Lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// Late has the client's connection closed at the next n requests of these
// commands, and the requests reach the server d afterwards: what a kernel still
// resends when its process has long given up.
func (p *Proxy) Late(n int, d time.Duration, commands ...string) {
	p.add(&trouble{commands: commands, times: n, late: d})
}

// Before calls do before the next request of these commands is passed on. All
// requests before it on its connection have been answered by then.
func (p *Proxy) Before(do func(), commands ...string) {
	p.add(&trouble{commands: commands, times: 1, before: do})
}

// Rewrite has every request pass through change, which is given its words and
// returns what is sent instead: so a server is made to look like another version.
func (p *Proxy) Rewrite(change func(words []string) []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.change = change
}

// rewritten returns what is sent for a request.
func (p *Proxy) rewritten(request []byte) []byte {
	p.mu.Lock()
	change := p.change
	p.mu.Unlock()
	if change == nil {
		return request
	}
	return frame(change(wordsOf(request)))
}

// Delay holds every reply back for so long.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Stall falls silent: connections are taken, nothing passes in either direction,
// until resume is called. What was sent meanwhile arrives then.
func (p *Proxy) Stall() (resume func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	gate := make(chan struct{})
	p.gate = gate
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.gate == gate {
			close(gate)
			p.gate = nil
		}
	})
}

// Refuse cuts all connections and every new one at once, until resume is called.
func (p *Proxy) Refuse() (resume func()) {
	p.setDown(true)
	p.CutAll()
	return func() { p.setDown(false) }
}

func (p *Proxy) setDown(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}

// Clear takes all plans and delays away.
func (p *Proxy) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan, p.delay = nil, 0
}

// Count returns how many requests of these commands have been passed on, of all
// commands if none is named.
func (p *Proxy) Count(commands ...string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for command, count := range p.counts {
		if len(commands) == 0 || slices.Contains(commands, command) {
			n += count
		}
	}
	return n
}

// RoundTrips returns how many writes of clients have come through: a pipeline is
// one, if it is shorter than 64 KiB.
func (p *Proxy) RoundTrips() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trips
}

// Conns returns how many client connections are open.
func (p *Proxy) Conns() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns) / 2
}

// CutAll closes every connection that is open.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *Proxy) add(t *trouble) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan = append(p.plan, t)
}

// next counts a request, the last of its write or not, and says what happens to
// it.
func (p *Proxy) next(command string, last bool) (hit trouble) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[command]++
	if last {
		p.trips++
	}
	for i, t := range p.plan {
		if !slices.Contains(t.commands, command) || (t.chance > 0 && p.rng.Float64() >= t.chance) {
			continue
		}
		if t.lose {
			p.lost++
		}
		if t.times > 0 {
			if t.times--; t.times == 0 {
				p.plan = slices.Delete(slices.Clone(p.plan), i, i+1)
			}
		}
		return *t
	}
	return trouble{}
}

// pass waits while the proxy is silent, and for the delay of replies.
func (p *Proxy) pass(reply bool) {
	p.mu.Lock()
	gate, delay := p.gate, p.delay
	p.mu.Unlock()
	if gate != nil {
		<-gate
	}
	if reply && delay > 0 {
		time.Sleep(delay)
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.keep(client) {
			p.all.Go(func() { p.serve(client) })
		}
	}
}

// keep notes a connection, or closes it where none is wanted.
func (p *Proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.down {
		_ = c.Close()
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *Proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(p.conns, c)
	}
}

// serve carries one client's connection.
func (p *Proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.upstream)
	if err != nil {
		p.forget(client)
		return
	}
	if !p.keep(server) {
		p.forget(client)
		return
	}
	w := &wire{Proxy: p, client: client, server: server, answered: make(chan struct{}, 1)}
	p.all.Go(w.replies)
	w.requests()
	p.forget(client)
}
