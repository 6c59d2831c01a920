module github.com/go-idem/idem

go 1.26

require (
	github.com/alicebob/miniredis/v2 v2.40.0
	github.com/gofiber/fiber/v2 v2.52.15
	github.com/labstack/echo/v4 v4.16.5
	github.com/redis/go-redis/v9 v9.23.0
	go.uber.org/goleak v1.3.0
	pgregory.net/rapid v1.3.0
)
