package redisstore

import "time"

// ClaimByScript has a store claim as it does on servers before Redis 7.
func (s *Store) ClaimByScript() {
	seen := *s.seen.Load()
	seen.byScript = true
	s.seen.Store(&seen)
}

// SwapSHA is the name of the script of a Swap on a server, SwapText what it says.
var SwapSHA, SwapText = swapScript.sha, swapScript.text

// DropConnections has the store dial anew: it opens a second client in place of
// the first.
func (s *Store) DropConnections() {
	_ = s.client.Close()
	s.connect()
}

// Crowd limits how many commands wait.
func (s *Store) Crowd(n int) {
	s.lanes.Range(func(_, l any) bool {
		l.(*lane).mu.Lock()
		defer l.(*lane).mu.Unlock()
		l.(*lane).crowd = n
		return true
	})
}

// Beats sets how long the connection that listens may be silent, and how long it
// stays open when nobody watches. It is called before the first watch.
func (s *Store) Beats(heartbeat, linger time.Duration) {
	s.listener.heartbeat, s.listener.linger = heartbeat, linger
}

// Listens tells whether it has a connection on which somebody is heard.
func (s *Store) Listens() bool {
	s.listener.mu.Lock()
	defer s.listener.mu.Unlock()
	return s.listener.conn != nil
}
