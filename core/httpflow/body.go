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

// read reads the whole body, at most limit bytes. A body that says at once that
// it is longer is not read at all.
func (b *Body) read(r Request, limit int64) error {
	src, size := r.Body()
	switch {
	case size > limit:
		return errTooLarge
	case src == nil || size == 0:
		b.lent = true
		return nil
	}
	if held, ok := src.(interface{ Bytes() []byte }); ok {
		b.mem, b.lent = held.Bytes(), true
		if b.size = int64(len(b.mem)); b.size > limit {
			return errTooLarge
		}
		return nil
	}
	if size > 0 && size <= memoryLimit {
		b.mem, b.size = make([]byte, size), size
		if _, err := io.ReadFull(src, b.mem); err != nil {
			return unread(err)
		}
		return nil
	}
	return b.readUnsized(src, limit)
}

func (b *Body) readUnsized(src io.Reader, limit int64) error {
	var buf bytes.Buffer
	n, err := io.Copy(&buf, io.LimitReader(src, min(limit, memoryLimit)+1))
	switch {
	case err != nil:
		return unread(err)
	case n > limit:
		return errTooLarge
	case n <= memoryLimit:
		b.mem, b.size = buf.Bytes(), n
		return nil
	}
	if err := b.spool(); err != nil {
		return err
	}
	rest := io.LimitReader(src, limit+1-n)
	if b.size, err = copyTo(b.file, io.MultiReader(&buf, rest)); err == nil && b.size > limit {
		err = errTooLarge
	}
	return err
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
func (b *Body) spool() (err error) {
	if b.file, err = os.CreateTemp("", "idem-body-*"); err != nil {
		return fmt.Errorf("%w: %w", errNoRoom, err)
	}
	if err := os.Remove(b.file.Name()); err != nil {
		b.name = b.file.Name() // some systems keep the name as long as the file is open
	}
	return nil
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
	r := new(memReader)
	r.Reset(b.mem)
	return r
}

// memReader is a bytes.Reader with a Close, in one piece of memory.
type memReader struct{ bytes.Reader }

func (*memReader) Close() error { return nil }

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

// close lets go of the temporary file, if there is one.
func (b *Body) close() {
	if b.file == nil {
		return
	}
	_ = b.file.Close()
	if b.name != "" {
		_ = os.Remove(b.name)
	}
}
