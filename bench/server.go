package main

import (
	"os"
	"os/exec"
	"syscall"
)

// server is the measured process, seen from here.
type server struct {
	*child
	addresses
}

// startServer starts this program anew as a server.
func startServer(redis string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), serverEnv+"="+redis)
	s := &server{}
	s.child, err = startChild("the server", cmd, &s.addresses)
	return s, err
}

// reset has the server count from here on, tally tells what it has used so far and
// counted since then.
func (s *server) reset() (t tally, err error) { err = s.ask("reset", &t); return t, err }
func (s *server) tally() (t tally, err error) { err = s.ask("tally", &t); return t, err }

// manyFiles allows this process as many open files as it may have: a storm has
// thousands of connections.
func manyFiles() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return err
	}
	l.Cur = l.Max
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l)
}
