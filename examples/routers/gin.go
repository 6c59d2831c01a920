package main

import (
	"bufio"
	"context"
	"net"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/go-idem/idem/adapters/stdhttp"
	"github.com/go-idem/idem/core/httpflow"
)

// ginRoutes are the routes on gin, whose guard is a middleware of the route, and
// could be one of a group.
func ginRoutes(s *shop) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.Use(gin.RecoveryWithWriter(nil)) // outside of the guard
	shops := r.Group("/shops/:shop")
	shops.POST("/orders", guardGin(s.flow, operation), s.ginOrder)
	r.Any("/idempotency/*any", gin.WrapH(stdhttp.Endpoints(s.flow)))
	return r
}

// guardGin makes a gin route safe to submit twice.
func guardGin(flow *httpflow.Flow, operation string) gin.HandlerFunc {
	guarded := stdhttp.Guard(flow, operation, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := r.Context().Value(ginContext{}).(*gin.Context)
		writer, request := c.Writer, c.Request
		defer func() { c.Writer, c.Request = writer, request }()
		c.Writer, c.Request = &ginWriter{ResponseWriter: writer, to: w, status: http.StatusOK, size: -1}, r
		c.Next()
		c.Writer.WriteHeaderNow() // gin keeps a status without a body until the very end
	}))
	return func(c *gin.Context) {
		r := c.Request.WithContext(context.WithValue(c.Request.Context(), ginContext{}, c))
		for _, p := range c.Params {
			r.SetPathValue(p.Key, p.Value) // where "path:NAME" looks
		}
		guarded.ServeHTTP(c.Writer, r)
		c.Abort() // the handlers behind have run, or must not
	}
}

type ginContext struct{}

// ginWriter is gin's writer over the guard's: what gin asks of its own (status,
// size, whether anything was written) is counted here.
type ginWriter struct {
	gin.ResponseWriter
	to           http.ResponseWriter
	status, size int
}

func (w *ginWriter) Header() http.Header         { return w.to.Header() }
func (w *ginWriter) Unwrap() http.ResponseWriter { return w.to } // for http.ResponseController
func (w *ginWriter) Status() int                 { return w.status }
func (w *ginWriter) Size() int                   { return w.size }
func (w *ginWriter) Written() bool               { return w.size >= 0 }

// WriteHeader only notes the status, as gin's own does: a handler may change its
// mind until something is written.
func (w *ginWriter) WriteHeader(status int) {
	if status > 0 && !w.Written() {
		w.status = status
	}
}

func (w *ginWriter) WriteHeaderNow() {
	if !w.Written() {
		w.size = 0
		w.to.WriteHeader(w.status)
	}
}

func (w *ginWriter) Write(b []byte) (int, error) {
	w.WriteHeaderNow()
	n, err := w.to.Write(b)
	w.size += n
	return n, err
}

func (w *ginWriter) WriteString(text string) (int, error) { return w.Write([]byte(text)) }

func (w *ginWriter) Flush() {
	w.WriteHeaderNow()
	_ = http.NewResponseController(w.to).Flush()
}

func (w *ginWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if !w.Written() {
		w.size = 0
	}
	return http.NewResponseController(w.to).Hijack()
}

// ginOrder is the handler of gin's routes.
func (s *shop) ginOrder(c *gin.Context) {
	s.runs <- struct{}{}
	switch c.Query("end") {
	case "refuse":
		c.String(http.StatusUnprocessableEntity, "no such tea\n")
	case "panic":
		panic("out of tea")
	case "stream":
		c.String(http.StatusOK, "one\n")
		c.Writer.Flush()
		c.String(http.StatusOK, "two\n")
	default:
		c.Header("Location", "/shops/"+c.Param("shop")+"/orders/1")
		c.String(http.StatusCreated, "an order at %s\n", c.Param("shop"))
	}
}
