package main

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// product is something the shop sells.
type product struct {
	Field string // the form field with how many of it are wanted
	Name  string
	About string
	Cents int
	First int // how many stand in a new cart
}

// products is the whole shop.
var products = []product{
	{Field: "assam", Name: "Assam, first flush", About: "black tea, 100 g", Cents: 850, First: 1},
	{Field: "sencha", Name: "Sencha", About: "green tea, 100 g", Cents: 1100},
	{Field: "bowl", Name: "Stoneware bowl", About: "thrown by hand, 0.3 l", Cents: 1900, First: 1},
}

const (
	maxOfOne   = 9  // of one product in one order
	maxNameLen = 60 // characters of a name
)

// cartLine is one product as somebody wants it.
type cartLine struct {
	product
	Count string // as typed: a refused form shows it again
	Wrong string // what is wrong with it, "" if nothing
}

// orderForm is an order as somebody typed it, and what is wrong with it.
type orderForm struct {
	Lines     []cartLine
	Name      string
	WrongName string
	WrongCart string
}

// emptyForm is the form as it is shown first.
func emptyForm() orderForm {
	var f orderForm
	for _, p := range products {
		f.Lines = append(f.Lines, cartLine{product: p, Count: strconv.Itoa(p.First)})
	}
	return f
}

// formOfOrder is the form as it was filled in for an order, so that pressing
// again sends the same.
func formOfOrder(o placedOrder) orderForm {
	f := emptyForm()
	f.Name = o.Name
	for i := range min(len(o.Counts), len(f.Lines)) {
		f.Lines[i].Count = strconv.Itoa(o.Counts[i])
	}
	return f
}

// readForm reads a submitted order. ok is false if the shop refuses it; the
// form then says why at each field.
func readForm(values url.Values) (f orderForm, ok bool) {
	ok = true
	total := 0
	for _, p := range products {
		line := cartLine{product: p, Count: strings.TrimSpace(values.Get(p.Field))}
		n, err := strconv.Atoi(line.Count)
		if line.Count == "" {
			n, err = 0, nil
		}
		if err != nil || n < 0 || n > maxOfOne {
			line.Wrong, ok = fmt.Sprintf("Say a number from 0 to %d.", maxOfOne), false
		}
		total += n
		f.Lines = append(f.Lines, line)
	}
	if ok && total == 0 {
		f.WrongCart, ok = "The cart is empty: choose at least one thing.", false
	}
	f.Name = strings.TrimSpace(values.Get("name"))
	switch {
	case f.Name == "":
		f.WrongName, ok = "We need a name for the parcel.", false
	case utf8.RuneCountInString(f.Name) > maxNameLen:
		f.WrongName, ok = fmt.Sprintf("At most %d letters fit on the parcel.", maxNameLen), false
	}
	return f, ok
}

// wrong lists what is wrong with the form by field, for a script.
func (f orderForm) wrong() map[string]string {
	list := map[string]string{}
	for _, line := range f.Lines {
		if line.Wrong != "" {
			list[line.Field] = line.Wrong
		}
	}
	if f.WrongName != "" {
		list["name"] = f.WrongName
	}
	if f.WrongCart != "" {
		list["cart"] = f.WrongCart
	}
	return list
}

// order turns a form that was read without fault into a row.
func (f orderForm) order() placedOrder {
	o := placedOrder{Name: f.Name}
	var words []string
	for _, line := range f.Lines {
		n, _ := strconv.Atoi(line.Count)
		if o.Counts = append(o.Counts, n); n > 0 {
			words = append(words, fmt.Sprintf("%d × %s", n, line.Name))
			o.Cents += n * line.Cents
		}
	}
	o.Lines = strings.Join(words, ", ")
	return o
}

// euros writes cents as a price.
func euros(cents int) string { return fmt.Sprintf("€ %d.%02d", cents/100, cents%100) }
