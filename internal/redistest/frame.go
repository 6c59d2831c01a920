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
