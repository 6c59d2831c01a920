package testserver

import (
	"io"
	"mime/multipart"
)

// readFiles reads the first file of each field of a multipart form.
func readFiles(form *multipart.Form, into map[string][]byte) error {
	for name, headers := range form.File {
		f, err := headers[0].Open()
		if err != nil {
			return err
		}
		into[name], err = io.ReadAll(f)
		_ = f.Close() // it was read to its end
		if err != nil {
			return err
		}
	}
	return nil
}
