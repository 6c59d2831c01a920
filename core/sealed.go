package idem

import (
	"context"
	"log/slog"

	"github.com/go-idem/idem/internal/broken"
)

// This file is where records are sealed and opened. Whoever writes a record that
// may hold a note or an answer encodes it here, once, and whoever wants to know
// either reads it here; everything else needs no keys.

// encode returns the value of a record under its name, sealed where the guard
// seals. Encoded twice it is two values: a value is encoded once and sent again
// byte for byte (PROTOCOL P2).
func (g *Guard) encode(name string, r *record) []byte {
	return g.encodeIn(nil, name, r)
}

// encodeIn is encode into space, where that is enough.
func (g *Guard) encodeIn(space []byte, name string, r *record) []byte {
	return g.encodeSized(space, g.encodedSize(r), name, r)
}

// encodeSized is encodeIn for who knows the encoded size.
func (g *Guard) encodeSized(space []byte, size int, name string, r *record) []byte {
	if size > cap(space) {
		space = make([]byte, 0, size)
	}
	return r.appendSealed(space[:0], g.sealer, name)
}

// encodedSize is the number of bytes that encode returns.
func (g *Guard) encodedSize(r *record) int {
	n := r.size()
	if !g.sealer.sealing() {
		return n
	}
	if len(r.note) > 0 {
		n += sealOverhead
	}
	if r.answered && !r.sealed {
		n += sealOverhead
	}
	return n
}

// read is readFound with the answer opened. One that does not open is held like a
// record that cannot be read: never a miss, never a run (PROTOCOL P12).
func (g *Guard) read(name string, res Result) found {
	f := found{value: res.Value, left: res.Left}
	f.decode()
	g.open(name, &f)
	return f
}

// open opens what was decoded.
func (g *Guard) open(name string, f *found) {
	if f.value == nil || f.unread != nil {
		return
	}
	switch done := f.rec.state == StateSucceeded || f.rec.state == StateFailed; {
	case f.rec.sealed:
		bound := f.value[:len(f.value)-len(f.rec.payload.Bytes)]
		plain, err := g.sealer.open(name, sealsAnswer, bound, f.rec.payload.Bytes)
		if err != nil && broken.Is(broken.S6BrokenSealIsAbsent) {
			*f = found{}
			return
		}
		f.rec.payload.Bytes, f.rec.sealed, f.unread = plain, false, err
	case (done || f.rec.answered) && g.insists():
		f.unread = errNotSealed
	}
	if len(f.rec.note) > 0 && g.insists() {
		f.rec.note, f.rec.unsealedNote = nil, true
	}
}

// insists tells whether what is not sealed is not read.
func (g *Guard) insists() bool { return g.sealer.sealing() && !g.readUnsealed }

// noteOf returns the note of a record that read has read, or that this process
// holds; nil where it has none or none that can be read. That is no reason to hold anything, because a note only informs; but an
// operator is told.
func (g *Guard) noteOf(name string, r *record) []byte {
	note, err := r.note, error(nil)
	switch {
	case len(r.sealedNote) > 0:
		note, err = g.sealer.open(name, sealsNote, r.noteBound(nil), r.sealedNote)
	case r.unsealedNote:
		err = errNotSealed
	}
	if err != nil {
		g.log.LogAttrs(context.Background(), slogError, "note cannot be read", slog.String("idem.key", KeyHash(name)), attrError(err))
		return nil
	}
	return note
}
