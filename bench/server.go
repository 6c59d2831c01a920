package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// server is the measured process, seen from here.
type server struct {
	addresses
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	once sync.Once
}

// startServer starts this program anew as a server, which ends when we do: it
// reads from us until there is nobody to read from.
func startServer(redis string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &server{cmd: exec.Command(self)}
	s.cmd.Env = append(os.Environ(), serverEnv+"="+redis)
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	s.out = bufio.NewScanner(out)
	if err := s.hear(&s.addresses); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *server) hear(into any) error {
	if !s.out.Scan() {
		return errors.Join(errors.New("the server has ended"), s.out.Err())
	}
	return json.Unmarshal(s.out.Bytes(), into)
}

// ask returns the server's tally; "reset" has it count from here on.
func (s *server) ask(what string) (t tally, err error) {
	if _, err := fmt.Fprintln(s.in, what); err != nil {
		return t, fmt.Errorf("the server has ended: %w", err)
	}
	err = s.hear(&t)
	return t, err
}

func (s *server) stop() {
	s.once.Do(func() {
		_ = s.in.Close()
		_ = s.cmd.Wait()
	})
}

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
