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
)

// child is a process that answers every line it reads with a line of JSON, and
// ends when there is nobody to read from: when we do, if not before.
type child struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	once sync.Once
}

// startChild starts it and reads its first line into hello.
func startChild(name string, cmd *exec.Cmd, hello any) (*child, error) {
	c := &child{name: name, cmd: cmd}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if c.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	c.out = bufio.NewScanner(out)
	if err := c.hear(hello); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

// ask writes a line and reads the answer.
func (c *child) ask(line string, into any) error {
	if _, err := fmt.Fprintln(c.in, line); err != nil {
		return fmt.Errorf("%s has ended: %w", c.name, err)
	}
	return c.hear(into)
}

func (c *child) hear(into any) error {
	if !c.out.Scan() {
		return errors.Join(fmt.Errorf("%s has ended", c.name), c.out.Err())
	}
	return json.Unmarshal(c.out.Bytes(), into)
}

func (c *child) stop() {
	c.once.Do(func() {
		_ = c.in.Close()
		_ = c.cmd.Wait()
	})
}
