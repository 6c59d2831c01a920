package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// firstNumber is the number of the first order: numbers count up from here.
const firstNumber = 1001

// placedOrder is one row of the order table.
type placedOrder struct {
	ID     string    `json:"id"`    // tells this row from every other
	Owner  string    `json:"owner"` // whose order it is: a visitor's short hash
	Cart   string    `json:"cart"`
	Name   string    `json:"name"`   // the name on the parcel
	Lines  string    `json:"lines"`  // what was ordered, in words
	Counts []int     `json:"counts"` // the same in numbers, as the shop lists its products
	Cents  int       `json:"cents"`  // what it costs
	Server string    `json:"server"`
	At     time.Time `json:"at"`

	Number int `json:"-"` // its place in the table
}

// table is the shop's own order table and the count of truth: whatever the
// guard says, an order exists if and only if it has a row here. It stands in
// for a database: a file to which one row is appended by one write, so a row is
// there whole or not at all, several processes can insert at once, and what a
// process wrote outlives its death. There is deliberately no rule against equal
// rows. All methods may be called from any number of goroutines.
type table struct {
	path string

	mu   sync.Mutex
	rows []placedOrder
	read int64 // how far into the file rows reaches
}

// openTable returns the table in the file at path, which need not exist yet.
func openTable(path string) *table { return &table{path: path} }

// insert adds a row and returns its number.
func (t *table) insert(o placedOrder) (int, error) {
	o.ID = rand.Text()
	row, err := json.Marshal(o)
	if err != nil {
		return 0, fmt.Errorf("write the order: %w", err)
	}
	file, err := os.OpenFile(t.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, fmt.Errorf("open the order table: %w", err)
	}
	_, err = file.Write(append(row, '\n'))
	if err = errors.Join(err, file.Close()); err != nil {
		return 0, fmt.Errorf("write the order: %w", err)
	}
	rows, err := t.all()
	if err != nil {
		return 0, err
	}
	for i := len(rows) - 1; i >= 0; i-- {
		if rows[i].ID == o.ID {
			return rows[i].Number, nil
		}
	}
	return 0, errors.New("the order table was emptied while the order was written")
}

// all returns every row, oldest first; none if the table is empty. The slice
// is the caller's to read, not to change.
func (t *table) all() ([]placedOrder, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	file, err := os.Open(t.path)
	if errors.Is(err, os.ErrNotExist) {
		t.rows, t.read = nil, 0
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("open the order table: %w", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil {
		return nil, fmt.Errorf("read the order table: %w", err)
	} else if info.Size() < t.read {
		t.rows, t.read = nil, 0 // another process emptied it
	}
	fresh, err := io.ReadAll(io.NewSectionReader(file, t.read, 1<<30))
	if err != nil {
		return nil, fmt.Errorf("read the order table: %w", err)
	}
	for line := range bytes.Lines(fresh) {
		if line[len(line)-1] != '\n' {
			break // still being written: it is a row once its end is there
		}
		var o placedOrder
		if err := json.Unmarshal(line, &o); err != nil {
			return nil, fmt.Errorf("read the order table: row %d: %w", len(t.rows)+1, err)
		}
		o.Number = firstNumber + len(t.rows)
		t.rows = append(t.rows, o)
		t.read += int64(len(line))
	}
	return t.rows[:len(t.rows):len(t.rows)], nil
}

// find returns the order with a number; ok is false if there is none.
func (t *table) find(number int) (o placedOrder, ok bool, err error) {
	rows, err := t.all()
	if i := number - firstNumber; err == nil && i >= 0 && i < len(rows) {
		return rows[i], true, nil
	}
	return placedOrder{}, false, err
}

// ofCart returns the newest order of a visitor's cart; ok is false if there is
// none.
func (t *table) ofCart(owner, cart string) (o placedOrder, ok bool, err error) {
	rows, err := t.all()
	for _, row := range rows {
		if row.Owner == owner && row.Cart == cart {
			o, ok = row, true
		}
	}
	return o, ok, err
}

// countOf returns how many orders somebody has.
func (t *table) countOf(owner string) (int, error) {
	rows, err := t.all()
	n := 0
	for _, o := range rows {
		if o.Owner == owner {
			n++
		}
	}
	return n, err
}

// reset empties the table.
func (t *table) reset() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows, t.read = nil, 0
	if err := os.Truncate(t.path, 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("empty the order table: %w", err)
	}
	return nil
}
