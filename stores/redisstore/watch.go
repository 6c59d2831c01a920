package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	idem "github.com/go-idem/idem/core"
)

// A record's name is also the channel on which its changes are told: the script
// of a Swap publishes there, in the same step, if the Swap says so. In a Cluster
// every node hears what any of them was told, so one connection does there too.

const (
	// heartbeat is how long the connection may be silent before it is asked whether
	// it lives; if it has nothing to say for as long again, it does not.
	heartbeat = 3 * time.Second
	// linger is how long it stays open when nobody watches any more.
	linger = 5 * time.Second
	// relisten is how long to wait before connecting anew, and at most.
	relisten, maxRelisten = 50 * time.Millisecond, time.Second
)

var errNotListening = errors.New("redisstore: nobody is woken at the moment: the connection for it is down")

// Watch has wake called after every Swap of name, by any process, that says to
// wake ([idem.WithWake]) and is done, until stop is called. It returns when the
// server has confirmed it, or an error when ctx, or else a worst call, is over.
// All watches of a store share one connection, which is opened for the first of
// them and closed a few seconds after the last. Where that connection breaks, it
// is made anew, and everybody who watches is woken once.
//
// It returns [idem.ErrNotWatched] where Options.NoPubSub is set.
func (s *Store) Watch(ctx context.Context, name string, wake func()) (stop func(), err error) {
	if s.options.NoPubSub {
		return nil, idem.ErrNotWatched
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.listener.watch(s.bound(ctx), name, wake)
}

// listener is the one connection by which a store hears of changes, and who
// wants to hear of which.
type listener struct {
	s    *Store
	work sync.WaitGroup // the goroutine that listens

	heartbeat, linger time.Duration

	// order is held while something is sent, so that what the server is told
	// last is what is wanted.
	order sync.Mutex

	mu       sync.Mutex
	channels map[string]*channel
	names    int // that somebody watches
	conn     *redis.PubSub
	started  bool
	closed   bool
	down     bool          // the last attempt to connect failed,
	tried    time.Time     // and when it did
	quit     chan struct{} // closed by close
	idle     time.Time     // since when nobody watches
}

// channel is one name on the connection.
type channel struct {
	watches map[*watch]struct{}
	asked   bool // SUBSCRIBE was sent last, not UNSUBSCRIBE
	open    int  // confirmations that are still to come
	again   bool // it stood on a connection that broke: wake when it stands again
}

type watch struct {
	wake   func()
	ready  chan struct{} // closed when the server has confirmed the name, or failed
	heard  bool          // ready is closed
	failed bool          // there is no connection on which to confirm it
}

func newListener(s *Store) *listener {
	return &listener{s: s, heartbeat: heartbeat, linger: linger, channels: map[string]*channel{}, quit: make(chan struct{})}
}

func (l *listener) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.names
}

func (l *listener) watch(ctx context.Context, name string, wake func()) (stop func(), err error) {
	w := &watch{wake: wake, ready: make(chan struct{})}
	l.mu.Lock()
	// While somebody watches, the goroutine that listens tries to connect by itself.
	// When the last has given up it is over, and who comes then tries anew.
	if l.closed || l.down && (l.started || time.Since(l.tried) < maxRelisten) {
		l.mu.Unlock()
		return nil, errNotListening
	}
	c := l.channels[name]
	if c == nil {
		c = &channel{watches: map[*watch]struct{}{}}
		l.channels[name] = c
	}
	if len(c.watches) == 0 {
		l.names++
	}
	c.watches[w] = struct{}{}
	if c.asked && c.open == 0 {
		w.hear()
	}
	if !l.started {
		l.started = true
		l.work.Go(l.listen)
	}
	l.mu.Unlock()
	l.settle(ctx, name)

	stop = sync.OnceFunc(func() { l.stop(name, w) })
	deadline, _ := ctx.Deadline() // bound has seen to it
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-w.ready:
		if !l.hasFailed(w) {
			return stop, nil
		}
		err = errNotListening
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = context.DeadlineExceeded
	case <-l.quit:
		err = errNotListening
	}
	stop()
	return nil, fmt.Errorf("redisstore: watching was not confirmed: %w", err)
}

// hear says that the server has confirmed the name. The listener's mutex is held.
func (w *watch) hear() {
	if !w.heard {
		w.heard = true
		close(w.ready)
	}
}

func (l *listener) stop(name string, w *watch) {
	l.mu.Lock()
	c := l.channels[name]
	delete(c.watches, w)
	last := len(c.watches) == 0
	if last {
		if l.names--; l.names == 0 {
			l.idle = time.Now()
		}
	}
	l.mu.Unlock()
	if last {
		ctx, cancel := context.WithTimeout(context.Background(), l.s.options.CallTimeout)
		defer cancel()
		l.settle(ctx, name)
	}
}

// settle tells the server what is wanted of a name now. An error is of the
// connection, and the goroutine that listens there hears of it too.
func (l *listener) settle(ctx context.Context, name string) {
	l.order.Lock()
	defer l.order.Unlock()
	l.mu.Lock()
	c, conn := l.channels[name], l.conn
	if c == nil {
		l.mu.Unlock()
		return
	}
	wanted := len(c.watches) > 0
	if conn == nil || wanted == c.asked {
		l.drop(name, c)
		l.mu.Unlock()
		return
	}
	if c.asked = wanted; wanted {
		c.open++
	}
	l.drop(name, c)
	l.mu.Unlock()
	if wanted {
		_ = conn.Subscribe(ctx, name)
	} else {
		_ = conn.Unsubscribe(ctx, name)
	}
}

// drop forgets a name that nobody watches and nothing is expected of. l.mu is
// held.
func (l *listener) drop(name string, c *channel) {
	if len(c.watches) == 0 && !c.asked && c.open == 0 {
		delete(l.channels, name)
	}
}

// close ends the connection and the goroutine.
func (l *listener) close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.quit)
		if l.conn != nil {
			_ = l.conn.Close()
		}
	}
	l.mu.Unlock()
	l.work.Wait()
}

// listen keeps a connection while somebody watches.
func (l *listener) listen() {
	wait := relisten
	for l.wanted() {
		conn := l.connect()
		if conn == nil {
			return
		}
		if heard := l.hear(conn); heard {
			wait = relisten
		}
		_ = conn.Close()
		if l.leave(conn) {
			return
		}
		select {
		case <-l.quit:
			return
		case <-time.After(wait):
			wait = min(2*wait, maxRelisten)
		}
	}
}

// wanted tells whether somebody watches; if not, the goroutine is over.
func (l *listener) wanted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started = l.names > 0 && !l.closed
	return l.started
}

// connect makes a connection on which every name that is watched is subscribed to
// anew; nil if the listener is closed.
func (l *listener) connect() *redis.PubSub {
	l.order.Lock()
	defer l.order.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), l.s.options.worstCall())
	defer cancel()
	conn := l.s.client.Subscribe(ctx)
	var names []string
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		_ = conn.Close()
		return nil
	}
	l.conn = conn
	for name, c := range l.channels {
		c.again = c.again || c.asked && c.open == 0
		if c.asked, c.open = len(c.watches) > 0, 0; !c.asked {
			delete(l.channels, name)
			continue
		}
		c.open = 1
		names = append(names, name)
	}
	l.mu.Unlock()
	if len(names) > 0 {
		_ = conn.Subscribe(ctx, names...)
	}
	return conn
}

// leave takes note that a connection is over. It tells whether nobody needs
// another.
func (l *listener) leave(conn *redis.PubSub) bool {
	l.order.Lock() // nobody is about to send on it
	defer l.order.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == conn {
		l.conn = nil
	}
	for _, c := range l.channels {
		c.again = c.again || c.asked && c.open == 0
		c.asked, c.open = false, 0
	}
	l.started = l.names > 0 && !l.closed
	return !l.started
}

// hear hears what the server says until the connection breaks, or nobody has
// watched for a while. It tells whether the server said anything.
func (l *listener) hear(conn *redis.PubSub) (heard bool) {
	asked := false // whether it lives
	for {
		said, err := conn.ReceiveTimeout(context.Background(), l.heartbeat)
		var silent net.Error
		switch {
		case err == nil:
			heard, asked = true, false
			l.told(said)
		case errors.As(err, &silent) && silent.Timeout() && !asked && heard:
			asked = true
			ctx, cancel := context.WithTimeout(context.Background(), l.s.options.CallTimeout)
			err = conn.Ping(ctx)
			cancel()
			if err != nil {
				return heard
			}
		default:
			l.setDown(!heard)
			return heard
		}
		if l.idled() {
			return heard
		}
	}
}

// setDown has watches fail at once while no connection can be made, those that
// wait to be confirmed included: they look again instead, from time to time.
func (l *listener) setDown(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down, l.tried = down, time.Now(); !down {
		return
	}
	for _, c := range l.channels {
		for w := range c.watches {
			if !w.heard {
				w.failed = true
				w.hear()
			}
		}
	}
}

func (l *listener) hasFailed(w *watch) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return w.failed
}

func (l *listener) idled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed || l.names == 0 && time.Since(l.idle) >= l.linger
}

// told deals with what the server said. Who watches is woken under the mutex, so
// that who has stopped is not.
func (l *listener) told(said any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch m := said.(type) {
	case *redis.Message:
		l.wake(l.channels[m.Channel])
	case *redis.Subscription:
		c := l.channels[m.Channel]
		if c == nil || m.Kind != "subscribe" {
			return
		}
		l.down = false
		if c.open = max(c.open-1, 0); c.open > 0 || !c.asked {
			l.drop(m.Channel, c)
			return
		}
		for w := range c.watches {
			w.hear()
		}
		if c.again {
			c.again = false
			l.wake(c)
		}
	}
}

func (l *listener) wake(c *channel) {
	if c == nil {
		return
	}
	for w := range c.watches {
		w.wake()
	}
}
