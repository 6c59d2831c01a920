package redisstore

// ClaimByScript has a store claim as it does on servers before Redis 7.
func (s *Store) ClaimByScript() {
	seen := *s.seen.Load()
	seen.byScript = true
	s.seen.Store(&seen)
}

// SwapSHA is the name of the script of a Swap on a server.
var SwapSHA = swapScript.sha

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
