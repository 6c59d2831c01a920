package redistest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// readFrame reads one RESP value, request or reply, and returns it byte for byte.
func readFrame(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return line, err
	}
	switch line[0] {
	case '$', '=', '!': // so many bytes and a line end follow
		n, err := size(line)
		if err != nil || n < 0 {
			return line, err
		}
		body := make([]byte, n+2)
		_, err = io.ReadFull(r, body)
		return append(line, body...), err
	case '*', '~', '>', '%': // so many values follow
		n, err := size(line)
		if line[0] == '%' {
			n *= 2
		}
		for i := 0; i < n && err == nil; i++ {
			var item []byte
			item, err = readFrame(r)
			line = append(line, item...)
		}
		return line, err
	}
	return line, nil
}

func size(line []byte) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(string(line[1:])))
	if err != nil || n > 1<<29 {
		return 0, fmt.Errorf("redistest: no length in %q", line)
	}
	return n, nil
}

// command returns the first word of a request in capitals.
func command(request []byte) string {
	parts := bytes.SplitN(request, []byte("\r\n"), 4)
	if len(parts) < 3 {
		return ""
	}
	return strings.ToUpper(string(parts[2]))
}

// wordsOf returns the words of a request.
func wordsOf(request []byte) (words []string) {
	rest := request[bytes.IndexByte(request, '\n')+1:]
	for len(rest) > 0 && rest[0] == '$' {
		end := bytes.IndexByte(rest, '\n')
		n, err := size(rest[:end+1])
		if err != nil {
			return words
		}
		words = append(words, string(rest[end+1:end+1+n]))
		rest = rest[end+1+n+2:]
	}
	return words
}

// frame makes a request of words.
func frame(words []string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b.Bytes()
}
