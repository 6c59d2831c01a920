package httpflow

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"mime/multipart"
	"slices"

	idem "github.com/go-idem/idem/core"
)

// fingerprint hashes what the request asks for. A long body that is compared
// byte for byte is never in memory as a whole.
func (p *plan) fingerprint(policy *idem.Policy, r Request, b *Body) (idem.Fingerprint, error) {
	guard := p.flow.Guard
	var content idem.Content
	content.Method, content.Path, content.Query, content.ContentType = r.Method(), r.Path(), r.RawQuery(), contentType(r)
	if kind, boundary := kindOf(content.ContentType); kind == bodyMultipart {
		content.Body = multipartListing(b, boundary, policy.Fingerprint)
	}
	switch {
	case content.Body != nil:
	case b.file != nil && content.ComparedRaw(b.size):
		stream := guard.FingerprintStream(policy, content)
		if _, err := io.Copy(stream, b.Reader()); err != nil {
			return idem.Fingerprint{}, fmt.Errorf("%w: %w", errNoRoom, err)
		}
		return stream.Fingerprint(), nil
	default:
		whole, err := b.Bytes()
		if err != nil {
			return idem.Fingerprint{}, err
		}
		content.Body = whole
	}
	return guard.Fingerprint(policy, content), nil
}

// listedPart is one part of a multipart form as it is compared. What else its head
// says plays no part, and of a field that is no file neither does its type: a server
// that has taken the form apart knows it no more.
type listedPart struct {
	name, file, kind string
	isFile           bool
	sum              [sha256.Size]byte
}

// multipartListing says what a multipart form holds, whatever its boundary:
// browsers draw a new one for each retry, and a server that has taken the form
// apart hands its parts out in any order. Parts are sorted by name, the order
// within a name kept; contents are hashed, so that a file is never held in
// memory. nil says that the form cannot be read to its end; then it is compared
// byte for byte.
func multipartListing(b *Body, boundary string, choice idem.FingerprintChoice) []byte {
	var parts []listedPart
	form, digest := multipart.NewReader(b.Reader(), boundary), sha256.New()
	for {
		part, err := form.NextRawPart()
		if isWhole(err) {
			break
		}
		if err != nil {
			return nil
		}
		p, err := listPart(part, digest)
		if err != nil {
			return nil
		}
		if p.name != tokenField || p.isFile { // the token is no part of what is asked
			parts = append(parts, p)
		}
	}
	parts = chosen(parts, choice)
	slices.SortStableFunc(parts, func(a, b listedPart) int { return cmp.Compare(a.name, b.name) })
	listing := []byte("multipart")
	for _, p := range parts {
		kind := byte('v')
		if p.isFile {
			kind = 'f'
		}
		listing = append(listing, kind)
		listing = append(binary.BigEndian.AppendUint32(listing, uint32(len(p.name))), p.name...)
		listing = append(binary.BigEndian.AppendUint32(listing, uint32(len(p.file))), p.file...)
		listing = append(binary.BigEndian.AppendUint32(listing, uint32(len(p.kind))), p.kind...)
		listing = append(listing, p.sum[:]...)
	}
	return listing
}

// chosen leaves of a form what a choice compares of it. A form that has none of the
// fields that it names is compared whole, as an urlencoded one is.
func chosen(parts []listedPart, choice idem.FingerprintChoice) []listedPart {
	some := slices.ContainsFunc(parts, func(p listedPart) bool { only, _ := choice.Field(p.name); return only })
	return slices.DeleteFunc(parts, func(p listedPart) bool {
		only, ignored := choice.Field(p.name)
		return ignored || some && !only
	})
}

func listPart(part *multipart.Part, digest hash.Hash) (p listedPart, err error) {
	digest.Reset()
	if _, err = io.Copy(digest, part); err != nil {
		return p, err
	}
	p = listedPart{name: part.FormName(), file: part.FileName()}
	if p.isFile = p.file != ""; p.isFile {
		p.kind = part.Header.Get("Content-Type")
	}
	digest.Sum(p.sum[:0])
	return p, nil
}
