package httpflow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
)

// memoryLimit is how much of a body is held in memory while its handler runs.
// What is longer waits in a temporary file without a name.
const memoryLimit = 64 << 10

// errTooLarge is a body over the policy's MaxBody.
var errTooLarge = errors.New("the body is larger than this operation allows")

// Body is a request's body after it was read. Its handler reads it again from
// the start. It belongs to one request and is closed with it.
type Body struct {
	mem  []byte
	file *os.File
	name string // of the file where the system does not let go of a name in use
	size int64
	lent bool // the framework holds it in memory itself: nothing to give back
}

// readBody reads the whole body, at most limit bytes. A body that says at once
// that it is longer is not read at all.
func readBody(r Request, limit int64) (*Body, error) {
	src, size := r.Body()
	switch {
	case size > limit:
		return nil, errTooLarge
	case src == nil || size == 0:
		return &Body{lent: true}, nil
	}
	if held, ok := src.(interface{ Bytes() []byte }); ok {
		mem := held.Bytes()
		if int64(len(mem)) > limit {
			return nil, errTooLarge
		}
		return &Body{mem: mem, size: int64(len(mem)), lent: true}, nil
	}
	if size > 0 && size <= memoryLimit {
		return readSized(src, size)
	}
	return readUnsized(src, limit)
}

// readSized reads a short body whose length was announced; the server sees to
// it that there is no more.
func readSized(src io.Reader, size int64) (*Body, error) {
	mem := make([]byte, size)
	if _, err := io.ReadFull(src, mem); err != nil {
		return nil, unread(err)
	}
	return &Body{mem: mem, size: size}, nil
}

func readUnsized(src io.Reader, limit int64) (*Body, error) {
	var buf bytes.Buffer
	n, err := io.Copy(&buf, io.LimitReader(src, min(limit, memoryLimit)+1))
	switch {
	case err != nil:
		return nil, unread(err)
	case n > limit:
		return nil, errTooLarge
	case n <= memoryLimit:
		return &Body{mem: buf.Bytes(), size: n}, nil
	}
	b, err := spool()
	if err != nil {
		return nil, err
	}
	b.size, err = io.Copy(b.file, io.MultiReader(&buf, io.LimitReader(src, limit+1-n)))
	switch {
	case err != nil:
		b.Close()
		return nil, unread(err)
	case b.size > limit:
		b.Close()
		return nil, errTooLarge
	}
	return b, nil
}

// spool opens a temporary file and takes its name away at once, so that it is
// gone with the process, however that ends.
func spool() (*Body, error) {
	file, err := os.CreateTemp("", "idem-body-*")
	if err != nil {
		return nil, fmt.Errorf("httpflow: no room for a body of more than %d bytes: %w", memoryLimit, err)
	}
	b := &Body{file: file}
	if err := os.Remove(file.Name()); err != nil {
		b.name = file.Name() // some systems keep the name as long as the file is open
	}
	return b, nil
}

// unread tells a body over a limit that stands outside from one that broke off.
func unread(err error) error {
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return errTooLarge
	}
	return fmt.Errorf("the body could not be read to its end: %w", err)
}

// Size is the number of bytes.
func (b *Body) Size() int64 { return b.size }

// GiveBack says that the request's own body was read and has to be replaced by
// [Body.Reader] before the handler runs.
func (b *Body) GiveBack() bool { return b != nil && !b.lent }

// Reader returns the body from its start, in memory or not, as an
// io.ReadCloser; its Close closes nothing. Readers are independent of each other.
func (b *Body) Reader() io.ReadCloser {
	if b.file != nil {
		return io.NopCloser(io.NewSectionReader(b.file, 0, b.size))
	}
	return io.NopCloser(bytes.NewReader(b.mem))
}

// Bytes returns the whole body; it is not to be changed. A long one is read
// into memory for the caller and let go of with him.
func (b *Body) Bytes() ([]byte, error) {
	if b.file == nil {
		return b.mem, nil
	}
	whole := make([]byte, b.size)
	if _, err := b.file.ReadAt(whole, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("httpflow: the body's temporary file cannot be read: %w", err)
	}
	return whole, nil
}

// Close lets go of the temporary file, if there is one. A nil Body may be closed.
func (b *Body) Close() {
	if b == nil || b.file == nil {
		return
	}
	_ = b.file.Close()
	if b.name != "" {
		_ = os.Remove(b.name)
	}
}
