// Package echoidem makes Echo routes safe to submit twice.
//
//	flow, err := httpflow.New(httpflow.Config{Guard: guard, Scope: userOf})
//	e := echo.New()
//	e.Use(middleware.Recover()) // outside of the guard
//	e.POST("/orders", createOrder, echoidem.Guard(flow, "shop:order:create"))
//	e.Any("/idempotency/*", echoidem.Endpoints(flow))
//
// A page that is rendered with a form puts a token into it:
//
//	token, err := flow.Issue(echoidem.Request(c), "shop:order:create", "")
//	data.Token = httpflow.Input(token) // a hidden field
//
// What middleware left for the scope function it finds in the request itself:
//
//	Scope: func(r httpflow.Request) (string, error) {
//		user, _ := r.Native().(echo.Context).Get("user").(string)
//		return user, nil
//	}
//
// An error that the handler returns is handed to the application's
// HTTPErrorHandler inside the guard, so that the run ends by the status that is
// really answered: a 402 stays a 402 for every repeat. Outer middleware sees the
// handler succeed, and the status in c.Response(), as after c.Error.
//
// The handler's request carries a context without the connection's cancellation:
// it runs to its end although the client may have left. Everything is decided in
// core/httpflow.
package echoidem
