package httpflow

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
)

// Kept bodies are compressed where that helps: over compressFrom bytes, unless
// the handler encoded them already. What is tried first is their beginning: a
// body that is compressed by its nature (a picture, say) costs no more than that.
const (
	compressFrom = 1 << 10
	compressTry  = 4 << 10
)

// deflaters are large, and a kept body is rarely the only one.
var deflaters = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.BestSpeed) // the level is one
	return w
}}

// compressed appends the length of body and its deflated bytes to b; false
// where that would not save an eighth.
func compressed(b, body []byte) ([]byte, bool) {
	if len(body) > compressTry {
		if _, helps := deflated(nil, body[:compressTry]); !helps {
			return b, false
		}
	}
	return deflated(binary.AppendUvarint(b, uint64(len(body))), body)
}

func deflated(b, body []byte) ([]byte, bool) {
	out := bytes.NewBuffer(b)
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	w.Reset(out)
	_, _ = w.Write(body) // to memory
	_ = w.Close()
	return out.Bytes(), out.Len()-len(b) < len(body)-len(body)/8
}

// biggestBody bounds what a damaged length can make us allocate ahead.
const biggestBody = 1 << 20

// expanded reads what compressed wrote. A body that is longer or shorter than
// told is damaged.
func expanded(b []byte) ([]byte, error) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > 1<<31-1 {
		return nil, errReply
	}
	r := flate.NewReader(bytes.NewReader(b[n:]))
	out := bytes.NewBuffer(make([]byte, 0, min(size, biggestBody)+bytes.MinRead))
	got, err := out.ReadFrom(io.LimitReader(r, int64(size)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errReply, err)
	case got != int64(size):
		return nil, errReply
	}
	return out.Bytes(), nil
}
