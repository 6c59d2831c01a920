package main

import (
	"bufio"
	"net/http"
)

// readHeader reads an answer for the sake of one header.
func (x *exchange) readHeader(name string) (string, error) {
	defer x.drop()
	res, err := http.ReadResponse(bufio.NewReader(x.conn), nil)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	return res.Header.Get(name), nil
}
