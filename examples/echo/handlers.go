package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	echoidem "github.com/go-idem/idem/adapters/echo"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/examples/internal/bookshop"
)

// handlers are the routes of the shop and what stands before them. None of the
// three that order or settle knows that it is guarded.
type handlers struct {
	shop *bookshop.Shop
	flow *httpflow.Flow
}

// customers knows whoever has been here before by a cookie, and gives one to
// whoever has not. (Before a login that is all there is to know somebody by; an
// address, or the words "not signed in", would be shared by many.)
func (h handlers) customers(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		cookie, err := c.Cookie(bookshop.Cookie)
		if err != nil {
			cookie = &http.Cookie{Name: bookshop.Cookie, Value: bookshop.NewCustomer(), Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode}
			c.SetCookie(cookie)
		}
		c.Set("who", cookie.Value)
		return next(c)
	}
}

// tenants knows programs by their API keys.
func (h handlers) tenants(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		tenant := h.shop.Tenant(c.Request().Header.Get("Authorization"))
		if tenant == "" {
			return echo.ErrUnauthorized
		}
		c.Set("who", tenant)
		return next(c)
	}
}

// providers lets through what the provider signed, and gives the body back.
func (h handlers) providers(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		body, err := io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, 64<<10))
		if err != nil || !h.shop.Signed(body, r.Header.Get("Provider-Signature")) {
			return echo.ErrUnauthorized
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		c.Set("who", "provider")
		return next(c)
	}
}

// page shows the form, with a token of its own each time.
func (h handlers) page(c echo.Context) error {
	token, err := h.flow.Issue(echoidem.Request(c), "shop:order:create", "")
	if err != nil {
		return echo.NewHTTPError(http.StatusServiceUnavailable, "no form now")
	}
	return h.show(c, http.StatusOK, bookshop.Page{Token: token, ByScript: c.QueryParam("by") == "script"})
}

func (h handlers) show(c echo.Context, status int, page bookshop.Page) error {
	page.Framework, page.Orders = "Echo", h.shop.Orders.Of(c.Get("who").(string))
	var html bytes.Buffer
	if err := page.Write(&html); err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.HTMLBlob(status, html.Bytes())
}

// buyByForm orders, and shows a form that was refused again: with its own token,
// which is still good.
func (h handlers) buyByForm(c echo.Context) error {
	item := c.FormValue("item")
	order, err := h.shop.Buy(c.Request().Context(), c.Get("who").(string), item)
	switch {
	case errors.Is(err, bookshop.ErrNoItem):
		return h.show(c, http.StatusUnprocessableEntity, bookshop.Page{Token: bookshop.Token(c.FormValue("idempotent-token")), Item: item, Refused: err})
	case err != nil:
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/?placed="+strconv.Itoa(order.Number))
}

// buyByAPI orders for a program.
func (h handlers) buyByAPI(c echo.Context) error {
	var asked struct{ Item string }
	if err := c.Bind(&asked); err != nil {
		return err
	}
	order, err := h.shop.Buy(c.Request().Context(), c.Get("who").(string), asked.Item)
	switch {
	case errors.Is(err, bookshop.ErrNoItem):
		return echo.NewHTTPError(http.StatusUnprocessableEntity, err.Error())
	case err != nil:
		return err
	}
	c.Response().Header().Set("Location", "/api/orders/"+strconv.Itoa(order.Number))
	return c.JSON(http.StatusCreated, order)
}

// order shows an order to whom it belongs.
func (h handlers) order(c echo.Context) error {
	number, _ := strconv.Atoi(c.Param("number"))
	order, ok := h.shop.Orders.Find(c.Get("who").(string), number)
	if !ok {
		return echo.ErrNotFound
	}
	return c.JSON(http.StatusOK, order)
}

// settle hears that a charge was paid.
func (h handlers) settle(c echo.Context) error {
	var event bookshop.Event
	if err := c.Bind(&event); err != nil {
		return err
	}
	order, err := h.shop.Settle(event)
	if errors.Is(err, bookshop.ErrNotYet) {
		return echo.NewHTTPError(http.StatusConflict, err.Error()) // released: the next delivery runs
	}
	return c.JSON(http.StatusOK, map[string]int{"order": order.Number})
}
