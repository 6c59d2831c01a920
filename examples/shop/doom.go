package main

// moment is when a server is to die in the middle of an order.
type moment string

// The moments. Between them lie the mark of the point of no return and the row.
const (
	beforeRow moment = "before"
	afterRow  moment = "after"
)

// doom is how a server dies that was started to die. No doom lets it live.
type doom struct {
	at  moment
	die func() // does not return before nothing this process does matters any more
}

// strike kills this server if its moment has come. Where the death of a process
// is only played, it returns true when the play is over: the handler must do
// nothing more.
func (d *doom) strike(now moment) bool {
	if d == nil || d.at != now {
		return false
	}
	d.die()
	return true
}
