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

var (
	errTooLarge = errors.New("the body is larger than this operation allows")
	errCutOff   = errors.New("the body could not be read to its end")
	// errNoRoom is no fault of the client's.
	errNoRoom = errors.New("httpflow: a long body cannot be kept in a temporary file")
)

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
	rest := io.LimitReader(src, limit+1-n)
	if b.size, err = copyTo(b.file, io.MultiReader(&buf, rest)); err == nil && b.size > limit {
		err = errTooLarge
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// copyTo copies a body and tells a client that broke off from a disk that is
// full.
func copyTo(file *os.File, src io.Reader) (size int64, err error) {
	piece := make([]byte, 32<<10)
	for {
		n, err := src.Read(piece)
		if _, werr := file.Write(piece[:n]); werr != nil {
			return size, fmt.Errorf("%w: %w", errNoRoom, werr)
		}
		size += int64(n)
		switch {
		case errors.Is(err, io.EOF):
			return size, nil
		case err != nil:
			return size, unread(err)
		}
	}
}

// spool opens a temporary file and takes its name away at once, so that it is
// gone with the process, however that ends.
func spool() (*Body, error) {
	file, err := os.CreateTemp("", "idem-body-*")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoRoom, err)
	}
	b := &Body{file: file}
	if err := os.Remove(file.Name()); err != nil {
		b.name = file.Name() // some systems keep the name as long as the file is open
	}
	return b, nil
}

// unread tells a body over a limit that stands outside from one that broke off.
// What the network said about it is no business of the client's.
func unread(err error) error {
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return errTooLarge
	}
	return errCutOff
}

// Size is the number of bytes.
func (b *Body) Size() int64 { return b.size }

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
		return nil, fmt.Errorf("%w: %w", errNoRoom, err)
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
