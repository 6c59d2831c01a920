//go:build !linux

package redistest

import "syscall"

// endsWithUs can do nothing here: a test program that is killed leaves its server.
func endsWithUs() *syscall.SysProcAttr { return nil }
