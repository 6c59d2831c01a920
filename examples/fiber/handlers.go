package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	fiberidem "github.com/go-idem/idem/adapters/fiber"
	"github.com/go-idem/idem/core/httpflow"
	"github.com/go-idem/idem/examples/internal/bookshop"
)

// handlers are the routes of the shop and what stands before them. None of the
// three that order or settle knows that it is guarded.
type handlers struct {
	shop *bookshop.Shop
	flow *httpflow.Flow
}

// who says whose key or token it is: whom the middleware found out.
func who(r httpflow.Request) (string, error) { return name(r.Native().(*fiber.Ctx)), nil }

func name(c *fiber.Ctx) string {
	name, _ := c.Locals("who").(string)
	return name
}

// customers knows whoever has been here before by a cookie, and gives one to
// whoever has not. (Before a login that is all there is to know somebody by; an
// address, or the words "not signed in", would be shared by many.)
func (h handlers) customers(c *fiber.Ctx) error {
	customer := strings.Clone(c.Cookies(bookshop.Cookie))
	if customer == "" {
		customer = bookshop.NewCustomer()
		c.Cookie(&fiber.Cookie{Name: bookshop.Cookie, Value: customer, Path: "/", HTTPOnly: true, SameSite: fiber.CookieSameSiteLaxMode})
	}
	c.Locals("who", customer)
	return c.Next()
}

// tenants knows programs by their API keys.
func (h handlers) tenants(c *fiber.Ctx) error {
	tenant := h.shop.Tenant(c.Get("Authorization"))
	if tenant == "" {
		return fiber.ErrUnauthorized
	}
	c.Locals("who", tenant)
	return c.Next()
}

// providers lets through what the provider signed. Fiber keeps the body that was
// read here, for the guard and for the handler.
func (h handlers) providers(c *fiber.Ctx) error {
	if !h.shop.Signed(c.Body(), c.Get("Provider-Signature")) {
		return fiber.ErrUnauthorized
	}
	c.Locals("who", "provider")
	return c.Next()
}

// page shows the form, with a token of its own each time.
func (h handlers) page(c *fiber.Ctx) error {
	token, err := h.flow.Issue(fiberidem.Request(c), "shop:order:create", "")
	if err != nil {
		return fiber.NewError(fiber.StatusServiceUnavailable, "no form now")
	}
	return h.show(c, fiber.StatusOK, bookshop.Page{Token: token, ByScript: c.Query("by") == "script"})
}

func (h handlers) show(c *fiber.Ctx, status int, page bookshop.Page) error {
	page.Framework, page.Orders = "Fiber", h.shop.Orders.Of(name(c))
	c.Set("Cache-Control", "no-store")
	return page.Write(c.Status(status).Type("html", "utf-8"))
}

// buyByForm orders, and shows a form that was refused again: with its own token,
// which is still good. What the shop keeps is cloned.
func (h handlers) buyByForm(c *fiber.Ctx) error {
	item := strings.Clone(c.FormValue("item"))
	order, err := h.shop.Buy(c.UserContext(), name(c), item)
	switch {
	case errors.Is(err, bookshop.ErrNoItem):
		return h.show(c, fiber.StatusUnprocessableEntity, bookshop.Page{Token: bookshop.Token(strings.Clone(c.FormValue("idempotent-token"))), Item: item, Refused: err})
	case err != nil:
		return err
	}
	return c.Redirect("/?placed="+strconv.Itoa(order.Number), fiber.StatusSeeOther)
}

// buyByAPI orders for a program.
func (h handlers) buyByAPI(c *fiber.Ctx) error {
	var asked struct{ Item string }
	if err := c.BodyParser(&asked); err != nil {
		return fiber.NewError(fiber.StatusBadRequest, "the body cannot be read")
	}
	order, err := h.shop.Buy(c.UserContext(), name(c), strings.Clone(asked.Item))
	switch {
	case errors.Is(err, bookshop.ErrNoItem):
		return fiber.NewError(fiber.StatusUnprocessableEntity, err.Error())
	case err != nil:
		return err
	}
	c.Location("/api/orders/" + strconv.Itoa(order.Number))
	return c.Status(fiber.StatusCreated).JSON(order)
}

// order shows an order to whom it belongs.
func (h handlers) order(c *fiber.Ctx) error {
	number, _ := c.ParamsInt("number")
	order, ok := h.shop.Orders.Find(name(c), number)
	if !ok {
		return fiber.ErrNotFound
	}
	return c.JSON(order)
}

// settle hears that a charge was paid.
func (h handlers) settle(c *fiber.Ctx) error {
	var event bookshop.Event
	if err := c.BodyParser(&event); err != nil {
		return fiber.NewError(fiber.StatusBadRequest, "the event cannot be read")
	}
	order, err := h.shop.Settle(event)
	if errors.Is(err, bookshop.ErrNotYet) {
		return fiber.NewError(fiber.StatusConflict, err.Error()) // released: the next delivery runs
	}
	return c.JSON(fiber.Map{"order": order.Number})
}
