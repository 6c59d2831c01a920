package redistest

import "syscall"

// endsWithUs has the kernel end a server whose test program was killed.
func endsWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
