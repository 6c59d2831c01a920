package httpflow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
)

// memoryLimit is how much of a body is held in memory while its handler runs.
// What is longer waits in a temporary file without a name.
const memoryLimit = 64 << 10

var (
	errTooLarge = errors.New("the body is larger than this operation allows")
	errCutOff   = errors.New("the body could not be read to its end")
	// errTaken is no fault of the client's either: of a body that was announced
	// not a byte is left, so something on this side has read it before.
	errTaken = errors.New("httpflow: what stands outside of the guard has read the body and not put it back")
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
	lent bool      // the framework holds it in memory itself: nothing to give back
	rest io.Reader // of a body that was not read to its end: what comes behind it
}

// BodyLimiter is the ability of a [Request] whose framework may limit bodies itself,
// outside of the guard, by an error of its own: it tells that error from others with
// which a body ends. That of net/http ([http.MaxBytesError]) needs nobody to tell it.
type BodyLimiter interface {
	OverLimit(err error) bool
}

// read reads the whole body, at most limit bytes. A body that says at once that
// it is longer is not read at all.
func (b *Body) read(r Request, limit int64) error {
	lender, lends := r.(Lender)
	err := b.readFrom(r, lender, limit)
	if limits, ok := r.(BodyLimiter); ok && errors.Is(err, errCutOff) {
		if end, ok := b.rest.(failing); ok && limits.OverLimit(end.err) {
			return errTooLarge
		}
	}
	if lends && errors.Is(err, errTaken) {
		// Such a framework holds what somebody has read; its stream ends like this
		// where the client went away.
		return errCutOff
	}
	return err
}

func (b *Body) readFrom(r Request, lender Lender, limit int64) error {
	if lender != nil {
		if held := lender.LentBody(); !held.IsBodyStream() {
			b.hold(held.Body())
			return b.within(limit)
		}
	}
	src, size := r.Body()
	switch {
	case size > limit:
		return errTooLarge
	case src == nil || size == 0:
		b.lent = true
		return nil
	}
	if held, ok := src.(interface{ Bytes() []byte }); ok {
		b.hold(held.Bytes())
		return b.within(limit)
	}
	if size > 0 && size <= memoryLimit {
		return b.readSized(src, size, limit)
	}
	if err := b.readUnsized(src, limit); err != nil || size <= 0 || b.size > 0 {
		return err
	}
	return errTaken
}

// readSized reads a body of a told length. The length is that of what came over the
// wire: middleware that decodes a body may leave it as it was, so that more follows.
func (b *Body) readSized(src io.Reader, size, limit int64) error {
	b.mem, b.size = make([]byte, size, size+1), size
	if n, err := io.ReadFull(src, b.mem); err != nil {
		b.mem, b.size = b.mem[:n], int64(n)
		return b.broke(err)
	}
	n, err := io.ReadFull(src, b.mem[size:size+1])
	switch {
	case n > 0:
		return b.readUnsized(io.MultiReader(bytes.NewReader(b.mem[:size+1]), src), limit)
	case !errors.Is(err, io.EOF):
		return b.broke(err)
	}
	return nil
}

// hold takes over a body that the framework holds in memory.
func (b *Body) hold(body []byte) { b.mem, b.size, b.lent = body, int64(len(body)), true }

func (b *Body) within(limit int64) error {
	if b.size > limit {
		return errTooLarge
	}
	return nil
}

func (b *Body) readUnsized(src io.Reader, limit int64) error {
	var buf bytes.Buffer
	n, err := io.Copy(&buf, io.LimitReader(src, min(limit, memoryLimit)+1))
	b.mem, b.size = buf.Bytes(), n
	switch {
	case err != nil:
		return b.broke(err)
	case n > limit:
		b.rest = src
		return errTooLarge
	case n <= memoryLimit:
		return nil
	}
	if err := b.spool(); err != nil {
		b.rest = src
		return err
	}
	b.mem, b.size = nil, 0
	return b.copy(&buf, src, limit)
}

// copy moves a body into the temporary file: first what was read of it, then the
// rest, at most limit bytes in all. It tells a client that broke off from a disk
// that is full.
func (b *Body) copy(read, src io.Reader, limit int64) error {
	all := io.MultiReader(read, src)
	piece := make([]byte, 32<<10)
	for {
		n, err := all.Read(piece[:min(int64(len(piece)), limit+1-b.size)])
		if _, werr := b.file.Write(piece[:n]); werr != nil {
			b.rest = io.MultiReader(bytes.NewReader(piece[:n]), all)
			return fmt.Errorf("%w: %w", errNoRoom, werr)
		}
		b.size += int64(n)
		switch {
		case b.size > limit:
			b.rest = all
			return errTooLarge
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return b.broke(err)
		}
	}
}

// broke notes that a body ended with an error: whoever reads it again finds the
// same.
func (b *Body) broke(err error) error {
	b.rest = failing{err}
	return unread(err)
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

// unread tells a body over a limit that stands outside, and one that is not
// there any more, from one that broke off. What the network said about it is no
// business of the client's. A connection that ends early is told as
// io.ErrUnexpectedEOF; io.EOF says that the body was read to its end before.
func unread(err error) error {
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return errTooLarge
	case errors.Is(err, io.EOF), errors.Is(err, http.ErrBodyReadAfterClose):
		return errTaken
	}
	return errCutOff
}

// Whole is Reader for a framework that cannot go on reading what somebody has
// begun: the rest of a body that was not read to its end is read now, however
// long it is. What cannot be read, or held, is what the reader then fails with.
func (b *Body) Whole() io.ReadCloser {
	if b.rest != nil {
		b.finish()
	}
	return b.Reader()
}

func (b *Body) finish() {
	src := b.rest
	if b.file == nil {
		if err := b.spool(); err != nil {
			b.rest = failing{err}
			return
		}
		src, b.mem, b.size = io.MultiReader(bytes.NewReader(b.mem), b.rest), nil, 0
	}
	b.rest = nil
	if err := b.copy(src, bytes.NewReader(nil), math.MaxInt64-1); errors.Is(err, errNoRoom) {
		b.rest = failing{err}
	}
}

// Size is the number of bytes, -1 where that is not known.
func (b *Body) Size() int64 {
	if b.rest != nil {
		return -1
	}
	return b.size
}

// Reader returns the body from its start, in memory or not, as an
// io.ReadCloser; its Close closes nothing. Readers are independent of each
// other, but of a body that was not read to its end there can be only one.
func (b *Body) Reader() io.ReadCloser {
	switch {
	case b.file != nil && b.rest != nil:
		return io.NopCloser(io.MultiReader(io.NewSectionReader(b.file, 0, b.size), b.rest))
	case b.rest != nil:
		return io.NopCloser(io.MultiReader(bytes.NewReader(b.mem), b.rest))
	case b.file != nil:
		return io.NopCloser(io.NewSectionReader(b.file, 0, b.size))
	}
	r := new(memReader)
	r.Reset(b.mem)
	return r
}

// inMemory says that the body was read to its end and is b.mem.
func (b *Body) inMemory() bool { return b.file == nil && b.rest == nil }

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
