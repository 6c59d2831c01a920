package httpflow

import "testing"

func TestAuditClientIsKeptOnlyWhereAllowed(t *testing.T) {
	for _, row := range []struct {
		allowed       bool
		address, want string
	}{
		{false, "192.0.2.7:1234", ""},
		{true, "192.0.2.7:1234", "192.0.2.7"},
		{true, "[2001:db8::1]:80", "2001:db8::1"},
		{true, "192.0.2.7", "192.0.2.7"},
	} {
		f := &Flow{Config: Config{AuditClient: row.allowed, Address: func(Request) string { return row.address }}}
		if got := f.client(nil); got != row.want {
			t.Errorf("%+v: %q", row, got)
		}
	}
}
