package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"time"
)

// lines starts the command (made with exec.CommandContext) and returns what it prints, on both outputs, line by
// line, and a function that says how it ended once the lines are through. An
// interrupt is passed on; a process left behind that keeps the output open is
// given ten seconds.
func lines(cmd *exec.Cmd) (<-chan string, func() error) {
	pr, pw := io.Pipe()
	cmd.Stdout, cmd.Stderr = pw, pw
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	wait := make(chan error, 1)
	go func() {
		err := cmd.Run()
		pw.Close()
		wait <- err
	}()
	out := make(chan string, 64)
	go func() {
		defer close(out)
		in := bufio.NewReader(pr)
		for {
			line, err := in.ReadString('\n')
			if line != "" {
				out <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return out, func() error { return <-wait }
}

// each hands every line to take, and calls still whenever nothing was said for
// a while, so that a person sees life. take reports whether it printed.
func each(out <-chan string, take func(string) bool, still func()) {
	life := time.NewTimer(quiet)
	defer life.Stop()
	for {
		select {
		case line, ok := <-out:
			if !ok {
				return
			}
			if take(line) {
				life.Reset(quiet)
			}
		case <-life.C:
			still()
			life.Reset(quiet)
		}
	}
}
