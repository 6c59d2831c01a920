package httpflow

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"
)

// bodyOf is a request with a body whose length is announced, or not.
func bodyOf(r io.Reader, size int64) Request {
	req := httptest.NewRequest(http.MethodPost, "/", nil)
	req.Body, req.ContentLength = io.NopCloser(r), size
	return NetRequest{req}
}

// Faults: 42.
func TestBodiesAreReadOnceAndGivenBackWhole(t *testing.T) {
	for _, size := range []int{0, 1, memoryLimit - 1, memoryLimit, memoryLimit + 1, 300_000} {
		for _, announced := range []bool{true, false} {
			want := bytes.Repeat([]byte("idem."), size/5+1)[:size]
			length := int64(-1)
			if announced {
				length = int64(size)
			}
			var b Body
			if err := b.read(bodyOf(iotest.HalfReader(bytes.NewReader(want)), length), 300_000); err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
			whole, err := b.Bytes()
			if err != nil || !bytes.Equal(whole, want) || b.Size() != int64(size) {
				t.Errorf("%d bytes: got %d of %d, %v", size, len(whole), b.Size(), err)
			}
			for range 2 { // readers are independent of each other
				if again, err := io.ReadAll(b.Reader()); err != nil || !bytes.Equal(again, want) {
					t.Errorf("%d bytes: read %d again, %v", size, len(again), err)
				}
			}
			if inFile := b.file != nil; inFile != (size > memoryLimit) {
				t.Errorf("%d bytes: in a file %v", size, inFile)
			}
			b.close()
		}
	}
}

func TestALongBodyLeavesNoFileBehind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	var b Body
	if err := b.read(bodyOf(bytes.NewReader(make([]byte, 200_000)), -1), 1<<20); err != nil {
		t.Fatal(err)
	}
	defer b.close()
	if found, _ := filepath.Glob(filepath.Join(dir, "*")); len(found) > 0 {
		t.Errorf("the file has a name: %v", found)
	}
}

func TestBodiesThatCannotBeRead(t *testing.T) {
	broken := errors.New("connection reset by 10.0.0.7")
	cases := []struct {
		given string
		r     io.Reader
		size  int64
		want  error
	}{
		{"announced too long", iotest.ErrReader(errors.New("was read")), 1001, errTooLarge},
		{"too long", bytes.NewReader(make([]byte, 1001)), -1, errTooLarge},
		{"broken off", io.MultiReader(bytes.NewReader(make([]byte, 10)), iotest.ErrReader(broken)), -1, errCutOff},
		{"broken off, announced", bytes.NewReader(make([]byte, 10)), 20, errCutOff},
		{"read before", bytes.NewReader(nil), 20, errTaken},
		{"read and closed before", iotest.ErrReader(http.ErrBodyReadAfterClose), 20, errTaken},
		{"read and closed before, of no announced length", iotest.ErrReader(http.ErrBodyReadAfterClose), -1, errTaken},
		{"empty, of no announced length", bytes.NewReader(nil), -1, nil},
		{"ended early", iotest.ErrReader(io.ErrUnexpectedEOF), 20, errCutOff},
		{"over a limit outside", http.MaxBytesReader(nil, io.NopCloser(bytes.NewReader(make([]byte, 100))), 50), -1, errTooLarge},
	}
	for _, c := range cases {
		var b Body
		if err := b.read(bodyOf(c.r, c.size), 1000); !errors.Is(err, c.want) || errors.Is(err, broken) {
			t.Errorf("%s: %v, want %v and nothing of the network", c.given, err, c.want)
		}
		b.close()
	}
	var long Body
	if err := long.read(bodyOf(bytes.NewReader(nil), memoryLimit+1), 1<<20); !errors.Is(err, errTaken) {
		t.Errorf("read before, a long one: %v", err)
	}
	t.Run("no room for a long one", func(t *testing.T) {
		t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "absent"))
		var b Body
		if err := b.read(bodyOf(bytes.NewReader(make([]byte, 200_000)), -1), 1<<20); !errors.Is(err, errNoRoom) || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v, want errNoRoom", err)
		}
		b.close()
	})
}

func TestMultipartListing(t *testing.T) {
	part := func(boundary, head, body string) string {
		return "--" + boundary + "\r\nContent-Disposition: form-data; " + head + "\r\n\r\n" + body + "\r\n"
	}
	list := func(boundary string, parts ...string) string {
		text := ""
		for i := 0; i < len(parts); i += 2 {
			text += part(boundary, parts[i], parts[i+1])
		}
		b := Body{mem: []byte(text + "--" + boundary + "--\r\n")}
		b.size = int64(len(b.mem))
		return string(multipartListing(&b, boundary))
	}
	base := list("one", `name="a"`, "1", `name="f"; filename="x"`, "tea")
	same := []string{
		list("two", `name="a"`, "1", `name="f"; filename="x"`, "tea"),
		list("one", `name="f"; filename="x"`, "tea", `name="a"`, "1"), // taken apart and put together
		list("one", `name="idempotent-token"`, "anything", `name="a"`, "1", `name="f"; filename="x"`, "tea"),
	}
	for i, s := range same {
		if s != base || s == "" {
			t.Errorf("same %d: is not", i)
		}
	}
	other := []string{
		list("one", `name="a"`, "2", `name="f"; filename="x"`, "tea"),
		list("one", `name="a"`, "1", `name="f"; filename="y"`, "tea"),
		list("one", `name="a"`, "1", `name="f"; filename="x"`, "gin"),
		list("one", `name="a"`, "1", `name="f"`, "tea"),
		list("one", `name="a"`, "1"),
		list("one", `name="a"`, "1", `name="a"`, "1", `name="f"; filename="x"`, "tea"),
		list("one", `name="af"; filename="x"`, "1", `name=""`, "tea"),
	}
	for i, s := range other {
		if s == base || s == "" {
			t.Errorf("other %d: is the same, or cannot be read", i)
		}
	}
	if list("one", `name="a"`, "1", `name="a"`, "2") == list("one", `name="a"`, "2", `name="a"`, "1") {
		t.Error("the order within a name plays no part")
	}
	torn := Body{mem: []byte(part("one", `name="a"`, "1"))}
	if multipartListing(&torn, "one") != nil {
		t.Error("a form that breaks off was read")
	}
}

// A body that was not read to its end is given back whole all the same, with
// the very error it broke off with.
func TestABodyThatIsNoGoodIsGivenBackWhole(t *testing.T) {
	cut := errors.New("the connection is gone")
	for name, c := range map[string]struct {
		size     int
		announce int64 // what the head says; -1: nothing
		broken   bool
		want     error
	}{
		"too long for memory":   {5000, -1, false, errTooLarge},
		"too long for the file": {200_000, -1, false, errTooLarge},
		"short, and cut off":    {500, 900, true, errCutOff},
		"cut off":               {500, -1, true, errCutOff},
		"long, and cut off":     {90_000, -1, true, errCutOff},
	} {
		for _, whole := range []bool{false, true} {
			sent := bytes.Repeat([]byte("idem."), c.size/5)
			limit := int64(4000)
			if c.size > memoryLimit || c.broken {
				limit = 100_000
			}
			src := io.Reader(bytes.NewReader(sent))
			if c.broken {
				src = io.MultiReader(src, iotest.ErrReader(cut))
			}
			var b Body
			if err := b.read(bodyOf(src, c.announce), limit); !errors.Is(err, c.want) {
				t.Fatalf("%s: %v", name, err)
			}
			r := b.Reader
			if whole {
				r = b.Whole
			}
			got, err := io.ReadAll(r())
			if !bytes.Equal(got, sent) || c.broken != errors.Is(err, cut) {
				t.Errorf("%s: read %d of %d, %v", name, len(got), len(sent), err)
			}
			if known := b.Size() == int64(len(sent)); known != (whole && !c.broken) {
				t.Errorf("%s: the size is said to be %d", name, b.Size())
			}
			b.close()
		}
	}
}

func TestABodyIsGivenBackWhereThereIsNoRoomForIt(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nothing"))
	sent := bytes.Repeat([]byte("idem."), 40_000)
	var b Body
	if err := b.read(bodyOf(bytes.NewReader(sent), -1), 1<<20); !errors.Is(err, errNoRoom) {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(b.Reader()); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("read %d of %d, %v", len(got), len(sent), err)
	}
}
