package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	idem "github.com/go-idem/idem/core"
)

// worker is a second server of the same shop, started to die in the middle of
// the first order it takes.
type worker interface {
	url() string
	// dead waits until the server is dead, and fails if it ended otherwise.
	dead(ctx context.Context) error
	// close frees what is left of it.
	close()
}

// spawner starts a worker that dies at a moment.
type spawner func(ctx context.Context, at moment) (worker, error)

// workerEnv says to this program that it is a worker, and what to be is on its
// standard input.
const workerEnv = "IDEM_SHOP_WORKER"

// workerOrders is what a worker is told: all that two processes of one service
// share, and when to die. It goes by a pipe, so that keys stand in no command
// line and no environment.
type workerOrders struct {
	Adapter, Table string
	Audit          string // the file of the audit log, if there is one
	Redis          redisAt
	Guarded        bool
	Lease          time.Duration
	Keys           secretKeys
	DieAt          moment
}

// spawnProcess returns a spawner of child processes: this program once more, on
// the same Redis and the same order table.
func spawnProcess(s *shop, where redisAt) spawner {
	return func(ctx context.Context, at moment) (worker, error) {
		program, err := os.Executable()
		if err != nil {
			return nil, err
		}
		orders, err := json.Marshal(workerOrders{
			Adapter: s.adapter, Redis: where, Table: s.table.path, Audit: s.trail.path(), Guarded: s.guarded, Lease: s.lease, DieAt: at,
			Keys: secretKeys{Name: s.keys.Name, Sign: s.keys.Sign, Prefix: s.keys.Prefix},
		})
		if err != nil {
			return nil, err
		}
		return startChild(ctx, program, orders)
	}
}

// child is a worker that is a process.
type child struct {
	cmd  *exec.Cmd
	pipe io.Closer // its standard input: closed, it leaves by itself
	at   string
	gone chan error
}

func startChild(ctx context.Context, program string, orders []byte) (*child, error) {
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), workerEnv+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, pipe: in, gone: make(chan error, 1)}
	line := make(chan string, 1)
	go func() {
		first, _ := bufio.NewReader(out).ReadString('\n')
		line <- first
		_, _ = io.Copy(io.Discard, out)
		c.gone <- cmd.Wait()
		close(c.gone)
	}()
	_, err = in.Write(append(orders, '\n'))
	if err == nil {
		select {
		case first := <-line:
			var ok bool
			if c.at, ok = strings.CutPrefix(strings.TrimSpace(first), listening); !ok {
				err = errors.New("it did not begin to listen")
			}
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *child) url() string { return c.at }

func (c *child) dead(ctx context.Context) error {
	select {
	case err := <-c.gone:
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return nil
		}
		return errors.New("the second server was to be killed, but ended by itself")
	case <-ctx.Done():
		return fmt.Errorf("wait for the second server to die: %w", ctx.Err())
	}
}

func (c *child) close() {
	_ = c.pipe.Close()
	_ = c.cmd.Process.Kill()
	<-c.gone
}

// runWorker is the child's main: it serves until it is killed by its own doom,
// or its parent closes the pipe.
func runWorker(in io.Reader, out io.Writer) error {
	reader := bufio.NewReader(in)
	line, err := reader.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the worker's orders: %w", err)
	}
	var orders workerOrders
	if err := json.Unmarshal(line, &orders); err != nil {
		return fmt.Errorf("read the worker's orders: %w", err)
	}
	ctx := context.Background()
	store, err := openRedis(ctx, orders.Redis, nil)
	if err != nil {
		return err
	}
	defer store.close()
	trail, err := openTrail(orders.Audit, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	s, err := newShop(shopConfig{
		adapter: orders.Adapter, server: fmt.Sprintf("a second server, process %d", os.Getpid()), guarded: orders.Guarded, lease: orders.Lease,
		keys:  keys{Name: idem.NameKey(orders.Keys.Name), Sign: orders.Keys.Sign, Prefix: orders.Keys.Prefix},
		store: store.records, table: openTable(orders.Table), doom: &doom{at: orders.DieAt, die: killSelf},
		trail: trail, logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	srv, err := listenAndServe(s, "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, listening+srv.url)
	_, _ = io.Copy(io.Discard, reader) // until the parent lets go
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return errors.Join(srv.close(ctx), trail.close(ctx))
}

// killSelf is kill -9: no deferred call, no settle, no closing of anything.
func killSelf() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // until the signal arrives
}

// spawnAbandoned returns a spawner for a store that lives in this process. No
// second process can share that, so the worker is a second guard on the same
// store: when its moment comes its store handle is cut, its connections are cut,
// and its handler is abandoned where it stands.
func spawnAbandoned(s *shop, store idem.Store) spawner {
	return func(_ context.Context, at moment) (worker, error) {
		a := &abandoned{handle: &cutStore{Store: store}, struck: make(chan struct{})}
		second, err := newShop(shopConfig{
			adapter: s.adapter, server: "a second server", guarded: s.guarded, lease: s.lease, keys: s.keys,
			store: a.handle, table: s.table, doom: &doom{at: at, die: a.die}, trail: s.trail, logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return nil, err
		}
		a.shop = second
		a.srv, err = listenAndServe(second, "127.0.0.1:0")
		return a, err
	}
}

// abandoned is a worker inside this process.
type abandoned struct {
	shop   *shop
	srv    *server
	handle *cutStore
	struck chan struct{}
}

func (a *abandoned) url() string { return a.srv.url }

// die cuts everything and abandons the handler that calls it.
func (a *abandoned) die() {
	a.handle.cut()
	a.srv.listener.cut()
	close(a.struck)
	<-a.shop.closed
}

func (a *abandoned) dead(ctx context.Context) error {
	select {
	case <-a.struck:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the second server to die: %w", ctx.Err())
	}
}

func (a *abandoned) close() {
	over, cancel := context.WithCancel(context.Background())
	cancel() // the dead settle nothing
	_ = a.srv.close(over)
}

// listenAndServe serves a shop on an address.
func listenAndServe(s *shop, addr string) (*server, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	srv, err := serve(s, ln)
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return srv, nil
}
